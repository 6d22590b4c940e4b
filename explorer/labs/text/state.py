"""The state of the page on language models: a text and its tokens, models and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from explorer.catalogue import MODELS, models_of
from explorer.errors import InvalidSetting, shorten
from explorer.experiments import text_setups
from explorer.experiments.default_runs import included_text_settings
from explorer.experiments.paper_experiments import EXPERIMENTS
from explorer.experiments.presets import preset
from explorer.tasks.text.config import MIN_VOCABULARY, TextConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.state.fields import setting
from explorer.ui.state.open_experiment import OpenExperiment, setting_value

Unit = Literal["loss", "perplexity", "bits"]
Along = Literal["step", "tokens", "seconds"]
UNITS: dict[Unit, str] = {"loss": "nats per token", "perplexity": "perplexity", "bits": "bits per character"}
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
_SHORT_TRAINING: dict[str, object] = {"iterations": 300, "evaluate_every": 30}  # of an own text, at first
DEFAULT_SETUP = "shakespeare"
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
        "keep",
        "precision",
    )
    OWN: ClassVar[tuple[str, ...]] = (*(f.name for f in dataclasses.fields(Optimiser)), *_TRAINING_SETTINGS)

    setup: str = setting("")  # the name of the setup that the URL describes the differences from; see `text_setups`
    models: tuple[str, ...] = setting(models_of("text"), "Models", options=_TITLES)
    unit: Unit = setting("loss", "Unit", options=UNITS)
    along: Along = setting("step", "Horizontal axis", options=ALONG)
    experiment: str = setting(next(iter(EXPERIMENTS)), options=_EXPERIMENTS)
    awaiting_text: bool = setting(False, in_url=False)  # "your own" is chosen, and not there yet

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        """As the runs that ship with the program."""
        return included_text_settings(model)

    @classmethod
    def own_settings(cls, model: str) -> tuple[str, ...]:
        every = super().own_settings(model)
        return every if model != "ngram" else tuple(name for name in every if name not in cls.OWN)

    @classmethod
    def of_setup(cls, name: str) -> TextLab:
        """Return the state that shows the included runs of a setup. Raises InvalidSetting."""
        if name not in text_setups.SETUPS:
            known = ", ".join(text_setups.SETUPS)
            raise InvalidSetting(f"setup = {shorten(name)} is not possible. Give one of {known}.")
        setup = text_setups.SETUPS[name]
        own = {model: setup.settings(model) for model in cls.model_names()}
        own = {m: {n: v for n, v in values.items() if n not in cls.SHARED} for m, values in own.items()}
        return cls(setup=name).with_settings(setup.shared, own)

    @classmethod
    def of_url(cls, params: Mapping[str, str], visitor_id: str = "") -> TextLab:
        if "setup" in params and "run" not in params:
            return cls.of_setup(params["setup"])
        return super().of_url(params, visitor_id)

    @property
    def url_base_params(self) -> dict[str, str]:
        return super().url_base_params or ({"setup": self.setup} if self.setup else {})

    def is_url_base_of(self, model: str) -> bool:
        return bool(self.setup) or super().is_url_base_of(model)

    @property
    def url_defaults(self) -> TextLab:
        shown = super().url_defaults
        return shown if shown.run or not self.setup else self.of_setup(self.setup)

    @property
    def tokenizers(self) -> tuple[str, ...]:
        """The tokenizers with included runs on this text, and the chosen one."""
        other = text_setups.OTHER_TOKENIZER.get(self.task.corpus)
        return tuple(dict.fromkeys(filter(None, ("char", other, self.task.tokenizer))))

    @property
    def has_included_settings(self) -> bool:
        """Whether nothing has been changed since the page was opened or an included comparison was chosen."""
        return (self.shared, self.own) in [
            (each.shared, each.own) for each in (type(self)(), self.of_setup(self.setup or DEFAULT_SETUP))
        ]

    def with_setup(self, name: str) -> TextLab:
        """Return the state with the included runs of a setup; the models and views stay. Raises InvalidSetting."""
        lab = self.of_setup(name)
        return replace(lab, models=self.models, unit=self.unit, along=self.along, experiment=self.experiment)

    @property
    def larger_model(self) -> RunConfig | None:
        """The larger Transformer that is shown beside the included runs on Tiny Shakespeare; None with other ones."""
        is_default = "transformer" in self.models and self == self.with_setup(DEFAULT_SETUP)
        return text_setups.large_transformer() if is_default else None

    @cached_property
    def short(self) -> TextLab:
        """Three seeds on the toy text instead of Tiny Shakespeare, on which a short training shows nothing."""
        is_default = self == self.with_setup(DEFAULT_SETUP)
        return self.with_setup("toy").with_shared(replicas=3) if is_default else super().short

    def applies(self, name: str, model: str) -> bool:
        if model == "ngram" and name in ("seed", "replicas", "stop_at", "patience", "keep", "precision"):
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
    def corpus(self) -> str:
        return "own" if self.awaiting_text else self.task.corpus

    @property
    def text(self) -> str:
        """The SHA-256 of the visitor's own text, if that is what is read."""
        return "" if self.awaiting_text else self.task.text

    def with_corpus(self, corpus: str, text: str = "") -> TextLab:
        """Return the state for another text: its included runs, or few steps of one seed on an own text.

        Raises InvalidSetting.
        """
        if corpus == "own" and not text:
            return replace(self, awaiting_text=True)
        if corpus != "own":
            return self.with_setup(text_setups.setup_name(corpus, "char") or DEFAULT_SETUP)
        lab = replace(self, awaiting_text=False, setup="")
        if self.has_included_settings:
            lab = replace(lab, shared={}, own={})
        own = {m: {**_SHORT_TRAINING, **lab.own.get(m, {})} for m in lab.model_names() if m != "ngram"}
        shared = {"replicas": 1, "context": lab.value("context"), **lab.shared, "corpus": corpus, "text": text}
        return lab.with_settings({**shared, **lab._protected_parts}, {**lab.own, **own})

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

    def with_tokenizer(self, tokenizer: str) -> TextLab:
        """Return the state with another tokenizer: its included runs, unless settings have been changed.

        The vocabulary is at least the smallest possible one. Raises InvalidSetting.
        """
        setup = text_setups.setup_name(self.task.corpus, tokenizer)
        if setup and self.has_included_settings:
            return self.with_setup(setup)
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
        default = type(self)(unit=self.unit, along=self.along, experiment=self.experiment)
        return default.with_corpus(self.task.corpus, self.task.text)
