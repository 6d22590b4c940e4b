"""The states of the negation page in its two languages: a sentence, models and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from explorer.catalogue import MODELS, models_of
from explorer.errors import InvalidSetting
from explorer.experiments.default_runs import ENGLISH_MODELS, NEGATION_MODELS, NEGATION_PRESETS, SEEDS, SENTIMENT_SEEDS
from explorer.jobs import limits
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import negation_data, own_task
from explorer.ui.state.fields import setting
from explorer.ui.state.open_experiment import OpenExperiment

MAX_URL_TEXT = 300  # characters of the sentence in the URL
TASK_VERSIONS: dict[str, dict[str, object]] = {
    "one “not”": {"max_nots": 1, "held_out": "none"},
    "two “not”s": {"max_nots": 2, "held_out": "none"},
    "“not destroy” held out": {"max_nots": 1, "held_out": "destroy"},
}
OWN = "your own sentences"  # the version of a visitor's file
_EXAMPLES = {  # the sentence that shows what is special about a version
    "one “not”": "human not preserve nature",
    "two “not”s": "human not not destroy nature",
    "“not destroy” held out": "human not destroy nature",
}

negation_task = negation_data
_OWN_BATCH, _OWN_STEPS, _MAX_OWN_EPOCHS = 32, 600, 200  # how a file is trained on, unless the visitor changes it
_TITLES, _ENGLISH_TITLES = (
    {model: MODELS[model].title for model in models_of(task)} for task in ("negation", "sentiment")
)
_METRICS = {"accuracy": "Accuracy", "loss": "Training loss"}
MAX_TYPED = 10_000  # characters of the sentence; a longer one than MAX_URL_TEXT is not in the address
# A training of some seconds, in which the models learn from fewer sentences.
_SHORT: Mapping[str, object] = {"replicas": 1, "iterations": 1_500, "composed": 20_000}
_SHORT_MODELS = ("bag_of_words", "gru")


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

    language: Literal["words"] = setting("words")  # the other one: `EnglishLab`
    models: tuple[str, ...] = setting(NEGATION_MODELS, "Models", options=_TITLES)
    say: str = setting("human not preserve nature", "Type a sentence", longest=MAX_URL_TEXT)
    metric: Literal["accuracy", "loss"] = setting("accuracy", "Measure", options=_METRICS)
    data: Literal["grammar", "own"] = setting("grammar")  # "own": the form for a file is shown
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
        """The name of the version of the task in `TASK_VERSIONS`, or `OWN`; None for other settings."""
        if self.data == "own" or self.has_file:
            return OWN
        settings = {"max_nots": self.task.max_nots, "held_out": self.task.held_out}
        return next((name for name, version in TASK_VERSIONS.items() if version == settings), None)

    @property
    def task(self) -> NegationConfig:
        return self.config("bag_of_words").task_as(NegationConfig)

    @property
    def has_file(self) -> bool:
        """Whether the sentences are those of a visitor's file."""
        return self.task.corpus == "own"

    @property
    def accuracy(self) -> str:
        """The metric that the page shows: over all sentences of the grammar, or on the held-out ones of a file."""
        return "test_accuracy" if self.has_file else "exact_accuracy"

    def with_version(self, name: str, sha: str = "") -> NegationLab:
        """Return the state with another version of the task; an example becomes the example of that version.

        sha: the SHA-256 of the visitor's file, if there is one.
        """
        if name == OWN:
            return self.with_file(sha) if sha else replace(self, data="own")
        lab = self.without_file().with_shared(**TASK_VERSIONS[name])
        return replace(lab, say=_EXAMPLES[name]) if lab.say in _EXAMPLES.values() else lab

    def with_file(self, sha: str) -> NegationLab:
        """Return the state with the sentences of a file, and settings that suit it.

        The models see whole sentences. Models that this server does not train on so many words are left out.
        Raises TextError, NeedsText or InvalidSetting.
        """
        task = own_task(sha)
        data = negation_data(task)
        own = {name: value for name, value in vars(task).items() if value != getattr(NegationConfig(), name)}
        steps_per_epoch = -(-task.train_size // _OWN_BATCH)
        epochs = min(_MAX_OWN_EPOCHS, max(2, round(_OWN_STEPS / steps_per_epoch)))
        settings: dict[str, dict[str, object]] = {}
        for model in self.model_names():
            window = {"window": max(data.lengths)} if "window" in self.own_settings(model) else {}
            settings[model] = {**self.preset_settings(model), **window, "epochs": epochs}
        shared = {**own, "batch_size": _OWN_BATCH}
        first = NegationLab(metric=self.metric, data="own")  # the address contains nothing of the file
        models = _models_within_limits(first, self.models, shared, settings)
        return replace(first, models=models).with_settings(shared, settings)

    def without_file(self) -> NegationLab:
        """Return the state with the sentences of the grammar again."""
        if not self.has_file:
            return replace(self, data="grammar")
        return NegationLab(models=self.models, metric=self.metric)

    def reset(self) -> NegationLab:
        """Return the default settings with the same sentence and views, or those for the same file."""
        if self.has_file:
            return self.with_file(self.task.text)
        kept = ("say", "data", "metric", "look", "layer", "head")
        return NegationLab(**{name: getattr(self, name) for name in kept}).clamp()


def _models_within_limits(
    lab: NegationLab, models: tuple[str, ...], shared: Mapping[str, object], own: Mapping[str, Mapping[str, object]]
) -> tuple[str, ...]:
    """Return those of the models that this server trains with these settings; all if it trains none."""
    found = []
    for model in models:
        try:
            limits.check_size(replace(lab, shared=shared, own=own).config(model))
        except InvalidSetting:
            continue
        found.append(model)
    return tuple(found) or models


@dataclass(frozen=True)
class EnglishLab(OpenExperiment):
    """The state of the page in English; its fields are URL parameters."""

    TASK: ClassVar[str] = "sentiment"
    SHARED: ClassVar[tuple[str, ...]] = (
        *("reviews", "composed", "words", "vocabulary", "data_seed", "corpus", "text"),
        *("batch_size", "seed", "replicas", "iterations"),
    )
    OWN: ClassVar[tuple[str, ...]] = ("learning_rate",)

    language: Literal["english"] = setting("english")
    models: tuple[str, ...] = setting(ENGLISH_MODELS, "Models", options=_ENGLISH_TITLES)
    say: str = setting(ENGLISH_EXAMPLES[0], "Type any English sentence", longest=MAX_URL_TEXT)
    metric: Literal["accuracy", "loss"] = setting("accuracy", "Measure", options=_METRICS)
    look: int = setting(0, low=0, high=lambda lab: lab.value("replicas") - 1)  # the replica whose internals are shown
    layer: int = setting(1, low=0, high=lambda lab: lab.value("layers", "transformer") - 1)
    head: int | None = setting(None, low=0, high=lambda lab: lab.value("heads", "transformer") - 1)

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        return {"replicas": SENTIMENT_SEEDS}

    @property
    def has_file(self) -> bool:
        """Whether the models also learn from a visitor's own sentences."""
        return bool(self.value("corpus") == "own")

    def with_file(self, sha: str) -> EnglishLab:
        """Return the state in which the models also learn from the sentences of a file, in a short training.

        Raises TextError, NeedsText or InvalidSetting.
        """
        from explorer.tasks.sentiment.data import read_own_sentences

        read_own_sentences(sha)
        return self.short.with_shared(corpus="own", text=sha)

    @cached_property
    def short(self) -> EnglishLab:
        """The state with a short training of two models, or of the selected ones if they are others."""
        models = tuple(model for model in _SHORT_MODELS if model in self.models) or self.models
        return replace(self, models=models).with_shared(**_SHORT)

    def reset(self) -> EnglishLab:
        """Return the default settings with the same sentence and views."""
        kept = ("say", "metric", "look", "layer", "head")
        return EnglishLab(**{name: getattr(self, name) for name in kept}).clamp()
