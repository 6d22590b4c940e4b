"""Activation patching: which states carry the answer from one text to another."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.figures.attention import patching as figures
from explorer.labs.attention import findings
from explorer.labs.attention.changed_texts import COUNTERPARTS, LETTER_PAIRS, PAIRS
from explorer.labs.attention.chosen_answers import chosen_outcomes
from explorer.labs.attention.measurements import cache_key, query_position, tokenize_text
from explorer.labs.attention.patched_state import PatchedState, parse_patched_state
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Model
from explorer.ui.components.plot_frame import Panel, add_plot_frame, draw_plot_frame, pop_pick
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.result_section import Request, result_section, show_when_ready
from explorer.ui.state.fragments import rerun_fragments
from explorer.ui.state.session import PageSession, fragment, write_url
from explorer.ui.state.widgets import bind_widget
from explorer.ui.wording import visible_whitespace
from explorer.web.background import Pool, submit
from explorer.web.results import is_ready

if TYPE_CHECKING:
    from explorer.inspection.attention.attend import TokenizedInput
    from explorer.inspection.attention.patching import Patching

STREAM, HEADS, LAYERS = "gaze-stream", "gaze-heads", "gaze-layer-parts"  # panels
_PART = "gaze-patching-part"  # fragment
_MAP, _PARTS = "gaze-patching-map", "gaze-patching-parts"  # frames
KINDS = {
    "head": "the output of a head",
    "stream": "the residual stream at a token",
    "attention": "what the attention of a layer adds",
    "feedforward": "what a feedforward layer adds",
    "layer": "what a layer adds",
}
LAYER_KINDS = ("attention", "feedforward", "layer")  # in the order of `Patching.layers`
MAX_OUTCOMES = 5  # that are shown
MAX_QUICK_LAYERS = 8  # of a model whose states are patched in about a second
_MAX_HEIGHT = 560  # px of a map


@dataclass(frozen=True, eq=False)
class PatchedTexts:
    """Two texts as a model reads them, and what each state carries from the first to the changed one."""

    first: TokenizedInput
    changed: TokenizedInput
    patching: Patching


def changed_text(state: AttentionState, stored_model: Model) -> str:
    """Return the changed text: the visitor's, or the counterpart of an example; empty without one."""
    if state.changed is not None:
        return stored_model.text_or_example(state.changed)
    return COUNTERPARTS.get(stored_model.text_or_example(state.say), "")


def section(session: PageSession[AttentionState], stored_model: Model) -> None:
    """Draw the field of the changed text, the maps, and the answer with one state taken from the first text."""
    if not stored_model.layout.answers or stored_model.parts:
        st.caption("This is measured for models that read one text and predict something at its tokens.")
        return
    explanation(
        "**Activation patching**: the model reads a changed text, and one of its states is replaced by the state that "
        "it has on the first text. If the first answer comes back, that state carries what differs between the texts."
    )
    _draw_texts(session, stored_model)
    if not changed_text(session.state, stored_model):
        st.caption(
            f"Write a changed text with the same number of {stored_model.unit}s in which one of them is exchanged, so "
            "that the model predicts something else."
        )
        return
    fragment(session, _PART, lambda: _draw_part(session, stored_model))


def _draw_part(session: PageSession[AttentionState], stored_model: Model) -> None:
    """Draw what depends on the selected state: the maps, and the answer with that state."""
    state = session.state
    key, make = _patching_request(stored_model, state)
    pool: Pool = "quick" if stored_model.layout.layers <= MAX_QUICK_LAYERS else "patient"

    def requests() -> Mapping[str, Request[PatchedTexts]]:
        if _apply_click(session, submit(key, make, pool)):
            rerun_fragments((_PART,))
        return {"patching": (key, make)}

    result_section(
        "gaze-patching",
        requests,
        partial(_draw_maps, stored_model, state),
        "Every state is replaced in turn; this takes a few seconds …",
        560,
        pool=pool,
        events={_MAP: ("pick",), _PARTS: ("pick",)},
    )
    show_when_ready(
        "gaze-patched-state",
        key,
        make,
        partial(_draw_state, session, stored_model),
        "The answer with one state of the first text …",
        360,
        lambda error: None,  # the maps show it
        pool,
    )


def selected_state(state: AttentionState, found: Patching) -> PatchedState:
    """Return the state that is taken from the first text; by default the head that restores most."""
    if selected := parse_patched_state(state.patch):
        return selected
    shares = found.share(found.heads)
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    return PatchedState("head", layer, head)


