"""One thing to judge, and its turn: what may do harm comes after what does not."""

from __future__ import annotations

from dataclasses import dataclass

from rap_conformance.engine.requirement import Requirement, Stage
from rap_conformance.engine.scenario import Function, Scenario

_STAGES = list(Stage)


@dataclass(frozen=True, slots=True)
class Job:
    """A requirement with the scenario that judges it."""

    requirement: Requirement
    scenario: Scenario
    function: Function

    @property
    def beside(self) -> bool:
        """Whether it runs beside others: it mostly waits and harms nobody."""
        return self.scenario.overlap and self.requirement.stage is Stage.HARMLESS

    @property
    def turn(self) -> tuple[int, bool, bool, str]:
        """What may do harm comes last; what mostly waits comes first, so that nothing meets its calls."""
        stages = [self.requirement.stage, *(part.stage for part in self.scenario.parts)]
        last = max(_STAGES.index(stage) for stage in stages)
        return last, bool(self.scenario.parts), not self.beside, self.requirement.code
