"""Status requests that are valid: ordinary ones, to be answered with exactly 200, and hostile ones."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rap_conformance.contract import generation as engine
from rap_conformance.contract.document import for_generation
from rap_conformance.contract.schemas import STATUS_REQUEST, Contract, contract
from rap_conformance.protocol.messages import STATUS_PATH
from rap_conformance.protocol.payloads import hostile_ids

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PREFIX = "rapc-"
ORDINARY_ID = {"type": "string", "pattern": "^rapc-[A-Za-z0-9_.:-]{1,59}$"}
_ORDINARY = re.compile(r"rapc-[A-Za-z0-9_.:-]{1,59}")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ALPHABET = _LETTERS + _LETTERS.upper() + "0123456789"
_LONGEST_MIXED = 1024  # characters of a shipped identifier that is mixed in; longer ones are sent by name

Query = dict[str, Any]


def is_ordinary(query: Query) -> bool:
    """Whether every member is one of our own ordinary identifiers."""
    return all(isinstance(value, str) and _ORDINARY.fullmatch(value) is not None for value in query.values())


def key(query: Query) -> str:
    """What tells two requests apart: their bytes."""
    return json.dumps(query, sort_keys=True)


def ordinary_ids() -> SearchStrategy[str]:
    """Identifiers as runtimes and language models make them, each behind our prefix. Inside `calm`."""
    from hypothesis import strategies as st

    def text(alphabet: str, low: int, high: int | None = None) -> SearchStrategy[str]:
        return st.text(alphabet, min_size=low, max_size=high or low)

    shapes = st.one_of(
        text(_ALPHABET + "_-.:", 1, 59),  # first, because shrinking moves to earlier branches
        st.uuids(version=4).map(str),
        st.uuids(version=4).map(lambda value: value.hex),
        text(_ALPHABET, 24).map("call_{}".format),
        text(_ALPHABET, 22).map("toolu_01{}".format),
        text(_CROCKFORD, 24).map("01{}".format),
        text(_ALPHABET, 6, 20).map("thread_{}".format),
        text(_ALPHABET + "_-", 21),
        st.integers(0, 2**63).map(str),
        st.tuples(text(_LETTERS, 1, 12), text(_ALPHABET, 1, 12)).map(":".join),
        st.tuples(text(_LETTERS, 1, 12), text("0123456789", 1, 6)).map(".".join),
    )
    return shapes.map(PREFIX.__add__)


def hostile_texts() -> SearchStrategy[str]:
    """Any text at all, lone surrogates and the shipped identifiers among it. Inside `calm`."""
    from hypothesis import strategies as st

    shipped = [entry.value for entry in hostile_ids() if len(entry.value) <= _LONGEST_MIXED]
    return st.one_of(
        st.text(st.characters()),
        st.text(" \t\r\n\u00a0\u2003\u2028\u3000", min_size=1, max_size=8),
        st.sampled_from(shipped),
        st.text(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp", "Mn"]), min_size=1),
        st.tuples(st.sampled_from(shipped), st.text(st.characters(), max_size=8)).map("".join),
    )


def ordinary_strategy(of: Contract) -> SearchStrategy[Query]:
    """Our own ordinary queries, with the members that the schema declares. Inside `calm`."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries({name: ordinary_ids() for name in of.properties(STATUS_REQUEST)})


def hostile_strategy(of: Contract) -> SearchStrategy[Query]:
    """Our own hostile queries: all members hostile, or one and the others ordinary. Inside `calm`."""
    from hypothesis import strategies as st

    names = list(of.properties(STATUS_REQUEST))
    ordinary, hostile = ordinary_ids(), hostile_texts()
    mixes = [{name: hostile if name == odd else ordinary for name in names} for odd in names]
    return st.one_of([st.fixed_dictionaries(mix) for mix in [dict.fromkeys(names, hostile), *mixes]])


def positive_strategy(of: Contract, identifier: Query | None) -> SearchStrategy[Query]:
    """Schemathesis' positive mode for the status operation; `identifier` narrows strings. Inside `calm`.

    Members that the schema does not declare are dropped.
    """
    from schemathesis.generation import GenerationMode

    declared = set(of.properties(STATUS_REQUEST))
    _, operation = engine.operation(for_generation(of, identifier), STATUS_PATH)
    cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    return cases.map(lambda case: _declared(case.body, declared))


def _declared(body: Any, names: set[str]) -> Query:
    return {name: value for name, value in body.items() if name in names}


@lru_cache(maxsize=32)
def _ordinary(count: int, seed: int, of: Contract) -> tuple[Query, ...]:
    def accept(query: Query) -> bool:
        return is_ordinary(query) and of.valid(STATUS_REQUEST, query)

    with engine.calm():
        own = engine.collect(ordinary_strategy(of), count // 2, f"ordinary/{seed}", key, accept)
        positive, known = positive_strategy(of, ORDINARY_ID), set(map(key, own))
        theirs = engine.collect(
            positive,
            count - len(own),
            f"positive/{seed}",
            key,
            lambda query: accept(query) and key(query) not in known,
        )
    return _interleaved(theirs, own)


@lru_cache(maxsize=32)
def _hostile(count: int, seed: int, of: Contract) -> tuple[Query, ...]:
    def accept(query: Query) -> bool:
        return of.valid(STATUS_REQUEST, query)

    with engine.calm():
        theirs = engine.collect(positive_strategy(of, None), count // 3, f"free/{seed}", key, accept)
        known = set(map(key, theirs))
        own = engine.collect(
            hostile_strategy(of),
            count - len(theirs),
            f"hostile/{seed}",
            key,
            lambda query: accept(query) and key(query) not in known,
        )
    return _interleaved(own, theirs)


def _interleaved(first: list[Query], second: list[Query]) -> tuple[Query, ...]:
    """Both lists, spread evenly, so that a run cut short has met both kinds."""
    places = [
        ((index + 0.5) / len(values), query)
        for values in (first, second)
        for index, query in enumerate(values)
    ]
    return tuple(query for _, query in sorted(places, key=lambda place: place[0]))


def ordinary_queries(count: int, seed: int, of: Contract | None = None) -> list[Query]:
    """Valid status requests about calls that nobody made, all with ordinary identifiers.

    Identifiers have 6 to 64 characters from `A-Z a-z 0-9 _ - . :` and start with
    `rapc-`. Half come from Schemathesis, half look like identifiers of real
    runtimes. The same arguments give the same list.
    """
    return [dict(query) for query in _ordinary(count, seed, of or contract())]


def hostile_queries(count: int, seed: int, of: Contract | None = None) -> list[Query]:
    """Valid status requests in which any member may be any string, lone surrogates included.

    Send `json.dumps(query).encode()`: its escapes carry surrogates. A third
    comes from Schemathesis. The same arguments give the same list.
    """
    return [dict(query) for query in _hostile(count, seed, of or contract())]
