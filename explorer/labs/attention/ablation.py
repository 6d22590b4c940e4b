"""What a model answers with and without an ablation, and the importance of each head (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.charts.style import SOFT
from explorer.labs.attention import findings
from explorer.labs.attention.measurements import query_position
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Evaluated, Model
from explorer.ui.wording import visible_whitespace

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

MAX_HEADS = 32  # that the figure of head importance shows
_IMPORTANCE_TEXTS: Mapping[Evaluated, str] = {
    "held-out text": "text that was not in the training",
    "sentences of the task": "sentences of the task",
    "this text": "the text above",
    "": "text that was not in the training",
}


def answer_row(stored_model: Model, at: int | None, reading: AttentionReading) -> int:
    """Return the row of the answer: the one at the query, or the only one of a classifier."""
    every_token = stored_model.layout.answers_every_token
    return query_position(stored_model, at, reading.queries) if every_token else 0


def answer_place(stored_model: Model, row: int, reading: AttentionReading) -> str:
    """Return where the model predicts something, as the end of a sentence; empty for a classifier."""
    if not stored_model.layout.answers_every_token:
        return ""
    if stored_model.predicts_in_place:
        return f"in place of “{reading.queries[row].strip()}”"
    return f"after “{findings.text_end(reading.queries[: row + 1], stored_model.separator)}”"


def answer_data(stored_model: Model, at: int | None, reading: AttentionReading) -> dict[str, object] | None:
    """Return the most probable answers with and without the ablation, for the component of the heads.

    None for a model that predicts nothing.
    """
    if reading.answers is None:
        return None
    row, answers = answer_row(stored_model, at, reading), reading.answers
    return {
        "where": answer_place(stored_model, row, reading) or "read at the first token",
        "rows": [
            {
                "text": visible_whitespace(stored_model.outcome_text(int(outcome), reading.query_ids)),
                "now": round(float(now), 6),
                "before": round(float(before), 6),
            }
            for outcome, now, before in zip(
                answers.outcomes[row], answers.probabilities[row], answers.original[row], strict=True
            )
        ],
        "changed": reading.state.is_ablated,
    }


def importance_call(stored_model: Model, state: AttentionState) -> ui.Call[HeadImportance] | None:
    """Return the call that measures the head importance; None where it cannot be measured."""
    if not stored_model.importance_text:
        return None
    text = stored_model.text_or_example(state.say) if stored_model.importance_text == "this text" else ""
    return ui.Call(type(stored_model).head_importance, stored_model, state.seed, text)


def importance_section(state: AttentionState, stored_model: Model) -> None:
    """Draw the importance of each head, for a model with a loss to measure."""
    call = importance_call(stored_model, state)
    if call is None and not stored_model.importance_problem:
        return
    sample = _IMPORTANCE_TEXTS[stored_model.importance_text]
    ui.explanation(
        f"Each head is switched off in turn, and the loss is measured on {sample}. "
        "A head with an interesting pattern can be unimportant, and one with a dull pattern can be needed."
    )
    if call is None:
        st.caption(stored_model.importance_problem)
        return
    if state.step is not None or state.is_ablated:
        st.caption("Measured on the unchanged model at the end of training.")
    duration = "up to a minute" if stored_model.importance_text == "this text" else "a few seconds"
    waiting = f"The loss without each head is measured; this takes {duration} …"
    ui.show("gaze-worth", call, importance_view, stored_model.colour, waiting=waiting, height=300, pool="patient")


def importance_view(document: ui.Document, measured: HeadImportance, colour: str) -> None:
    """Write the loss without each head, the most important one on top, with two standard errors on either side."""
    layers, heads = measured.ablated_loss.shape
    labels = [f"layer {i + 1}, head {j + 1}" for i in range(layers) for j in range(heads)]
    document.finding(findings.importance_finding(measured, labels))
    values, errors = measured.importance.reshape(-1), 2 * measured.error.reshape(-1)
    largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:MAX_HEADS])
    shown = largest[np.argsort(-values[largest])]
    rows = [charts.DotRow(labels[i], colour, values[[i]], error=errors[[i]]) for i in shown]
    span = charts.span_of([values[shown] - errors[shown], values[shown] + errors[shown], [0.0]])
    x = charts.Axis(f"change of the {measured.metric}", span)
    zero = charts.Rule(0.0, True, SOFT, "solid")
    chart = charts.DotChart("Loss without each head, compared with that of the whole model", rows, x, [zero])
    caption = findings.importance_caption(measured)
    if len(shown) < len(labels):
        caption += f" Shown are the {len(shown)} heads of {len(labels)} without which the loss changes most."
    panel = ui.Panel("gaze-worth", chart, caption=caption)
    document.figures("gaze-worth", [panel], height=90 + 30 * len(shown), columns=1)
