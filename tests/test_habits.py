"""Correct servers of unusual habits: certified whole, and accused of nothing beyond what each declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures.servers.offers import OTHERS, PARAMETERS
from tests.support import unused_port
from tests.test_references import Variant, needing

UNTOLD = "{elsewhere}"
"""Stands for a port of the test's choice."""


@dataclass(frozen=True)
class Habit:
    """How such a server is started, and what follows from its habit.

    `found` are findings that are right, by requirement; `untested` is what nobody can judge there.
    """

    options: str
    found: Mapping[str, str] = field(default_factory=dict)
    untested: frozenset[str] = frozenset()
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Texts of the configuration, and what stands there instead."""
    inapplicable: frozenset[str] = frozenset()
    limit: int = 450
    prefix: str = ""
    verdict: str = "conformant"


def of(options: str, *untested: str, **found: str) -> Habit:
    """A habit that needs no other configuration."""
    return Habit(options, found, frozenset(untested))


HABITS: dict[str, Habit] = {
    "gzip, asked for or not": of("--habit compresses", TCS002="advice", DSC001="advice"),
    # 1.2 s for each answer, and a call that is pending for 4 s.
    "answers in three pieces": Habit(
        "--habit in-pieces", untested=frozenset({"TCS021", "TCS022"}), verdict="partial"
    ),
    "413, then a reset": of("--habit resets-what-is-too-large"),
    "414 and 431": of("--habit short-lines"),
    "closed after each 4xx": of("--habit hangs-up-on-errors"),
    "eight connections": of("--habit eight-connections"),
    "one connection, closed after its answer": of("--habit one-connection"),
    "a firewall's pages": of("--habit firewall"),
    "429 without Retry-After": of("--habit says-not-when"),
    "429 with a date, by a wrong clock": of("--habit says-the-date --wire wrong-clock"),
    "429 for 45 s": of("--habit penalises"),
    "a clock hours off": of("--wire wrong-clock"),
    "no reason phrase": of("--wire wordless"),
    "a page for what is no HTTP": of("--wire page"),
    "redirects to the path as it is written": of("--habit tidies-paths"),
    "a login page": of("--habit has-a-login", TCS034="advice"),
    "401 for any path": of("--habit gated"),
    "404 for any path": of("--habit hidden", TCS034="advice"),
    "no answer to strangers": of("--habit silent", TCS034="advice"),
    "the result before the acknowledgement": of("--habit result-first"),
    # Two acknowledgements take as long as the call is pending.
    "acknowledged after 2 s": of("--habit acknowledges-late", "TCS021"),
    "acknowledged by a megabyte": of("--habit acknowledges-at-length"),
    "acknowledged by a page": of("--habit acknowledges-by-page"),
    "callbacks at each full second": of("--habit batches"),
    "no second attempt": of("--habit tries-once"),
    "409 for an id that is taken": of("--habit id-alone", TCS020="advice", TCS021="advice"),
    "ids of 128 characters": of("--habit short-ids"),
    "cancelled calls end with an error": of("--habit says-that-it-was-cancelled"),
    "closing ends nothing": of("--habit outlives-threads"),
    "names in many scripts": Habit(
        "--habit many-scripts",
        {"DSC006": "warn"},
        replaced={
            **{f'"{here}"': f'"{there}"' for here, there in OTHERS.items()},
            **{f"{here} =": f'"{there}" =' for here, there in PARAMETERS.items()},
            '\n"秒" =': "\nseconds =",
        },
    ),
    "destructive tools only": Habit("--habit all-destructive", inapplicable=frozenset({"DSC011"})),
    "subscriptions only": Habit(
        "--habit only-subscriptions",
        untested=frozenset(needing("pending") | needing("quick") | {"TCS028"}),
        inapplicable=frozenset({"DSC009", "DSC011"}),  # the one tool that is left has no more to say
        verdict="partial",
    ),
    "draft-07": of("--habit older-schemas"),
    "a thousand tools in any order": of("--habit a-thousand-tools"),
    "the endpoint on another port": Habit(
        f"--habit elsewhere --endpoint-port {UNTOLD}",
        replaced={"[auth]": f'[auth]\norigins = ["http://127.0.0.1:{UNTOLD}"]'},
    ),
    "an event in 20 s": Habit(
        "",
        untested=frozenset({"TCS008", "TCS031"}),
        replaced={"interval = 0.375": "interval = 20"},
        verdict="partial",
    ),
}


class Configured(Variant):
    """A variant whose configuration is another one."""

    habit: Habit
    port: int

    def configuration(self, command: str = "") -> str:
        """The reference's, with other texts in it."""
        text = super().configuration(command)
        for here, there in self.habit.replaced.items():
            text = text.replace(here, there)
        return text.replace(UNTOLD, str(self.port))


def prepared(habit: Habit) -> Configured:
    """The server, ready to be certified."""
    server = Configured("varied", f"{habit.options} --rate-limit {habit.limit}", habit.prefix)
    object.__setattr__(server, "habit", habit)
    object.__setattr__(server, "port", unused_port())
    return server


@pytest.mark.deep
@pytest.mark.parametrize("name", HABITS)
@pytest.mark.timeout(600)
def test_a_server_of_other_habits_is_accused_of_nothing_else(name: str, tmp_path: Path) -> None:
    habit = HABITS[name]
    outcome = prepared(habit).certify(tmp_path / "run")
    shown = "\n".join(
        f"{entry['code']} {entry['verdict']}: {entry['reason']}"
        for entry in outcome.report["requirements"]
        if entry["verdict"] not in {"pass", "not-applicable"}
    )
    verdicts = outcome.verdicts()
    found = {c: v for c, v in verdicts.items() if v in {"fail", "warn", "advice", "error", "known"}}
    assert found == dict(habit.found), shown
    untested = {code for code, verdict in verdicts.items() if verdict == "untested"}
    assert untested == habit.untested, shown
    inapplicable = {code for code, verdict in verdicts.items() if verdict == "not-applicable"}
    nowhere = set() if habit.prefix else needing("prefix")
    assert inapplicable == {"DSC014"} | habit.inapplicable | nowhere, shown
    assert outcome.report["verdict"] == habit.verdict, outcome.out[-2000:]
    assert outcome.exit == 0, outcome.out[-2000:] + outcome.err[-2000:]
