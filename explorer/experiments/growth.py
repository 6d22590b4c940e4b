"""Growth: models of several sizes, trained on growing shares of a text, with the same number of steps for all.

Kaplan et al. (2020) fit power laws to the losses of models of up to 1.5 billion parameters on 22 million to 23 billion
tokens, and Hoffmann et al. (2022) to those of models of up to 16 billion parameters on 5 to 500 billion tokens. The
networks here have at most 29,000 parameters and one million characters, and all train for the same number of steps, so
they show how the loss changes in this range, and nothing about a law. `python -m benchmarks.growth` trains all runs and
writes `growth.json`, which has the result of each. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from explorer.training.config import RunConfig, default_config, key, with_settings

FILE: Final = Path(__file__).with_suffix(".json")
SHARES: Final = (1 / 64, 1 / 16, 1 / 4, 1.0)  # of the training part of the text
SEEDS: Final = 3
CORPORA: Final = ("tinyshakespeare", "repeats")  # of which the second is made by a rule, so that everybody has it
CHARACTERS: Final = 1_000_000  # of a text that is made by a rule: about as many as Tiny Shakespeare has
# All networks have the same optimizer, steps and batches.
_NETWORK: Final[Mapping[str, object]] = {
    "replicas": SEEDS,
    "iterations": 400,
    "batch_size": 16,
    "evaluate_every": 50,
    "evaluation_size": 4_096,
    "snapshots": 2,
    "method": "adam",
    "weight_decay": 0.0,
    "momentum": 0.0,
}
# Of each size, the best of the searched rates on the whole text; `growth.json` has the losses of the search.
LEARNING_RATES: Final[Mapping[str, tuple[float, ...]]] = {
    "feedforward": (0.1, 0.03, 0.03, 0.03),
    "rnn": (0.1, 0.03, 0.03, 0.03),
    "lstm": (0.1, 0.1, 0.1, 0.1),
    "gru": (0.1, 0.03, 0.03, 0.03),
    "transformer": (0.1, 0.1, 0.03, 0.03),
}
# The sizes of each architecture have about 920, 2,600, 8,300 and 29,000 parameters on Tiny Shakespeare. The number of
# parameters of an n-gram follows from its order and its text.
_WIDTHS: Final = (4, 16, 16, 16)
_HIDDEN: Final[Mapping[str, tuple[int, ...]]] = {
    "feedforward": (6, 8, 37, 143),
    "rnn": (8, 15, 53, 130),
    "lstm": (5, 9, 29, 68),
    "gru": (6, 10, 33, 78),
}
SIZES: Final[Mapping[str, tuple[Mapping[str, object], ...]]] = {
    "ngram": tuple({"n": n, "smoothing": "modified_kneser_ney"} for n in (2, 3, 4, 6)),
    **{
        model: tuple({"width": w, "hidden": h} for w, h in zip(_WIDTHS, hidden, strict=True))
        for model, hidden in _HIDDEN.items()
    },
    "transformer": tuple({"width": w, "hidden": 4 * w, "layers": 2, "heads": 2} for w in (4, 8, 16, 32)),
}


@dataclass(frozen=True, order=True)
class Cell:
    """One run of the experiment."""

    model: str
    size: int  # index into SIZES
    share: float

    @property
    def name(self) -> str:
        return f"{self.model}-{self.size}-{self.share:g}"


@dataclass(frozen=True)
class GrowthResult:
    """What a run reached, with one value for each seed."""

    parameters: int
    seconds: float  # of its training
    losses: tuple[float, ...]  # on all held-out text at the end, in nats per character
    training_losses: tuple[float, ...]  # on a sample of the text that it was trained on


def growth_config(model: str, size: int, share: float, corpus: str = "tinyshakespeare") -> RunConfig:
    """Return the configuration of a run."""
    text: dict[str, object] = {"corpus": corpus, "training_share": share}
    if corpus != "tinyshakespeare":
        text["size"] = CHARACTERS
    settings = text | dict(SIZES[model][size])
    if model != "ngram":
        settings |= {**_NETWORK, "learning_rate": LEARNING_RATES[model][size]}
    return with_settings(default_config("text", model), settings)


def growth_configs(corpus: str = "tinyshakespeare") -> dict[Cell, RunConfig]:
    """Return the configurations of all runs on a text."""
    return {
        Cell(model, size, share): growth_config(model, size, share, corpus)
        for model, sizes in SIZES.items()
        for size in range(len(sizes))
        for share in SHARES
    }


@lru_cache(maxsize=1)
def _read_file() -> Mapping[str, Mapping[str, Any]]:
    return dict(json.loads(FILE.read_text("utf-8"))["runs"]) if FILE.exists() else {}


def included_result(config: RunConfig) -> GrowthResult | None:
    """Return the result of a run that is included with the program; None if there is none."""
    stored = _read_file().get(key(config))
    if stored is None:
        return None
    losses, training_losses = tuple(stored["val_loss"]), tuple(stored["train_loss"])
    return GrowthResult(stored["parameters"], stored["seconds"], losses, training_losses)
