"""What a model answers with and without an ablation, and the importance of each head (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.figures import attention as figures
from explorer.labs.attention import findings
from explorer.labs.attention.measurements import answers_every_token, outcome_text, query_position
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.number_format import format_signed
from explorer.tasks.text.config import TextConfig
from explorer.ui import visitor_text
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.stored_models import StoredModel
from explorer.web import background

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

MAX_ANSWERS = 5  # that are shown


def answer_row(stored_model: StoredModel, at: int | None, reading: AttentionReading) -> int:
    """Return the row of the answer: the one at the query, or the only one of a classifier."""
    return 0 if not answers_every_token(stored_model) else query_position(stored_model, at, len(reading.input.ids))


def answer_data(stored_model: StoredModel, at: int | None, reading: AttentionReading) -> dict[str, object]:
    """Return the most probable answers with and without the ablation, for the component of the heads."""
    row = answer_row(stored_model, at, reading)
    ablated, original = (
        np.exp(reading.log_probabilities[row]),
        np.exp(reading.original_log_probabilities[row]),
    )
    shown = np.argsort(-np.maximum(ablated, original), kind="stable")[:MAX_ANSWERS]
    where = "the next token" if stored_model.tokenizer else "read at the first token"
    if answers_every_token(stored_model):
        where = f"after “{findings.text_end(reading.input.tokens[: row + 1], separator(stored_model))}”"
    return {
        "where": where,
        "rows": [
            {
                "text": outcome_text(stored_model, reading, int(i)),
                "now": round(float(ablated[i]), 6),
                "before": round(float(original[i]), 6),
            }
            for i in shown
        ],
        "changed": reading.state.is_ablated,
    }


def separator(stored_model: StoredModel) -> str:
    """Return what stands between two tokens of a text: a space between words."""
    return "" if stored_model.tokenizer else " "


def importance_request(stored_model: StoredModel, state: AttentionState) -> dict[str, Request[HeadImportance]]:
    """Return the key and the function of the head importance, by name; empty without the evaluation text."""
    if not _is_measurable(stored_model):
        return {}
    key, make = _importance_key(stored_model, state), partial(_measure_importance, stored_model, state)
    background.submit(key, make, "patient")  # it takes seconds, so it must not wait among quick results
    return {"importance": (key, make)}


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


def importance_section(state: AttentionState, stored_model: StoredModel) -> None:
    """Draw the importance of each head."""
    of_text = isinstance(stored_model.config.task, TextConfig)
    explanation(
        "Each head is switched off in turn, and the loss is measured on "
        + ("text that was not in the training. " if of_text else "sentences of the task. ")
        + "A head with an interesting pattern can be unimportant, and one with a dull pattern can be needed."
    )
    if state.step is not None or state.is_ablated:
        st.caption("Measured on the unchanged model at the end of training.")
    if not _is_measurable(stored_model):
        st.caption("The text for this measurement is not on this machine.")
        return
    result_section(
        "gaze-worth",
        importance_request(stored_model, state),
        partial(_draw_importance, stored_model),
        "The loss without each head is measured; this takes a few seconds …",
        300,
        pool="patient",
    )


def _draw_importance(stored_model: StoredModel, document: Document, results: Mapping[str, HeadImportance]) -> None:
    measured, of_text = results["importance"], isinstance(stored_model.config.task, TextConfig)
    layers, heads = measured.ablated_loss.shape
    total = _count_held_out_targets(stored_model) if of_text else 0
    labels = [f"layer {i + 1}, head {j + 1}" for i in range(layers) for j in range(heads)]
    document.finding(findings.importance_finding(measured, labels))
    values, errors = measured.importance.reshape(-1), measured.error.reshape(-1)
    panel = Panel(
        "gaze-worth",
        figures.head_importance(labels, values, errors, stored_model.row.colour, f"change of the {measured.metric}"),
        alt=", ".join(f"{n} {format_signed(float(v), 3)}" for n, v in zip(labels, values, strict=True)),
        caption=findings.importance_caption(measured, of_text, total),
    )
    add_plot_frame(document, [panel], key="gaze-worth", height=90 + 30 * len(labels), columns=1)
