"""What a visitor of the negation page has chosen: a sentence, models, and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.tasks.negation import NegationConfig
from explorer.ui.lab import Lab, index, one_of, unknown_view

LEADS = ("bag_of_words", "feedforward", "rnn", "transformer")


@dataclass(frozen=True)
class NegationLab(Lab):
    """Everything chosen on the negation page."""

    TASK: ClassVar[str] = "negation"
    SHARED: ClassVar[tuple[str, ...]] = (
        *(f.name for f in dataclasses.fields(NegationConfig)),
        "batch_size",
        "seed",
        "replicas",
    )
    OWN: ClassVar[tuple[str, ...]] = ("epochs", "learning_rate")

    models: tuple[str, ...] = LEADS
    say: str = "human not preserve nature"
    metric: Literal["accuracy", "loss"] = "accuracy"
    look: int = 0  # which replica the insides are of
    layer: int = 0
    head: int = 0

    @classmethod
    def usual(cls, model: str) -> Mapping[str, object]:
        return {"replicas": 8}

    @property
    def task(self) -> NegationConfig:
        return self.config("bag_of_words").on(NegationConfig)

    def saying(self, text: str) -> NegationLab:
        """Another sentence, kept as it was typed."""
        return replace(self, say=text)

    def reset(self) -> NegationLab:
        """Every setting as usual; the sentence stays."""
        return NegationLab(say=self.say)

    def fitted(self) -> NegationLab:
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
                return replace(self, metric=one_of(name, text, ("accuracy", "loss")))  # type: ignore[arg-type]
            case "look":
                return replace(self, look=index(name, text, self.value("replicas")))
            case "layer" | "head":
                most = self.value("layers" if name == "layer" else "heads", "transformer")
                return self.looking(**{name: index(name, text, most)})
        raise unknown_view(name)
