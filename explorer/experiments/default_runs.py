"""The runs that pages show before the visitor has chosen anything; all of them ship with the program."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.catalogue import models_of
from explorer.experiments.presets import preset
from explorer.experiments.pretraining import SEEDS, SENTIMENT_SEEDS, included_text_settings
from explorer.training.config import RunConfig, default_config, with_settings

NEGATION_MODELS = ("bag_of_words", "bag_of_words_hidden", "bag_of_bigrams", "feedforward", "rnn", "transformer")
# Of English sentences; the included runs are of all models.
ENGLISH_MODELS = ("bag_of_words", "feedforward", "rnn", "lstm", "gru", "transformer")
# The settings in which a default run differs from the released defaults, whose runs stay.
NEGATION_PRESETS = {"transformer": preset("negation-attending").settings}


def negation_runs(models: Sequence[str] = NEGATION_MODELS) -> dict[str, RunConfig]:
    """Return the default runs of the negation page, by model."""
    return {
        model: with_settings(default_config("negation", model), {**NEGATION_PRESETS.get(model, {}), "replicas": SEEDS})
        for model in models
    }


def sentiment_runs(models: Sequence[str] = models_of("sentiment")) -> dict[str, RunConfig]:
    """Return the included runs on English sentences, by model."""
    return {model: with_settings(default_config("sentiment", model), {"replicas": SENTIMENT_SEEDS}) for model in models}


def text_run(model: str) -> RunConfig:
    """Return the default run of one language model."""
    return with_settings(default_config("text", model), included_text_settings(model))
