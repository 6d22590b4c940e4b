"""Texts and tokenizers that the page on language models offers first, with settings of every model.

Each setup is a comparison of which all runs are included: networks with about as many parameters, as many steps and the
same optimizer, each at its searched learning rate. The toy text has characters only: byte-pair encoding makes the same
token of each of its words, and nothing is left to predict. `large_transformer` is compared with `shakespeare` where the
page says that it is four times as large and has read four times as much text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from explorer.catalogue import models_of
from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.presets import preset
from explorer.training.config import RunConfig, default_config, with_settings

_NGRAM: dict[str, object] = {"smoothing": "modified_kneser_ney"}
_ADAM: dict[str, object] = {"method": "adam", "weight_decay": 0.0, "momentum": 0.0}  # as the other networks
_TEST_SHARE: Final = 0.5  # of the held-out part of the texts that the first included runs did not have


@dataclass(frozen=True)
class TextSetup:
    """Settings of a comparison.

    name: of the setup
    shared: settings of all models.
    own: settings of each model, in addition to its defaults for the text task.
    """

    name: str
    shared: Mapping[str, object]
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def settings(self, model: str) -> dict[str, object]:
        """Return all settings of a model that are not the defaults of the text task, with its searched rate."""
        shared = dict(self.shared) if model != "ngram" else {n: v for n, v in self.shared.items() if n != "replicas"}
        return {**shared, **self.own.get(model, {}), **searched_rate(f"text-{self.name}-{model}")}

    def config(self, model: str) -> RunConfig:
        """Return the configuration of a model."""
        return with_settings(default_config("text", model), self.settings(model))


def _networks(hidden: Sequence[int], training: Mapping[str, object], **sizes: object) -> dict[str, dict[str, object]]:
    """Return the settings of the networks: those of the training, and sizes that give about as many parameters.

    hidden: the units of the feedforward network, RNN, LSTM and GRU
    sizes: other sizes, where they are not the defaults
    """
    networks: dict[str, dict[str, object]] = {
        model: {**training, **sizes, "hidden": units}
        for model, units in zip(("feedforward", "rnn", "lstm", "gru"), hidden, strict=True)
    }
    for model in ("rnn", "lstm", "gru"):
        networks[model]["batches"] = "random"  # as the others read: each block with a new state
    return networks


def _small(
    name: str,
    corpus: str,
    tokenizer: str,
    *,
    n: int,
    hidden: Sequence[int],
    iterations: int,
    width: int = 32,
    **more: object,
) -> TextSetup:
    """Return small networks on a text. `more` are settings of the text.

    The order of the n-gram is the one of 2 to 5 with the lowest validation loss.
    """
    training = {"iterations": iterations, "evaluate_every": iterations // 20, "batch_size": 16, "snapshots": 2}
    transformer = {**training, **_ADAM, "width": width, "hidden": 2 * width, "layers": 2}
    return TextSetup(
        name,
        {"corpus": corpus, "tokenizer": tokenizer, "replicas": 3, "sample": 200, "test": _TEST_SHARE, **more},
        {**_networks(hidden, training, width=width), "transformer": transformer, "ngram": {**_NGRAM, "n": n}},
    )


_BLOCKS: dict[str, object] = {"batch_size": 16, "iterations": 800, "evaluate_every": 80, "snapshots": 2}
SETUPS: Final[Mapping[str, TextSetup]] = {
    setup.name: setup
    for setup in (
        TextSetup(
            "shakespeare",
            {"context": 128, "replicas": 3, "sample": 200},
            {
                "ngram": {**_NGRAM, "n": 6},
                **_networks((632, 388, 187, 219), _BLOCKS),
                "transformer": {**_BLOCKS, **_ADAM},
            },
        ),
        _small("shakespeare-bpe", "tinyshakespeare", "bpe", n=3, hidden=(42, 54, 40, 44), iterations=600),
        _small(
            "english",
            "english",
            "char",
            n=5,
            hidden=(45, 75, 36, 43),
            iterations=240,
            width=24,
            sample=60,
            size=200_000,
        ),
        _small("toy", "toy", "char", n=3, hidden=(64, 111, 49, 59), iterations=100, replicas=8),
        _small("repeats", "repeats", "char", n=5, hidden=(62, 106, 49, 58), iterations=800),
        _small("repeats-bpe", "repeats", "bpe", n=2, hidden=(54, 85, 46, 53), iterations=800, vocabulary=120),
        _small("brackets", "brackets", "char", n=3, hidden=(63, 108, 49, 58), iterations=600),
        _small("brackets-bpe", "brackets", "bpe", n=2, hidden=(54, 85, 46, 53), iterations=600, vocabulary=120),
    )
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


def large_transformer() -> RunConfig:
    """Return a Transformer on Tiny Shakespeare that is four times as large as the networks of `shakespeare`."""
    settings = {**preset("characters-transformer").settings, "precision": "float32"}  # as the networks of the setup
    return with_settings(default_config("text", "transformer"), {**SETUPS["shakespeare"].shared, **settings})


def shipped_configs() -> dict[str, RunConfig]:
    """Return the runs of all setups by name."""
    return {
        f"text-{name}-{model}": setup.config(model) for name, setup in SETUPS.items() for model in models_of("text")
    }
