"""The model variants on reverse, copy and dates: one vector, a wider one, attention, Transformer. Needs no torch."""

from __future__ import annotations

from functools import partial

from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.training.config import RunConfig

SEEDS = 3
TASKS = ("reverse", "copy", "dates")


_STEPS = {"reverse": 800, "copy": 800, "dates": 1_000}  # of all variants
_WIDE: dict[str, object] = {"model.hidden": 128}
_encoder_decoder = partial(ModelVariant, model="encoder_decoder", seeds=SEEDS, steps=_STEPS)
# One vector is drawn in the colour of the GRU: the colour says what connects encoder and decoder.
_one_vector = partial(_encoder_decoder, **{name: getattr(MODELS["gru"], name) for name in ("colour", "paper", "link")})
VARIANTS = {
    each.name: each
    for each in (
        _one_vector("vector", "One vector", "the model with one vector", "one vector", "6px,4px", {}),
        _one_vector(
            "wide", "One vector, twice as wide", "the model with the wider vector", "twice as wide", "solid", _WIDE
        ),
        _encoder_decoder(
            "additive",
            "Additive attention",
            "the model with additive attention",
            "attention",
            "solid",
            {"attention": "additive"},
            paper="Bahdanau, Cho and Bengio 2015, Neural machine translation by jointly learning to align and "
            "translate",
            link="https://arxiv.org/abs/1409.0473",
        ),
        ModelVariant(
            "transformer",
            "Transformer",
            "the Transformer",
            "Transformer",
            "solid",
            {},
            "transformer_encoder_decoder",
            seeds=SEEDS,
            steps=_STEPS,
        ),
    )
}


def variant_of(config: RunConfig) -> ModelVariant:
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
