"""Which models meet on noise, tale, echo, gloss and gist, each pair or group for one question. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.training.config import RunConfig, changed, default


@dataclass(frozen=True)
class Contestant:
    """A Transformer that answers at every place, with one of its parts chosen or taken out."""

    name: str  # in an address, and after the task in the name of its shipped run
    task: str
    title: str
    words: str  # in the middle of a sentence, with its article
    label: str  # at the end of a line
    dash: str
    seeds: int
    settings: Mapping[str, object] = field(hash=False)

    def config(self, **shared: object) -> RunConfig:
        """Its run, with settings that all have in common. Raises InvalidSetting."""
        return changed(default(self.task, "transformer"), {"replicas": self.seeds, **self.settings, **shared})


# Digits ask for little: a narrow model learns twelve of them in seconds.
_NARROW: dict[str, object] = {"model.width": 32, "model.heads": 2, "model.hidden": 64}
_ECHO: dict[str, object] = {**_NARROW, "causal": True}
# Eight digits turned around, in few steps that are all of one size.
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
# One head of width 64, whose queries and keys start at a variance of one: the case that the root is there for.
_WIDE: dict[str, object] = {
    **_TURNED,
    "model.width": 64,
    "model.heads": 1,
    "model.hidden": 64,
    "layers": 1,
    "spread": 3**0.5,
    "batch_size": 64,
    "learning_rate": 1e-3,
}
# As many blocks as fresh stacks are measured with, and steps that are large for them.
_DEEP: dict[str, object] = {
    **_TURNED,
    **_NARROW,
    "layers": 24,
    "batch_size": 32,
    "learning_rate": 4e-3,
}
_AFTER: dict[str, object] = {**_DEEP, "norm_place": "post"}
_BEFORE: dict[str, object] = {**_DEEP, "norm_place": "pre"}
CONTESTANTS = {
    f"{each.task}-{each.name}": each
    for each in (
        # Does the causal mask matter? Without it a model can read off what it is asked, on noise nothing else.
        *(
            Contestant(name, task, title, words, label, dash, 3, {**sizes, "causal": name == "causal"})
            for task, sizes in (("noise", _NARROW), ("tale", {"norm_place": "pre"}))
            for name, title, words, label, dash in (
                ("causal", "With the causal mask", "the model with the mask", "with mask", "solid"),
                ("open", "Without the mask", "the model without the mask", "without", "6px,4px"),
            )
        ),
        # How does it know where a digit stands?
        Contestant(
            "learned",
            "echo",
            "Learned positions",
            "the model with learned positions",
            "learned",
            "solid",
            3,
            {**_ECHO, "positions": "learned"},
        ),
        Contestant(
            "sinusoidal",
            "echo",
            "Positions as sines",
            "the one with sines",
            "sines",
            "12px,3px",
            3,
            {**_ECHO, "positions": "sinusoidal"},
        ),
        Contestant(
            "rotary",
            "echo",
            "Rotary positions",
            "the one that turns queries and keys",
            "rotary",
            "2px,4px",
            3,
            {**_ECHO, "positions": "rotary"},
        ),
        Contestant(
            "none",
            "echo",
            "No positions",
            "the one without positions",
            "none",
            "6px,4px",
            3,
            {**_ECHO, "positions": "none"},
        ),
        # Does dividing by the root of d_k matter in training?
        Contestant(
            "scaled",
            "echo",
            "Divided by √d_k",
            "the model that divides by √d_k",
            "divided",
            "solid",
            5,
            {**_WIDE, "scaled": True},
        ),
        Contestant(
            "raw",
            "echo",
            "Not divided",
            "the one that does not",
            "not divided",
            "6px,4px",
            5,
            {**_WIDE, "scaled": False},
        ),
        # What of a block does a high stack need to learn?
        *(
            Contestant(name, "echo", title, f"the stack {words}", label, dash, 3, settings)
            for name, title, words, label, dash, settings in (
                ("deep", "Norm before", "with the norm before each part", "norm before", "solid", _BEFORE),
                ("deep-after", "Norm after", "with the norm after each part", "norm after", "6px,4px", _AFTER),
                (
                    "deep-gentle",
                    "Norm after, small steps",
                    "with the norm after each part (at a quarter of the step size)",
                    "after, gentle",
                    "12px,3px",
                    {**_AFTER, "learning_rate": 1e-3},
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
        # Does a word's vector take in its sentence?
        *(
            Contestant(name, task, title, words, label, dash, 5, settings)
            for task in ("gloss", "gist")
            for name, title, words, label, dash, settings in (
                ("two", "Two layers", "the encoder of two layers", "two layers", "solid", {}),
                ("one", "One layer", "the encoder of one layer", "one layer", "12px,3px", {"layers": 1}),
                (
                    "alone",
                    "Without attention",
                    "the one without attention",
                    "without",
                    "6px,4px",
                    {"attention": False},
                ),
            )
        ),
    )
}
MASKS = ("noise-causal", "noise-open", "tale-causal", "tale-open")
POSITIONS = ("echo-learned", "echo-sinusoidal", "echo-rotary", "echo-none")
SCALES = ("echo-scaled", "echo-raw")
DEEP = ("echo-deep", "echo-deep-after", "echo-deep-gentle", "echo-deep-none", "echo-deep-bare")


def encoders(task: str) -> tuple[str, ...]:
    """Who stands on the page of the sentence encoder, on gloss or on gist."""
    return tuple(f"{task}-{name}" for name in ("two", "one", "alone"))


def recipes() -> dict[str, RunConfig]:
    """Every run that ships, by name."""
    return {name: each.config() for name, each in CONTESTANTS.items()}
