"""The model variants on reverse, copy and dates: one vector, a wider one, attention, Transformer. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.training.config import RunConfig, default_config, with_settings

SEEDS = 3
TASKS = ("reverse", "copy", "dates")


@dataclass(frozen=True)
class TranslationVariant(ModelVariant):
    """A translator; the colour says what connects its encoder and decoder."""

    model: str
    colour: str  # a CSS variable of static/shared/base.css
    steps: Mapping[str, int] = field(hash=False)  # by task, if not as released
    paper: str
    link: str

    def config(self, task: str, **shared: object) -> RunConfig:
        """Return the run on a task, with settings that all variants share. Raises InvalidSetting."""
        own = {"iterations": self.steps[task]} if task in self.steps else {}
        return with_settings(default_config(task, self.model), {"replicas": SEEDS, **own, **self.settings, **shared})


_ADDITIVE = (
    "Bahdanau, Cho and Bengio 2015, Neural machine translation by jointly learning to align and translate",
    "https://arxiv.org/abs/1409.0473",
)
_VECTOR = (MODELS["gru"].paper, MODELS["gru"].link)
# A step without attention is faster: with these steps the training takes about as long as with attention.
_LONGER = {"reverse": 1_200, "copy": 1_200}
_WIDE: dict[str, object] = {"model.hidden": 128}
VARIANTS = {
    each.name: each
    for each in (
        TranslationVariant(
            "vector",
            "One vector",
            "the model with one vector",
            "one vector",
            "6px,4px",
            {},
            "encoder_decoder",
            "--m-gru",
            _LONGER,
            *_VECTOR,
        ),
        TranslationVariant(
            "wide",
            "One vector, twice as wide",
            "the one whose vector is twice as wide",
            "twice as wide",
            "solid",
            _WIDE,
            "encoder_decoder",
            "--m-gru",
            _LONGER,
            *_VECTOR,
        ),
        TranslationVariant(
            "additive",
            "Additive attention",
            "the model with additive attention",
            "attention",
            "solid",
            {"attention": "additive"},
            "encoder_decoder",
            "--m-additive",
            {"dates": 400},
            *_ADDITIVE,
        ),
        TranslationVariant(
            "transformer",
            "Transformer",
            "the Transformer",
            "Transformer",
            "solid",
            {},
            "transformer_encoder_decoder",
            "--m-transformer",
            {},
            MODELS["transformer"].paper,
            MODELS["transformer"].link,
        ),
    )
}


def variant_of(config: RunConfig) -> TranslationVariant:
    """Return the variant of a run; an encoder-decoder of another width counts as `vector`."""
    wide = getattr(config.model, "hidden", 0) == _WIDE["model.hidden"]
    if config.model_name != "encoder_decoder":
        return VARIANTS["transformer"]
    if getattr(config.model, "attention", "none") == "additive":
        return VARIANTS["additive"]
    return VARIANTS["wide" if wide else "vector"]


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    return {f"{task}-{name}": each.config(task) for task in TASKS for name, each in VARIANTS.items()}
