"""Whether the inputSchema of a tool is a valid JSON Schema (DSC008). Nothing in it is believed or fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from referencing import Registry

from rap_conformance.contract import bounded
from rap_conformance.contract.sentences import sentence, shown

DRAFTS = ("2020-12", "2019-09", "7", "6", "4")
"""Drafts that an inputSchema without `$schema` may be valid against, newest first."""

_DIALECTS = {
    "json-schema.org/draft/2020-12/schema": "2020-12",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft-07/schema": "7",
    "json-schema.org/draft-06/schema": "6",
    "json-schema.org/draft-04/schema": "4",
    "json-schema.org/draft-03/schema": "3",
}
_LONGEST_DIALECT = 300

Status = Literal["valid", "older", "invalid", "unknown-dialect", "undecided"]


@dataclass(frozen=True, slots=True)
class SchemaJudgement:
    """What is to be said about one inputSchema.

    `status`: "valid" against the draft that it declares, or, if it declares
    none, against 2020-12; "older" if it declares none and only an older draft
    fits; "invalid"; "unknown-dialect" if `$schema` names one that is not known
    here; "undecided" if it was too much to judge. `dialect` is the `$schema` as given,
    None without one; `drafts` those it is valid against of the ones that
    count, newest first; `problem` one sentence in ASCII, empty if valid.
    """

    status: Status
    dialect: str | None = None
    drafts: tuple[str, ...] = ()
    problem: str = ""


def validator_class(draft: str) -> Any:
    """The jsonschema validator of a draft such as "2020-12" or "7"."""
    import jsonschema

    return {
        "2020-12": jsonschema.Draft202012Validator,
        "2019-09": jsonschema.Draft201909Validator,
        "7": jsonschema.Draft7Validator,
        "6": jsonschema.Draft6Validator,
        "4": jsonschema.Draft4Validator,
        "3": jsonschema.Draft3Validator,
    }[draft]


def declared_draft(schema: dict[str, Any]) -> str | None:
    """The draft that `$schema` names, whatever its scheme and empty fragment; None if unknown."""
    dialect = schema.get("$schema")
    if not isinstance(dialect, str) or len(dialect) > _LONGEST_DIALECT:
        return None
    for scheme in ("https://", "http://"):
        if dialect.startswith(scheme):
            return _DIALECTS.get(dialect.removeprefix(scheme).removesuffix("#"))
    return None


def judge(schema: dict[str, Any], drafts: list[str]) -> list[Any]:
    """Against which of the drafts a schema is valid, and the first problem with the first draft.

    Unbounded: called through `bounded.run` unless the schema is tame.
    """
    fitting, problem = [], ""
    for draft in drafts:
        class_ = validator_class(draft)
        error = next(class_(class_.META_SCHEMA, registry=Registry()).iter_errors(schema), None)
        if error is None:
            fitting.append(draft)
        elif draft == drafts[0]:
            problem = sentence(error)
    return [fitting, problem]


def schema_problem(input_schema: Any, seconds: float = bounded.SECONDS) -> SchemaJudgement:
    """Whether a tool's inputSchema is a JSON Schema object, valid against the meta-schema of its draft.

    Within `seconds` seconds, and without following any reference of it.
    Specification: basic/toolsets, "Input Schema".
    """
    if not isinstance(input_schema, dict):
        return SchemaJudgement("invalid", problem=f"inputSchema must be an object, is {shown(input_schema)}")
    dialect, drafts = None, list(DRAFTS)
    if "$schema" in input_schema:
        if not isinstance(input_schema["$schema"], str):
            return SchemaJudgement(
                "invalid", problem=f"$schema must be a string, is {shown(input_schema['$schema'])}"
            )
        dialect = input_schema["$schema"][:_LONGEST_DIALECT]
        declared = declared_draft(input_schema)
        if declared is None:
            problem = f"$schema is {shown(dialect)}, not known here"
            return SchemaJudgement("unknown-dialect", dialect, (), problem)
        drafts = [declared]
    try:
        if bounded.is_tame(input_schema, patterns=True):
            fitting, problem = judge(input_schema, drafts)
        else:
            fitting, problem = bounded.run("judge", input_schema, drafts, seconds=seconds)
    except bounded.TooMuch as error:
        return SchemaJudgement("undecided", dialect, (), f"inputSchema could not be judged: it {error}")
    if not fitting:
        return SchemaJudgement("invalid", dialect, (), problem)
    status: Status = "valid" if fitting[0] == drafts[0] else "older"
    return SchemaJudgement(status, dialect, tuple(fitting), problem)
