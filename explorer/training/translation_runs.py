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
    paper: str = ""
    link: str = ""

    def config(self, task: str, **shared: object) -> RunConfig:
        """Its run on a task, with settings that all have in common. Raises InvalidSetting."""
        return changed(default(task, self.model), {"replicas": SEEDS, **self.settings, **shared})


_ADDITIVE = (
    "Bahdanau, Cho and Bengio 2015, Neural machine translation by jointly learning to align and translate",
    "https://arxiv.org/abs/1409.0473",
)
_VECTOR = (MODELS["gru"].paper, MODELS["gru"].link)
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
            MODELS["transformer"].paper,
            MODELS["transformer"].link,
        ),
    )
}


def recipes() -> dict[str, RunConfig]:
    """Every run that ships, by name."""
    return {f"{task}-{name}": each.config(task) for task in TASKS for name, each in CONTESTANTS.items()}
