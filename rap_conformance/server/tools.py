"""Which tool is called for a call of a kind: a configured one, else one that discovery shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rap_conformance.engine.scenario import NotApplicable, Untested
from rap_conformance.server.config import Config, ScenarioConfig
from rap_conformance.server.facts import Facts


class Tools:
    """Chooses tools, for one session. `once` computes a value once a run."""

    def __init__(
        self,
        facts: Facts,
        config: Config,
        policy: str,
        seed: int,
        once: Callable[[str, Callable[[], ScenarioConfig | None]], ScenarioConfig | None],
    ) -> None:
        self._facts, self._config, self._policy, self._seed, self._once = facts, config, policy, seed, once

    def of(self, kind: str) -> ScenarioConfig:
        """What to invoke for a call of a kind. Raises Untested (it says what to configure), NotApplicable."""
        if self._facts.no_calls:
            raise Untested(self._facts.no_calls)
        if self._policy == "none":
            raise Untested("no tool may be called (--invoke none)")
        name = "subscription" if kind == "final" else kind
        if self._config.features.get(name) is False:
            raise NotApplicable(f"the configuration declares that the server has none (features.{name})")
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
        missing = (
            f"no tool for a {kind} call; configure [scenario.{'subscription' if kind == 'final' else kind}]"
        )
        if kind not in {"quick", "pending"} or self._policy == "configured":
            raise Untested(missing)
        found = self._once("found tool", self._search)
        if found is None:
            raise Untested(missing + " (no tool is annotated readOnly and callable with generated arguments)")
        lasting = self._facts.quick_seconds or 0.0
        if kind == "pending":
            if lasting < 8 * self._config.timing.arrival_slack:
                raise Untested("no tool that stays pending; configure [scenario.pending]")
            return ScenarioConfig(found.operation, found.arguments, seconds=lasting)
        return found

    def _search(self) -> ScenarioConfig | None:
        from rap_conformance.contract import minimal_arguments

        for tool in self._facts.tools:
            allowed = annotated(tool, "readOnly") or self._policy == "any"
            if not allowed or annotated(tool, "destructive") or not isinstance(tool.get("name"), str):
                continue
            schema = tool.get("inputSchema")
            arguments = minimal_arguments(schema, self._seed) if isinstance(schema, dict) else None
            if arguments is not None:
                return ScenarioConfig(tool["name"], arguments)
        return None


def annotated(tool: dict[str, Any], name: str) -> bool:
    """Whether a tool of the manifest has an annotation that is true."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True
