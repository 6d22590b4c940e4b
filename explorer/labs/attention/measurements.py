"""What the attention explorer computes with a stored model."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.inspection.attention import attend, head_ablation, head_scores, logit_lens
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Model
from explorer.ui.training.model_input import parse_heads
from explorer.web.call import Call
from explorer.web.results import pack


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
class LayerAnswers:
    """Logit-lens predictions after each layer, and attention rollout."""

    reading: AttentionReading
    # The most probable outcome and its probability; None for a model that predicts nothing.
    lens: tuple[Int[ndarray, "depths answers"], Float[ndarray, "depths answers"]] | None
    rollout: Float[ndarray, "query key"] | None  # None between two texts


MAX_BYTES = 2_000_000  # of the weights of one reading, and of all its snapshots together
MAX_ANSWERS = 5  # outcomes that are shown of each answer
MIN_SNAPSHOTS = 3  # fewer do not make a slider


def requested_ablation(state: AttentionState) -> head_ablation.Ablation:
    """Return the ablation that the state asks for."""
    return head_ablation.Ablation(parse_heads(state.off), parse_heads(state.flat), state.unmasked, state.unplaced)


def tokenize_text(stored_model: Model, state: AttentionState) -> attend.TokenizedInput:
    """Return the tokens that the model reads: the last ones for which the weights stay below MAX_BYTES.

    Raises LineageError for a text that the model cannot read.
    """
    layout = stored_model.layout
    cells = MAX_BYTES // (2 * layout.layers * layout.heads)
    most = math.isqrt(2 * cells if stored_model.is_causal and not state.unmasked else cells)
    return stored_model.tokenize(stored_model.text_or_example(state.say), most)


def query_position(stored_model: Model, at: int | None, tokens: Sequence[str]) -> int:
    """Return the query's position: the chosen one, by default the one at which the answer is read off."""
    return stored_model.default_query(tokens) if at is None or at >= len(tokens) else at


def reading_call(stored_model: Model, state: AttentionState) -> Call[AttentionReading]:
    """Return the call that reads the text: several sections show it."""
    return Call(compute_reading, stored_model, state.computation_settings())


def compute_reading(stored_model: Model, state: AttentionState) -> AttentionReading:
    """Run the model on the text, with and without the ablation. Raises LineageError."""
    tokenized = tokenize_text(stored_model, state)
    found = stored_model.attention(tokenized, state.kind, state.seed, state.step)
    model = found.model
    original = attend.attend(model, tokenized.ids)
    ablated = attend.attend(model, tokenized.ids, requested_ablation(state)) if state.is_ablated else original
    causal = attend.is_causal(ablated.weights)
    padding = tuple(np.flatnonzero(np.isnan(ablated.weights).all(axis=(0, 1, 2))).tolist())
    return AttentionReading(
        state,
        tokenized,
        found.queries,
        found.ids,
        (model.layout.layers, model.layout.heads),
        padding,
        pack({"weights": attend.pack_weights(ablated.weights, causal)}),
        top_answers(ablated.log_probabilities, original.log_probabilities) if model.layout.answers else None,
        causal,
    )


def top_answers(
    ablated: Float[ndarray, "answers outcomes"], original: Float[ndarray, "answers outcomes"]
) -> TopAnswers:
    """Return the most probable outcomes of each answer from the log-probabilities with and without an ablation.

    Only few are kept, because a real model has tens of thousands of outcomes after every token.
    """
    larger = np.maximum(ablated, original)
    few = min(MAX_ANSWERS, larger.shape[-1])
    outcomes = np.sort(np.argpartition(-larger, few - 1, axis=-1)[:, :few], axis=-1)
    order = np.argsort(-np.take_along_axis(larger, outcomes, -1), axis=-1, kind="stable")
    outcomes = np.take_along_axis(outcomes, order, -1)
    now, before = (np.exp(np.take_along_axis(values, outcomes, -1)) for values in (ablated, original))
    return TopAnswers(outcomes, now, before)


def select_snapshots(stored_model: Model, tokens: int, shown: int | None = None) -> list[int]:
    """Return as many snapshot steps as fit into MAX_BYTES and can be loaded, always with the step that is shown.

    The list is empty where there are too few for a slider.
    """
    steps = list(stored_model.steps)
    if len(steps) < MIN_SNAPSHOTS:
        return []
    layout = stored_model.layout
    cells = tokens * (tokens + 1) // 2 if stored_model.is_causal else tokens**2
    most = max(2, min(stored_model.most_snapshots, MAX_BYTES // (2 * layout.layers * layout.heads * cells)))
    if len(steps) <= most:
        return steps
    selected = {steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)}
    return sorted(selected if shown is None else {*selected, shown})


def compute_snapshots(stored_model: Model, state: AttentionState, steps: tuple[int, ...]) -> bytes:
    """Return the attention weights at several training steps, without ablation. Raises LineageError."""
    ids, causal = tokenize_text(stored_model, state).ids, stored_model.is_causal
    weights = [
        attend.pack_weights(attend.attend(stored_model.module(state.seed, step), ids).weights, causal) for step in steps
    ]
    return pack({"weights": np.stack(weights)})


def tensor_file(stored_model: Model, state: AttentionState) -> bytes:
    """Return every tapped array of the forward pass as an npz file, with the names that `inspect` gives them."""
    text = tokenize_text(stored_model, state)
    file = io.BytesIO()
    model = stored_model.attention(text, state.kind, state.seed, state.step).model
    arrays = logit_lens.tap_arrays(model, text.ids, requested_ablation(state))
    np.savez(file, **arrays, tokens=np.array(text.tokens))  # type: ignore[arg-type]  # no tap has a name of its own settings
    return file.getvalue()


def compute_layers(stored_model: Model, state: AttentionState) -> LayerAnswers:
    """Return the logit lens (nostalgebraist 2020) and attention rollout (Abnar and Zuidema 2020).

    Raises LineageError.
    """
    reading, ablation = compute_reading(stored_model, state), requested_ablation(state)
    ids, model = reading.input.ids, stored_model.attention(reading.input, state.kind, state.seed, state.step).model
    weights = attend.attend(model, ids, ablation).weights
    rollout = head_scores.attention_rollout(weights) if state.shows_one_text(stored_model.parts) else None
    lens = logit_lens.most_probable_by_depth(model, ids, ablation) if model.layout.answers else None
    return LayerAnswers(reading, lens, rollout)
