"""Who races on reverse, copy and dates: one vector, a wider one, attention, the Transformer. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.catalogue import MODELS
from explorer.training.config import RunConfig, changed, default

SEEDS = 3
TASKS = ("reverse", "copy", "dates")


@dataclass(frozen=True)
class Contestant:
    """A translator; its colour says what stands between its halves."""

    name: str  # in an address
    model: str
    title: str
    words: str  # in the middle of a sentence, with its article
    label: str  # at the end of a line
    colour: str  # a CSS variable of ui/assets/base.css
    dash: str
    settings: Mapping[str, object] = field(hash=False)
    steps: Mapping[str, int] = field(hash=False)  # by task, where not as released
    paper: str
    link: str

    def config(self, task: str, **shared: object) -> RunConfig:
        """Its run on a task, with settings that all have in common. Raises InvalidSetting."""
        own = {"iterations": self.steps[task]} if task in self.steps else {}
        return changed(default(task, self.model), {"replicas": SEEDS, **own, **self.settings, **shared})


_ADDITIVE = (
    "Bahdanau, Cho and Bengio 2015, Neural machine translation by jointly learning to align and translate",
    "https://arxiv.org/abs/1409.0473",
)
_VECTOR = (MODELS["gru"].paper, MODELS["gru"].link)
# A step without attention takes less time: these have about as much of it as the model with attention.
_LONGER = {"reverse": 1_200, "copy": 1_200}
_WIDE: dict[str, object] = {"model.hidden": 128}
CONTESTANTS = {
    each.name: each
    for each in (
        Contestant(
            "vector",
            "encoder_decoder",
            "One vector",
            "the model with one vector",
            "one vector",
            "--m-gru",
            "6px,4px",
            {},
            _LONGER,
            *_VECTOR,
        ),
        Contestant(
            "wide",
            "encoder_decoder",
            "One vector, twice as wide",
            "the one whose vector is twice as wide",
            "twice as wide",
            "--m-gru",
            "solid",
            _WIDE,
            _LONGER,
            *_VECTOR,
        ),
        Contestant(
            "additive",
            "encoder_decoder",
            "Additive attention",
            "the model with additive attention",
            "attention",
            "--m-additive",
            "solid",
            {"attention": "additive"},
            {"dates": 400},
            *_ADDITIVE,
        ),
        Contestant(
            "transformer",
            "transformer_encoder_decoder",
            "Transformer",
            "the Transformer",
            "Transformer",
            "--m-transformer",
            "solid",
            {},
            {},
            MODELS["transformer"].paper,
            MODELS["transformer"].link,
        ),
    )
}


def contestant_of(config: RunConfig) -> Contestant:
    """Who a run is; one with a vector of another width stands for the first."""
    wide = getattr(config.model, "hidden", 0) == _WIDE["model.hidden"]
    if config.model_name != "encoder_decoder":
        return CONTESTANTS["transformer"]
    if getattr(config.model, "attention", "none") == "additive":
        return CONTESTANTS["additive"]
    return CONTESTANTS["wide" if wide else "vector"]


def recipes() -> dict[str, RunConfig]:
    """Every run that ships, by name."""
    return {f"{task}-{name}": each.config(task) for task in TASKS for name, each in CONTESTANTS.items()}
