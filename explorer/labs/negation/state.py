"""The state of the negation page: a sentence, models and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

from explorer.catalogue import MODELS, models_of
from explorer.experiments.default_runs import NEGATION_MODELS, NEGATION_PRESETS
from explorer.experiments.pretraining import SEEDS
from explorer.tasks.negation import Negation, NegationConfig
from explorer.ui.state.fields import setting
from explorer.ui.state.open_experiment import OpenExperiment

MAX_URL_TEXT = 300  # characters of the sentence in the URL
TASK_VERSIONS: dict[str, dict[str, object]] = {
    "one “not”": {"max_nots": 1, "held_out": "none"},
    "two “not”s": {"max_nots": 2, "held_out": "none"},
    "“not destroy” held out": {"max_nots": 1, "held_out": "destroy"},
}
_EXAMPLES = {  # the sentence that shows what is special about a version
    "one “not”": "human not preserve nature",
    "two “not”s": "human not not destroy nature",
    "“not destroy” held out": "human not destroy nature",
}

negation_task = lru_cache(maxsize=64)(Negation)  # its sentences are derived once for all visitors
_TITLES = {model: MODELS[model].title for model in models_of("negation")}


@dataclass(frozen=True)
class NegationLab(OpenExperiment):
    """The state of the negation page; its fields are URL parameters."""

    TASK: ClassVar[str] = "negation"
    SHARED: ClassVar[tuple[str, ...]] = (
        *(f.name for f in dataclasses.fields(NegationConfig)),
        "batch_size",
        "seed",
        "replicas",
    )
    OWN: ClassVar[tuple[str, ...]] = ("epochs", "learning_rate")

    models: tuple[str, ...] = setting(NEGATION_MODELS, "Models", options=_TITLES)
    say: str = setting("human not preserve nature", "Type a sentence", longest=MAX_URL_TEXT)
    metric: Literal["accuracy", "loss"] = setting(
        "accuracy", "Measure", options={"accuracy": "Exact accuracy", "loss": "Training loss"}
    )
    look: int = setting(0, low=0, high=lambda lab: lab.value("replicas") - 1)  # the replica whose internals are shown
    layer: int = setting(0, low=0, high=lambda lab: lab.value("layers", "transformer") - 1)
    # The head of the attention map; None: the one that attends most to “not”, or else to the verb.
    head: int | None = setting(None, low=0, high=lambda lab: lab.value("heads", "transformer") - 1)

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        return {"replicas": SEEDS}

    @classmethod
    def preset_settings(cls, model: str) -> Mapping[str, object]:
        return NEGATION_PRESETS.get(model, {})

    @property
    def version(self) -> str | None:
        """The name of the version of the task in `TASK_VERSIONS`; None for other settings."""
        settings = {"max_nots": self.task.max_nots, "held_out": self.task.held_out}
        return next((name for name, version in TASK_VERSIONS.items() if version == settings), None)

    @property
    def task(self) -> NegationConfig:
        return self.config("bag_of_words").task_as(NegationConfig)

    def with_version(self, name: str) -> NegationLab:
        """Return the state with another version of the task; an example becomes the example of that version."""
        lab = self.with_shared(**TASK_VERSIONS[name])
        return replace(lab, say=_EXAMPLES[name]) if self.say in _EXAMPLES.values() else lab

    def with_preset(self, model: str) -> NegationLab:
        """Return the state with the default settings of a model."""
        return self.with_settings(self.shared, {name: own for name, own in self.own.items() if name != model})

    def with_released(self, model: str, **settings: object) -> NegationLab:
        """Return the state with the released defaults of a model except for these settings."""
        return self.with_settings(self.shared, {**self.own, model: settings})

    def with_sentence(self, text: str) -> NegationLab:
        """Return the same state with another sentence, as it was typed."""
        return replace(self, say=text)

    def reset(self) -> NegationLab:
        """Return the default settings with the same sentence."""
        return NegationLab(say=self.say)
