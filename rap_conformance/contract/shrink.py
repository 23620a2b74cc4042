"""The smallest input that still violates: a bounded search with Hypothesis, for readable reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from rap_conformance.contract import generation as engine
from rap_conformance.contract import malformed, queries
from rap_conformance.contract.schemas import STATUS_REQUEST, Contract, contract
from rap_conformance.protocol.payloads import Malformed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Kind = Literal["ordinary", "hostile", "malformed"]
_MOST_EXAMPLES = 10_000


class _Violation(Exception):
    """Tells Hypothesis that an input violates."""


class _Enough(BaseException):
    """Leaves Hypothesis at once; it catches every Exception."""


class _Search:
    """What has been asked and found so far."""

    def __init__(self, violates: Callable[[Any], bool], seconds: float, requests: int) -> None:
        self._violates = violates
        self._deadline = time.monotonic() + seconds
        self._left = requests
        self._known: dict[Any, bool] = {}
        self.best: Any = None
        self.error: Exception | None = None

    def found(self, value: Any) -> None:
        """Note that a value violates."""
        self._known[identity(value)] = True
        if self.best is None or size(value) < size(self.best):
            self.best = value

    def __call__(self, value: Any) -> None:
        """Ask about a value, once. Raises _Violation, or _Enough when time or requests are used up."""
        if time.monotonic() >= self._deadline:
            raise _Enough
        name = identity(value)
        if name not in self._known:
            if self._left <= 0:
                raise _Enough
            self._left -= 1
            try:
                self._known[name] = bool(self._violates(value))
            except Exception as error:
                self.error = error
                raise _Enough from error
        if self._known[name]:
            self.found(value)
            raise _Violation

    def polish(self, allowed: Callable[[Any], bool]) -> None:
        """Make the members of the best query shorter, bit by bit. Raises _Enough."""
        while True:
            for shorter in _shorter(self.best):
                if size(shorter) < size(self.best) and allowed(shorter):
                    try:
                        self(shorter)
                    except _Violation:
                        break
            else:
                return


def identity(value: Any) -> Any:
    """What tells two inputs apart."""
    return value if isinstance(value, Malformed) else queries.key(value)


def size(value: Any) -> tuple[int, Any]:
    """By what inputs are compared: length of what is sent, then its bytes."""
    data = value.body if isinstance(value, Malformed) else queries.key(value).encode()
    return len(data), data


def _shorter(query: queries.Query) -> Iterator[queries.Query]:
    """The query with one member replaced by something plain, or with a part of it cut out; big cuts first."""
    for name, value in query.items():
        for plain in ("", queries.PREFIX + "0"):
            yield {**query, name: plain}
        width = len(value)
        while width := width // 2:
            for start in range(0, len(value), width):
                yield {**query, name: value[:start] + value[start + width :]}


def _allowed(kind: Kind, of: Contract, value: Any) -> bool:
    if kind == "malformed":
        return malformed.acceptable(of, value)
    return (kind == "hostile" or queries.is_ordinary(value)) and of.valid(STATUS_REQUEST, value)


def _strategy(kind: Kind, of: Contract) -> SearchStrategy[Any]:
    if kind == "malformed":
        return malformed.negative_strategy(of)
    if kind == "hostile":
        return queries.hostile_strategy(of) | queries.positive_strategy(of, None)
    return queries.ordinary_strategy(of) | queries.positive_strategy(of, queries.ORDINARY_ID)


def _run(search: _Search, strategy: SearchStrategy[Any], seed: int) -> None:
    """Let Hypothesis look for a violation and shrink it. Raises _Enough. Inside `calm`."""
    import hypothesis
    from hypothesis.errors import HypothesisException

    test = hypothesis.given(strategy)(search.__call__)
    test = hypothesis.settings(engine.explicit(_MOST_EXAMPLES, shrink=True))(test)
    try:
        hypothesis.seed(f"smallest/{seed}")(test)()
    except (_Violation, HypothesisException):
        pass  # the second: what Hypothesis makes of a server that changes its mind


def smallest(
    kind: Kind,
    violates: Callable[[Any], bool],
    seed: int,
    seconds: float,
    requests: int,
    known: Iterable[Any] = (),
    of: Contract | None = None,
) -> Any:
    """The smallest input of a kind for which `violates` is true, or None if none was found.

    A query (dict) for "ordinary" and "hostile", a `Malformed` for "malformed".
    `violates` is called at most `requests` times, never twice for one input
    and not after `seconds` seconds, which bound the search but for one call.
    `known` are inputs that were seen to violate. Pass them: they are not asked
    about again, a known query is cut down instead of looking for another, and
    one of them is the answer if nothing smaller is found. A server
    that answers now so and now otherwise does no harm: what violated once
    counts. If `violates` raises, the search ends; its error comes out only
    where nothing was found.
    """
    search = _Search(violates, seconds, requests)
    for value in known:
        search.found(value)
    of = of or contract()

    def allowed(value: Any) -> bool:
        return _allowed(kind, of, value)

    try:
        if not isinstance(search.best, dict):  # with a known query, cutting it down is all that is needed
            with engine.calm():
                _run(search, _strategy(kind, of).filter(allowed), seed)
        if isinstance(search.best, dict):
            search.polish(allowed)
    except _Enough:
        if search.best is None and search.error is not None:
            raise search.error from None
    return search.best
