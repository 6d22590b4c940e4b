"""What the attention explorer computes with a stored model, and the cache keys of these results."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from explorer.labs.attention.results import AttentionReading, AttentionSnapshots, HeadActivations, LayerAnswers
from explorer.labs.attention.state import AttentionState
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import CLASSES
from explorer.tasks.sequence_labelling.agreement import VERBS, AgreementConfig
from explorer.tasks.text.config import TextConfig
from explorer.ui.result_section import Request
from explorer.ui.training.model_input import attention_size, parse_heads, text_or_example
from explorer.ui.training.stored_models import StoredModel
from explorer.ui.wording import visible_whitespace
from explorer.web.results import pack

if TYPE_CHECKING:
    from explorer.inspection.attention.attend import Ablation, TokenizedInput

MAX_BYTES = 2_000_000  # of the weights of one reading, and of all its snapshots together
MIN_SNAPSHOTS = 3  # fewer do not make a slider
HEAD_ARRAYS = ("queries", "keys", "values", "raw", "scaled", "weights", "mixed")  # that the walkthrough shows


def requested_ablation(state: AttentionState) -> Ablation:
    """Return the ablation that the state asks for."""
    from explorer.inspection.attention.attend import Ablation

    return Ablation(parse_heads(state.off), parse_heads(state.flat), state.unmasked, state.unplaced)


def ablation_key(state: AttentionState) -> tuple[Hashable, ...]:
    """Return the part of a cache key that identifies the ablation."""
    return (state.off, state.flat, state.unmasked, state.unplaced)


def cache_key(stored_model: StoredModel, state: AttentionState, kind: str) -> tuple[Hashable, ...]:
    """Return the cache key of a result of some kind for a model and a text.

    The key of a model that was trained on a visitor's text contains the SHA-256 of that text, so that its results can
    be dropped with it.
    """
    step = state.step if kind != "through" else None
    text = text_or_example(stored_model.config, state.say)
    return (f"gaze-{kind}", *stored_model.cache_key, state.seed, step, text)


def tokenize_text(stored_model: StoredModel, state: AttentionState) -> TokenizedInput:
    """Return the tokens that the model reads: the last ones for which the weights stay below MAX_BYTES.

    Raises LineageError for a text that the model cannot read.
    """
    from explorer.inspection.attention.attend import tokenize_input

    tokenized = tokenize_input(
        stored_model.config, stored_model.tokenizer, text_or_example(stored_model.config, state.say)
    )
    layers, heads = attention_size(stored_model.config)
    cells = MAX_BYTES // (2 * layers * heads)
    most = math.isqrt(2 * cells if is_causal(stored_model) and not state.unmasked else cells)
    if len(tokenized.ids) <= most:
        return tokenized
    truncated = tokenized.truncated + "".join(tokenized.tokens[:-most])
    return replace(
        tokenized, ids=tokenized.ids[-most:], tokens=tokenized.tokens[-most:], truncated=truncated, truncated_at="start"
    )


def query_position(stored_model: StoredModel, at: int | None, tokens: int) -> int:
    """Return the query's position: the chosen one, by default the one at which the answer is read off."""
    default = tokens - 1 if answers_every_token(stored_model) else 0
    return default if at is None or at >= tokens else at


def answers_every_token(stored_model: StoredModel) -> bool:
    """Return whether the model predicts something at every token; a classifier only does at its first one."""
    return not isinstance(stored_model.config.model, TransformerEncoderConfig)


def is_trained_position(stored_model: StoredModel, tokens: Sequence[str], position: int) -> bool:
    """Return whether the training asked for a prediction at this position of the text."""
    if not isinstance(stored_model.config.task, AgreementConfig):
        return True
    verb = next((i for i, word in enumerate(tokens) if word in VERBS), len(tokens))
    return position == verb - 1 or (verb < len(tokens) and position == len(tokens) - 1 > verb)


def reading_request(stored_model: StoredModel, state: AttentionState) -> Request[AttentionReading]:
    """Return the cache key of the reading and the function that computes it: several sections show it."""
    key = (*cache_key(stored_model, state, "heads"), *ablation_key(state))
    return key, partial(compute_reading, stored_model, state)


def compute_reading(stored_model: StoredModel, state: AttentionState) -> AttentionReading:
    """Run the model on the text, with and without the ablation. Raises LineageError."""
    from explorer.inspection.attention.attend import attend, pack_weights

    tokenized = tokenize_text(stored_model, state)
    model = stored_model.model(state.seed, state.step)
    original = attend(model, tokenized.ids)
    ablated = attend(model, tokenized.ids, requested_ablation(state)) if state.is_ablated else original
    packed = pack_weights(ablated.weights, is_causal(stored_model) and not state.unmasked)
    padding = tuple(np.flatnonzero(np.isnan(ablated.weights).all(axis=(0, 1, 2))).tolist())
    return AttentionReading(
        state,
        tokenized,
        attention_size(stored_model.config),
        padding,
        pack({"weights": packed}),
        ablated.log_probabilities,
        original.log_probabilities,
    )


