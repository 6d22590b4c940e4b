"""The results of the negation page: final accuracies, and every sentence through every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.labs.negation import findings
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.predictions import class_probabilities, probabilities_of_sentences
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.tasks.ceiling import linear_readout_ceiling
from explorer.tasks.negation import CLASSES, LabelledSentence, Negation
from explorer.ui.budgets import budget_sentence
from explorer.ui.components.table import add_table, column, draw_table
from explorer.ui.document import Document
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.widgets import setting_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.training.train_controls import TrainRequest


def results_section(session: NegationSession) -> None:
    """Draw the finding and the table of the final accuracies; redrawn when a training starts or ends."""
    lab = session.experiment
    request = TrainRequest.for_section(lab.TASK)

    def draw() -> None:
        views = request.views(lab.configs)
        best = readout_ceiling(lab)
        ends = [(view.row.title, view.result.last(lab.accuracy)) for view in views.values() if view.result]
        if not ends:
            untrained_panel(views, "The results appear here when a training has ended.", 120)
            return
        pair = [
            (view.row.title, view.result.last("exact_accuracy_held_out"))
            for view in views.values()
            if view.result and "exact_accuracy_held_out" in view.result.metrics
        ]
        if pair:
            st.subheader(findings.held_out_finding(lab.task.held_out, pair), anchor=False)
        elif lab.has_file:
            st.subheader(findings.file_accuracy_finding(ends), anchor=False)
        else:
            st.subheader(findings.final_accuracy_finding(ends, best), anchor=False)
        results_table(views, best, lab.has_file)
        if comparison := findings.comparison_with_best(ends, lab.kind):
            st.caption(comparison)

    request.add_fragment("negation.results", draw)


def readout_ceiling(lab: NegationLab) -> float:
    """Return the best accuracy of a sum of word weights; NaN for a file, whose held-out sentences have none."""
    return float("nan") if lab.has_file else linear_readout_ceiling(Negation(lab.task).grammar_sentences)


def results_table(views: Mapping[str, RunView], best: float, own: bool) -> None:
    """Draw the accuracies, parameters and seconds, a row for each model; `own`: on a visitor's file."""
    kinds = {"exact_accuracy": "exact accuracy"}
    if own:
        kinds = {
            "test_accuracy": "on held-out sentences",
            "test_accuracy_negated": "of these, with a negation",
            "train_accuracy": "on training sentences",
        }
        if not any(_is_recorded(view, "test_accuracy_negated") for view in views.values()):
            del kinds["test_accuracy_negated"]
    elif any(view.result and "exact_accuracy_held_out" in view.result.metrics for view in views.values()):
        kinds["exact_accuracy_held_out"] = "on the held-out pair"
    ends = [view.result.last(k) for view in views.values() if view.result for k in kinds if _is_recorded(view, k)]
    axis = [0.5, 1.0] if min((float(np.nanmin(values)) for values in ends), default=0.5) >= 0.5 else [0.0, 1.0]
    rows = []
    for view in views.values():
        seconds = f"{view.seconds / view.config.replicas:.3f}" if view.seconds and view.result else "–"
        cells: dict[str, object] = {
            "name": {"text": view.row.title, "colour": view.row.colour},
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "seconds": seconds,
        }
        for metric in kinds:
            if not _is_recorded(view, metric) or view.result is None:
                cells[metric] = {"text": "–", "values": []}
                continue
            values = view.result.last(metric)
            dots = [round(float(v), 4) for v in values if not np.isnan(v)]
            mark = best if metric == "exact_accuracy" and not own else None
            cells[metric] = {"text": f"{np.nanmedian(values):.3f}", "values": dots, "mark": mark}
        rows.append(cells)
    strips = [column(k, v, "strip", range=axis) for k, v in kinds.items()]
    draw_table(
        [
            column("name", "", "model", wrap=True),
            *strips,
            column("parameters", "parameters", "number", minor=True),
            column("seconds", "seconds per seed", "number", minor=True),
        ],
        rows,
        key="negation-results",
        label="Accuracy at the end of the training, a row for each model",
        caption="Median over the seeds, and a dot for each seed. "
        + (
            "Held-out sentences are those that training never sees; a sentence has a negation if it has a word like "
            "“not”, “never” or “isn’t” (English words only)."
            if own
            else "Exact accuracy: over every sentence of the grammar, weighted by its probability. Dashed: the ceiling "
            "of a sum of word weights."
        ),
    )


def _is_recorded(view: RunView, metric: str) -> bool:
    return view.result is not None and metric in view.result.metrics and not np.isnan(view.result.last(metric)).all()


def answer_cell(answer: ModelAnswer, truth: int | None) -> dict[str, object]:
    """Return the table cell of a model's answer, marked where it is wrong."""
    return {
        "text": f"{answer.name} {answer.probability:.2f}",
        "tone": CLASSES[answer.answer] if len(answer.classes) == 2 else None,
        "wrong": truth is not None and answer.answer != truth,
    }


