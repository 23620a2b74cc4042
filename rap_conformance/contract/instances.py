"""From a schema to one small instance. Bounded in depth, nodes and length; believes nothing, fetches nothing.

What is built is a guess: whoever uses it validates it. Variants differ in the
branch taken of `anyOf` and `oneOf` and in the text tried for a `pattern`.
"""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

from rap_conformance.contract.samples import Impossible, number_for, text_for

_DEEPEST = 16
_MOST_NODES = 2_000
_LONGEST = 10_000
_MOST_ITEMS = 100
_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "PT1S",
    "email": "rapc@example.com",
    "idn-email": "rapc@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "http://127.0.0.1/",
    "url": "http://127.0.0.1/",
    "iri": "http://127.0.0.1/",
    "uri-reference": "/",
    "iri-reference": "/",
    "uri-template": "/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "",
    "relative-json-pointer": "0",
    "regex": "a",
    "byte": "",
}
_STRUCTURE = ("properties", "required", "additionalProperties", "minProperties", "patternProperties")
_KEYWORDS = {
    "object": _STRUCTURE,
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class Builder:
    """Builds one instance of a root schema. `trusting`: its examples and defaults are taken as they are."""

    def __init__(self, root: dict[str, Any], variant: int, *, trusting: bool, seed: int) -> None:
        self._root, self._variant, self._trusting, self._seed = root, variant, trusting, seed
        self._nodes = 0

    def instance(self) -> Any:
        """The instance, an object unless the schema says otherwise. Raises Impossible."""
        root = self._root if "type" in self._root else {**self._root, "type": "object"}
        return self._any(root, 0)

    def _any(self, schema: Any, depth: int) -> Any:
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _MOST_NODES or schema is False:
            raise Impossible
        if not isinstance(schema, dict):
            return "a"
        schema = self._flat(schema)
        if "const" in schema:
            return schema["const"]
        if isinstance(values := schema.get("enum"), list) and values:
            return values[self._variant % len(values)]
        if self._trusting:
            if "default" in schema:
                return schema["default"]
            if isinstance(examples := schema.get("examples"), list) and examples:
                return examples[0]
        match self._type(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer":
                return number_for(schema, whole=True)
            case "number":
                return number_for(schema, whole=False)
            case "boolean":
                return False
            case "null":
                return None
        return self._string(schema)

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with references followed, and `allOf` and one branch of `anyOf` and `oneOf` taken in."""
        for _ in range(_DEEPEST):
            if isinstance(reference := schema.get("$ref"), str):
                target = self._follow(reference)
                schema = _merged({key: value for key, value in schema.items() if key != "$ref"}, target)
                continue
            if "if" in schema:
                rest = {key: value for key, value in schema.items() if key not in {"if", "then", "else"}}
                taken = (schema["if"], schema.get("then")) if self._variant % 2 else (schema.get("else"),)
                for part in taken:
                    rest = _merged(rest, part)
                schema = rest
                continue
            for keyword in ("allOf", "anyOf", "oneOf"):
                if isinstance(branches := schema.get(keyword), list) and branches:
                    break
            else:
                return schema
            self._nodes += len(branches)
            rest = {key: value for key, value in schema.items() if key != keyword}
            chosen = branches if keyword == "allOf" else [branches[self._variant % len(branches)]]
            for branch in chosen:
                rest = _merged(rest, branch)
            schema = rest
            if self._nodes > _MOST_NODES:
                raise Impossible
        raise Impossible

    def _follow(self, reference: str) -> Any:
        """The target of a reference within the root. Raises Impossible for any other."""
        if not reference.startswith("#"):
            raise Impossible
        node: Any = self._root
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                raise Impossible
        return node

    def _type(self, schema: dict[str, Any]) -> str:
        types = schema.get("type")
        if isinstance(types, list) and types:
            named = [name for name in types if name != "null"] or types
            types = named[self._variant % len(named)]
        if isinstance(types, str):
            return types
        for name, words in _KEYWORDS.items():
            if any(word in schema for word in words):
                return name
        return "string"

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        declared = schema.get("properties") or {}
        names = list(dict.fromkeys(name for name in schema.get("required") or [] if isinstance(name, str)))
        least = _bound(schema.get("minProperties"), 0)
        if least > _MOST_ITEMS or len(names) > _MOST_NODES:
            raise Impossible
        names += [name for name in declared if name not in names][: max(0, least - len(names))]
        names += [f"rapc{index}" for index in range(least - len(names))]
        others = schema.get("additionalProperties", True)
        return {name: self._any(declared.get(name, others), depth + 1) for name in names}

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = _bound(schema.get("minItems"), 0)
        first = schema.get("prefixItems", schema.get("items"))
        rest = schema.get("items", True)
        if isinstance(rest, list):
            rest = schema.get("additionalItems", True)
        first = first if isinstance(first, list) else []
        if least > _MOST_ITEMS:
            raise Impossible
        items = [self._any(first[index] if index < len(first) else rest, depth + 1) for index in range(least)]
        if "contains" in schema:
            items.append(self._any(schema["contains"], depth + 1))
        if schema.get("uniqueItems") is True:
            items = [_told_apart(item, index) for index, item in enumerate(items)]
        return items

    def _string(self, schema: dict[str, Any]) -> str:
        least, most = _bound(schema.get("minLength"), 0), _bound(schema.get("maxLength"), _LONGEST)
        if least > _LONGEST or least > most:
            raise Impossible
        if isinstance(pattern := schema.get("pattern"), str):
            return text_for(pattern, least, most, self._variant, self._seed)
        form = schema.get("format")
        text = _FORMATS.get(form, "a") if isinstance(form, str) else "a"
        return text.ljust(least, "a")[:most]


def _bound(value: Any, otherwise: int) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else otherwise


def _told_apart(item: Any, index: int) -> Any:
    if isinstance(item, str):
        return f"{item}{index}" if index else item
    return item + index if isinstance(item, int | float) and not isinstance(item, bool) else item


def _merged(one: dict[str, Any], other: Any) -> dict[str, Any]:
    """Both schemas at once, as far as that can be said in one: members are united, else the first wins."""
    if other is False:
        raise Impossible
    if not isinstance(other, dict):
        return one
    merged = {**other, **one}
    for word in ("properties", "$defs"):
        if isinstance(one.get(word), dict) and isinstance(other.get(word), dict):
            merged[word] = {**other[word], **one[word]}
    for word in ("required", "allOf"):
        if isinstance(one.get(word), list) and isinstance(other.get(word), list):
            merged[word] = [*one[word], *other[word]]
    return merged
