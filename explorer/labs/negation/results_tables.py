"""The results of the negation page: final accuracies, and every sentence through every model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.labs.negation import findings
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.predictions import sustain_probabilities
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.ceiling import linear_readout_ceiling
from explorer.tasks.negation import CLASSES, Negation
from explorer.ui.budgets import budget_sentence
from explorer.ui.components.table import draw_table
from explorer.ui.learning_rates import learning_rates_section
from explorer.ui.page_sections import escape_markdown, explanation, untrained_panel
from explorer.ui.training.run_view import RunView


def results_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the finding and the table of the final accuracies."""
    best = linear_readout_ceiling(negation_task(session.experiment.task).sentences)
    ends = [(view.row.title, view.result.last("exact_accuracy")) for view in views.values() if view.result]
    st.header("What came out", anchor=False)
    if not ends:
        untrained_panel(views, "No model has been trained to the end with these settings yet. Press Train.", 120)
        return
    pair = [
        (view.row.title, view.result.last("exact_accuracy_held_out"))
        for view in views.values()
        if view.result and "exact_accuracy_held_out" in view.result.metrics
    ]
    if pair:
        st.subheader(findings.held_out_finding(session.experiment.task.held_out, pair), anchor=False)
    else:
        st.subheader(findings.final_accuracy_finding(ends, best), anchor=False)
    if comparison := findings.comparison_with_best(ends):
        st.markdown(comparison)
    if budgets := budget_sentence({view.row.title: view.config for view in views.values() if view.result}):
        explanation(escape_markdown(budgets))
    results_table(views, best)
    titles = {model: view.row.title for model, view in views.items()}
    learning_rates_section("negation", titles, "all sentences of the grammar with at most one “not”")


def results_table(views: Mapping[str, RunView], best: float) -> None:
    """Draw parameters, seconds and the accuracies on all, plain and negated sentences, a row for each model."""
    kinds = {
        "exact_accuracy": "exact accuracy",
        "test_accuracy_plain": "test accuracy without “not”",
        "test_accuracy_negated": "test accuracy with “not”",
    }
    if any(view.result and "exact_accuracy_held_out" in view.result.metrics for view in views.values()):
        kinds["exact_accuracy_held_out"] = "exact accuracy on the held-out pair"
    lowest = min(
        (
            float(np.nanmin(view.result.last(k)))
            for view in views.values()
            if view.result
            for k in kinds
            if _is_recorded(view, k)
        ),
        default=0.5,
    )
    axis = [0.5, 1.0] if lowest >= 0.5 else [0.0, 1.0]
    rows = []
    for view in views.values():
        cells: dict[str, object] = {
            "name": {"text": view.row.title, "colour": view.row.colour},
            "parameters": {"text": f"{view.parameters:,}" if view.parameters else "–"},
            "seconds": {"text": f"{view.seconds / view.config.replicas:.3f}" if view.seconds and view.result else "–"},
        }
        for metric in kinds:
            if not _is_recorded(view, metric) or view.result is None:
                cells[metric] = {"text": "–", "values": []}
                continue
            values = view.result.last(metric)
            dots = [round(float(v), 4) for v in values if not np.isnan(v)]
            mark = best if metric == "exact_accuracy" else None
            cells[metric] = {"text": f"{np.nanmean(values):.3f}", "values": dots, "mark": mark}
        rows.append({"cells": cells})
    strips = [{"key": k, "label": v, "kind": "strip", "align": "left", "range": axis} for k, v in kinds.items()]
    draw_table(
        [
            {"key": "name", "label": "", "kind": "model", "align": "left"},
            {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
            {"key": "seconds", "label": "s / seed", "kind": "number", "align": "right"},
            *strips,
        ],
        rows,
        key="negation-results",
        label="Results of the race, a row a model",
        caption="The mean, and a dot for each seed. Exact accuracy: over every sentence of the grammar, weighted by "
        "its probability; the sentences above are about it. Test accuracy: over the test sentences that were drawn "
        "for the seed, as in the learning curves, so it can differ by chance. Dashed: the ceiling of a sum of word "
        "weights. Seconds: the whole training divided by its seeds.",
    )


def _is_recorded(view: RunView, metric: str) -> bool:
    return view.result is not None and metric in view.result.metrics and not np.isnan(view.result.last(metric)).all()


def class_cell(label: int) -> dict[str, object]:
    """Return the table cell of a class."""
    return {"text": CLASSES[label], "tone": CLASSES[label], "wrong": False}


def answer_cell(answer: ModelAnswer, truth: int | None) -> dict[str, object]:
    """Return the table cell of a model's answer, marked where it is wrong."""
    return {
        "text": f"{CLASSES[answer.answer]} {answer.probability:.2f}",
        "tone": CLASSES[answer.answer],
        "wrong": truth is not None and answer.answer != truth,
    }


def sentences_table(task: Negation, views: Mapping[str, RunView]) -> None:
    """Draw the answer of every model to every sentence; sentences that differ only in "not" are neighbours."""
    trained = {model: view for model, view in views.items() if view.stored}
    columns: list[dict[str, object]] = [
        {"key": "text", "label": "sentence", "kind": "text", "align": "left"},
        {"key": "truth", "label": "grammar", "kind": "text", "align": "left"},
    ]
    columns += [
        {"key": model, "label": view.row.title, "kind": "verdict", "align": "left", "colour": view.row.colour}
        for model, view in trained.items()
    ]
    rows = []
    for i, sentence in enumerate(task.sentences):
        suffix = "" if sentence.train_probability or not sentence.probability else " (held out)"
        cells: dict[str, object] = {
            "text": {"text": sentence.text + suffix},
            "truth": {"text": CLASSES[sentence.label]},
        }
        for model, view in trained.items():
            answer = ModelAnswer(view.row.title, view.row.colour, sustain_probabilities(view.stored, sentence.words))  # type: ignore[arg-type]
            cells[model] = answer_cell(answer, sentence.label)
        rows.append({"rule": i > 0 and sentence.nots == 0, "cells": cells})
    draw_table(
        columns,
        rows,
        key="negation-sentences",
        label="Every sentence of the grammar through every model",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )
