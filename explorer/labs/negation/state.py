"""The state of the negation page: a sentence, models and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.experiments.pretraining import SEEDS
from explorer.tasks.negation import NegationConfig
from explorer.ui.state.experiment_state import ExperimentState, parse_choice, parse_index, unknown_view

TASK_VERSIONS: dict[str, dict[str, object]] = {
    "one “not”": {"max_nots": 1, "held_out": "none"},
    "two “not”s": {"max_nots": 2, "held_out": "none"},
    "a pair held out": {"max_nots": 1, "held_out": "destroy"},
}


@dataclass(frozen=True)
class NegationLab(ExperimentState):
    """The state of the negation page; its fields are URL parameters."""

    TASK: ClassVar[str] = "negation"
    SHARED: ClassVar[tuple[str, ...]] = (
        *(f.name for f in dataclasses.fields(NegationConfig)),
        "batch_size",
        "seed",
        "replicas",
    )
    OWN: ClassVar[tuple[str, ...]] = ("epochs", "learning_rate")

    models: tuple[str, ...] = NEGATION_MODELS
    say: str = "human not preserve nature"
    metric: Literal["accuracy", "loss"] = "accuracy"
    look: int = 0  # the replica whose internals are shown
    layer: int = 0
    head: int = 0

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        return {"replicas": SEEDS}

    @property
    def version(self) -> str | None:
        """The name of the version of the task in `TASK_VERSIONS`; None for other settings."""
        settings = {"max_nots": self.task.max_nots, "held_out": self.task.held_out}
        return next((name for name, version in TASK_VERSIONS.items() if version == settings), None)

    @property
    def task(self) -> NegationConfig:
        return self.config("bag_of_words").task_as(NegationConfig)

    def with_sentence(self, text: str) -> NegationLab:
        """Return the same state with another sentence, as it was typed."""
        return replace(self, say=text)

    def reset(self) -> NegationLab:
        """Return the default settings with the same sentence."""
        return NegationLab(say=self.say)

    def clamp(self) -> NegationLab:
        return replace(
            self,
            look=min(self.look, self.value("replicas") - 1),
            layer=min(self.layer, self.value("layers", "transformer") - 1),
            head=min(self.head, self.value("heads", "transformer") - 1),
        )

    def with_view(self, name: str, text: str) -> NegationLab:
        match name:
            case "say":
                return replace(self, say=text)
            case "metric":
                return replace(self, metric=parse_choice(name, text, ("accuracy", "loss")))  # type: ignore[arg-type]
            case "look":
                return replace(self, look=parse_index(name, text, self.value("replicas")))
            case "layer" | "head":
                most = self.value("layers" if name == "layer" else "heads", "transformer")
                return self.with_view_fields(**{name: parse_index(name, text, most)})
        raise unknown_view(name)