def outcome_text(stored_model: StoredModel, reading: AttentionReading, id: int) -> str:
    """Return the text of a prediction: a token as it would follow the text, or a class."""
    if isinstance(stored_model.config.task, AgreementConfig):
        return stored_model.config.task.labels[id]
    if stored_model.tokenizer is None:
        return CLASSES[id]
    from explorer.tokenization.text import pieces

    following = pieces(stored_model.tokenizer, [id], reading.input.ids[-16:])[0]
    return visible_whitespace(following or stored_model.tokenizer.tokens[id])


def context_length(stored_model: StoredModel) -> int:
    """Return how many tokens the model sees at once."""
    model = stored_model.config.model
    if isinstance(model, TransformerEncoderConfig):
        return model.window
    if isinstance(stored_model.config.task, AgreementConfig):
        return stored_model.config.task.max_length
    return stored_model.config.task_as(TextConfig).context


def is_causal(stored_model: StoredModel) -> bool:
    """Return whether a token attends to earlier tokens only."""
    model = stored_model.config.model
    return isinstance(model, TransformerTextConfig) or bool(getattr(model, "causal", False))


def snapshot_steps(stored_model: StoredModel) -> list[int]:
    """Return the training steps whose weights are stored."""
    run = stored_model.run
    return run.snapshot_steps() if isinstance(run, StoredRun) else sorted(run.snapshots)


def select_snapshots(stored_model: StoredModel, tokens: int, shown: int | None = None) -> list[int]:
    """Return as many snapshot steps as fit into MAX_BYTES, evenly spaced, always with the step that is shown.

    The list is empty where there are too few for a slider.
    """
    steps = snapshot_steps(stored_model)
    if len(steps) < MIN_SNAPSHOTS:
        return []
    layers, heads = attention_size(stored_model.config)
    cells = tokens * (tokens + 1) // 2 if is_causal(stored_model) else tokens**2
    most = max(2, MAX_BYTES // (2 * layers * heads * cells))
    if len(steps) <= most:
        return steps
    selected = {steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)}
    return sorted(selected if shown is None else {*selected, shown})


def snapshot_input(stored_model: StoredModel, state: AttentionState) -> TokenizedInput:
    """Return the tokens that the snapshots read: they are shown without ablation. Raises LineageError."""
    return tokenize_text(stored_model, replace(state, unmasked=False))


def compute_snapshots(stored_model: StoredModel, state: AttentionState) -> AttentionSnapshots:
    """Run the model of every selected snapshot on the text, without ablation. Raises LineageError."""
    from explorer.inspection.attention.attend import attend, pack_weights

    ids = snapshot_input(stored_model, state).ids
    steps, causal = select_snapshots(stored_model, len(ids), state.step), is_causal(stored_model)
    weights = [pack_weights(attend(stored_model.model(state.seed, step), ids).weights, causal) for step in steps]
    return AttentionSnapshots(tuple(steps), pack({"weights": np.stack(weights)}))


def compute_head(stored_model: StoredModel, state: AttentionState) -> HeadActivations:
    """Return the activations of the selected head. Raises LineageError."""
    from explorer.inspection.attention.logit_lens import head_activations

    tokenized = tokenize_text(stored_model, state)
    model = stored_model.model(state.seed, state.step)
    head = head_activations(model, tokenized.ids, state.layer, state.head, requested_ablation(state))
    content = pack({name: getattr(head, name) for name in HEAD_ARRAYS})
    return HeadActivations(tokenized.tokens, head.queries.shape[-1], content)


def compute_layers(stored_model: StoredModel, state: AttentionState) -> LayerAnswers:
    """Return the logit lens (nostalgebraist 2020) and attention rollout (Abnar and Zuidema 2020).

    Raises LineageError.
    """
    from explorer.inspection.attention.attend import attend
    from explorer.inspection.attention.head_scores import attention_rollout
    from explorer.inspection.attention.logit_lens import logit_lens

    reading, ablation = compute_reading(stored_model, state), requested_ablation(state)
    model = stored_model.model(state.seed, state.step)
    predictions = logit_lens(model, reading.input.ids, ablation)
    rollout = attention_rollout(attend(model, reading.input.ids, ablation).weights)
    return LayerAnswers(reading, predictions.argmax(axis=-1), np.exp(predictions.max(axis=-1)), rollout)
