"""Alignment: the attention between source and target while one seed of a model decodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.experiments.translation import TranslationVariant
from explorer.labs.translation import alignment_findings as findings
from explorer.labs.translation.model_picker import (
    loaded_views,
    model_picker,
    selected_replica,
    selected_variant,
    show_missing_runs,
)
from explorer.labs.translation.state import Look, TranslationState
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.seq2seq.config import (
    EOS,
    TranslationConfig,
    source_ids,
    source_vocabulary,
    target_ids,
    target_vocabulary,
)
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import empty_panel, escape_markdown, explanation
from explorer.ui.state.session import PageSession, fragment, write_url
from explorer.ui.training.run_view import RunView
from explorer.web import array_store
from explorer.web.background import Pool

HEIGHT, EMPTY = 720, 200
ATTENTION_KINDS: tuple[Look, ...] = get_args(Look)
ATTENTION_TEXT = (
    "Each row asks, each column answers: the stronger the colour, the more of the look rests there. Point at a row, or "
    "use the arrow keys; a click keeps it."
)
VECTOR_TEXT = (
    "This model reads the whole source first, and all that it keeps of it is one vector. Point at a token of the "
    "source to see how much of the vector hangs on it."
)
_FRAGMENT = "translation-inside"
_KEY = "translation-alignment"
_alignment = register("alignment")


@dataclass(frozen=True, eq=False)
class AlignmentData:
    """Attention weights, scores and probabilities of one seed on one source, for the browser."""

    source: tuple[str, ...]
    target: tuple[str, ...]  # with <EOS>, where the model came to it
    right: tuple[str, ...] | None  # with <EOS>
    arrays: Mapping[str, ndarray]

    @cached_property
    def content(self) -> bytes:
        """The packed arrays, cached for all visitors."""
        return array_store.pack(self.arrays)


def section(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw the alignment of one model. `views` are the run views of the page, by name of their variant."""
    state = session.state
    try:
        ids = source_ids(state.task_config, state.source)
    except InvalidSetting:  # shown where the source is typed
        return
    st.header("Where it looks", anchor=False)
    variants = state.variants
    loaded = loaded_views(views, variants)
    if not loaded:
        empty_panel("No run to look into yet: train above, and it stands here.", EMPTY)
        return
    show_missing_runs(views, variants)
    fragment(session, _FRAGMENT, lambda: _draw_alignment(session, loaded, variants, ids))


def _draw_alignment(
    session: PageSession[TranslationState],
    loaded: Mapping[str, RunView],
    variants: Mapping[str, TranslationVariant],
    ids: tuple[int, ...],
) -> None:
    name = selected_variant(session.state, loaded)
    view = loaded[name]
    has_one_vector = getattr(view.config.model, "attention", "") == "none"
    explanation(VECTOR_TEXT if has_one_vector else ATTENTION_TEXT)
    model_picker(session, loaded, "translation")
    replica = selected_replica(session.state, view)
    task = session.state.task_config
    result_name = f"{session.state.task} {name}"  # with the task: a result of another one must not stay meanwhile
    key = (_KEY, *view.cache_key, replica, ids)

    def draw(results: Mapping[str, AlignmentData], outdated: frozenset[str]) -> None:
        if result_name in results:
            _show_alignment(session, results[result_name], variants[name], view, replica)

    pending = {result_name: (key, partial(compute_alignment, view, task, replica, ids))}
    # The sensitivity of the vector needs one forward pass for every symbol at every position.
    pool: Pool = "usual" if has_one_vector else "quick"
    show_latest(_KEY, lambda: pending, draw, "The model reads the source and writes …", HEIGHT, pool=pool)


def compute_alignment(view: RunView, task: TranslationConfig, replica: int, ids: tuple[int, ...]) -> AlignmentData:
    """Decode a source with one seed and collect its attention. Raises DamagedRun."""
    from explorer.inspection.attention.alignment import align, summary_sensitivity
    from explorer.inspection.load_model import load_model
    from explorer.models.translation import Translator

    assert view.loaded_run is not None
    model = load_model(view.loaded_run).single_replica(replica)
    assert isinstance(model, Translator)
    aligned = align(model, task, ids)
    arrays: dict[str, ndarray | None] = {
        "probabilities": aligned.probabilities,
        "source": aligned.weights,
        "source_scores": aligned.energies,
        "encoder": aligned.source_self_attention,
        "encoder_scores": _scores(aligned.taps, "encoder"),
        "decoder": aligned.target_self_attention,
        "decoder_scores": _scores(aligned.taps, "decoder"),
        "contexts": aligned.contexts,
        "vector": aligned.summary_vector,
        "moved": None if aligned.summary_vector is None else summary_sensitivity(model, ids),
    }
    names, source_names = target_vocabulary(task), source_vocabulary(task)
    right = target_ids(task, ids)
    return AlignmentData(
        tuple(source_names[i] for i in ids),
        tuple(names[i] for i in aligned.target),
        None if right is None else (*(names[i] for i in right), EOS),
        {name: array.astype(np.float32) for name, array in arrays.items() if array is not None},
    )


