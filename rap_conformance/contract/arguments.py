"""A small valid instance of a tool's inputSchema, made from a schema that nobody vouches for."""

from __future__ import annotations

import time
from typing import Any

from referencing import Registry

from rap_conformance.contract import bounded
from rap_conformance.contract.instances import Builder
from rap_conformance.contract.samples import Impossible
from rap_conformance.contract.untrusted import DRAFTS, declared_draft, schema_problem, validator_class

_VARIANTS = 6


def build(schema: dict[str, Any], draft: str, seed: int) -> dict[str, Any] | None:
    """The first variant that the schema accepts. Unbounded: goes through `bounded.run` unless it is tame."""
    validator = validator_class(draft)(schema, registry=Registry())
    for variant in range(_VARIANTS):
        for trusting in (True, False):
            try:
                instance = Builder(schema, variant, trusting=trusting, seed=seed).instance()
                if isinstance(instance, dict) and validator.is_valid(instance):
                    return instance
            except (Impossible, RecursionError):
                continue
    return None


def minimal_arguments(
    input_schema: Any, seed: int, seconds: float = bounded.SECONDS
) -> dict[str, Any] | None:
    """A small instance of a tool's inputSchema: required members only, own examples and defaults first.

    None if there is none, if the schema is no valid schema, leads elsewhere by
    `$ref`, or is not understood within `seconds` seconds. What comes back
    was validated.
    """
    started = time.monotonic()
    judgement = schema_problem(input_schema, seconds)
    if not judgement.drafts:
        return None
    draft = declared_draft(input_schema) or next(draft for draft in DRAFTS if draft in judgement.drafts)
    try:
        if bounded.is_tame(input_schema):
            found = build(input_schema, draft, seed)
        else:
            left = max(0.1, seconds - (time.monotonic() - started))
            found = bounded.run("arguments", input_schema, draft, seed, seconds=left)
    except Exception:  # whatever validation makes of a schema that is hostile: no arguments
        return None
    return found if isinstance(found, dict) else None
