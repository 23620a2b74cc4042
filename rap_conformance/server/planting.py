"""Secrets in a call's arguments: where the configuration says, else wherever a tool takes any text.

What comes back of them shows that something was told of the call. A tool that does not take such a text after
all is called as it is configured (see the rehearsal).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = "{canary}"
"""Where the configuration wants a secret."""
LENGTH = 16
"""Characters of a secret."""
_BINDING = frozenset(
    (
        "enum const pattern format contentEncoding contentMediaType $ref $dynamicRef allOf anyOf oneOf not if"
    ).split()
)
"""Keywords by which a schema may want a text of some form."""


def planted(arguments: Mapping[str, Any], schema: object, secret: str) -> dict[str, Any]:
    """The arguments with a secret in them. `schema` is the tool's; None: only where the text is marked."""
    if _is_marked(dict(arguments)):
        made: dict[str, Any] = _replaced(dict(arguments), secret)
        return made
    extended: dict[str, Any] = _extended(dict(arguments), schema, secret)
    return extended


def is_bold(arguments: Mapping[str, Any], schema: object) -> bool:
    """Whether a secret goes where nobody marked a place for one."""
    secret = "x" * LENGTH
    return planted(arguments, schema, secret) != planted(arguments, None, secret)


def _is_marked(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(_is_marked(inner) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and MARK in value


def _replaced(value: Any, secret: str) -> Any:
    """The value with every mark replaced."""
    if isinstance(value, str):
        return value.replace(MARK, secret)
    if isinstance(value, dict):
        return {key: _replaced(inner, secret) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, secret) for inner in value]
    return value


def _extended(value: Any, schema: object, secret: str) -> Any:
    """The value with the secret at the end of every text that may be any."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        declared = schema.get("properties")
        known = declared if isinstance(declared, dict) else {}
        return {key: _extended(inner, known.get(key), secret) for key, inner in value.items()}
    if isinstance(value, list):
        return [_extended(inner, schema.get("items"), secret) for inner in value]
    if isinstance(value, str) and _takes_any(schema, text := f"{value} {secret}".lstrip()):
        return text
    return value


def _takes_any(schema: Mapping[str, Any], text: str) -> bool:
    """Whether a schema wants a text, any text, and this one is not too long for it."""
    types = schema.get("type")
    most = schema.get("maxLength")
    fits = not isinstance(most, int | float) or len(text) <= most
    return (
        (types == "string" or (isinstance(types, list) and "string" in types))
        and fits
        and not _BINDING & schema.keys()
    )
