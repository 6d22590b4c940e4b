"""Predictions of stored negation runs, for the threads of `background`.

The results are cached there and shared by all visitors, so nobody changes them. Torch is imported only when a model is
first evaluated.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection import load_model
from explorer.inspection.words import negation_sentences
from explorer.inspection.words import word_effects as effects
from explorer.labs.negation.state import negation_task
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.training.record import Record

Run: TypeAlias = StoredRun | Record  # the record of a private run is in memory only


def class_probabilities(
    run: Run, words: tuple[str, ...], length: int | None = None
) -> Float[ndarray, "replicas classes"]:
    """Return the probability of each class of a sentence for every seed.

    `length` is the padded length; by default that of the evaluation of the run.
    """
    config = run.config.task
    if length is None and isinstance(config, NegationConfig) and config.corpus == "grammar":
        task = negation_task(config)
        recorded = next((i for i, s in enumerate(task.sentences) if s.words == words), None)
        if recorded is not None:  # the run recorded its answer to this sentence: no model has to be loaded
            sustain = np.asarray(run.curves.answers["sustain"][-1][:, recorded])
            return np.stack([1 - sustain, sustain], axis=1)
    return negation_sentences.class_probabilities(load_model.shared_model(run), words, length)


def classes_of(run: Run) -> tuple[str, ...]:
    """Return the names of the classes that a run answers."""
    return Language.from_json(run.tokenizer).classes


def word_effects(run: Run, words: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Return each word of an English sentence with what it contributes; see `inspection.words.word_effects`."""
    found = effects.word_effects(load_model.shared_model(run), words)
    return tuple(zip(found.words, found.values.tolist(), strict=True))


def probabilities_of_sentences(
    run: Run, sentences: tuple[tuple[str, ...], ...]
) -> Float[ndarray, "sentences replicas classes"]:
    """Return the probability of each class of many sentences for every seed."""
    return negation_sentences.probabilities_of_sentences(load_model.shared_model(run), sentences)
