"""Predictions and internals of stored negation runs, computed once and cached for all visitors.

The cached values are shared, so nobody changes them. Torch is imported only when a model is first evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.run_store.store import StoredRun
from explorer.tasks.negation import Negation, NegationConfig
from explorer.ui.training.run_view import load_run_model

if TYPE_CHECKING:
    from explorer.inspection.words import negation_sentences

# How Streamlit hashes a run that is a part of a cache key.
_BY_STAMP: dict[str | type[Any], Callable[[Any], Any]] = {StoredRun: lambda run: run.cache_key}


@st.cache_resource(max_entries=4096, show_spinner=False, hash_funcs=_BY_STAMP)
def _sustain_probabilities(run: StoredRun, words: tuple[str, ...], length: int) -> Float[ndarray, " replicas"]:
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sustain_probabilities(load_run_model(run), words, length)


def sustain_probabilities(
    run: StoredRun, words: tuple[str, ...], length: int | None = None
) -> Float[ndarray, " replicas"]:
    """Return P(sustain) of a sentence for every seed.

    `length` is the padded length; by default that of the evaluation of the run.
    """
    config = run.config.task_as(NegationConfig)
    task = Negation(config)
    if length is None:
        recorded = next((i for i, s in enumerate(task.sentences) if s.words == words), None)
        if recorded is not None:  # the run recorded its answer to this sentence: no model has to be loaded
            return np.asarray(run.curves.answers["sustain"][-1][:, recorded])
        length = max(task.lengths) if config.padding == "eos" else 0
    return _sustain_probabilities(run, words, length)


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=_BY_STAMP)
def contributions(run: StoredRun, words: tuple[str, ...], replica: int) -> negation_sentences.TokenContributions:
    """Return what each token adds to the logit of a bag of words; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.token_contributions(load_run_model(run), words, replica)


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=_BY_STAMP)
def reading(run: StoredRun, words: tuple[str, ...], replica: int) -> negation_sentences.SustainByToken:
    """Return the prediction of a recurrent model after each token; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sustain_by_token(load_run_model(run), words, replica)


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=_BY_STAMP)
def attention(
    run: StoredRun, words: tuple[str, ...], replica: int, length: int = 0
) -> negation_sentences.SentenceAttention:
    """Return the attention weights of every layer and head; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.sentence_attention(load_run_model(run), words, replica, length)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=_BY_STAMP)
def word_weights(run: StoredRun, replica: int) -> negation_sentences.WordWeights:
    """Return the word weights of a bag of words; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.word_weights(load_run_model(run), replica)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=_BY_STAMP)
def embedding_map(run: StoredRun, replica: int) -> negation_sentences.EmbeddingMap:
    """Return the word embeddings projected to two dimensions; see `inspection.words.negation_sentences`."""
    from explorer.inspection.words import negation_sentences

    return negation_sentences.embedding_map(load_run_model(run), replica)
