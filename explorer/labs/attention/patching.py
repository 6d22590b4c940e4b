"""Activation patching: which states carry the answer from one text to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.labs.attention import findings
from explorer.labs.attention.chosen_answers import chosen_outcomes
from explorer.labs.attention.measurements import query_position, tokenize_text
from explorer.labs.attention.state import (
    COUNTERPARTS,
    LETTER_PAIRS,
    PAIRS,
    AttentionState,
    PatchedState,
    parse_patched_state,
)
from explorer.model.model import Model
from explorer.ui.state.fragments import rerun_fragments
from explorer.ui.state.session import fragment
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


def section(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Draw the field of the changed text, the maps, and the answer with one state taken from the first text.

    The model reads one text and predicts something at its tokens.
    """
    ui.explanation(
        "**Activation patching**: the model reads a changed text, and one of its states is replaced by the state that "
        "it has on the first text. If the first answer comes back, that state carries what differs between the texts."
    )
    _draw_texts(session, stored_model)
    if not changed_text(session.state, stored_model):
        ui.caption(
            f"Write a changed text with the same number of {stored_model.unit}s in which one of them is exchanged, so "
            "that the model predicts something else."
        )
        return
    fragment(session, _PART, lambda: _draw_part(session, stored_model))


def _draw_part(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Draw what depends on the selected state: the maps, and the answer with that state."""
    state = session.state
    unchanged = state.computation_settings("at", "answer", "contrast", ablated=False)
    call = ui.Call(compute_patching, stored_model, unchanged, changed_text(state, stored_model))
    pool: Pool = "quick" if stored_model.layout.layers <= MAX_QUICK_LAYERS else "patient"

    ui.show(
        "gaze-patching",
        call,
        maps_view,
        stored_model,
        state,
        waiting="Every state is replaced in turn; this takes a few seconds …",
        height=560,
        pool=pool,
        events={_MAP: ("pick",), _PARTS: ("pick",)},
        on_event=lambda: _apply_click(session, submit(call.key, call, pool)),
    )
    ui.show_when_ready(
        "gaze-patched-state",
        call.key,
        call,
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


def _draw_texts(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "changed",
            st.text_input,
            shown=changed_text(session.state, stored_model) if session.state.changed is None else session.state.changed,
            label=f"Changed text, with as many {stored_model.unit}s as the first",
            width=430,
        )
        for name in ("answer", "contrast"):
            answer = visible_whitespace(getattr(session.state, name))
            ui.bind_widget(session, name, st.text_input, shown=answer, placeholder="automatic", width=190)
    # Here too, because the top of the page is out of sight.
    ui.show_problems([*session.problems, *stored_model.describe_unread(session.state.changed)])
    text = stored_model.text_or_example(session.state.say)
    pairs = [*(LETTER_PAIRS.items() if stored_model.unit == "letter" else ())]
    pairs += [(each, PAIRS[each]) for each in stored_model.example_texts if each in PAIRS]
    options = {describe_pair(*pair): pair for pair in pairs}
    current = (text, changed_text(session.state, stored_model))
    shown = next((name for name, pair in options.items() if pair == current), None)
    if options:
        ui.bind_widget(
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


def _apply_click(session: ui.PageSession[AttentionState], future: Future[PatchedTexts]) -> None:
    """Select the state of the cell that was clicked, and rerun the fragment if it is another one."""
    clicks = [click for key in (_MAP, _PARTS) if (click := ui.pop_pick(key))]
    if not clicks or not is_ready(future) or future.exception():
        return
    found = future.result().patching
    state = _clicked_state(found, *clicks[-1])
    if state and state != selected_state(session.state, found):
        session.state = replace(session.state, patch=state.url)
        ui.write_url(session)
        rerun_fragments((_PART,))


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


def maps_view(document: ui.Document, texts: PatchedTexts, stored_model: Model, state: AttentionState) -> None:
    """Write what each state restores: the residual stream by depth and token, heads, and parts of layers."""
    found, first, changed = texts.patching, texts.first, texts.changed
    name = partial(_outcome_text, stored_model, texts)
    tokens = [findings.token_pair(*pair) for pair in zip(first.tokens, changed.tokens, strict=True)]
    document.finding(findings.patching_finding(found, tokens))
    document.text(findings.answers_to_both_texts(found, name))
    depths = ["embedding", *(f"layer {i + 1}" for i in range(len(found.heads)))]
    shares = {panel: found.share(cells) for panel, cells in _cells(found).items()}
    cell = find_cell(found, selected_state(state, found))

    def panel(name: str, columns: list[str], title: str, caption: str) -> ui.Panel:
        rows = depths if name == STREAM else depths[1:]
        framed = cell[1:] if cell and cell[0] == name else None
        chart = share_map(title, rows, columns, shares[name], framed, legend=name == STREAM)
        return ui.Panel(name, chart, title=title, caption=caption, pickable=True)

    columns = [tokens[i] for i in found.positions]
    answers = (name(found.outcomes[0]), name(found.outcomes[1]))
    caption = findings.stream_caption(found, answers, len(tokens))
    stream = panel(STREAM, columns, "Residual stream at one token", caption)
    height = min(_MAX_HEIGHT, 110 + 34 * len(depths))
    document.figures(_MAP, [stream], height=height, columns=1)
    heads = [f"head {i + 1}" if found.heads.shape[1] <= 4 else str(i + 1) for i in range(found.heads.shape[1])]
    names = ["attention", "feedforward", "both"][: shares[LAYERS].shape[1]]
    parts = [panel(HEADS, heads, "Output of one head, at all tokens", "Columns: heads.")]
    parts.append(panel(LAYERS, names, "What a layer adds, at all tokens", ""))
    document.figures(_PARTS, parts, height=height - 40, columns=2)
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


def share_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Float[ndarray, "rows columns"],
    framed: tuple[int, int] | None = None,
    legend: bool = False,
) -> charts.HeatMap:
    """Return the share of the answer that each state restores; 0 has a neutral colour."""
    return charts.HeatMap(
        title,
        "share",
        rows,
        columns,
        shares,
        charts.tile_texts(shares, 0.05, 10),
        signed=True,
        upward=True,
        columns_on_top=False,
        legend=("−1", "0 changed", "1 first") if legend else (),
        framed=framed,
        hover=[[f"{row}, {column}" for column in columns] for row in rows],
        words=findings.share_alt(title, rows, columns, shares),
    )


def _outcome_text(stored_model: Model, texts: PatchedTexts, outcome: int) -> str:
    before = texts.first.ids[: texts.patching.position + 1]
    return visible_whitespace(stored_model.outcome_text(outcome, before))


def _draw_state(session: ui.PageSession[AttentionState], stored_model: Model, texts: PatchedTexts) -> None:
    """Draw the selection of a state, and the answer with this state from the first text."""
    found = texts.patching
    state = selected_state(session.state, found)
    _draw_selection(session, stored_model, texts, state)
    cell = find_cell(found, state)
    if cell is None:
        ui.caption("The model or the text has no such state, or it was not patched. Choose another one.")
        return
    panel, row, column = cell
    patched = _cells(found)[panel][row, column]
    outcomes = [_outcome_text(stored_model, texts, outcome) for outcome in found.outcomes]
    ui.draw_now(patched_view, found, patched, outcomes, stored_model.colour)


def patched_view(
    document: ui.Document, found: Patching, patched: Float[ndarray, " outcomes"], outcomes: Sequence[str], colour: str
) -> None:
    """Write the answers to both texts, and to the changed one with a state of the first (`patched`: their logs)."""
    document.finding(findings.patched_state_finding(found, patched, outcomes))
    names = outcomes[:MAX_OUTCOMES]
    bars = [
        charts.Bars(title, np.exp(logs[: len(names)]), shown)
        for title, logs, shown in (
            ("changed text", found.changed, "--soft"),
            ("with the state from the first text", patched, colour),
            ("first text", found.clean, "--ink"),
        )
    ]
    chart = charts.BarChart("Probability of each answer", names, bars, charts.Axis("probability", (0, 1), ticks=6))
    document.figures("gaze-patched", [ui.Panel("gaze-patched", chart)], height=90 + 56 * len(names), columns=1)


def _draw_selection(
    session: ui.PageSession[AttentionState], stored_model: Model, texts: PatchedTexts, state: PatchedState
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

        ui.bind_widget(
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
