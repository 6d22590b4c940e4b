"""How a text becomes rows of tokens and targets, and where in the text the rows begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Int
from numpy import ndarray

from explorer import charts, ui
from explorer.charts.style import INK, PAGE, RULE
from explorer.inspection.language.batch_preview import BatchPreview, Rows, preview_batches, with_rows
from explorer.labs.tokens import findings
from explorer.labs.tokens.state import TokensState
from explorer.tasks.text.config import TextConfig

_ROWS_TEXT = {
    "blocks": "The text is one long sequence of tokens, cut wherever a row is full. Each token predicts the next one, "
    "so the targets are the row itself, **shifted by one**.",
    "sentences": "Each line has its own row, and short lines are filled with **padding**, which does not count in the "
    "loss. Each token predicts the next one.",
    "prefixes": "Every prefix of a line has its own row, filled with padding, and **only the token after the prefix** "
    "is predicted. The model reads the same tokens many times for one prediction per row.",
}


def rows_section(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    """Draw how the text is cut into the rows of a batch."""
    state = session.state
    ui.bind_widget(session, "rows", st.segmented_control, update=TokensState.with_rows)
    with st.container(horizontal=True, vertical_alignment="top"):
        ui.bind_widget(session, "context", st.slider, width=260)
        if state.rows == "blocks":
            ui.bind_widget(session, "batches", st.segmented_control)
    ui.explanation(_ROWS_TEXT[state.rows])
    task = with_rows(replace(state.task_config(config), context=state.context), state.rows)
    calls = {"random": ui.Call(preview_batches, task)}
    if state.rows == "blocks":
        calls["contiguous"] = ui.Call(preview_batches, replace(task, batches="contiguous"))
    context = state.rows, state.context, state.batches
    ui.show_each("tokens-cut", calls, rows_view, *context, waiting="The rows are being made …", height=420)


def rows_view(
    document: ui.Document, previews: Mapping[str, BatchPreview], rows: Rows, context: int, order: str
) -> None:
    """Write the first batch of the chosen order, token by token, and where the rows of each order begin."""
    if order not in previews:
        return
    document.finding(findings.batch_finding(previews[order], rows, context))
    data = {
        "rows": [
            {
                "name": f"row {i + 1}",
                "from": f"from token {row.position:,}",
                "cells": [{"token": c.token, "target": c.target, "asked": c.in_loss} for c in row.cells],
            }
            for i, row in enumerate(previews[order].batches[0])
        ],
        "caption": "Filled: a target that counts in the loss. Dashed: padding, or a target that does not count.",
        "file": "tokens-rows",
        "label": "The rows of the first batch",
    }
    document.component("batch_rows", data, "tokens-rows")
    document.text(findings.epoch_finding(previews[order], rows))
    document.finding("Start of each row in training steps 1, 2 and 3")
    panels = []
    for name, preview in previews.items():
        shortest, title, caption = (
            min(map(len, preview.batches)),
            findings.ORDERS[name],
            findings.origin_finding(preview),
        )
        positions = np.array([[row.position for row in batch[:shortest]] for batch in preview.batches])
        words = f"{title}: where in the text each row of the first three batches begins. {caption}"
        chart = origins_chart(positions, preview.tokens, words)
        panels.append(ui.Panel(title, chart, title=title, caption=caption))
    document.figures("tokens-origins", panels, height=280, columns=2)


_APART = 0.03  # of the axis: dots that are nearer overlap


def origins_chart(positions: Int[ndarray, "steps rows"], tokens: int, words: str) -> charts.Drawing:
    """Return a line for each row of the batches, and on it a dot with its number for each step.

    positions: of the first token of each row
    tokens: of the training text
    words: the text alternative
    """
    steps, rows = positions.shape
    # Rows that continue start a few tokens further at each step: on the axis of the whole text they would coincide.
    continues = steps > 1 and bool((np.ptp(positions, axis=0) < _APART * tokens).all())
    if continues:
        positions = positions - positions[0]
        tokens = max(1, int(1.5 * positions.max()))
    labels = [(row, *each) for row in range(rows) for each in _group_steps(positions[:, row], _APART * tokens)]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": positions.T.flatten().tolist(),
        "y": [row for row in range(rows) for _ in range(steps)],
        "customdata": [step + 1 for _ in range(rows) for step in range(steps)],
        "marker": {"size": 13, "color": INK, "line": {"color": PAGE, "width": 2}},
        "name": "first token of the row",
        "hovertemplate": "step %{customdata}: from token %{x:,}<extra></extra>",
        "cliponaxis": False,
    }
    numbers = {
        "type": "scatter",
        "mode": "text",
        "x": [position for _, _, position in labels],
        "y": [row - 0.16 for row, _, _ in labels],
        "text": [text for _, text, _ in labels],
        "textposition": "top center",
        "textfont": {"size": 14, "color": INK},
        "name": "step",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    line = {"type": "line", "x0": 0, "x1": tokens, "line": {"color": RULE, "width": 6}, "layer": "below"}
    x = charts.Axis(
        "tokens after the row of step 1" if continues else "position in the training tokens", (0, tokens), ticks=5
    )
    y = charts.Axis(span=(rows - 0.6, -0.7), ticks={row: f"row {row + 1}" for row in range(rows)})
    layout = {
        "xaxis": x.layout(),
        "yaxis": y.layout() | {"showgrid": False},
        "shapes": [line | {"y0": row, "y1": row} for row in range(rows)],
        "margin": {"l": 8, "r": 24, "t": 12, "b": 8},
    }
    return charts.Drawing(words, [dots, numbers], layout)


def _group_steps(positions: Int[ndarray, " steps"], apart: float) -> list[tuple[str, int]]:
    """Return labels and their positions; steps whose dots would overlap share a label such as "1 2 3"."""
    groups: list[tuple[list[int], int]] = []
    for step in np.argsort(positions, kind="stable").tolist():
        position = int(positions[step])
        if groups and position - groups[-1][1] < apart:
            groups[-1][0].append(step + 1)
        else:
            groups.append(([step + 1], position))
    return [(" ".join(map(str, sorted(steps))), position) for steps, position in groups]