def _draw_texts(session: PageSession[AttentionState], stored_model: Model) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(
            session,
            "changed",
            st.text_input,
            shown=changed_text(session.state, stored_model) if session.state.changed is None else session.state.changed,
            update=AttentionState.with_changed_text,
            label=f"Changed text, with as many {stored_model.unit}s as the first",
            width=430,
        )
        for name in ("answer", "contrast"):
            answer = visible_whitespace(getattr(session.state, name))
            bind_widget(session, name, st.text_input, shown=answer, placeholder="automatic", width=190)
    # Here too, because the top of the page is out of sight.
    show_problems([*session.problems, *stored_model.describe_unread(session.state.changed)])
    text = stored_model.text_or_example(session.state.say)
    pairs = [*(LETTER_PAIRS.items() if stored_model.unit == "letter" else ())]
    pairs += [(each, PAIRS[each]) for each in stored_model.example_texts if each in PAIRS]
    options = {describe_pair(*pair): pair for pair in pairs}
    current = (text, changed_text(session.state, stored_model))
    shown = next((name for name, pair in options.items() if pair == current), None)
    if options:
        bind_widget(
            session,
            "pair",
            st.pills,
            shown=shown,
            update=lambda state, name: state.with_texts(options[name]),
            label="or choose a pair of texts",
            options=list(options),
            label_visibility="collapsed",
        )


def describe_pair(first: str, changed: str) -> str:
    """Return two texts of the same number of words as one: “the king → queen near the aunt”."""
    words = zip(first.split(), changed.split(), strict=True)
    return " ".join(one if one == other else f"{one} → {other}" for one, other in words)


def _patching_request(stored_model: Model, state: AttentionState) -> Request[PatchedTexts]:
    changed = changed_text(state, stored_model)
    key: tuple[Hashable, ...] = (
        *cache_key(stored_model, state, "patching"),
        changed,
        state.at,
        state.answer,
        state.contrast,
    )
    return key, partial(compute_patching, stored_model, replace(state, off=(), flat=(), patch=""), changed)


def compute_patching(stored_model: Model, state: AttentionState, changed: str) -> PatchedTexts:
    """Patch every state of the model without ablations. Raises LineageError."""
    from explorer.inspection.attention.attention_model import attention_model
    from explorer.inspection.attention.outcomes import answer_logits
    from explorer.inspection.attention.patching import check_texts, patch_states

    first, other = (tokenize_text(stored_model, each) for each in (state, replace(state, say=changed)))
    check_texts(first.ids, other.ids)
    position = query_position(stored_model, state.at, first.tokens)
    model = attention_model(stored_model.module(state.seed, state.step))
    outcomes = chosen_outcomes(stored_model, state, answer_logits(model, first.ids, position))
    return PatchedTexts(first, other, patch_states(model, first.ids, other.ids, position, *outcomes))


def _apply_click(session: PageSession[AttentionState], future: Future[PatchedTexts]) -> bool:
    """Select the state of the cell that was clicked; return whether another one is selected now."""
    clicks = [click for key in (_MAP, _PARTS) if (click := pop_pick(key))]
    if not clicks or not is_ready(future) or future.exception():
        return False
    found = future.result().patching
    state = _clicked_state(found, *clicks[-1])
    if state is None or state == selected_state(session.state, found):
        return False
    session.state = replace(session.state, patch=state.url)
    write_url(session)
    return True


def _clicked_state(found: Patching, panel: str, x: int, y: int) -> PatchedState | None:
    """Return the state of a cell of a map; None if there is no such cell, because a browser can send anything."""
    cells = _cells(found).get(panel)
    if cells is None or not (0 <= y < cells.shape[0] and 0 <= x < cells.shape[1]):
        return None
    if panel == STREAM:
        return PatchedState("stream", y, found.positions[x])
    return PatchedState("head", y, x) if panel == HEADS else PatchedState(LAYER_KINDS[x], y)


def _cells(found: Patching) -> dict[str, ndarray]:
    """Return the log-probabilities of the outcomes by panel, row and column, without empty columns."""
    shown = 1 if np.isnan(found.layers[:, 1:]).all() else len(LAYER_KINDS)
    return {STREAM: found.residual, HEADS: found.heads, LAYERS: found.layers[:, :shown]}


def find_cell(found: Patching, state: PatchedState) -> tuple[str, int, int] | None:
    """Return the panel, the row and the column of a state; None if the model or the text does not have it."""
    panel = {"stream": STREAM, "head": HEADS}.get(state.kind, LAYERS)
    column = state.index
    if panel == STREAM:
        column = found.positions.index(column) if column in found.positions else -1
    elif panel == LAYERS:
        column = LAYER_KINDS.index(state.kind)
    cells = _cells(found)[panel]
    possible = state.layer < cells.shape[0] and 0 <= column < cells.shape[1]
    return (panel, state.layer, column) if possible else None


