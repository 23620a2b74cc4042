"""Errors of JSON Schema validation as short sentences that are safe to print."""

from __future__ import annotations

from typing import Any

from jsonschema.exceptions import ValidationError

_WIDTH = 80
_LONGEST_KEY = 40


def shown(value: Any, width: int = _WIDTH) -> str:
    """A value from outside as printable ASCII of at most `width` characters."""
    if isinstance(value, str) and len(value) > width:
        value = value[:width]
    try:
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else ascii(value)
    except (RecursionError, ValueError):  # ValueError: an integer beyond the digits that Python prints
        text = f"a {kind(value)} too large to show"
    return text if len(text) <= width else text[: width - 3] + "..."


def kind(value: Any) -> str:
    """The JSON type of a value: null, boolean, number, string, array or object."""
    if value is None:
        return "null"
    for types, name in ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array")):
        if isinstance(value, types):
            return name
    return "object"


def where(path: Any) -> str:
    """A JSON path such as `$.tools[0].name`; odd keys are quoted, long ones cut."""
    text = "$"
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isascii() and step.isidentifier() and len(step) <= _LONGEST_KEY:
            text += f".{step}"
        else:
            text += f"[{shown(step, _LONGEST_KEY)}]"
    return text


def sentence(error: ValidationError) -> str:
    """One sentence: where, what is wrong, what was there."""
    place = where(error.absolute_path)
    value: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "required":
            missing = next((name for name in limit if name not in value), "?")
            return f"{place}: {missing} is missing"
        case "type":
            wanted = " or ".join(limit) if isinstance(limit, list) else limit
            return f"{place}: must be of type {wanted}, is {kind(value)}: {shown(value)}"
        case "const":
            return f"{place}: must be {shown(limit)}, is {shown(value)}"
        case "enum":
            return f"{place}: must be one of {', '.join(map(shown, limit))}, is {shown(value)}"
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"{place}: must have {bound} {limit} characters, has {len(value)}: {shown(value)}"
        case "minItems" | "maxItems":
            bound = "at least" if error.validator == "minItems" else "at most"
            return f"{place}: must have {bound} {limit} items, has {len(value)}"
        case "minimum" | "maximum":
            bound = "at least" if error.validator == "minimum" else "at most"
            return f"{place}: must be {bound} {limit}, is {shown(value)}"
        case "pattern":
            return f"{place}: must match {limit}, is {shown(value)}"
        case "not" if "pattern" in limit:
            return f"{place}: must not match {limit['pattern']}, is {shown(value)}"
        case "anyOf" if all("required" in branch for branch in limit):
            return f"{place}: lacks {' or '.join(' and '.join(branch['required']) for branch in limit)}"
        case "anyOf" | "oneOf":
            return f"{place}: fits none of the allowed forms, is {shown(value)}"
        case "additionalProperties":
            return f"{place}: has members that are not allowed: {shown(value)}"
    return f"{place}: does not conform to {error.validator}: {shown(value)}"
