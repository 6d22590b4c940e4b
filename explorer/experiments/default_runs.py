"""The runs that pages show before the visitor has chosen anything; all of them ship with the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.catalogue import models_of
from explorer.experiments import growth
from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.presets import preset
from explorer.training.config import RunConfig, changed_settings, default_config, with_settings

SEEDS = 8
SENTIMENT_SEEDS = 3
NEGATION_MODELS = ("bag_of_words", "bag_of_words_hidden", "bag_of_bigrams", "feedforward", "rnn", "transformer")
# Of English sentences; the included runs are of all models.
ENGLISH_MODELS = ("bag_of_words", "feedforward", "rnn", "lstm", "gru", "transformer")


def _negation_preset(model: str) -> dict[str, object]:
    """Return the settings in which a default run differs from the released defaults, which stay.

    All models have as many epochs, and each has its own learning rate.
    """
    attending = preset("negation-attending").settings if model == "transformer" else {}
    settings = {"epochs": 40, **searched_rate(f"negation-{model}"), **attending}
    changed = changed_settings(with_settings(default_config("negation", model), settings))
    return {name: value for name, value in settings.items() if name in changed}


NEGATION_PRESETS: dict[str, dict[str, object]] = {model: _negation_preset(model) for model in models_of("negation")}
# Characters of Tiny Shakespeare with about equal numbers of parameters. Recurrent networks carry their state, which
# helps them. All generate a few lines of text at each evaluation.
THREE_SEEDS: dict[str, object] = {"replicas": 3, "sample": 200}
_TEXT_SETTINGS: dict[str, dict[str, object]] = {
    "ngram": {"n": 7, "smoothing": "modified_kneser_ney", "sample": 200},
    "feedforward": THREE_SEEDS,
    "rnn": THREE_SEEDS | {"batches": "contiguous"},
    "lstm": THREE_SEEDS | {"batches": "contiguous"},
    "gru": THREE_SEEDS | {"batches": "contiguous"},
    "transformer": THREE_SEEDS,
}


def negation_runs(models: Sequence[str] = NEGATION_MODELS) -> dict[str, RunConfig]:
    """Return the default runs of the negation page, by model."""
    return {
        model: with_settings(default_config("negation", model), {**NEGATION_PRESETS.get(model, {}), "replicas": SEEDS})
        for model in models
    }


def sentiment_runs(models: Sequence[str] = models_of("sentiment")) -> dict[str, RunConfig]:
    """Return the included runs on English sentences, by model."""
    return {model: with_settings(default_config("sentiment", model), {"replicas": SENTIMENT_SEEDS}) for model in models}


def growth_runs() -> dict[str, RunConfig]:
    """Return language models with about 29,000 parameters, by model: the largest size of the experiment on growth.

    They are compared on the last twentieth of the text.
    """
    return {
        model: with_settings(
            growth.growth_config(model, len(sizes) - 1, 1.0),
            {"replicas": SEEDS, "held_out": 0.05, **searched_rate(f"growth-{model}")},
        )
        for model, sizes in growth.SIZES.items()
        if model != "ngram"
    }


def included_text_settings(model: str) -> Mapping[str, object]:
    """Return the settings of the included run of a language model on the default text."""
    return _TEXT_SETTINGS.get(model, THREE_SEEDS)


def text_run(model: str) -> RunConfig:
    """Return the default run of one language model."""
    return with_settings(default_config("text", model), included_text_settings(model))
