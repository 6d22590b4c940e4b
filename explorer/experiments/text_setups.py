"""Texts and tokenizers that the page on language models offers first, with settings of every model.

Each setup is a comparison of which all runs are included. `shakespeare` has the included run `text-best-seeds` as its
Transformer, so the other models read blocks of 128 characters too; their numbers of parameters are about equal. The toy
text has characters only: byte-pair encoding makes the same token of each of its words, and nothing is left to predict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from explorer.catalogue import models_of
from explorer.experiments.presets import preset
from explorer.training.config import RunConfig, default_config, with_settings

_NGRAM: dict[str, object] = {"smoothing": "modified_kneser_ney"}
_RECURRENT: Final = ("rnn", "lstm", "gru")
_TEST_SHARE: Final = 0.5  # of the held-out part of the texts that the first included runs did not have


@dataclass(frozen=True)
class TextSetup:
    """Settings of a comparison.

    shared: settings of all models.
    own: settings of each model, in addition to its defaults for the text task.
    """

    shared: Mapping[str, object]
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def settings(self, model: str) -> dict[str, object]:
        """Return all settings of a model that are not the defaults of the text task."""
        shared = dict(self.shared) if model != "ngram" else {n: v for n, v in self.shared.items() if n != "replicas"}
        return {**shared, **self.own.get(model, {})}

    def config(self, model: str) -> RunConfig:
        """Return the configuration of a model."""
        return with_settings(default_config("text", model), self.settings(model))


def _small(corpus: str, tokenizer: str, *, n: int, iterations: int, **more: object) -> TextSetup:
    """Return small networks on a text, all with the same number of steps.

    The order of the n-gram is the one of 2 to 5 with the lowest validation loss. `more` are settings of the text.
    """
    network = {
        "width": 32,
        "hidden": 64,
        "iterations": iterations,
        "evaluate_every": iterations // 20,
        "batch_size": 16,
        "snapshots": 2,
        "batches": "random",
    }
    return TextSetup(
        {"corpus": corpus, "tokenizer": tokenizer, "replicas": 3, "sample": 200, "test": _TEST_SHARE, **more},
        {**{model: dict(network) for model in models_of("text")}, "ngram": {**_NGRAM, "n": n}},
    )


_BLOCKS: dict[str, object] = {"batch_size": 16, "iterations": 800, "evaluate_every": 80, "snapshots": 2}
SETUPS: Final[Mapping[str, TextSetup]] = {
    "shakespeare": TextSetup(
        {"context": 128, "replicas": 3, "sample": 200},
        {
            "ngram": {**_NGRAM, "n": 6},
            "feedforward": _BLOCKS,
            **{model: {**_BLOCKS, "batches": "random"} for model in _RECURRENT},
            "transformer": {**preset("characters-transformer").settings, "precision": "float32"},  # as the other models
        },
    ),
    "shakespeare-bpe": _small("tinyshakespeare", "bpe", n=3, iterations=600),
    "toy": _small("toy", "char", n=3, iterations=100),
    "repeats": _small("repeats", "char", n=5, iterations=800),
    "repeats-bpe": _small("repeats", "bpe", n=2, iterations=800, vocabulary=120),
    "brackets": _small("brackets", "char", n=3, iterations=600),
    "brackets-bpe": _small("brackets", "bpe", n=2, iterations=600, vocabulary=120),
}
OTHER_TOKENIZER: Final[Mapping[str, str]] = {  # of each text, besides characters
    setup.shared.get("corpus", "tinyshakespeare"): str(setup.shared["tokenizer"])  # type: ignore[misc]
    for name, setup in SETUPS.items()
    if "-" in name
}


def setup_name(corpus: str, tokenizer: str) -> str | None:
    """Return the name of the setup of a text and a tokenizer; None if no runs of it are included."""
    name = corpus.removeprefix("tiny") + ("" if tokenizer == "char" else f"-{tokenizer}")
    return name if name in SETUPS else None


def shipped_configs() -> dict[str, RunConfig]:
    """Return the runs of all setups by name, without the Transformer of the first, which is `text-best-seeds`."""
    return {
        f"text-{name}-{model}": setup.config(model)
        for name, setup in SETUPS.items()
        for model in models_of("text")
        if (name, model) != ("shakespeare", "transformer")
    }