def _scores(taps: Mapping[str, ndarray], half: str) -> ndarray | None:
    """Return the scores of a Transformer's self-attention before mask and softmax: layers, heads, queries, keys."""
    names = [name for name in taps if name.startswith(f"{half}.") and name.endswith(".attention.scores")]
    return np.stack([taps[f"{half}.{i}.attention.scores"] for i in range(len(names))]) if names else None


def selected_head(state: TranslationState, data: AlignmentData) -> tuple[int, int]:
    """Return the selected layer and head, within those that exist; by default the best head."""
    weights = data.arrays["source"]
    if min(state.layer, state.head) < 0:
        return findings.best_head(state.task_config, "".join(data.source), data.target, weights)
    layers, heads = weights.shape[:2]
    return min(state.layer, layers - 1), min(state.head, heads - 1)


def apply_events(session: PageSession[TranslationState], data: AlignmentData) -> None:
    """Apply the component's events to the state. Every value is checked: a browser can send anything."""
    state = session.state
    if (value := pop_event(_KEY, "look")) in ATTENTION_KINDS:
        state = replace(state, look=value)
    value = pop_event(_KEY, "open")
    if isinstance(value, list) and len(value) == 2 and all(type(one) is int and one >= 0 for one in value):
        state = replace(state, layer=min(value[0], 7), head=min(value[1], 15))
    if type(value := pop_event(_KEY, "at")) is int and -1 <= value < max(len(data.target), len(data.source)):
        state = replace(state, at=value)
    if state != session.state:
        session.state = state
        write_url(session)


def _show_alignment(
    session: PageSession[TranslationState],
    data: AlignmentData,
    variant: TranslationVariant,
    view: RunView,
    replica: int,
) -> None:
    apply_events(session, data)
    state, has_attention = session.state, "source" in data.arrays
    kind = _attention_kind(view, data)
    look = state.look if kind == "transformer" else "source"
    head = selected_head(state, data) if has_attention else (0, 0)
    if has_attention:
        weights = data.arrays["source"]
        finding = findings.attention_finding(
            state.task_config, variant.words, "".join(data.source), data.target, weights, head
        )
    else:
        finding = findings.vector_finding(variant.words, len(data.target), len(data.arrays["vector"]))
    st.subheader(escape_markdown(finding), anchor=False)
    more = "" if has_attention else " " + findings.sensitivity_finding(data.source, data.arrays["moved"])
    explanation(escape_markdown(findings.output_finding(data.target, data.right) + more))
    _alignment(
        data={
            "kind": kind,
            "source": list(data.source),
            "target": list(data.target),
            "right": None if data.right is None else list(data.right),
            "vocabulary": list(target_vocabulary(state.task_config)),
            "address": array_store.register_array(data.content),
            "look": look,
            "open": list(head),
            "at": state.at,
            "title": variant.title,
            "colour": variant.colour,
            "file": f"translation-{state.task}-{variant.name}-seed-{view.config.seeds[replica]}",
        },
        key=_KEY,
        **event_callbacks(_KEY, "look", "open", "at"),
    )
    _show_formula(data, kind, look, head, state.at, view)


def _attention_kind(view: RunView, data: AlignmentData) -> str:
    if "vector" in data.arrays:
        return "vector"
    return "transformer" if isinstance(view.config.model, TransformerEncoderDecoderConfig) else "additive"


def _show_formula(data: AlignmentData, kind: str, look: Look, head: tuple[int, int], at: int, view: RunView) -> None:
    """Draw the attention formula with the numbers of the selected row.

    kind: "vector", "additive" or "transformer".
    look: which attention of a Transformer.
    head: layer and head.
    at: the selected row; -1 for none.
    """
    st.subheader("Where the weights come from" if kind != "vector" else "What it writes from", anchor=False)
    if kind == "vector":
        st.latex(findings.vector_formula(), width="content")
        explanation("Every step is given the same c; only the state s and the token before, y, change.")
        return
    weights, scores = data.arrays[look][head], data.arrays[f"{look}_scores"][head]
    row = min(max(at, 0), len(weights) - 1)
    keys = row + 1 if look == "decoder" else weights.shape[-1]
    queries = data.source if look == "encoder" else data.target
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        if kind == "additive":
            st.latex(findings.additive_formula(), width="content")
            st.latex(findings.additive_example(row, scores[row], weights[row]), width="content")
        else:
            width = _head_width(view)
            st.latex(findings.scaled_formula(), width="content")
            st.latex(findings.scaled_example(row, width, scores[row, :keys], weights[row, :keys]), width="content")
    where = "the row that is kept" if at >= 0 else "the first row; a click keeps another"
    st.caption(
        escape_markdown(f"With the numbers of row {row + 1}, “{queries[row]}”, and its strongest weight: {where}.")
    )


def _head_width(view: RunView) -> int:
    model = view.config.model
    assert isinstance(model, TransformerEncoderDecoderConfig)
    return model.width // model.heads
