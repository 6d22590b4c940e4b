"""How a text becomes rows of tokens and targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer.figures import tokens as figures
from explorer.inspection.language.batch_preview import BatchPreview, preview_batches, with_rows
from explorer.labs.tokens import findings
from explorer.labs.tokens.state import WIDEST, TokensState
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.base import register
from explorer.ui.components.plot_frame import Panel, draw_plot_frame
from explorer.ui.deferred_sections import show_when_ready
from explorer.ui.page_sections import explanation
from explorer.ui.state.session import PageSession, bind_widget

_ROWS = {
    "blocks": "blocks of the stream",
    "sentences": "a line a row",
    "prefixes": "a prefix a row",
}
_ROWS_TEXT = {
    "blocks": "The text is one long stream of tokens, cut wherever a row is full. Each token is asked for its "
    "successor, so the target is the row itself, **shifted by one**.",
    "sentences": "Each line begins a row of its own, and short ones are filled up with **padding**, which counts for "
    "nothing. Every token is asked for its successor.",
    "prefixes": "As in the assignment: every beginning of a line is a row of its own, filled up to the full width, and "
    "**only the last place** is asked. The model reads the same tokens again and again to answer one question a row.",
}
_rows = register("batch_rows")  # see `static/components/batch_rows/view.js`


def rows_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw how the text is cut into the rows of a batch."""
    state = session.state
    st.header("How a text becomes questions", anchor=False)
    ties = bind_widget(session, "tokens.rows", state.rows, lambda d, rows: d.with_rows(rows or d.rows))
    st.segmented_control("A row is", list(_ROWS), format_func=_ROWS.__getitem__, **ties)
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bind_widget(session, "tokens.context", state.context, lambda d, n: replace(d, context=n))
        st.slider("Tokens a row gives to read", 1, WIDEST, width=260, **ties)
        if state.rows == "blocks":
            ties = bind_widget(
                session, "tokens.batches", state.batches, lambda d, b: replace(d, batches=b or d.batches)
            )
            st.segmented_control("Batches", ["random", "contiguous"], **ties)
    explanation(_ROWS_TEXT[state.rows])
    task = replace(state.task_config(config), context=state.context)
    tasks = {"random": with_rows(task, state.rows)}
    if state.rows == "blocks":
        tasks["contiguous"] = replace(tasks["random"], batches="contiguous")

    def draw(previews: Mapping[str, BatchPreview]) -> None:
        preview = previews[state.batches]
        st.subheader(findings.batch_finding(preview, state.rows, state.context), anchor=False)
        _draw_batch(preview)
        explanation(findings.epoch_finding(preview, state.rows))
        st.subheader("Where the rows of steps 1, 2 and 3 begin", anchor=False)
        _draw_origins({findings.ORDERS[order]: each for order, each in previews.items()})

    show_when_ready(
        "tokens-cut",
        ("cut", config.text, *tasks.values()),
        lambda: {order: preview_batches(each) for order, each in tasks.items()},
        draw,
        "The text is being cut into rows …",
        420,
    )


def _draw_batch(preview: BatchPreview) -> None:
    """Draw the first batch, token by token."""
    data = {
        "rows": [
            {
                "name": f"row {i + 1}",
                "from": f"from token {row.position:,}",
                "cells": [{"token": c.token, "target": c.target, "asked": c.in_loss} for c in row.cells],
            }
            for i, row in enumerate(preview.batches[0])
        ],
        "caption": "Filled: a target that counts. Dashed: padding, or a target that does not count.",
        "file": "tokens-rows",
        "label": "The rows of the first batch",
    }
    _rows(data=data, key="tokens-rows")


def _draw_origins(previews: Mapping[str, BatchPreview]) -> None:
    """Draw where in the text the rows of the first batches begin, a panel for each order of the batches."""
    panels = []
    for name, preview in previews.items():
        shortest = min(map(len, preview.batches))
        positions = np.array([[row.position for row in batch[:shortest]] for batch in preview.batches])
        caption = findings.origin_finding(preview)
        alt = f"{name}: where in the text each row of the first three batches begins. {caption}"
        panels.append(Panel(name, figures.row_origins(positions, preview.tokens), alt, title=name, caption=caption))
    draw_plot_frame(panels, key="tokens-origins", height=280, columns=2)
