"""A typed sentence and a model -> arrays worth looking at.

Every function takes words of the vocabulary (see `Words.split`) and returns labelled arrays; nothing
here keeps a tensor. Classes are in the order of `CLASSES`; the score of a sentence is its logit of
"sustain" minus that of "collapse".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.bag_of_words import BagOfWords
from explorer.models.layers import Embedding
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.negation import CLASSES, VOCABULARY, pad

SUSTAIN, COLLAPSE = CLASSES.index("sustain"), CLASSES.index("collapse")


def tokens_of(words: Sequence[str], length: int = 0) -> tuple[str, ...]:
    """The tokens a model is given: the words between their markers, filled up to `length` with <EOS>."""
    ids = VOCABULARY.encode(tuple(words))
    return tuple(VOCABULARY.tokens[i] for i in pad(ids, max(length, len(ids)), 0))


def _ids(words: Sequence[str], length: int = 0) -> Tensor:
    return torch.tensor([[VOCABULARY.id(token) for token in tokens_of(words, length)]])


@torch.inference_mode()
def sustain_probabilities(opened: OpenedModel, words: Sequence[str], length: int = 0) -> Float[ndarray, " replicas"]:
    """P(sustain) by every replica. `length` fills up with counted <EOS>, as the notebook's batches do."""
    ids = _ids(words, length)
    if opened.config.replicas > 1:
        ids = ids.expand(opened.config.replicas, *ids.shape)
    return to_array(opened.stack(ids).softmax(dim=-1)[..., 0, SUSTAIN].reshape(-1))


@dataclass(frozen=True)
class Contributions:
    """How a sum of word weights comes to its score: the bias, then each token, then together."""

    tokens: tuple[str, ...]
    values: Float[ndarray, " tokens"]
    bias: float

    @property
    def total(self) -> float:
        return self.bias + float(self.values.sum())


@torch.inference_mode()
def contributions(opened: OpenedModel, words: Sequence[str], replica: int) -> Contributions:
    """What each token adds to the score of a bag of words."""
    model = cast(BagOfWords, opened.alone(replica))
    difference = model.readout.weight[SUSTAIN] - model.readout.weight[COLLAPSE]
    bias = cast(Tensor, model.readout.bias)
    return Contributions(tokens_of(words), to_array(difference[_ids(words)[0]]), float(bias[SUSTAIN] - bias[COLLAPSE]))


@dataclass(frozen=True)
class WordWeights:
    """The weight of each token for each class."""

    tokens: tuple[str, ...]
    weights: Float[ndarray, "classes tokens"]


@torch.inference_mode()
def word_weights(opened: OpenedModel, replica: int) -> WordWeights:
    """Every weight of a bag of words but the padding's, which is never used."""
    model = cast(BagOfWords, opened.alone(replica))
    tokens = tuple(token for token in VOCABULARY.tokens if token != VOCABULARY.padding)
    return WordWeights(tokens, to_array(model.readout.weight[:, [VOCABULARY.id(t) for t in tokens]]))


@dataclass(frozen=True)
class Reading:
    """What a recurrent net would answer after each token."""

    tokens: tuple[str, ...]
    sustain: Float[ndarray, " tokens"]


@torch.inference_mode()
def reading(opened: OpenedModel, words: Sequence[str], replica: int) -> Reading:
    """P(sustain) read off the hidden state after each token."""
    model = cast(RecurrentClassifier, opened.alone(replica))
    with record(model) as trace:
        model(_ids(words))
    after_each = model.readout(trace["cell.state"][0]).softmax(dim=-1)
    return Reading(tokens_of(words), to_array(after_each[:, SUSTAIN]))


@dataclass(frozen=True)
class AttentionView:
    """Where each token of a sentence looks; rows ask, columns answer. A masked pair is NaN."""

    tokens: tuple[str, ...]  # those inside the model's window, and its padding if there is any
    weights: Float[ndarray, "layers heads query key"]


@torch.inference_mode()
def attention(opened: OpenedModel, words: Sequence[str], replica: int, length: int = 0) -> AttentionView:
    """Attention weights of every layer and head, padded with <PAD> to `length` to show its mask."""
    model = cast(TransformerEncoder, opened.alone(replica))
    ids = VOCABULARY.encode(tuple(words))
    ids = pad(ids, len(ids), length)[: model.window]
    with record(model) as trace:
        model(torch.tensor([ids]))
    weights = torch.stack([trace[f"blocks.{i}.attention.weights"][0] for i in range(len(model.blocks))])
    masked = torch.tensor([i == VOCABULARY.id(VOCABULARY.padding) for i in ids])
    weights = weights.masked_fill(masked, torch.nan).masked_fill(masked[:, None], torch.nan)
    return AttentionView(tuple(VOCABULARY.tokens[i] for i in ids), to_array(weights))


@dataclass(frozen=True)
class EmbeddingMap:
    """Word vectors in the plane that keeps most of their spread (principal components)."""

    tokens: tuple[str, ...]
    points: Float[ndarray, "tokens 2"]
    share: float  # of the variance, kept by the plane


@torch.inference_mode()
def embedding_map(opened: OpenedModel, replica: int) -> EmbeddingMap:
    """The embeddings of the words that sentences are made of, in two dimensions."""
    model: nn.Module = opened.alone(replica)
    table = cast(Embedding, model.embedding).weight
    tokens = tuple(token for token in VOCABULARY.words if token not in CLASSES)
    points = table[[VOCABULARY.id(token) for token in tokens]].numpy()
    points = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    plane = u[:, :2] * s[:2]
    if plane.shape[1] < 2:  # an embedding of width 1
        plane = np.pad(plane, ((0, 0), (0, 1)))
    # A principal component has no sign of its own: let "preserve" stand right and above.
    sign = np.where(plane[tokens.index("preserve")] < 0, -1, 1)
    return EmbeddingMap(tokens, plane * sign, float((s[:2] ** 2).sum() / (s**2).sum()))
