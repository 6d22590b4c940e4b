"""The results of the negation page: final accuracies, and every sentence through every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.labs.negation import findings
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.predictions import Run, class_probabilities, probabilities_of_sentences
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.tasks.ceiling import linear_readout_ceiling
from explorer.tasks.negation import CLASSES, Negation, Sentence
from explorer.ui.budgets import budget_sentence
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.widgets import setting_widget


def results_section(session: NegationSession) -> None:
    """Draw the finding and the table of the final accuracies; redrawn when a training starts or ends."""
    lab = session.experiment
    request = ui.TrainRequest.for_section(lab.TASK)

    def draw() -> None:
        views = request.views(lab.configs)
        best = readout_ceiling(lab)
        ends = [(view.row.title, view.result.last(lab.accuracy)) for view in views.values() if view.result]
        if not ends:
            ui.untrained_panel(views, "The results appear here when a training has ended.", 120)
            return
        pair = [
            (view.row.title, view.result.last("exact_accuracy_held_out"))
            for view in views.values()
            if view.result and "exact_accuracy_held_out" in view.result.metrics
        ]
        if pair:
            ui.headline(findings.held_out_finding(lab.task.held_out, pair))
        elif lab.has_file:
            ui.headline(findings.file_accuracy_finding(ends))
        else:
            ui.headline(findings.final_accuracy_finding(ends, best))
        ui.draw_now(results_view, views, best, lab.has_file, findings.comparison_with_best(ends, lab.kind))

    request.add_fragment("negation.results", draw)


def readout_ceiling(lab: NegationLab) -> float:
    """Return the best accuracy of a sum of word weights; NaN for a file, whose held-out sentences have none."""
    return float("nan") if lab.has_file else linear_readout_ceiling(Negation(lab.task).sentences)


def results_view(
    document: ui.Document, views: Mapping[str, ui.RunView], best: float, own: bool, comparison: str
) -> None:
    """Write the accuracies, parameters and seconds, a row for each model, and how they compare.

    best: the ceiling of a sum of word weights
    own: whether the sentences are those of a visitor's file
    """
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
    lowest = min((float(np.nanmin(values)) for values in ends), default=0.5)
    columns = {"name": charts.Column("", "model", wrap=True)}
    columns |= {
        name: charts.Column(label, "strip", range=(0.5 * (lowest >= 0.5), 1.0)) for name, label in kinds.items()
    }
    columns["parameters"] = charts.Column("parameters", "number", minor=True)
    columns["seconds"] = charts.Column("seconds per seed", "number", minor=True)
    rows = []
    for view in views.values():
        row: dict[str, charts.Cell | str] = {
            "name": charts.Cell(view.row.title, view.row.colour),
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "seconds": f"{view.seconds / view.config.replicas:.3f}" if view.seconds and view.result else "–",
        }
        for metric in kinds:
            row[metric] = charts.strip("–", ())
            if view.result and _is_recorded(view, metric):
                values = view.result.last(metric)
                mark = best if metric == "exact_accuracy" and not own else None
                row[metric] = charts.strip(f"{np.nanmedian(values):.3f}", values[~np.isnan(values)], mark)
        rows.append(row)
    caption = "Median over the seeds, and a dot for each seed. " + (
        "Held-out sentences are those that training never sees; a sentence has a negation if it has a word like "
        "“not”, “never” or “isn’t” (English words only)."
        if own
        else "Exact accuracy: over every sentence of the grammar, weighted by its probability. Dashed: the ceiling "
        "of a sum of word weights."
    )
    label = "Accuracy at the end of the training, a row for each model"
    document.table("negation-results", charts.Table(columns, rows, label, caption))
    document.caption(comparison)


def _is_recorded(view: ui.RunView, metric: str) -> bool:
    return view.result is not None and metric in view.result.metrics and not np.isnan(view.result.last(metric)).all()


def answer_cell(answer: ModelAnswer, truth: int | None) -> charts.Cell:
    """Return the table cell of a model's answer, marked where it is wrong."""
    return charts.Cell(
        f"{answer.name} {answer.probability:.2f}",
        tone=CLASSES[answer.answer] if len(answer.classes) == 2 else "",
        wrong=truth is not None and answer.answer != truth,
    )


