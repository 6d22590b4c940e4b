"""Predictions and internals of stored negation runs, for the threads of `background`.

The results are cached there and shared by all visitors, so nobody changes them. Torch is imported only when a model is
first evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.labs.negation.state import negation_task
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.ui.training.run_view import load_run_model

if TYPE_CHECKING:
    from explorer.inspection.words import negation_sentences


def sustain_probabilities(
    run: StoredRun, words: tuple[str, ...], length: int | None = None
) -> Float[ndarray, " replicas"]:
    """Return P(sustain) of a sentence for every seed.

    `length` is the padded length; by default that of the evaluation of the run.
    """
    config = run.config.task_as(NegationConfig)
    task = negation_task(config)
    if length is None:
        recorded = next((i for i, s in enumerate(task.sentences) if s.words == words), None)
        if recorded is not None:  # the run recorded its answer to this sentence: no model has to be loaded
            return np.asarray(run.curves.answers["sustain"][-1][:, recorded])
        length = max(task.lengths) if config.padding == "eos" else 0
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sustain_probabilities(load_run_model(run), words, length)


def contributions(run: StoredRun, words: tuple[str, ...], replica: int) -> negation_sentences.Contributions:
    """Return what each token, pair of tokens or hidden unit adds to the score; see `negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    contributions_of = {
        "bag_of_words": negation_sentences.token_contributions,
        "bag_of_words_hidden": negation_sentences.unit_contributions,
        "bag_of_bigrams": negation_sentences.pair_contributions,
    }
    return contributions_of[run.config.model_name](load_run_model(run), words, replica)


def reading(run: StoredRun, words: tuple[str, ...], replica: int) -> negation_sentences.SustainByToken:
    """Return the prediction of a recurrent model after each token; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sustain_by_token(load_run_model(run), words, replica)


def attention(
    run: StoredRun, words: tuple[str, ...], replica: int, length: int = 0
) -> negation_sentences.SentenceAttention:
    """Return the attention weights of every layer and head; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sentence_attention(load_run_model(run), words, replica, length)


def word_weights(run: StoredRun, replica: int) -> negation_sentences.WordWeights:
    """Return the weights of a bag of words, or of a bag of bigrams; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    pairs = run.config.model_name == "bag_of_bigrams"
    weights_of = negation_sentences.pair_weights if pairs else negation_sentences.word_weights
    return weights_of(load_run_model(run), replica)


def embedding_map(run: StoredRun, replica: int) -> negation_sentences.EmbeddingMap:
    """Return the word embeddings projected to two dimensions; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.embedding_map(load_run_model(run), replica)
