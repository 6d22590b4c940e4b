"""Internals of negation models for a typed sentence, as labelled arrays.

Every function takes words of the vocabulary (see `Words.split`). Classes are in the order of `CLASSES`; the score of a
sentence is its logit of "sustain" minus that of "collapse".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.bag_of_bigrams import BagOfBigrams
from explorer.models.bag_of_words import BagOfWords, BagOfWordsHidden
from explorer.models.layers import Embedding, Linear
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.negation import CLASSES, VOCABULARY, Negation, NegationConfig, pad

SUSTAIN, COLLAPSE = CLASSES.index("sustain"), CLASSES.index("collapse")


def sentence_tokens(words: Sequence[str], length: int = 0) -> tuple[str, ...]:
    """Return the input tokens of a model: the words between their markers, padded to `length` with <EOS>."""
    ids = VOCABULARY.encode(tuple(words))
    return tuple(VOCABULARY.tokens[i] for i in pad(ids, max(length, len(ids)), 0))


def _ids(words: Sequence[str], length: int = 0) -> Tensor:
    return torch.tensor([[VOCABULARY.id(token) for token in sentence_tokens(words, length)]])


@torch.inference_mode()
def sustain_probabilities(loaded: LoadedModel, words: Sequence[str], length: int = 0) -> Float[ndarray, " replicas"]:
    """Return P(sustain) by every replica. `length` pads with unmasked <EOS>, as the notebook's batches do."""
    ids = _ids(words, length)
    if loaded.config.replicas > 1:
        ids = ids.expand(loaded.config.replicas, *ids.shape)
    return to_array(loaded.stack(ids).softmax(dim=-1)[..., 0, SUSTAIN].reshape(-1))


@dataclass(frozen=True)
class Contributions:
    """The terms of the score of a linear readout: the bias, and what each part of its input adds."""

    parts: tuple[str, ...]  # tokens, pairs of tokens, or hidden units
    values: Float[ndarray, " parts"]
    bias: float

    @property
    def total(self) -> float:
        return self.bias + float(self.values.sum())


@torch.inference_mode()
def token_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each token adds to the score of a bag of words."""
    model = cast(BagOfWords, loaded.single_replica(replica))
    weights, bias = _score_weights(model.readout)
    return Contributions(sentence_tokens(words), to_array(weights[_ids(words)[0]]), bias)


@torch.inference_mode()
def pair_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each pair of neighbouring tokens adds to the score of a bag of bigrams."""
    model = cast(BagOfBigrams, loaded.single_replica(replica))
    weights, bias = _score_weights(model.readout)
    tokens, ids = sentence_tokens(words), _ids(words)[0]
    pairs = tuple(f"{first} {second}" for first, second in itertools.pairwise(tokens))
    return Contributions(pairs, to_array(weights.view(model.vocabulary, -1)[ids[:-1], ids[1:]]), bias)


