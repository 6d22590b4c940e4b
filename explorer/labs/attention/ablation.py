"""What a model answers with and without an ablation, and the importance of each head (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.figures import attention as figures
from explorer.labs.attention import findings
from explorer.labs.attention.measurements import outcome_text, query_position, reading_request
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.number_format import format_signed
from explorer.tasks.text.config import TextConfig
from explorer.ui import visitor_text
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section, show_when_ready
from explorer.ui.training.stored_models import StoredModel
from explorer.web import background

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

MAX_ANSWERS = 8  # of the chart


def answer_row(stored_model: StoredModel, at: int | None, reading: AttentionReading) -> int:
    """Return the row of the answer: the one at the query, or the only one of a classifier."""
    return 0 if stored_model.tokenizer is None else query_position(stored_model, at, len(reading.input.ids))


def section(state: AttentionState, stored_model: StoredModel) -> None:
    """Draw the most probable answers with and without the ablation."""
    st.header("What it answers", anchor=False)
    with st.container(width=640):
        result_section(
            "gaze-answers",
            {"reading": reading_request(stored_model, state)},
            partial(_draw_answers, stored_model, state.at),
            "The model is reading …",
            40 + 40 * MAX_ANSWERS,
            pool="quick",
        )


def _draw_answers(
    stored_model: StoredModel, at: int | None, document: Document, results: Mapping[str, AttentionReading]
) -> None:
    reading = results["reading"]
    row, ablated = answer_row(stored_model, at, reading), reading.state.is_ablated
    ablated_probabilities, original_probabilities = (
        np.exp(reading.log_probabilities[row]),
        np.exp(reading.original_log_probabilities[row]),
    )
    shown = np.argsort(-np.maximum(ablated_probabilities, original_probabilities), kind="stable")[:MAX_ANSWERS]
    labels = [outcome_text(stored_model, reading, int(i)) for i in shown]
    alt_text = ", ".join(f"{name} {p:.2f}" for name, p in zip(labels, ablated_probabilities[shown], strict=True))
    what = "What it expects after the token that asks." if stored_model.tokenizer else "Read off at <BOS>."
    legend = "Solid: with what you touched; pale: untouched. " if ablated else ""
    panel = Panel(
        "gaze-answers",
        figures.answer_probabilities(
            labels,
            ablated_probabilities[shown],
            original_probabilities[shown] if ablated else None,
            stored_model.row.colour,
        ),
        alt=f"The likeliest answers: {alt_text}.",
        caption=legend + what,
    )
    add_plot_frame(document, [panel], key="gaze-answers", height=40 + 40 * len(labels), columns=1)


def importance_if_measured(stored_model: StoredModel, state: AttentionState) -> HeadImportance | None:
    """Return the head importance if it is computed; else start computing it and return None."""
    if not _is_measurable(stored_model):
        return None
    future = background.submit(
        _importance_key(stored_model, state), lambda: _measure_importance(stored_model, state), "patient"
    )
    if not future.done() or future.cancelled() or future.exception():
        return None
    return future.result()


def _is_measurable(stored_model: StoredModel) -> bool:
    """Return whether the evaluation text is on this machine."""
    task = stored_model.config.task
    return not isinstance(task, TextConfig) or visitor_text.is_available(task)


def _importance_key(stored_model: StoredModel, state: AttentionState) -> tuple[Hashable, ...]:
    return ("gaze-worth", *stored_model.cache_key, state.seed)


def _measure_importance(stored_model: StoredModel, state: AttentionState) -> HeadImportance:
    from explorer.inspection.attention.head_scores import head_importance

    return head_importance(stored_model.run, state.seed)


def _count_held_out_targets(stored_model: StoredModel) -> int:
    """Return the number of held-out targets. The text is tokenized already: the importance was measured on it."""
    from explorer.tasks.text.rows import text_data

    return text_data(stored_model.config.task_as(TextConfig)).held_out_targets


def importance_section(state: AttentionState, stored_model: StoredModel, importance: HeadImportance | None) -> None:
    """Draw the importance of each head. The page reruns once it is measured, because the grid shows it too."""
    st.header("What each head is worth", anchor=False)
    of_text = isinstance(stored_model.config.task, TextConfig)
    explanation(
        "Switch off one head at a time, ask the model about "
        + ("text that it never learned from" if of_text else "every sentence of the grammar")
        + ", and see by how much its loss rises. A head may look at interesting places and be worth nothing; another "
        "may seem dull and be needed."
    )
    if state.step is not None or state.is_ablated:
        st.caption("This is measured at the end of the training, with nothing touched.")
    if not _is_measurable(stored_model):
        st.caption("The text it would be measured on is not on this machine.")
        return
    key, make = _importance_key(stored_model, state), partial(_measure_importance, stored_model, state)
    placeholder = "The model is asked once more for each head; that takes a few seconds …"
    if importance is None:
        show_when_ready("gaze-worth", key, make, lambda _: st.rerun(), placeholder, 300, pool="patient")
        return
    draw = partial(_draw_importance, stored_model)
    result_section("gaze-worth", {"importance": (key, make)}, draw, placeholder, 300, pool="patient")


def _draw_importance(stored_model: StoredModel, document: Document, results: Mapping[str, HeadImportance]) -> None:
    measured, of_text = results["importance"], isinstance(stored_model.config.task, TextConfig)
    layers, heads = measured.ablated_loss.shape
    total = _count_held_out_targets(stored_model) if of_text else 0
    labels = [f"layer {i + 1}, head {j + 1}" for i in range(layers) for j in range(heads)]
    document.finding(findings.importance_finding(measured, labels))
    values, errors = measured.importance.reshape(-1), measured.error.reshape(-1)
    panel = Panel(
        "gaze-worth",
        figures.head_importance(labels, values, errors, stored_model.row.colour, f"rise of the {measured.metric}"),
        alt=", ".join(f"{n} {format_signed(float(v), 3)}" for n, v in zip(labels, values, strict=True)),
        caption=findings.importance_caption(measured, of_text, total),
    )
    add_plot_frame(document, [panel], key="gaze-worth", height=90 + 30 * len(labels), columns=1)