def sentences_table(task: Negation, views: Mapping[str, RunView], drawn: Sequence[int]) -> None:
    """Draw the answer of every model to every sentence; sentences that differ only in "not" are neighbours.

    drawn: how often each sentence is in the training data of the first seed
    """
    trained = {model: view for model, view in views.items() if view.loaded_run}
    columns = [
        column("text", "human … nature"),
        column("truth", "grammar"),
        column("p", "probability", "number", minor=True),
        column("n", "in training", "number", minor=True),
    ]
    columns += _answer_columns(trained)
    rows = []
    for i, sentence in enumerate(task.sentences):
        suffix = "" if sentence.train_probability or not sentence.probability else " (held out)"
        cells: dict[str, object] = {
            "text": " ".join(sentence.words[1:-1]) + suffix,
            "truth": CLASSES[sentence.label],
            "p": f"{sentence.probability:.3f}",
            "n": f"{drawn[i]:,}",
        }
        for model, view in trained.items():
            answer = ModelAnswer(view.row.title, view.row.colour, class_probabilities(view.loaded_run, sentence.words))  # type: ignore[arg-type]
            cells[model] = answer_cell(answer, sentence.label)
        rows.append({"rule": i > 0 and sentence.nots == 0, "cells": cells})
    draw_table(
        columns,
        rows,
        key="negation-sentences",
        label="Every sentence of the grammar with the answer of every model",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )


def _answer_columns(trained: Mapping[str, RunView]) -> list[dict[str, object]]:
    return [
        column(model, view.row.title, "verdict", colour=view.row.colour, minor=model != next(iter(trained)))
        for model, view in trained.items()
    ]


_MAX_ROWS = 20  # of the table of held-out sentences


def file_table(task: Negation, views: Mapping[str, RunView]) -> None:
    """Draw the answer of every model to the held-out sentences of a file; first those that most models get wrong."""
    trained = {model: view for model, view in views.items() if view.loaded_run}
    held_out = [s for s in task.sentences if s.probability]
    if not trained:
        untrained_panel(views, "The answers appear here when a training has ended.", 120)
        return
    words = tuple(s.words for s in held_out)
    requests: dict[str, Request[Float[ndarray, "sentences replicas classes"]]] = {
        model: (
            ("file answers", task.config.text, task.config, *view.cache_key),
            partial(probabilities_of_sentences, view.loaded_run, words),  # type: ignore[arg-type]
        )
        for model, view in trained.items()
    }
    draw = partial(_draw_file_table, tuple(held_out), task.classes, trained)
    result_section("file-answers", requests, draw, "The models read the held-out sentences …", 400)


def _draw_file_table(
    held_out: Sequence[LabelledSentence],
    classes: tuple[str, ...],
    trained: Mapping[str, RunView],
    document: Document,
    results: Mapping[str, Float[ndarray, "sentences replicas classes"]],
) -> None:
    shown = {model: view for model, view in trained.items() if model in results}
    rows = []
    for i, sentence in enumerate(held_out):
        cells: dict[str, object] = {"text": sentence.text, "truth": classes[sentence.label]}
        wrong = 0
        for model, view in shown.items():
            answer = ModelAnswer(view.row.title, view.row.colour, results[model][i], classes)
            wrong += answer.answer != sentence.label
            cells[model] = answer_cell(answer, sentence.label)
        rows.append((-wrong, cells))
    rows.sort(key=lambda each: each[0])
    columns = [
        column("text", "held-out sentence", wrap=True),
        column("truth", "your label"),
    ]
    more = f" The first {_MAX_ROWS} of {len(rows):,}." if len(rows) > _MAX_ROWS else ""
    add_table(
        document,
        [*columns, *_answer_columns(shown)],
        [row for _, row in rows[:_MAX_ROWS]],
        key="negation-file",
        label="The held-out sentences with the answer of every model",
        caption="Sentences that most models get wrong come first. The answer with its mean probability over the "
        f"seeds. Framed: wrong.{more}",
    )


def task_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the settings of the task, every sentence with every answer, and the budgets and learning rates."""
    task = session.data
    titles = {model: view.row.title for model, view in views.items()}
    if session.experiment.has_file:
        file_table(task, views)
        with st.popover("Settings of the task", icon=":material/tune:"):
            for name in ("held_out_share", "data_seed", "vocabulary", "train_size"):
                setting_widget(session, name, section="task")
        return
    drawn = np.bincount(task.sample("train", session.experiment.value("seed")), minlength=len(task.sentences))
    sentences_table(task, views, drawn.tolist())
    with st.popover("Settings of the task", icon=":material/tune:"):
        for name in ("p_not", "train_size", "test_size", "data_seed", "fresh_data", "max_nots", "held_out"):
            setting_widget(session, name, section="task")
    if budgets := budget_sentence({view.row.title: view.config for view in views.values() if view.result}):
        explanation(escape_markdown(budgets))
    draw_learning_rates("negation", titles)
