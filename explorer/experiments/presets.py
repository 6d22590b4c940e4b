"""Named configurations: those of papers, of the assignment, and the best that we know.

A key is made of settings, not of names, so a preset may be improved at any time; a released default may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from explorer.errors import InvalidSetting, shorten
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings


@dataclass(frozen=True)
class Preset:
    """A model on a task with some settings, and where they come from."""

    title: str
    about: str
    task: str
    model: str
    settings: Mapping[str, object]

    def config(self) -> RunConfig:
        """Return the configuration."""
        return with_settings(default_config(self.task, self.model), self.settings)

    @property
    def chooses_text(self) -> bool:
        """Whether it sets how the text is tokenized and split, and not only the model and its training."""
        return any(f.name in self.settings for f in fields(TextConfig) if f.name != "batches")


_ASSIGNMENT_DATA: dict[str, object] = {
    "tokenizer": "bpe",
    "vocabulary": 500,
    "lower": True,
    "context": 15,
    "split": "pairs",
    "held_out": 0.2,
    "split_seed": 42,
}

_SMALL_RECORD: dict[str, object] = {"snapshots": 2, "sample": 200}
_UNCLIPPED: dict[str, object] = {"warmup": 0, "clip": 0.0}
_ADAM: dict[str, object] = {"method": "adam", "weight_decay": 0.0, "momentum": 0.0}
_RMSPROP: dict[str, object] = {"method": "rmsprop", "beta2": 0.95, "schedule": "constant", "warmup": 0, "clip": 1.0}
_OF_2017: dict[str, object] = {"activation": "relu", "biases": True, "start": "usual"}  # of a Transformer

PRESETS = {
    "assignment": Preset(
        "The assignment's data, the best we know",
        "Sentences of Tiny Shakespeare in 500 pieces, four of five (prefix, next token) pairs to learn from. A causal "
        "model learns from every position of a sentence at once; pairs that are held out do not count in its loss.",
        "text",
        "transformer",
        {
            **_SMALL_RECORD,
            **_ASSIGNMENT_DATA,
            "rows": "sentences",
            "width": 128,
            "layers": 2,
            "hidden": 512,
            "iterations": 2_700,
            "batch_size": 96,
            "learning_rate": 0.03,
            "weight_decay": 0.1,
            "rest_decay": 0.3,
            "warmup": 30,
            "clip": 0.0,
            "dropout": 0.1,
            "average": 0.99,
            "evaluate_every": 130,
            "evaluation_size": 4_096,
            "precision": "bfloat16",
        },
    ),
    "assignment-original": Preset(
        "As in the assignment",
        "One head, no norm, and the answer read at the last, padded position of a row that is one prefix.",
        "text",
        "transformer",
        {
            **_SMALL_RECORD,
            **_OF_2017,
            **_ADAM,
            **_UNCLIPPED,
            **_ASSIGNMENT_DATA,
            "rows": "prefixes",
            "width": 128,
            "heads": 1,
            "layers": 2,
            "hidden": 256,
            "positions": "learned",
            "norm": "none",
            "learning_rate": 1e-3,
            "schedule": "constant",
            "beta2": 0.999,
            "batch_size": 64,
            "iterations": 3_933,
            "evaluate_every": 400,
        },
    ),
    "characters": Preset(
        "Characters, a short training",
        "One LSTM layer of 256 cells on rows of 128 characters of Tiny Shakespeare; the last tenth is held out.",
        "text",
        "lstm",
        {
            **_SMALL_RECORD,
            "hidden": 256,
            "context": 128,
            "iterations": 4_200,
            "batch_size": 16,
            "average": 0.98,
            "evaluate_every": 120,
            "evaluation_size": 8_192,
            "precision": "bfloat16",
        },
    ),
    "characters-transformer": Preset(
        "Characters, a longer training",
        "Six passes over Tiny Shakespeare in rows of 128 characters.",
        "text",
        "transformer",
        {
            **_SMALL_RECORD,
            "width": 128,
            "hidden": 512,
            "context": 128,
            "batch_size": 24,
            "iterations": 2_000,
            "weight_decay": 0.1,
            "dropout": 0.05,
            "average": 0.99,
            "evaluate_every": 200,
            "precision": "bfloat16",
        },
    ),
    "characters-best": Preset(
        "Characters, the lowest loss we know",
        "Six layers of width 192, rows of 256 characters of Tiny Shakespeare. A quarter of an hour on two cores; "
        "matrix products are in bfloat16, which is slow on processors without instructions for it.",
        "text",
        "transformer",
        {
            **_SMALL_RECORD,
            "width": 192,
            "heads": 3,
            "layers": 6,
            "hidden": 768,
            "context": 256,
            "batch_size": 12,
            "iterations": 6_000,
            "weight_decay": 0.1,
            "dropout": 0.2,
            "average": 0.998,
            "precision": "bfloat16",
            "evaluate_every": 500,
        },
    ),
    "paper-feedforward": Preset(
        "As in Bengio et al. (2003)",
        "Six-grams, 60 numbers a token, 100 tanh units, plain gradient descent with a falling rate. Theirs was 0.001 "
        "for each word; batches of a thousand tokens, whose mean is taken, make that 1. Their direct connections from "
        "embedding to answer, which they found not to help, are left out.",
        "text",
        "feedforward",
        {
            **_UNCLIPPED,
            "window": 5,
            "width": 60,
            "hidden": 100,
            "method": "sgd",
            "learning_rate": 1.0,
            "schedule": "linear",
            "weight_decay": 1e-4,
            "batch_size": 16,
        },
    ),
    "paper-rnn": Preset(
        "As in Mikolov et al. (2010)",
        "One recurrent layer that carries its state through the text, plain gradient descent at 0.1, no momentum, no "
        "clipping. Theirs learned after every word, with sigmoid units; ours after every block, with tanh.",
        "text",
        "rnn",
        {
            **_UNCLIPPED,
            "hidden": 250,
            "method": "sgd",
            "learning_rate": 0.1,
            "schedule": "constant",
            "batches": "contiguous",
            "batch_size": 8,
        },
    ),
    "paper-lstm": Preset(
        "As in Graves (2013)",
        "RMSProp at 0.0001 with a mean square that remembers 0.95, clipped gradients, state carried through the text. "
        "Theirs had up to seven layers of 700 cells and clipped each derivative by itself; sizes here are ours.",
        "text",
        "lstm",
        {
            **_RMSPROP,
            "learning_rate": 1e-4,
            "batches": "contiguous",
        },
    ),
    "paper-gru": Preset(
        "As in Cho et al. (2014)",
        "Recurrent matrices that start as rotations. Theirs learned with Adadelta, which RMSProp is nearest to here, "
        "and stood inside a translator; sizes are ours.",
        "text",
        "gru",
        {
            **_RMSPROP,
            "start": "orthogonal",
            "learning_rate": 1e-3,
            "batches": "random",
        },
    ),
    "paper-transformer": Preset(
        "As in Vaswani et al. (2017)",
        "Sines for positions, LayerNorm after each residual, ReLU, biases, dropout 0.1, Adam with a long warm-up to "
        "width^-0.5 warmup^-0.5. Their rate then falls with the root of the step, ours straight to zero; sizes are "
        "ours, and there is no encoder to listen to.",
        "text",
        "transformer",
        {
            **_OF_2017,
            **_ADAM,
            "positions": "sinusoidal",
            "norm": "layer",
            "norm_place": "post",
            "dropout": 0.1,
            "learning_rate": 0.00625,
            "beta2": 0.98,
            "schedule": "linear",
            "warmup": 400,
            "clip": 0.0,
        },
    ),
    "negation-attending": Preset(
        "A Transformer that attends to “not”",
        "Eight heads, width 32 and embeddings with a standard deviation of 0.5: attention becomes sharp, and every one "
        "of 96 seeds learns the task. With one head and a standard deviation of 0.1 it stays uniform; from 1.0, 37 of "
        "96 seeds do not learn.",
        "negation",
        "transformer",
        {"width": 32, "heads": 8, "start": 0.5},
    ),
}


def preset(name: str) -> Preset:
    """Return a preset by its name. Raises InvalidSetting."""
    if name not in PRESETS:
        raise InvalidSetting(f"There is no preset “{shorten(name)}”. There is {', '.join(PRESETS)}.")
    return PRESETS[name]


def preset_config(name: str, task: str, model: str) -> RunConfig:
    """Return the configuration of a preset. Raises InvalidSetting if another task or another model is given."""
    chosen = preset(name)
    if task not in ("", chosen.task) or model not in ("", chosen.model):
        raise InvalidSetting(
            f"Preset {name} is for the task {chosen.task} and the model {chosen.model}. Leave these out."
        )
    return chosen.config()


def first_assignment() -> RunConfig:
    """Return the preset `assignment` as it was when its run was included: addresses contain the key of this run."""
    return with_settings(
        PRESETS["assignment"].config(),
        {
            "iterations": 1_800,
            "batch_size": 64,
            "learning_rate": 0.02,
            "rest_decay": 0.2,
            "warmup": 50,
            "dropout": 0.0,
            "average": 0.98,
            "evaluate_every": 150,
            "precision": "float32",
        },
    )
