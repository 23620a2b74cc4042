"""Status requests that are not valid, from Schemathesis: its negative mode and its coverage phase."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rap_conformance.contract import generation as engine
from rap_conformance.contract.document import for_generation
from rap_conformance.contract.queries import PREFIX
from rap_conformance.contract.schemas import STATUS_REQUEST, Contract, contract
from rap_conformance.contract.sentences import kind
from rap_conformance.protocol.messages import STATUS_PATH
from rap_conformance.protocol.payloads import JSON, Malformed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy
    from schemathesis import Case

INVOCATION_MEMBERS = ("operation", "callback_url")
_NOTHING = object()


def read(body: bytes) -> Any:
    """The JSON value of a body as a lenient server finds it, or `_NOTHING`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NOTHING


def is_valid_request(of: Contract, request: Malformed) -> bool:
    """Whether a request is in order after all: a POST of JSON that conforms to the schema."""
    if request.method != "POST" or request.content_type is None:
        return False
    if request.content_type.partition(";")[0].strip().lower() != JSON:
        return False
    value = read(request.body)
    return value is not _NOTHING and of.valid(STATUS_REQUEST, value)


def names_fields(request: Malformed) -> bool:
    """Whether a request is a JSON object in UTF-8 and declared as one, so that only its members are wrong.

    RFC 8259 decides, however deep the object is nested and however long its numbers are; a key may be there
    twice.
    """
    media_type, _, parameters = (request.content_type or "").partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "').lower()
    if media_type.strip().lower() != JSON or charset not in {"", "utf-8"}:
        return False
    try:
        value = json.loads(request.body.decode("utf-8"), parse_int=str, parse_constant=_no_constant)
    except RecursionError:
        return request.body.strip().startswith(b"{")
    except ValueError:
        return False
    return isinstance(value, dict)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def could_invoke(request: Malformed) -> bool:
    """Whether some server could take it for an invocation: it names a member of one."""
    return any(json.dumps(name).encode() in request.body for name in INVOCATION_MEMBERS)


def _a(noun: str) -> str:
    return noun if noun == "null" else f"an {noun}" if noun[0] in "ao" else f"a {noun}"


def _described(of: Contract, body: Any) -> str:
    if isinstance(body, bytes):
        return "bytes that are not JSON" if body else "an empty body"
    if not isinstance(body, dict):
        return f"top level {_a(kind(body))}"
    wrong = []
    for name, schema in of.properties(STATUS_REQUEST).items():
        if name not in body:
            wrong.append(f"{name} missing")
        elif kind(body[name]) != schema.get("type"):
            wrong.append(f"{name} {_a(kind(body[name]))}")
    return ", ".join(wrong)


def _tamed(of: Contract, body: Any) -> Any:
    """The body with identifiers of ours wherever they are strings, so that one thing at a time is wrong."""
    if not isinstance(body, dict):
        return body
    names = [name for name in of.properties(STATUS_REQUEST) if isinstance(body.get(name), str)]
    ours = {name: PREFIX + hashlib.sha256(ascii(body[name]).encode()).hexdigest()[:12] for name in names}
    return {**body, **ours}


def _request(of: Contract, case: Case[Any]) -> Malformed:
    from schemathesis.core import NotSet

    body: Any = b"" if isinstance(case.body, NotSet) else _tamed(of, case.body)
    declared = {name.lower(): value for name, value in (case.headers or {}).items()}.get("content-type")
    label = _described(of, body)
    if declared is not None:
        label = f"content type {declared}"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Malformed(label or "schema-valid", data, declared or case.media_type, case.method)


def negative_strategy(of: Contract) -> SearchStrategy[Malformed]:
    """Schemathesis' negative mode for the status operation. Inside `calm`."""
    from schemathesis.generation import GenerationMode

    _, operation = engine.operation(for_generation(of, None), STATUS_PATH)
    cases = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    return cases.map(lambda case: _request(of, case))


def acceptable(of: Contract, request: Malformed) -> bool:
    """Whether a request is malformed and can run no tool."""
    return not is_valid_request(of, request) and not could_invoke(request)


@lru_cache(maxsize=32)
def _negative(count: int, seed: int, of: Contract) -> tuple[Malformed, ...]:
    with engine.calm():
        strategy = negative_strategy(of)
        return tuple(
            engine.collect(
                strategy,
                count,
                f"negative/{seed}",
                lambda request: request.body,
                lambda request: acceptable(of, request),
            )
        )


@lru_cache(maxsize=8)
def _coverage(of: Contract) -> tuple[Malformed, ...]:
    with engine.calm():
        from schemathesis.generation import GenerationMode

        schema, operation = engine.operation(for_generation(of, None), STATUS_PATH)
        cases = schema.iter_coverage_cases(
            operation,
            generation_modes=[GenerationMode.NEGATIVE],
            generation_config=schema.config.generation_for(operation=operation, phase="coverage"),
        )
        found: dict[Malformed, None] = {}
        for case in cases:
            request = _request(of, case)
            if request.method == "POST" and acceptable(of, request):
                found[request] = None
    return tuple(found)


def malformed_bodies(count: int, seed: int, of: Contract | None = None) -> list[Malformed]:
    """Bodies that the schema of status requests refuses, no two the same; Schemathesis' negative mode.

    None is valid by chance, none carries a member of an invocation, and every
    identifier in them is ours. The same arguments give the same list.
    """
    return list(_negative(count, seed, of or contract()))


def coverage_cases(seed: int = 0, of: Contract | None = None) -> list[Malformed]:  # noqa: ARG001 - no chance in it
    """One request for each way to depart from the description; Schemathesis' coverage phase.

    Other media types, no body, each member missing or of each other type:
    about twenty, the same for every seed. Other methods are no status checks.
    """
    return list(_coverage(of or contract()))
