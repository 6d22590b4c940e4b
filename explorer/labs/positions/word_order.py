"""Two sentences of the same words, which some untrained models distinguish, and the pictures of the encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.errors import DamagedRun
from explorer.experiments.labelling import VARIANTS
from explorer.inspection.transformer import positions
from explorer.labs.positions import findings
from explorer.labs.positions.state import POSITION_COUNT, PositionsState
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.ui.training import run_view
from explorer.web.results import pack, register_arrays

_KEY = "positions"  # of the component


def word_order_section(session: ui.PageSession[PositionsState]) -> None:
    """Draw the fields for both sentences and how far apart the models place them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "first", st.text_input, width=330)
        ui.bind_widget(session, "second", st.text_input, width=330)
        st.button(
            "Reverse the order",
            icon=":material/swap_horiz:",
            help="Make the second sentence the first one, from its last word to its first.",
            on_click=lambda: session.change(lambda s: replace(s, second=" ".join(reversed(s.first.split())))),
            key="positions.turn",
        )
    ui.show_problems(session.state.sentence_problems)
    first, second = session.state.sentences
    call = ui.Call(positions.word_order_distances, first, second)
    waiting = "The models read both sentences …"
    ui.show("positions-order", call, order_view, first, second, waiting=waiting, height=330)


def order_view(
    document: ui.Document, models: Sequence[positions.OrderDistance], first: Sequence[str], second: Sequence[str]
) -> None:
    """Write which models tell the two sentences apart, and by how much."""
    document.finding(findings.order_finding(first, second, models))
    document.table("positions-order-figure", order_table(models))
    is_reordered = sorted(first) == sorted(second) and first != second
    document.caption(
        "Untrained Transformers with two layers; a sentence vector is the mean of the outputs. In brackets: the "
        "distance of the two vectors, relative to their length, from the lowest to the highest of "
        f"{ui.count_seeds(len(models[0].sentence_distance))}. {findings.causal_mask_finding(models) * is_reordered}"
    )


def order_table(models: Sequence[positions.OrderDistance]) -> charts.Table:
    """Return whether each model distinguishes the sentences, a row for each kind of positions."""
    columns = {
        "name": charts.Column("", "model"),
        "encoder": charts.Column("encoder: every word attends to every other"),
        "decoder": charts.Column("causal decoder: a word attends to earlier ones"),
    }
    rows: list[charts.Row] = []
    for scheme, name in findings.SCHEME_NAMES.items():
        encoder, decoder = (
            next(one for one in models if one.positions == scheme and one.causal is causal) for causal in (False, True)
        )
        cells = {"encoder": findings.order_words(encoder), "decoder": findings.order_words(decoder)}
        rows.append({"name": charts.Cell(name, MODELS["transformer"].colour), **cells})
    return charts.Table(columns, rows, "Are the vectors of both sentences the same?")


def draw_component(session: ui.PageSession[PositionsState]) -> None:
    """Draw the pictures; their data is described in `labs/positions/components/positions/view.js`. The learned vectors
    follow once they are loaded.
    """
    view = run_view.run_views({"learned": VARIANTS["echo-learned"].config()})["learned"]
    trained = 2 * view.config.task_as(DelayedCopyConfig).longest
    calls: dict[str, ui.Call[bytes | None]] = {"pictures": ui.Call(_pack_nothing)}
    if run := view.stored:
        calls["learned"] = ui.Call(_pack_learned_vectors, run)

    ui.show_each(
        "positions-pictures",
        calls,
        pictures_view,
        trained,
        session.state.component_state,
        waiting="The learned vectors are loaded …",
        height=700,
        pool="quick",
        partly=True,
        events={_KEY: ("set",)},
        on_event=lambda: ui.apply_component_event(session, _KEY),  # the formulas below show the same settings
    )


def _pack_nothing() -> None:
    """Return at once: the pictures do not wait for the learned vectors."""


def pictures_view(
    document: ui.Document, results: Mapping[str, bytes | None], trained: int, settings: Mapping[str, object]
) -> None:
    """Write the pictures, with the learned vectors as soon as they are loaded; the first `trained` are trained."""
    content = results.get("learned")
    learned = None if content is None else {"address": register_arrays(content), "trained": trained}
    data = {"count": POSITION_COUNT, "learned": learned, "state": settings, "file": "positions"}
    document.component("positions", data, key=_KEY)


def _pack_learned_vectors(run: StoredRun) -> bytes | None:
    """Return the first seed's learned vectors for the browser; None if the run is damaged."""
    try:
        before, after = positions.learned_positions(run)
    except DamagedRun:
        return None
    return pack({"before": before[:POSITION_COUNT], "after": after[:POSITION_COUNT]})
