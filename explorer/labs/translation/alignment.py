"""Alignment: the attention between source and target while one seed of a model decodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.experiments.model_variant import ModelVariant
from explorer.labs.translation import alignment_findings as findings
from explorer.labs.translation.model_picker import (
    loaded_views,
    model_picker,
    selected_replica,
    selected_variant,
)
from explorer.labs.translation.state import MAX_STEP, Look, TranslationState
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.seq2seq.config import (
    EOS,
    TranslationConfig,
    source_ids,
    source_vocabulary,
    target_ids,
    target_vocabulary,
)
from explorer.training.config import RunConfig
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.result_section import Request, result_section, show_when_ready
from explorer.ui.state.session import PageSession, fragment
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.web.background import Pool
from explorer.web.results import pack, register_arrays

HEIGHT, EMPTY = 720, 200
ATTENTION_KINDS: tuple[Look, ...] = get_args(Look)
ATTENTION_TEXT = (
    "Rows: tokens that the decoder writes (queries). Columns: tokens of the source (keys). The stronger the colour, "
    "the larger the attention weight. Point at a row, or use the arrow keys; a click keeps it."
)
VECTOR_TEXT = (
    "This model has no attention: the decoder receives one vector of the whole source. Point at a source token to see "
    "how much the vector depends on it."
)
_FRAGMENT = "translation-inside"
_KEY = "translation-alignment"
_EXAMPLE = "translation-alignment-example"


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
        return pack(self.arrays)


def section(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw the alignment of one model. `views` are the run views of the page, by name of their variant."""
    state = session.state
    ids = source_ids(state.task_config, state.source)
    variants = state.variants
    loaded = loaded_views(views, variants)
    if not loaded:
        untrained_panel(views, "No finished run yet: select and train a model.", EMPTY)
        return
    fragment(session, _FRAGMENT, lambda: _draw_alignment(session, loaded, variants, ids))


def _draw_alignment(
    session: PageSession[TranslationState],
    loaded: Mapping[str, RunView],
    variants: Mapping[str, ModelVariant],
    ids: tuple[int, ...],
) -> None:
    name = selected_variant(session.state, loaded)
    view = loaded[name]
    kind = _attention_kind(view.config)
    explanation(VECTOR_TEXT if kind == "vector" else ATTENTION_TEXT)
    model_picker(session, loaded, "translation")
    state = session.state
    replica = selected_replica(state, view)
    key = (_KEY, *view.cache_key, replica, ids, state.text)
    make = partial(compute_alignment, view, state.task_config, replica, ids)
    # The sensitivity of the vector needs one forward pass for every symbol at every position.
    pool: Pool = "usual" if kind == "vector" else "quick"

    def requests() -> Mapping[str, Request[AlignmentData]]:
        if apply_events(session):
            st.rerun()  # the formula below shows the numbers of the selected row
        return {"alignment": (key, make)}

    result_section(
        _KEY,
        requests,
        partial(_draw_attention, state, variants[name], view.config, replica),
        "The model translates the source …",
        HEIGHT,
        pool=pool,
        events={_KEY: ("look", "open", "at")},
    )
    st.subheader("How the weights are computed" if kind != "vector" else "What the decoder receives", anchor=False)
    if kind == "vector":
        st.latex(findings.vector_formula(), width="content")
        explanation("Every step receives the same c; only the state s and the previous token y change.")
        return
    draw = partial(_draw_example, state, view.config)
    show_when_ready(_EXAMPLE, key, make, draw, "The model reads the source …", 160, lambda _: None, pool)


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


def apply_events(session: PageSession[TranslationState]) -> bool:
    """Apply the component's events to the state and return whether it has changed.

    Every value is checked: a browser can send anything.
    """
    state = session.state
    if (value := pop_event(_KEY, "look")) in ATTENTION_KINDS:
        state = replace(state, look=value)
    value = pop_event(_KEY, "open")
    if isinstance(value, list) and len(value) == 2 and all(type(one) is int and one >= 0 for one in value):
        state = replace(state, layer=min(value[0], 7), head=min(value[1], 15))
    if type(value := pop_event(_KEY, "at")) is int and -1 <= value <= MAX_STEP:
        state = replace(state, at=value)
    changed = state != session.state
    session.state = state
    return changed


def _selected_attention(
    state: TranslationState, config: RunConfig, data: AlignmentData
) -> tuple[Look, tuple[int, int]]:
    """Return which attention is shown, and its layer and head."""
    kind = _attention_kind(config)
    return (
        state.look if kind == "transformer" else "source",
        selected_head(state, data) if kind != "vector" else (0, 0),
    )


def _draw_attention(
    state: TranslationState,
    variant: ModelVariant,
    config: RunConfig,
    replica: int,
    document: Document,
    results: Mapping[str, AlignmentData],
) -> None:
    data = results["alignment"]
    look, head = _selected_attention(state, config, data)
    if "source" in data.arrays:
        weights = data.arrays["source"]
        more = findings.head_comparison(state.task_config, "".join(data.source), data.target, weights, head)
        finding = findings.attention_finding(
            state.task_config, variant.words, "".join(data.source), data.target, weights, head
        )
    else:
        finding = findings.vector_finding(variant.words, len(data.target), len(data.arrays["vector"]))
        more = findings.sensitivity_finding(data.source, data.arrays["moved"])
    document.finding(finding)
    document.text(f"{findings.output_finding(data.target, data.right)} {more}".strip())
    document.component(
        "alignment",
        {
            "kind": _attention_kind(config),
            "source": list(data.source),
            "target": list(data.target),
            "right": None if data.right is None else list(data.right),
            "vocabulary": list(target_vocabulary(state.task_config)),
            "address": register_arrays(data.content),
            "look": look,
            "open": list(head),
            "at": state.at,
            "title": variant.title,
            "colour": variant.colour,
            "file": f"translation-{state.task}-{variant.name}-seed-{config.seeds[replica]}",
        },
        key=_KEY,
    )


def _attention_kind(config: RunConfig) -> str:
    if getattr(config.model, "attention", "") == "none":
        return "vector"
    return "transformer" if isinstance(config.model, TransformerEncoderDecoderConfig) else "additive"


def _draw_example(state: TranslationState, config: RunConfig, data: AlignmentData) -> None:
    """Draw the attention formula with the numbers of the selected row."""
    look, head = _selected_attention(state, config, data)
    weights, scores = data.arrays[look][head], data.arrays[f"{look}_scores"][head]
    row = min(max(state.at, 0), len(weights) - 1)
    keys = row + 1 if look == "decoder" else weights.shape[-1]
    queries = data.source if look == "encoder" else data.target
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        if isinstance(config.model, TransformerEncoderDecoderConfig):
            width = config.model.width // config.model.heads
            st.latex(findings.scaled_formula(), width="content")
            st.latex(findings.scaled_example(row, width, scores[row, :keys], weights[row, :keys]), width="content")
        else:
            st.latex(findings.additive_formula(), width="content")
            st.latex(findings.additive_example(row, scores[row], weights[row]), width="content")
    where = "the row that is kept" if state.at >= 0 else "the first row; a click keeps another"
    st.caption(
        escape_markdown(f"With the numbers of row {row + 1}, “{queries[row]}”, and its strongest weight: {where}.")
    )
