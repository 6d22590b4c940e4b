"""What the attention explorer computes with a stored model: values that its sections share."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.inspection.attention import attend
from explorer.labs.attention.state import AttentionState


@dataclass(frozen=True, eq=False)
class TopAnswers:
    """The most probable outcomes after each token (of a classifier: one row), with and without the ablation.

    They are sorted by the larger one of both probabilities, so each is the first of its kind or close to it.
    """

    outcomes: Int[ndarray, "answers few"]
    probabilities: Float[ndarray, "answers few"]
    original: Float[ndarray, "answers few"]  # without the ablation


@dataclass(frozen=True, eq=False)
class AttentionReading:
    """One forward pass over a text: the attention weights of every head, and what the model predicts."""

    state: AttentionState  # the snapshot and the ablation that were computed
    input: attend.TokenizedInput
    queries: tuple[str, ...]  # the tokens whose attention it is: of the input, or of its translation
    query_ids: tuple[int, ...]
    size: tuple[int, int]  # layers, heads
    padding_positions: tuple[int, ...]  # masked as queries and as keys
    content: bytes  # the packed weights, for the browser
    answers: TopAnswers | None  # None for a model that predicts nothing
    causal: bool  # whether no query attends to a later token: `content` has the lower triangles only


@dataclass(frozen=True, eq=False)
class AttentionSnapshots:
    """Attention weights over one text at several training steps, without any ablation."""

    steps: tuple[int, ...]
    content: bytes  # for the browser


@dataclass(frozen=True, eq=False)
class HeadActivations:
    """Queries, keys, values, scores and weights of one head over a text."""

    tokens: tuple[str, ...]
    head_width: int
    content: bytes  # the arrays, for the browser


@dataclass(frozen=True, eq=False)
class LayerAnswers:
    """Logit-lens predictions after each layer, and attention rollout."""

    reading: AttentionReading
    predictions: Int[ndarray, "depths answers"] | None  # the most probable outcome; None for one that predicts nothing
    confidence: Float[ndarray, "depths answers"] | None  # its probability
    rollout: Float[ndarray, "query key"] | None  # None between two texts
