"""What one visitor has on the negation page: the experiment and the last sentence that could be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.labs.negation.state import NegationLab, negation_task
from explorer.tasks.negation import VOCABULARY, Negation
from explorer.ui.state.session import ExperimentSession


@dataclass
class NegationSession(ExperimentSession[NegationLab]):
    """The session of the negation page."""

    state: NegationLab = field(default_factory=NegationLab)
    words: tuple[str, ...] = VOCABULARY.split(NegationLab.say)  # the last valid sentence: the models are asked about it

    @property
    def data(self) -> Negation:
        """The sentences of the version of the task. Raises NeedsText for a file that is not in memory any more."""
        return negation_task(self.experiment.task)

    def write(self) -> dict[str, str]:
        return super().write() or {"language": "words"}  # an address that names nothing is in English

    def kept_across_runs(self) -> dict[str, str]:
        return {"say": self.experiment.say}
