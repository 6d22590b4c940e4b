"""A model with some of its settings chosen, as pages compare it with others. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from explorer.catalogue import MODELS
from explorer.experiments.learning_rates import searched_rate
from explorer.training.config import RunConfig, default_config, with_settings


@dataclass(frozen=True)
class NamedSettings:
    """Settings that the runs of a comparison share, and how they are called."""

    name: str  # in the names of included runs
    title: str
    words: str  # the title in the middle of a sentence
    settings: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True)
class ModelVariant:
    """One model of a comparison: its settings, and how it is called and drawn."""

    name: str  # in URLs and in the names of shipped runs
    title: str
    words: str  # the title in the middle of a sentence
    label: str  # at the end of its curve
    dash: str  # of its curve: "solid", or lengths of dashes and gaps
    settings: Mapping[str, object] = field(hash=False)
    model: str  # name of the architecture
    task: str = ""  # that it learns; empty if `config` is given the task
    seeds: int = 1
    steps: Mapping[str, int] = field(default_factory=dict, hash=False)  # by task, if not as released
    colour: str = ""  # a CSS variable of static/shared/base.css; by default that of the model
    paper: str = ""  # by default that of the model
    link: str = ""

    def __post_init__(self) -> None:
        row = MODELS[self.model]
        for name in ("colour", "paper", "link"):
            object.__setattr__(self, name, getattr(self, name) or getattr(row, name))

    @property
    def full_label(self) -> str:
        """The label with the architecture, for charts with several architectures."""
        return f"{MODELS[self.model].title} {self.label}"

    def config(self, task: str = "", /, **shared: object) -> RunConfig:
        """Return the run on a task, at its searched learning rate, with settings that all variants share.

        Raises InvalidSetting.
        """
        task = task or self.task
        own = {"iterations": self.steps[task]} if task in self.steps else {}
        defaults = default_config(task, self.model)
        return with_settings(
            defaults, {"replicas": self.seeds, **own, **searched_rate(f"{task}-{self.name}"), **self.settings, **shared}
        )

    def requested_as(self, run: str, title: str = "", words: str = "") -> ModelVariant:
        """Return the variant as a chart shows a run that the URL names: with a label and a dash of its own."""
        return replace(
            self,
            name=run,
            title=title or f"{self.title}, run {run}",
            words=words or f"{self.words} (run {run})",
            label="this run",
            dash="1px,3px",
        )


def released_variants(models: Iterable[str]) -> dict[str, ModelVariant]:
    """Return each of these models with its released settings, called by its title, by name."""
    rows = {model: MODELS[model] for model in models}
    return {
        model: ModelVariant(model, row.title, row.title, row.title, row.dash, {}, model) for model, row in rows.items()
    }
