"""Predictions and internals of stored negation runs, for the threads of `background`.

The results are cached there and shared by all visitors, so nobody changes them. Torch is imported only when a model is
first evaluated.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.words import negation_sentences
from explorer.labs.negation.state import negation_task
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.training.record import Record
from explorer.ui.training.run_view import load_run_model

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
    return negation_sentences.class_probabilities(load_run_model(run), words, length)


def classes_of(run: Run) -> tuple[str, ...]:
    """Return the names of the classes that a run answers."""
    return Language.from_json(run.tokenizer).classes


def word_effects(run: Run, words: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Return each word of an English sentence with what it contributes; see `inspection.words.word_effects`."""
    from explorer.inspection.words import word_effects

    found = word_effects.word_effects(load_run_model(run), words)
    return tuple(zip(found.words, found.values.tolist(), strict=True))


def probabilities_of_sentences(
    run: Run, sentences: tuple[tuple[str, ...], ...]
) -> Float[ndarray, "sentences replicas classes"]:
    """Return the probability of each class of many sentences for every seed."""
    return negation_sentences.probabilities_of_sentences(load_run_model(run), sentences)


def contributions(run: Run, words: tuple[str, ...], replica: int) -> negation_sentences.Contributions:
    """Return what each part of a model's input to its readout adds to the score; see `negation_sentences`."""
    return negation_sentences.CONTRIBUTIONS[run.config.model_name](load_run_model(run), words, replica)


def reading(run: Run, words: tuple[str, ...], replica: int) -> negation_sentences.SustainByToken:
    """Return the prediction of a recurrent model after each token; see `inspection.words.negation_sentences`."""
    return negation_sentences.sustain_by_token(load_run_model(run), words, replica)


def attention(run: Run, words: tuple[str, ...], replica: int, length: int = 0) -> negation_sentences.SentenceAttention:
    """Return the attention weights of every layer and head; see `inspection.words.negation_sentences`."""
    return negation_sentences.sentence_attention(load_run_model(run), words, replica, length)


def word_weights(run: Run, replica: int) -> negation_sentences.WordWeights:
    """Return the weights of a bag of words, or of a bag of bigrams; see `inspection.words.negation_sentences`."""
    pairs = run.config.model_name == "bag_of_bigrams"
    weights_of = negation_sentences.pair_weights if pairs else negation_sentences.word_weights
    return weights_of(load_run_model(run), replica)


def embedding_map(run: Run, replica: int) -> negation_sentences.EmbeddingMap | None:
    """Return the word embeddings projected to two dimensions, if the model has any; see `negation_sentences`."""
    return negation_sentences.embedding_map(load_run_model(run), replica)
