"""Hypothesis and Schemathesis, tamed: imported late, quiet, and the same for the same seed.

Both are loaded on first use (a second or two). Whatever they touch outside
their own modules is confined: their storage goes to a temporary folder, their
warnings are dropped, and what Schemathesis swaps inside Hypothesis is mended.
"""

from __future__ import annotations

import atexit
import gzip
import json
import shutil
import tempfile
import threading
import unicodedata
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy
    from schemathesis.schemas import APIOperation, BaseSchema

_Value = TypeVar("_Value")
_ROUNDS = 8
_LOCK = threading.RLock()


@cache
def _home() -> str:
    folder = tempfile.mkdtemp(prefix="rap-conformance-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _spare_a_table(Path(folder))
    return folder


def _spare_a_table(home: Path) -> None:
    """Put Hypothesis' table of what UTF-8 can encode where it looks for it.

    Working it out anew takes it 200 MB and most of a second. Where the file's
    name or form has moved on, it is worked out all the same.
    """
    folder = home / "unicode_data" / unicodedata.unidata_version
    folder.mkdir(parents=True)
    everything_but_surrogates = [[0, 0xD7FF], [0xE000, 0x10FFFF]]
    with gzip.GzipFile(folder / "codec-v2-utf-8.json.gz", "wb", mtime=1) as file:
        file.write(json.dumps([everything_but_surrogates, []]).encode())


@contextmanager
def _no_local_constants() -> Iterator[None]:
    """Keep constants of whatever modules happen to be loaded out of generation.

    Hypothesis mixes them in, so one seed would give different inputs after
    another import. There is no setting; where the names have moved on, seeds
    are merely less portable.
    """
    from hypothesis.internal.conjecture import providers

    names = vars(providers)
    original, kind = names.get("_get_local_constants"), names.get("Constants")
    pool = getattr(names.get("CONSTANTS_CACHE"), "cache", None)
    if original is None or kind is None or pool is None:
        yield
        return
    empty = kind()
    names["_get_local_constants"] = lambda: empty
    pool.clear()
    try:
        yield
    finally:
        names["_get_local_constants"] = original
        pool.clear()


@contextmanager
def calm() -> Iterator[None]:
    """Within it both libraries may be imported and run; one thread at a time, reentrant."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import hypothesis.configuration as storage

        before = getattr(storage, "__hypothesis_home_directory", None)
        storage.set_hypothesis_home_dir(_home())
        try:
            with _no_local_constants():
                yield
        finally:
            storage.set_hypothesis_home_dir(before)


@cache
def mend() -> None:
    """Let Schemathesis patch Hypothesis now, then give failing tests their printer back.

    Its pytest plugin patches as soon as it is loaded: call this before a test
    of one's own uses Hypothesis. Inside `calm`.
    """
    import hypothesis.core
    import schemathesis.generation.hypothesis as generation
    from hypothesis.vendor import pretty

    generation.setup()
    vars(hypothesis.core)["RepresentationPrinter"] = pretty.RepresentationPrinter


def operation(document: dict[str, Any], path: str) -> tuple[BaseSchema, APIOperation[Any, Any, Any, Any]]:
    """The document as Schemathesis loads it, and its POST operation at the path. Inside `calm`."""
    import schemathesis
    from schemathesis import openapi

    mend()
    config = schemathesis.Config()  # explicit: else a schemathesis.toml of the working directory counts
    config.projects.default.generation.update(database="none", with_security_parameters=False)
    loaded = openapi.from_dict(document, config=config)
    return loaded, loaded[path]["POST"]


def explicit(examples: int, *, shrink: bool = False) -> settings:
    """Settings that no profile, environment or earlier run changes. Inside `calm`."""
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity

    return hypothesis.settings(
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        backend="hypothesis",
    )


def collect(
    strategy: SearchStrategy[_Value],
    count: int,
    seed: Hashable,
    key: Callable[[_Value], Hashable],
    accept: Callable[[_Value], bool] | None = None,
) -> list[_Value]:
    """Up to `count` different values of a strategy, the same for the same seed. Inside `calm`.

    Fewer come back only if the strategy has hardly more. `key` tells values
    apart; those that `accept` refuses are left out.
    """
    import hypothesis

    found: dict[Hashable, _Value] = {}
    for attempt in range(_ROUNDS):
        missing = count - len(found)
        if missing <= 0:
            break

        def note(value: _Value) -> None:
            if accept is None or accept(value):
                found.setdefault(key(value), value)

        wanted = missing + missing // 4 + 4 * attempt
        test = hypothesis.settings(explicit(wanted))(hypothesis.given(strategy)(note))
        hypothesis.seed(f"{seed}/{attempt}")(test)()
    return list(found.values())[:count]
