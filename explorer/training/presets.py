"""Named configurations: as in a paper, as in the assignment, the best we know. A key is made of settings, not names,
so a preset may be improved at any time; a released default may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.errors import InvalidSetting, shortened
from explorer.training.config import RunConfig, changed, default


@dataclass(frozen=True)
class Preset:
    """A model on a task with some settings, and why they are so."""

    title: str
    about: str
    task: str
    model: str
    settings: Mapping[str, object]

    def config(self) -> RunConfig:
        return changed(default(self.task, self.model), self.settings)


_ASSIGNMENT_DATA: dict[str, object] = {
    "tokenizer": "bpe",
    "vocabulary": 500,
    "lower": True,
    "context": 15,
    "split": "pairs",
    "held_out": 0.2,
    "split_seed": 42,
}

PRESETS = {
    "assignment": Preset(
        "The assignment's data, the best we know",
        "Sentences of Tiny Shakespeare in 500 pieces, four of five (prefix, next token) pairs to learn from. A causal "
        "model learns from every position of a sentence at once; pairs that are held out do not count in its loss.",
        "text",
        "transformer",
        {
            **_ASSIGNMENT_DATA,
            "rows": "sentences",
            "width": 128,
            "layers": 2,
            "hidden": 512,
            "iterations": 1_424,
            "batch_size": 64,
            "learning_rate": 0.02,
            "weight_decay": 0.1,
            "warmup": 50,
            "clip": 0.0,
            "average": 0.98,
            "snapshots": 2,
            "evaluate_every": 60,
            "evaluation_size": 4_096,
        },
    ),
    "assignment-original": Preset(
        "As in the assignment",
        "One head, no norm, and the answer read at the last, padded position of a row that is one prefix.",
        "text",
        "transformer",
        {
            **_ASSIGNMENT_DATA,
            "rows": "prefixes",
            "width": 128,
            "heads": 1,
            "layers": 2,
            "hidden": 256,
            "positions": "learned",
            "norm": "none",
            "activation": "relu",
            "biases": True,
            "start": "usual",
            "method": "adam",
            "learning_rate": 1e-3,
            "schedule": "constant",
            "warmup": 0,
            "clip": 0.0,
            "weight_decay": 0.0,
            "momentum": 0.0,
            "beta2": 0.999,
            "batch_size": 64,
            "iterations": 3_933,
            "snapshots": 2,
            "evaluate_every": 400,
        },
    ),
    "characters": Preset(
        "Characters of Tiny Shakespeare, the best we know",
        "Four blocks of width 128 on blocks of 64 characters; the last tenth of the text is held out.",
        "text",
        "transformer",
        {
            "width": 128,
            "hidden": 512,
            "iterations": 1_000,
            "batch_size": 24,
            "weight_decay": 0.1,
            "average": 0.97,
            "snapshots": 2,
            "evaluate_every": 100,
        },
    ),
}


def preset(name: str) -> Preset:
    """A preset by its name. Raises InvalidSetting."""
    if name not in PRESETS:
        raise InvalidSetting(f"There is no preset “{shortened(name)}”. There is {', '.join(PRESETS)}.")
    return PRESETS[name]