def _draw_maps(
    stored_model: Model,
    state: AttentionState,
    document: Document,
    results: Mapping[str, PatchedTexts],
) -> None:
    """Draw what each state restores: the residual stream by depth and token, heads, and parts of layers."""
    texts = results["patching"]
    found, first, changed = texts.patching, texts.first, texts.changed
    name = partial(_outcome_text, stored_model, texts)
    tokens = [findings.token_pair(*pair) for pair in zip(first.tokens, changed.tokens, strict=True)]
    document.finding(findings.patching_finding(found, tokens))
    document.text(findings.answers_to_both_texts(found, name))
    depths = ["embedding", *(f"layer {i + 1}" for i in range(len(found.heads)))]
    shares = {panel: found.share(cells) for panel, cells in _cells(found).items()}
    cell = find_cell(found, selected_state(state, found))

    def framed_cell(panel: str) -> tuple[int, int] | None:
        return cell[1:] if cell and cell[0] == panel else None

    def panel(name: str, columns: list[str], title: str, caption: str) -> Panel:
        rows = depths if name == STREAM else depths[1:]
        plot = figures.share_map(rows, columns, shares[name], framed_cell(name), legend=name == STREAM)
        alt = findings.share_alt(title, rows, columns, shares[name])
        return Panel(name, plot, alt, title=title, caption=caption, pickable=True)

    columns = [tokens[i] for i in found.positions]
    answers = (name(found.outcomes[0]), name(found.outcomes[1]))
    caption = findings.stream_caption(found, answers, len(tokens))
    stream = panel(STREAM, columns, "Residual stream at one token", caption)
    height = min(_MAX_HEIGHT, 110 + 34 * len(depths))
    add_plot_frame(document, [stream], key=_MAP, height=height, columns=1)
    heads = [f"head {i + 1}" if found.heads.shape[1] <= 4 else str(i + 1) for i in range(found.heads.shape[1])]
    names = ["attention", "feedforward", "both"][: shares[LAYERS].shape[1]]
    parts = [panel(HEADS, heads, "Output of one head, at all tokens", "Columns: heads.")]
    parts.append(panel(LAYERS, names, "What a layer adds, at all tokens", ""))
    add_plot_frame(document, parts, key=_PARTS, height=height - 40, columns=2)
    if len(names) == 1:
        document.caption(
            "Feedforward layers and whole layers are left out: a norm follows each part of this model, so a layer does "
            "not add its output to the residual stream."
        )
    if state.is_ablated:
        document.caption("Patched is the unchanged model, without the changes above.")
    document.caption(
        "Measured on this pair of texts only. A state that restores the answer is enough for it, but others may carry "
        "it too. Click a cell to see the answer with that state."
    )


def _outcome_text(stored_model: Model, texts: PatchedTexts, outcome: int) -> str:
    before = texts.first.ids[: texts.patching.position + 1]
    return visible_whitespace(stored_model.outcome_text(outcome, before))


def _draw_state(session: PageSession[AttentionState], stored_model: Model, texts: PatchedTexts) -> None:
    """Draw the selection of a state, and the answer with this state from the first text."""
    found = texts.patching
    state = selected_state(session.state, found)
    _draw_selection(session, stored_model, texts, state)
    cell = find_cell(found, state)
    if cell is None:
        st.caption("The model or the text has no such state, or it was not patched. Choose another one.")
        return
    panel, row, column = cell
    patched = _cells(found)[panel][row, column]
    outcomes = [_outcome_text(stored_model, texts, outcome) for outcome in found.outcomes]
    sentence = findings.patched_state_finding(found, patched, outcomes)
    st.subheader(escape_markdown(sentence), anchor=False)
    shown = slice(None, MAX_OUTCOMES)
    probabilities = [np.exp(each[shown]) for each in (found.changed, patched, found.clean)]
    changed, now, first = probabilities
    bars = figures.patched_answers(outcomes[shown], changed, now, first, stored_model.colour)
    alt = "; ".join(
        f"“{name}”: changed text {a:.2f}, with the state {b:.2f}, first text {c:.2f}"
        for name, a, b, c in zip(outcomes, *probabilities, strict=False)
    )
    draw_plot_frame(
        [Panel("gaze-patched", bars, alt)], key="gaze-patched", height=90 + 56 * len(probabilities[0]), columns=1
    )


def _draw_selection(
    session: PageSession[AttentionState], stored_model: Model, texts: PatchedTexts, state: PatchedState
) -> None:
    """Draw the menus of the state that is taken from the first text: a keyboard can select what a click does."""
    found, of_stream = texts.patching, state.kind == "stream"
    layers, heads = found.heads.shape[:2]
    layer_names = {i: f"layer {i + 1}" for i in range(layers)}
    depth_names = {0: "the embedding", **{i + 1: name for i, name in layer_names.items()}}

    def menu(name: str, label: str, options: Mapping[Any, str], shown: object, width: int) -> None:
        def update(before: AttentionState, value: Any) -> AttentionState:
            state = replace(selected_state(before, found), **{name: value})
            if name == "kind":
                state = PatchedState(
                    value, min(state.layer, layers - 1), found.positions[0] if value == "stream" else 0
                )
            return replace(before, patch=state.url)

        bind_widget(
            session,
            f"patch_{name}",
            st.selectbox,
            shown=shown if shown in options else next(iter(options)),
            update=update,
            redraw=(_PART,),
            label=label,
            options=options,
            width=width,
        )

    with st.container(horizontal=True, vertical_alignment="bottom"):
        menu("kind", "Taken from the first text", KINDS, state.kind, 300)
        menu("layer", "After" if of_stream else "In", depth_names if of_stream else layer_names, state.layer, 150)
        if of_stream:
            tokens = {i: f"{i + 1}: {visible_whitespace(texts.first.tokens[i])}" for i in found.positions}
            menu("index", "Token", tokens, state.index, 170)
        elif state.kind == "head":
            menu("index", "Head", {i: f"head {i + 1}" for i in range(heads)}, state.index, 130)