@torch.inference_mode()
def unit_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each hidden unit adds to the score of a bag of words with a hidden layer."""
    model = cast(BagOfWordsHidden, loaded.single_replica(replica))
    weights, bias = _score_weights(model.readout)
    with record(model) as trace:
        model(_ids(words))
    names = tuple(f"unit {i + 1}" for i in range(len(weights)))
    return Contributions(names, to_array(weights * trace["hidden"][0]), bias)


def _score_weights(readout: Linear) -> tuple[Tensor, float]:
    """Return the weights and the bias of the score: those of "sustain" minus those of "collapse"."""
    bias = cast(Tensor, readout.bias)
    return readout.weight[SUSTAIN] - readout.weight[COLLAPSE], float(bias[SUSTAIN] - bias[COLLAPSE])


@dataclass(frozen=True)
class WordWeights:
    """The weight of each token, or of each pair of tokens, for each class."""

    tokens: tuple[str, ...]
    weights: Float[ndarray, "classes tokens"]


@torch.inference_mode()
def word_weights(loaded: LoadedModel, replica: int) -> WordWeights:
    """Return the weights of a bag of words, without the unused one of the padding."""
    model = cast(BagOfWords, loaded.single_replica(replica))
    tokens = tuple(token for token in VOCABULARY.tokens if token != VOCABULARY.padding)
    return WordWeights(tokens, to_array(model.readout.weight[:, [VOCABULARY.id(t) for t in tokens]]))


@torch.inference_mode()
def pair_weights(loaded: LoadedModel, replica: int) -> WordWeights:
    """Return the weights of a bag of bigrams for the pairs with "not" or a verb as their second token."""
    model = cast(BagOfBigrams, loaded.single_replica(replica))
    task = Negation(loaded.config.task_as(NegationConfig))
    neighbours = (pair for s in task.sentences for pair in zip(s.words[:-2], s.words[1:-1], strict=True))
    pairs = tuple(dict.fromkeys(neighbours))  # each once, in the order of the sentences
    columns = [VOCABULARY.id(first) * model.vocabulary + VOCABULARY.id(second) for first, second in pairs]
    return WordWeights(tuple(" ".join(pair) for pair in pairs), to_array(model.readout.weight[:, columns]))


@dataclass(frozen=True)
class SustainByToken:
    """P(sustain) by a recurrent network after each token."""

    tokens: tuple[str, ...]
    sustain: Float[ndarray, " tokens"]


@torch.inference_mode()
def sustain_by_token(loaded: LoadedModel, words: Sequence[str], replica: int) -> SustainByToken:
    """Return P(sustain) read out from the hidden state after each token."""
    model = cast(RecurrentClassifier, loaded.single_replica(replica))
    with record(model) as trace:
        model(_ids(words))
    after_each = model.readout(trace["cell.state"][0]).softmax(dim=-1)
    return SustainByToken(sentence_tokens(words), to_array(after_each[:, SUSTAIN]))


@dataclass(frozen=True)
class SentenceAttention:
    """Attention weights over a sentence; rows are queries, columns keys. Masked pairs are NaN."""

    tokens: tuple[str, ...]  # those inside the model's window, including padding
    weights: Float[ndarray, "layers heads query key"]


@torch.inference_mode()
def sentence_attention(loaded: LoadedModel, words: Sequence[str], replica: int, length: int = 0) -> SentenceAttention:
    """Return the attention weights of every layer and head over a sentence padded with <PAD> to `length`."""
    model = cast(TransformerEncoder, loaded.single_replica(replica))
    ids = VOCABULARY.encode(tuple(words))
    ids = pad(ids, len(ids), length)[: model.window]
    with record(model) as trace:
        model(torch.tensor([ids]))
    weights = torch.stack([trace[f"blocks.{i}.attention.weights"][0] for i in range(len(model.blocks))])
    is_padding = torch.tensor([i == VOCABULARY.id(VOCABULARY.padding) for i in ids])
    weights = weights.masked_fill(is_padding, torch.nan).masked_fill(is_padding[:, None], torch.nan)
    return SentenceAttention(tuple(VOCABULARY.tokens[i] for i in ids), to_array(weights))


@dataclass(frozen=True)
class EmbeddingMap:
    """Word vectors projected on their first two principal components."""

    tokens: tuple[str, ...]
    points: Float[ndarray, "tokens 2"]
    share: float  # of the variance that the plane explains


@torch.inference_mode()
def embedding_map(loaded: LoadedModel, replica: int) -> EmbeddingMap:
    """Return the embeddings of the words of the grammar in two dimensions.

    Where a hidden layer reads word counts, the embedding of a word is its weight to each hidden unit.
    """
    model: nn.Module = loaded.single_replica(replica)
    table = model.inner.weight.mT if isinstance(model, BagOfWordsHidden) else cast(Embedding, model.embedding).weight
    tokens = tuple(token for token in VOCABULARY.words if token not in CLASSES)
    points = table[[VOCABULARY.id(token) for token in tokens]].numpy()
    points = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    plane = u[:, :2] * s[:2]
    if plane.shape[1] < 2:  # an embedding of width 1
        plane = np.pad(plane, ((0, 0), (0, 1)))
    # The sign of a principal component is arbitrary: put "preserve" at the top right.
    sign = np.where(plane[tokens.index("preserve")] < 0, -1, 1)
    return EmbeddingMap(tokens, plane * sign, float((s[:2] ** 2).sum() / (s**2).sum()))
