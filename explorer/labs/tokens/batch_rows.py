"""How a text becomes rows of tokens and targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.figures.language import tokens as figures
from explorer.inspection.language.batch_preview import BatchPreview, Rows, preview_batches, with_rows
from explorer.labs.tokens import findings
from explorer.labs.tokens.state import TokensState
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget

_ROWS_TEXT = {
    "blocks": "The text is one long sequence of tokens, cut wherever a row is full. Each token predicts the next one, "
    "so the targets are the row itself, **shifted by one**.",
    "sentences": "Each line has its own row, and short lines are filled with **padding**, which does not count in the "
    "loss. Each token predicts the next one.",
    "prefixes": "Every prefix of a line has its own row, filled with padding, and **only the token after the prefix** "
    "is predicted. The model reads the same tokens many times for one prediction per row.",
}


def rows_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw how the text is cut into the rows of a batch."""
    state = session.state
    bind_widget(session, "rows", st.segmented_control, update=TokensState.with_rows)
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(session, "context", st.slider, width=260)
        if state.rows == "blocks":
            bind_widget(session, "batches", st.segmented_control)
    explanation(_ROWS_TEXT[state.rows])
    task = replace(state.task_config(config), context=state.context)
    tasks = {"random": with_rows(task, state.rows)}
    if state.rows == "blocks":
        tasks["contiguous"] = replace(tasks["random"], batches="contiguous")
    key = ("cut", config.text, *tasks.values())
    requests = {"previews": (key, lambda: {order: preview_batches(each) for order, each in tasks.items()})}
    draw = partial(_draw_rows, state.rows, state.context, state.batches)
    result_section("tokens-cut", requests, draw, "The rows are being made …", 420)


def _draw_rows(
    rows: Rows, context: int, order: str, document: Document, results: Mapping[str, Mapping[str, BatchPreview]]
) -> None:
    previews = results["previews"]
    document.finding(findings.batch_finding(previews[order], rows, context))
    _draw_batch(document, previews[order])
    document.text(findings.epoch_finding(previews[order], rows))
    document.finding("Start of each row in training steps 1, 2 and 3")
    _draw_origins(document, {findings.ORDERS[order]: each for order, each in previews.items()})


def _draw_batch(document: Document, preview: BatchPreview) -> None:
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
        "caption": "Filled: a target that counts in the loss. Dashed: padding, or a target that does not count.",
        "file": "tokens-rows",
        "label": "The rows of the first batch",
    }
    document.component("batch_rows", data, key="tokens-rows")


def _draw_origins(document: Document, previews: Mapping[str, BatchPreview]) -> None:
    """Draw where in the text the rows of the first batches begin, a panel for each order of the batches."""
    panels = []
    for name, preview in previews.items():
        shortest = min(map(len, preview.batches))
        positions = np.array([[row.position for row in batch[:shortest]] for batch in preview.batches])
        caption = findings.origin_finding(preview)
        alt = f"{name}: where in the text each row of the first three batches begins. {caption}"
        panels.append(Panel(name, figures.row_origins(positions, preview.tokens), alt, title=name, caption=caption))
    add_plot_frame(document, panels, key="tokens-origins", height=280, columns=2)
