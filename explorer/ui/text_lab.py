"""What a visitor of the page of language models has chosen: a text and its tokens, models, and their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from explorer.catalogue import models_of
from explorer.tasks.text import FEWEST, TextConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.training.experiments import EXPERIMENTS
from explorer.training.presets import preset
from explorer.training.pretraining import TEXT
from explorer.ui.lab import Lab, one_of, unknown_view, value_of

Unit = Literal["loss", "perplexity", "bits"]
Along = Literal["step", "tokens", "seconds"]
UNITS: dict[Unit, str] = {"loss": "nats a token", "perplexity": "perplexity", "bits": "bits a character"}
ALONG: dict[Along, str] = {"step": "by step", "tokens": "by token", "seconds": "by second"}
TRAINED = (  # what counting has no use for
    "iterations",
    "batch_size",
    "batches",
    "average",
    "evaluate_every",
    "evaluation_size",
    "snapshots",
)
BRIEF: dict[str, object] = {"iterations": 300, "evaluate_every": 30}  # a first look at another text


@dataclass(frozen=True)
class TextLab(Lab):
    """Everything chosen on the page of language models."""

    TASK: ClassVar[str] = "text"
    SHARED: ClassVar[tuple[str, ...]] = (
        *(f.name for f in dataclasses.fields(TextConfig) if f.name != "batches"),
        "seed",
        "replicas",
        "sample",
        "stop_at",
        "patience",
    )
    OWN: ClassVar[tuple[str, ...]] = (*(f.name for f in dataclasses.fields(Optimiser)), *TRAINED)

    models: tuple[str, ...] = models_of("text")
    unit: Unit = "loss"
    along: Along = "step"
    experiment: str = next(iter(EXPERIMENTS))
    giving: bool = field(default=False, metadata={"address": False})  # "your own" is chosen, and not there yet

    @classmethod
    def usual(cls, model: str) -> Mapping[str, object]:
        """As the runs that ship with the program."""
        return TEXT[model]

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
        """The text, in the chosen tokens and rows."""
        return replace(self.config("transformer").on(TextConfig), batches="random")

    @property
    def trained(self) -> tuple[str, ...]:
        """The chosen models that learn in steps."""
        return tuple(model for model in self.models if model != "ngram")

    @property
    def corpus(self) -> str:
        return "own" if self.giving else self.task.corpus

    @property
    def text(self) -> str:
        """The SHA-256 of the visitor's own text, if that is what is read."""
        return "" if self.giving else self.task.text

    def with_corpus(self, corpus: str, text: str = "") -> TextLab:
        """Another text; at first only a brief look at it, with one seed. Raises InvalidSetting."""
        if corpus == "own" and not text:
            return replace(self, giving=True)
        here = replace(self, giving=False)
        if corpus == "tinyshakespeare":
            return type(self)(models=self.models, unit=self.unit, along=self.along, experiment=self.experiment)
        brief = {m: {**BRIEF, **here.own.get(m, {})} for m in here.racers() if m != "ngram"}
        shared = {"replicas": 1, "context": here.value("context"), **here.shared, "corpus": corpus, "text": text}
        return here.with_settings(shared, {**here.own, **brief})

    def with_tokenizer(self, tokenizer: str) -> TextLab:
        """Other tokens, at least as many as these need. Raises InvalidSetting."""
        return self.with_shared(tokenizer=tokenizer, vocabulary=max(self.value("vocabulary"), FEWEST[tokenizer], 2))

    def with_each(self, **values: object) -> TextLab:
        """These settings for every model that is trained. Raises InvalidSetting."""
        trained = [model for model in self.racers() if model != "ngram"]
        return self.with_settings(self.shared, {**self.own, **{m: {**self.own.get(m, {}), **values} for m in trained}})

    def with_runs(self, configs: Mapping[str, RunConfig]) -> TextLab:
        """The models as they are in these configurations of the same text. Raises InvalidSetting."""
        own = {model: {n: value_of(c, n) for n in self.own_settings(model)} for model, c in configs.items()}
        return self.with_settings(self.shared, {**self.own, **own})

    def with_preset(self, name: str) -> TextLab:
        """A preset's model as the preset has it, on its text where it names one. Raises InvalidSetting."""
        chosen = preset(name)
        config = chosen.config()
        own = {n: value_of(config, n) for n in self.own_settings(chosen.model)}
        shared = {n: value_of(config, n) for n in self.SHARED} if chosen.names_text else dict(self.shared)
        lab = self.with_settings(shared, {**self.own, chosen.model: own})
        models = {*lab.models, chosen.model} - ({"ngram"} if lab.task.rows == "prefixes" else set())  # it reads lines
        return lab.with_models(models)

    def reset(self) -> TextLab:
        """Every setting as usual, on the same text."""
        usual = type(self)(unit=self.unit, along=self.along, experiment=self.experiment)
        return usual if self.task.corpus == "tinyshakespeare" else usual.with_corpus(self.task.corpus, self.task.text)

    def with_view(self, name: str, text: str) -> TextLab:
        match name:
            case "unit":
                return self.looking(unit=one_of(name, text, UNITS))
            case "along":
                return self.looking(along=one_of(name, text, ALONG))
            case "experiment":
                return self.looking(experiment=one_of(name, text, EXPERIMENTS))
        raise unknown_view(name)
