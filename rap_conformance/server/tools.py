"""Which tool is called for a call of a kind: a configured one, else one that discovery shows."""

from __future__ import annotations

import threading
from typing import Any

from rap_conformance.engine.scenario import NotApplicable, Untested
from rap_conformance.server.config import Config, ScenarioConfig
from rap_conformance.server.facts import Facts

MOST_TOO_SHORT = 3
"""Calls of one kind that may end too early before no more are made."""
MOST_IN_VAIN, HASTY = 3, 4.0
"""Results of one kind that are waited for in vain before the wait gets shorter, and for how many seconds
beyond a call's own time it is then."""


class Tools:
    """Chooses tools, for one session."""

    def __init__(self, facts: Facts, config: Config, policy: str, seed: int) -> None:
        self._facts, self._config, self._policy, self._seed = facts, config, policy, seed
        self._lock = threading.Lock()
        self._too_short: dict[str, int] = {}
        self._in_vain: dict[str, int] = {}

    def of(self, kind: str) -> ScenarioConfig:
        """What to invoke for a call of a kind. Raises Untested (it says what to configure), NotApplicable."""
        if self._facts.no_calls:
            raise Untested(self._facts.no_calls)
        if self._policy == "none":
            raise Untested("no tool may be called (--invoke none)")
        name = "subscription" if kind == "final" else kind
        if self._config.features.get(name) is False:
            raise NotApplicable(f"the configuration declares that the server has none (features.{name})")
        if name in self._facts.mistaken:
            raise Untested(self._facts.mistaken[name])
        chosen = self._config.scenarios.get(name)
        if chosen is None:
            return self._found(kind)
        self._allow(name, chosen)
        if kind != "final":
            return chosen
        if chosen.final_arguments is None:
            raise Untested(
                "no subscription that ends by itself: configure scenario.subscription.final_arguments"
            )
        return ScenarioConfig(chosen.operation, chosen.final_arguments, setup=chosen.setup)

    def _allow(self, name: str, chosen: ScenarioConfig) -> None:
        listed = self._facts.tool(chosen.operation)
        if listed is None:
            raise Untested(f"scenario.{name}.operation {chosen.operation!r} is not among the server's tools")
        if self._policy == "read-only" and not annotated(listed, "readOnly"):
            raise Untested(
                f"scenario.{name} calls a tool that is not annotated readOnly (--invoke read-only)"
            )

    def _found(self, kind: str) -> ScenarioConfig:
        name = "subscription" if kind == "final" else kind
        missing = f"no tool for a {kind} call; configure [scenario.{name}]"
        if self._policy == "configured" or kind == "final":
            raise Untested(missing)
        found = self._facts.found.get(kind)
        if found is None and kind in {"quick", "pending"} and not self._facts.found:
            raise Untested(missing + " (no tool is annotated readOnly and callable with generated arguments)")
        if found is None:
            raise Untested(missing)
        if kind == "pending" and (found.seconds or 0.0) < 8 * self._config.timing.arrival_slack:
            raise Untested("no tool that stays pending; configure [scenario.pending]")
        return found

    def candidates(self) -> list[ScenarioConfig]:
        """Tools that may be called although none is configured, with arguments made from their schemas.

        Raises Untested if none may be called.
        """
        from rap_conformance.contract import minimal_arguments

        if self._facts.no_calls:
            raise Untested(self._facts.no_calls)
        if self._policy in {"none", "configured"}:
            raise Untested(f"no other tool may be called (--invoke {self._policy})")
        out = []
        for tool in self._facts.tools:
            allowed = annotated(tool, "readOnly") or self._policy == "any"
            if not allowed or annotated(tool, "destructive") or not isinstance(tool.get("name"), str):
                continue
            schema = tool.get("inputSchema")
            arguments = minimal_arguments(schema, self._seed) if isinstance(schema, dict) else None
            if arguments is not None:
                out.append(ScenarioConfig(tool["name"], arguments))
        return out

    def ended_too_early(self, kind: str, lasted: float) -> None:
        """A call of a kind was over before it could be asked about; after three the suite stops trying."""
        with self._lock:
            self._too_short[kind] = self._too_short.get(kind, 0) + 1
            if self._too_short[kind] >= MOST_TOO_SHORT:
                self._facts.mistaken.setdefault(
                    kind,
                    f"{MOST_TOO_SHORT} {kind} calls ended too early to be asked about (the last after "
                    f"{lasted:.1f} s), so no more are made; let scenario.{kind} last longer",
                )

    def brought_nothing(self, kind: str) -> None:
        """A result was waited for in vain."""
        with self._lock:
            self._in_vain[kind] = self._in_vain.get(kind, 0) + 1

    def patience(self, kind: str, seconds: float, grace: float) -> float:
        """For how many seconds to wait for the result of a call that stays pending for `seconds`."""
        with self._lock:
            hopeless = self._in_vain.get(kind, 0) >= MOST_IN_VAIN
        return seconds * 2 + (min(grace, HASTY) if hopeless else grace)


def annotated(tool: dict[str, Any], name: str) -> bool:
    """Whether a tool of the manifest has an annotation that is true."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True
