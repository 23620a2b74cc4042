"""Small faults, put into a Python file one at a time: what `mutation.py` certifies.

Flips comparisons and conditions, swaps `and` and `or`, changes arithmetic, drops calls, awaits, assignments
to members and raises, returns nothing or the opposite. Docstrings, annotations, decorators and log calls stay
as they are, and so do literals: what survived of those was a limit, a name or a branch that nobody asks for.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NEXT: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
"""The same but for the boundary."""
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Change:
    """One fault. `after` is the whole file with it; `key` names it: file, line, number in that line, kind."""

    file: str
    line: int
    key: str
    after: str
    line_before: str
    line_after: str


def changes(path: Path) -> list[Change]:
    """Every change of a file, in the order of its lines."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode("utf-8")[:column].decode("utf-8"))

    found: list[Change] = []
    counts: dict[int, int] = {}
    for node, kind, replacement in sorted(_everywhere(tree), key=lambda each: each[0].lineno):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
        after = source[:begin] + replacement + source[end:]
        try:
            same = ast.dump(ast.parse(after)) == ast.dump(tree)
        except SyntaxError:
            continue
        if same:
            continue
        counts[node.lineno] = counts.get(node.lineno, 0) + 1
        last = starts[node.end_lineno] - 1
        found.append(
            Change(
                path.name,
                node.lineno,
                f"{path.name}:{node.lineno}.{counts[node.lineno]} {kind}",
                after,
                " ".join(source[starts[node.lineno - 1] : last].split()),
                " ".join(after[starts[node.lineno - 1] : last + len(after) - len(source)].split()),
            )
        )
    return found


Found = tuple[ast.stmt | ast.expr, str, str]
"""What is replaced, the kind of fault, and by what."""


def _everywhere(tree: ast.Module) -> Iterator[Found]:
    for node in _visit(tree):
        if isinstance(node, ast.stmt):
            yield from _of_statement(node)
        elif isinstance(node, ast.expr):
            yield from _of_expression(node)


def _visit(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement and expression that does something when the server runs."""
    yield node
    if isinstance(node, ast.JoinedStr):
        return  # before Python 3.12 nobody knows where in the source its parts are
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _idle(child):
                yield from _visit(child)


def _idle(node: ast.AST) -> bool:
    """Imports, docstrings, `__all__`, calls of a log."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id in {"__all__", "log"}
    if not isinstance(node, ast.Expr):
        return False
    called = node.value.func if isinstance(node.value, ast.Call) else None
    logs = (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "log"
    )
    return logs or isinstance(node.value, ast.Constant)


def _of_statement(node: ast.stmt) -> Iterator[Found]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield node, "dropped call", "pass"
    elif isinstance(node, ast.Delete):
        yield node, "dropped deletion", "pass"
    elif isinstance(node, ast.AugAssign):
        yield node, "dropped change", "pass"
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        if not isinstance(node.value, ast.Constant) or node.value.value is not None:
            yield node, "dropped assignment", "pass"
    elif isinstance(node, ast.Raise):
        yield node, "dropped raise", "pass"
    elif isinstance(node, ast.Break | ast.Continue):
        yield node, "dropped jump", "pass"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield from ((node, kind, instead) for kind, instead in _of_return(node.value))
    if isinstance(node, ast.If | ast.While):
        yield from _negated(node.test)


def _of_return(value: ast.expr) -> Iterator[tuple[str, str]]:
    """What is returned instead, and the kind of fault that is."""
    if isinstance(value, ast.Constant):
        if isinstance(value.value, bool):
            yield "returns the opposite", f"return {not value.value}"
        return
    yield "returns None", "return None"
    if not isinstance(value, ast.Compare) and _truth(value):
        yield "returns the opposite", f"return not ({ast.unparse(value)})"


def _truth(node: ast.expr) -> bool:
    """Whether an expression looks like a boolean."""
    if isinstance(node, ast.BoolOp):
        return any(_truth(value) for value in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"bool", "isinstance", "all", "any"}
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _negated(test: ast.expr) -> Iterator[Found]:
    """A condition turned around, where no other change does so."""
    single = isinstance(test, ast.Compare) and len(test.ops) == 1
    inverted = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    if not single and not inverted:
        yield test, "negated condition", f"not ({ast.unparse(test)})"


def _of_expression(node: ast.expr) -> Iterator[Found]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for kind, table in (("opposite comparison", OPPOSITE), ("boundary", NEXT)):
                if type(op) in table:
                    changed = copy.deepcopy(node)
                    changed.ops[index] = table[type(op)]()
                    yield node, kind, _grouped(changed)
    elif isinstance(node, ast.BoolOp):
        changed_op = copy.deepcopy(node)
        changed_op.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield node, "and for or" if isinstance(node.op, ast.Or) else "or for and", _grouped(changed_op)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, "without not", _grouped(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        changed_bin = copy.deepcopy(node)
        changed_bin.op = ARITHMETIC[type(node.op)]()
        yield node, "arithmetic", _grouped(changed_bin)
    elif isinstance(node, ast.IfExp):
        yield from _negated(node.test)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for generator in node.generators:
            for test in generator.ifs:
                yield from _negated(test)


def _grouped(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"
