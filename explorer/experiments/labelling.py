"""The model variants on noise, tale, echo, gloss, gist and induction, each pair or group for one question.

Needs no torch.
"""

from __future__ import annotations

from functools import partial

from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.model_variant import ModelVariant
from explorer.training.config import RunConfig

_variant = partial(ModelVariant, model="transformer")
# A narrow model learns the twelve digits in seconds.
_NARROW: dict[str, object] = {"model.width": 32, "model.heads": 2, "model.hidden": 64}
_ECHO: dict[str, object] = {**_NARROW, "causal": True}
# Eight digits reversed, in few steps with a constant learning rate.
_TURNED: dict[str, object] = {
    "causal": True,
    "positions": "learned",
    "again": "reverse",
    "shortest": 8,
    "longest": 8,
    "iterations": 200,
    "schedule": "constant",
    "warmup": 0,
    "evaluate_every": 10,
}
# One head of width 64, whose queries and keys have variance 1 at initialization: the case for which √d_k is meant.
_WIDE: dict[str, object] = {
    **_TURNED,
    "model.width": 64,
    "model.heads": 1,
    "model.hidden": 64,
    "layers": 1,
    "spread": 3**0.5,
    "batch_size": 64,
}
# As many blocks as the untrained stacks that are measured.
_DEEP: dict[str, object] = {**_TURNED, **_NARROW, "layers": 24, "batch_size": 32}
_AFTER: dict[str, object] = {**_DEEP, "norm_place": "post"}
_BEFORE: dict[str, object] = {**_DEEP, "norm_place": "pre"}
# Attention alone, with two heads in each layer.
_INDUCTION: dict[str, object] = {
    "model.width": 32,
    "model.heads": 2,
    "model.hidden": 64,
    "causal": True,
    "positions": "rotary",
    "norm_place": "pre",
    "feedforward": False,
}
_ONE_LAYER: dict[str, object] = {**_INDUCTION, "layers": 1}
VARIANTS = {
    f"{each.task}-{each.name}": each
    for each in (
        # Does the causal mask matter? Without it a model can copy the token that it predicts.
        *(
            _variant(name, title, words, label, dash, {**sizes, "causal": name == "causal"}, task=task, seeds=8)
            for task, sizes in (("noise", _NARROW), ("tale", {"norm_place": "pre"}))
            for name, title, words, label, dash in (
                ("causal", "With the causal mask", "the model with the mask", "with mask", "solid"),
                ("open", "Without the mask", "the model without the mask", "without", "6px,4px"),
            )
        ),
        # How does a model know the position of a digit?
        *(
            _variant(name, title, words, label, dash, {**_ECHO, "positions": name}, task="echo", seeds=8)
            for name, title, words, label, dash in (
                ("learned", "Learned positions", "the model with learned positions", "learned", "solid"),
                ("sinusoidal", "Positions as sines", "the one with sines", "sines", "12px,3px"),
                ("rotary", "Rotary positions", "the one that turns queries and keys", "rotary", "2px,4px"),
                ("none", "No positions", "the one without positions", "none", "6px,4px"),
            )
        ),
        # Does dividing by the root of d_k matter in training?
        *(
            _variant(name, title, words, label, dash, {**_WIDE, "scaled": name == "scaled"}, task="echo", seeds=8)
            for name, title, words, label, dash in (
                ("scaled", "Divided by √d_k", "the model that divides by √d_k", "divided", "solid"),
                ("raw", "Not divided", "the one that does not", "not divided", "6px,4px"),
            )
        ),
        # Which components of a block does a deep stack need in order to learn?
        *(
            _variant(name, title, f"the stack {words}", label, dash, settings, task="echo", seeds=3)
            for name, title, words, label, dash, settings in (
                ("deep", "Norm before", "with the norm before each part", "norm before", "solid", _BEFORE),
                ("deep-gentle", "Norm after", "with the norm after each part", "norm after", "12px,3px", _AFTER),
                (
                    "deep-after",
                    "Norm after, larger steps",
                    "with the norm after each part, at the learning rate that is best for the norm before",
                    "larger steps",
                    "6px,4px",
                    {**_AFTER, **searched_rate("echo-deep")},
                ),
                ("deep-none", "No norm", "without a norm", "no norm", "2px,4px", {**_BEFORE, "norm": "none"}),
                (
                    "deep-bare",
                    "No residual",
                    "without residuals",
                    "no residual",
                    "8px,3px,2px,3px",
                    {**_BEFORE, "residual": False},
                ),
            )
        ),
        # Does the vector of a word depend on its sentence?
        *(
            _variant(name, title, words, label, dash, settings, task=task, seeds=5)
            for task in ("gloss", "gist")
            for name, title, words, label, dash, settings in (
                ("two", "Two layers", "the encoder of two layers", "two layers", "solid", {}),
                ("one", "One layer", "the encoder of one layer", "one layer", "12px,3px", {"layers": 1}),
                ("alone", "Without attention", "the one without attention", "without", "6px,4px", {"attention": False}),
            )
        ),
        # How does a Transformer continue a sequence that it has seen once?
        # The one layer has about as many parameters, and a third model has one layer that can look positions up.
        *(
            _variant(name, title, words, label, dash, settings, task="induction", seeds=8)
            for name, title, words, label, dash, settings in (
                ("two", "Two layers", "the model with two layers", "two layers", "solid", {**_INDUCTION, "layers": 2}),
                (
                    "one",
                    "One layer",
                    "the model with one layer",
                    "one layer",
                    "12px,3px",
                    {**_ONE_LAYER, "model.width": 44},
                ),
                (
                    "lookup",
                    "One layer, 16 heads",
                    "the larger model with one layer of 16 heads",
                    "16 heads",
                    "2px,4px",
                    {**_ONE_LAYER, "model.width": 128, "model.heads": 16, "positions": "learned"},
                ),
            )
        ),
    )
}
INDUCTION_VARIANTS = ("induction-two", "induction-one", "induction-lookup")
MASK_VARIANTS = ("noise-causal", "noise-open", "tale-causal", "tale-open")
POSITION_VARIANTS = ("echo-learned", "echo-sinusoidal", "echo-rotary", "echo-none")
SCALING_VARIANTS = ("echo-scaled", "echo-raw")
DEPTH_VARIANTS = ("echo-deep", "echo-deep-after", "echo-deep-gentle", "echo-deep-none", "echo-deep-bare")


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    return {name: each.config() for name, each in VARIANTS.items()}