def sentences_table(task: Negation, runs: Mapping[str, Run], drawn: Sequence[int]) -> charts.Table:
    """Return the answer of every model to every sentence; sentences that differ only in "not" are neighbours.

    drawn: how often each sentence is in the training data of the first seed
    """
    columns = {
        "text": charts.Column("human … nature"),
        "truth": charts.Column("grammar"),
        "p": charts.Column("probability", "number", minor=True),
        "n": charts.Column("in training", "number", minor=True),
    } | _answer_columns(runs)
    rows = []
    for sentence, count in zip(task.sentences, drawn, strict=True):
        suffix = "" if sentence.train_probability or not sentence.probability else " (held out)"
        row: dict[str, charts.Cell | str] = {
            "text": " ".join(sentence.words[1:-1]) + suffix,
            "truth": CLASSES[sentence.label],
            "p": f"{sentence.probability:.3f}",
            "n": f"{count:,}",
        }
        for model, run in runs.items():
            answer = ModelAnswer(MODELS[model].title, MODELS[model].colour, class_probabilities(run, sentence.words))
            row[model] = answer_cell(answer, sentence.label)
        rows.append(row)
    return charts.Table(
        columns,
        rows,
        "Every sentence of the grammar with the answer of every model",
        "The answer with its mean probability over the seeds. Framed: wrong.",
        ruled=[i for i, sentence in enumerate(task.sentences) if i and not sentence.nots],
    )


def _answer_columns(models: Iterable[str]) -> dict[str, charts.Column]:
    return {
        model: charts.Column(MODELS[model].title, "verdict", MODELS[model].colour, minor=i > 0)
        for i, model in enumerate(models)
    }


_MAX_ROWS = 20  # of the table of held-out sentences


def _file_answers(task: Negation, views: Mapping[str, ui.RunView]) -> None:
    """Draw the answer of every model to the held-out sentences of a file; first those that most models get wrong."""
    runs = {model: view.loaded_run for model, view in views.items() if view.loaded_run}
    held_out = tuple(sentence for sentence in task.sentences if sentence.probability)
    if not runs:
        ui.untrained_panel(views, "The answers appear here when a training has ended.", 120)
        return
    words = tuple(sentence.words for sentence in held_out)
    calls = {model: ui.Call(probabilities_of_sentences, run, words) for model, run in runs.items()}
    waiting = "The models read the held-out sentences …"
    ui.show_each("file-answers", calls, file_view, held_out, task.classes, waiting=waiting, height=400)


def file_view(
    document: ui.Document,
    results: Mapping[str, Float[ndarray, "sentences replicas classes"]],
    held_out: Sequence[Sentence],
    classes: tuple[str, ...],
) -> None:
    """Write a row for each held-out sentence, as far as there is room."""
    rows: list[tuple[int, dict[str, charts.Cell | str]]] = []
    for i, sentence in enumerate(held_out):
        answers = {
            model: ModelAnswer(MODELS[model].title, MODELS[model].colour, found[i], classes)
            for model, found in results.items()
        }
        cells = {model: answer_cell(answer, sentence.label) for model, answer in answers.items()}
        wrong = sum(answer.answer != sentence.label for answer in answers.values())
        rows.append((-wrong, {"text": sentence.text, "truth": classes[sentence.label], **cells}))
    rows.sort(key=lambda each: each[0])
    columns = {"text": charts.Column("held-out sentence", wrap=True), "truth": charts.Column("your label")}
    more = f" The first {_MAX_ROWS} of {len(rows):,}." if len(rows) > _MAX_ROWS else ""
    table = charts.Table(
        columns | _answer_columns(results),
        [row for _, row in rows[:_MAX_ROWS]],
        "The held-out sentences with the answer of every model",
        "Sentences that most models get wrong come first. The answer with its mean probability over the "
        f"seeds. Framed: wrong.{more}",
    )
    document.table("negation-file", table)


def task_section(session: NegationSession, views: Mapping[str, ui.RunView]) -> None:
    """Draw the settings of the task, every sentence with every answer, and the budgets and learning rates."""
    task = session.data
    titles = {model: view.row.title for model, view in views.items()}
    if session.experiment.has_file:
        _file_answers(task, views)
        with st.popover("Settings of the task", icon=":material/tune:"):
            for name in ("held_out_share", "data_seed", "vocabulary", "train_size"):
                setting_widget(session, name, section="task")
        return
    drawn = np.bincount(task.sample("train", session.experiment.value("seed")), minlength=len(task.sentences))
    runs = {model: view.loaded_run for model, view in views.items() if view.loaded_run}
    table = sentences_table(task, runs, drawn.tolist())
    ui.draw_now(lambda document: document.table("negation-sentences", table))
    with st.popover("Settings of the task", icon=":material/tune:"):
        for name in ("p_not", "train_size", "test_size", "data_seed", "fresh_data", "max_nots", "held_out"):
            setting_widget(session, name, section="task")
    ui.paragraph(budget_sentence({view.row.title: view.config for view in views.values() if view.result}))
    draw_learning_rates("negation", titles)
