"""The state of the page on language models: a text and its tokens, models and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.catalogue import MODELS, models_of
from explorer.experiments.paper_experiments import EXPERIMENTS
from explorer.experiments.presets import preset
from explorer.experiments.pretraining import TEXT_SETTINGS
from explorer.tasks.text.config import MIN_VOCABULARY, TextConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.state.fields import setting
from explorer.ui.state.open_experiment import OpenExperiment, setting_value

Unit = Literal["loss", "perplexity", "bits"]
Along = Literal["step", "tokens", "seconds"]
UNITS: dict[Unit, str] = {"loss": "nats a token", "perplexity": "perplexity", "bits": "bits a character"}
ALONG: dict[Along, str] = {"step": "by step", "tokens": "by token", "seconds": "by second"}
_TRAINING_SETTINGS = (  # without effect on an n-gram
    "iterations",
    "batch_size",
    "batches",
    "average",
    "evaluate_every",
    "evaluation_size",
    "snapshots",
)
_QUICK_RUN: dict[str, object] = {"iterations": 300, "evaluate_every": 30}  # a first look at another text
_TEST_SHARE = 0.5  # of the held-out part, for what is newly trained from the page
_TITLES = {model: MODELS[model].title for model in models_of("text")}
_EXPERIMENTS = {name: each.title for name, each in EXPERIMENTS.items()}


@dataclass(frozen=True)
class TextLab(OpenExperiment):
    """The state of the page; its fields are URL parameters."""

    TASK: ClassVar[str] = "text"
    SHARED: ClassVar[tuple[str, ...]] = (
        *(f.name for f in dataclasses.fields(TextConfig) if f.name != "batches"),
        "seed",
        "replicas",
        "sample",
        "stop_at",
        "patience",
    )
    OWN: ClassVar[tuple[str, ...]] = (*(f.name for f in dataclasses.fields(Optimiser)), *_TRAINING_SETTINGS)

    models: tuple[str, ...] = setting(models_of("text"), "Who races", options=_TITLES)
    unit: Unit = setting("loss", "Unit", options=UNITS)
    along: Along = setting("step", "Along", options=ALONG)
    experiment: str = setting(next(iter(EXPERIMENTS)), options=_EXPERIMENTS)
    awaiting_text: bool = setting(False, in_url=False)  # "your own" is chosen, and not there yet

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        """As the runs that ship with the program."""
        return TEXT_SETTINGS[model]

    @classmethod
    def own_settings(cls, model: str) -> tuple[str, ...]:
        every = super().own_settings(model)
        return every if model != "ngram" else tuple(name for name in every if name not in cls.OWN)

    def applies(self, name: str, model: str) -> bool:
        if model == "ngram" and name in ("seed", "replicas", "stop_at", "patience"):
            return False
        # Only a text that is read on from block to block has a state to carry.
        return name != "batches" or {self.shared.get("rows", "blocks"), self.shared.get("split", "end")} == {
            "blocks",
            "end",
        }

    @property
    def task(self) -> TextConfig:
        """The task: the text with the chosen tokenizer and rows."""
        return replace(self.config("transformer").task_as(TextConfig), batches="random")

    @property
    def trained_models(self) -> tuple[str, ...]:
        """The chosen models that are trained in steps."""
        return tuple(model for model in self.models if model != "ngram")

    @property
    def corpus(self) -> str:
        return "own" if self.awaiting_text else self.task.corpus

    @property
    def text(self) -> str:
        """The SHA-256 of the visitor's own text, if that is what is read."""
        return "" if self.awaiting_text else self.task.text

    def with_corpus(self, corpus: str, text: str = "") -> TextLab:
        """Return the state for another text, with a quick run of one seed at first. Raises InvalidSetting."""
        if corpus == "own" and not text:
            return replace(self, awaiting_text=True)
        lab = replace(self, awaiting_text=False)
        if corpus == "tinyshakespeare":
            return type(self)(models=self.models, unit=self.unit, along=self.along, experiment=self.experiment)
        quick_settings = {m: {**_QUICK_RUN, **lab.own.get(m, {})} for m in lab.model_names() if m != "ngram"}
        shared = {"replicas": 1, "context": lab.value("context"), **lab.shared, "corpus": corpus, "text": text}
        return lab.with_settings({**shared, **lab._protected_parts}, {**lab.own, **quick_settings})

    @property
    def _protected_parts(self) -> dict[str, object]:
        """The settings that keep a test split from every choice, and held-out lines from the tokenizer."""
        return {"test": _TEST_SHARE, "tokenizer_from_training": self.value("split") == "sentences"}

    def with_text_settings(self, **values: object) -> TextLab:
        """Return the state with other tokens or rows. Raises InvalidSetting.

        What no included run has been trained on is given a test split; the included runs are older and have none.
        """
        lab = self.with_shared(**values, test=0.0, tokenizer_from_training=False)
        return lab if lab.task == type(self)().task else lab.with_shared(**lab._protected_parts)

    def with_brackets(self) -> TextLab:
        """Return the state for the text of brackets, in characters, with its end held out."""
        return self.with_corpus("brackets").with_shared(tokenizer="char", rows="blocks", split="end")

    def with_tokenizer(self, tokenizer: str) -> TextLab:
        """Return the state with another tokenizer, with at least its smallest vocabulary. Raises InvalidSetting."""
        return self.with_text_settings(
            tokenizer=tokenizer, vocabulary=max(self.value("vocabulary"), MIN_VOCABULARY[tokenizer], 2)
        )

    def with_every_trained(self, **values: object) -> TextLab:
        """Return the state with these settings for every model that is trained. Raises InvalidSetting."""
        trained = [model for model in self.model_names() if model != "ngram"]
        return self.with_settings(self.shared, {**self.own, **{m: {**self.own.get(m, {}), **values} for m in trained}})

    def with_runs(self, configs: Mapping[str, RunConfig]) -> TextLab:
        """Return the state with the settings of these configurations of the same text. Raises InvalidSetting."""
        own = {model: {n: setting_value(c, n) for n in self.own_settings(model)} for model, c in configs.items()}
        return self.with_settings(self.shared, {**self.own, **own})

    def with_preset(self, name: str) -> TextLab:
        """Return the state with the settings of a preset, and its text if it names one. Raises InvalidSetting."""
        chosen = preset(name)
        config = chosen.config()
        own = {n: setting_value(config, n) for n in self.own_settings(chosen.model)}
        shared = {n: setting_value(config, n) for n in self.SHARED} if chosen.chooses_text else dict(self.shared)
        lab = self.with_settings(shared, {**self.own, chosen.model: own})
        models = {*lab.models, chosen.model} - ({"ngram"} if lab.task.rows == "prefixes" else set())  # it reads lines
        return lab.with_models(models)

    def reset(self) -> TextLab:
        """Return the default settings on the same text."""
        usual = type(self)(unit=self.unit, along=self.along, experiment=self.experiment)
        return usual if self.task.corpus == "tinyshakespeare" else usual.with_corpus(self.task.corpus, self.task.text)
