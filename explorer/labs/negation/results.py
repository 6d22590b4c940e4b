"""The learning curves of the negation page, its final accuracies, and every sentence through every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import unwrap
from typing import Any, TypeAlias

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS, model_row
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.negation import findings
from explorer.labs.negation.answers import answer_cell, class_probabilities, probabilities_of_sentences
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.tasks.ceiling import linear_readout_ceiling
from explorer.tasks.negation import CLASSES, Negation, Sentence
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.widgets import draw_choice, setting_widget
from explorer.ui.training.learning_chart import epoch_axis
from explorer.ui.wording import describe_line


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
        kind = "held-out sentence" if lab.has_file else "sentence"
        ui.draw_now(results_view, views, best, lab.has_file, findings.comparison_with_best(ends, kind))

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
    document.text(comparison)


def _is_recorded(view: ui.RunView, metric: str) -> bool:
    return view.result is not None and metric in view.result.metrics and not np.isnan(view.result.last(metric)).all()


def sentences_table(task: Negation, runs: Mapping[str, ui.Run], drawn: Sequence[int]) -> charts.Table:
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
    runs = ui.loaded_runs(views, "The answers appear here when a training has ended.", 120)
    held_out = tuple(sentence for sentence in task.sentences if sentence.probability)
    if not runs:
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
    if session.experiment.has_file:
        _file_answers(task, views)
        with st.popover("Settings of the task", icon=":material/tune:"):
            for name in ("held_out_share", "data_seed", "vocabulary", "train_size"):
                setting_widget(session, name, section="task")
        return
    drawn = np.bincount(task.sample("train", session.experiment.value("seed")), minlength=len(task.sentences))
    table = sentences_table(task, ui.loaded_runs(views), drawn.tolist())
    ui.draw_now(lambda document: document.table("negation-sentences", table))
    with st.popover("Settings of the task", icon=":material/tune:"):
        for name in ("p_not", "train_size", "test_size", "data_seed", "fresh_data", "max_nots", "held_out"):
            setting_widget(session, name, section="task")
    draw_learning_rates({view.row.title: view.config for view in views.values()})


_Runs: TypeAlias = tuple[tuple[RunConfig, Curves | None], ...]  # can be a cache key
_METRICS = {"exact_accuracy": "accuracy", "test_accuracy": "accuracy on held-out sentences", "train_loss": "loss"}


def training_section(session: NegationSession) -> None:
    """Draw the learning curves of all models, with the settings and the Train button."""
    lab = session.experiment
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("How do the models learn it?", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            ui.bind_widget(session, "metric", st.segmented_control, label_visibility="collapsed")
            with st.popover("Settings", icon=":material/tune:"):
                training_settings(session, ("replicas", "seed", "batch_size"), "settings-of")
                ui.reset_button(session)
            ui.draw_train_controls(
                ui.TrainRequest.for_section(lab.TASK),
                lab.configs,
                next_seed=session.next_seed_configs,
                keys=("train", "stop"),
            )
    _learning_curves(session)


def training_settings(session: ExperimentSession[Any], shared: Sequence[str], key: str) -> None:
    """Draw the choice of the models, the settings that they share, and the settings of each; `key`: of their choice."""
    lab = session.experiment
    ui.bind_widget(session, "models", st.pills, selection_mode="multi")
    for name in shared:
        setting_widget(session, name, section="race")
    model = draw_choice(st.selectbox, "Settings of one model", {m: MODELS[m].title for m in lab.model_names()}, key=key)
    for name in lab.own_settings(model):
        setting_widget(session, name, model=model, section="race")


def _learning_curves(session: NegationSession) -> None:
    lab = session.experiment
    if lab.metric != "accuracy":
        what = "Cross-entropy over all training sentences, in nats."
    elif lab.has_file:
        what = f"Accuracy on the {len(session.data.sample('test', 0)):,} held-out sentences, which training never sees."
    else:
        what = (
            "Exact accuracy: over all sentences, weighted by their probability. Dashed: the ceiling of a sum of word "
            f"weights, {readout_ceiling(lab):.4f}."
        )
    ui.draw_learning_chart(
        "negation-race",
        ui.TrainRequest.for_section(lab.TASK),
        lab.configs,
        partial(_panels, lab),
        f"{describe_line(lab.value('replicas'))} {what}",
        run=".".join(key(config) for config in lab.configs.values()),
        axis=epoch_axis,
        height=180,
        columns=3,
        narrow_height=160,
    )


def _panels(lab: NegationLab, views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    accuracy = lab.metric == "accuracy"
    ceiling = readout_ceiling(lab) if accuracy and not lab.has_file else None
    private = any(view.config.own_text for view in views.values())  # a cache would outlive the visit
    runs = tuple((view.config, view.curves) for view in views.values())
    return list(
        (unwrap(_draw_panels) if private else _draw_panels)(runs, lab.accuracy if accuracy else "train_loss", ceiling)
    )


@cached()
def _draw_panels(runs: _Runs, metric: str, ceiling: float | None) -> tuple[ui.Panel, ...]:
    """Return the curve of each model on one axis, drawn once for all visitors who follow the same training.

    ceiling: of a sum of word weights, if the metric is an exact accuracy
    """
    x = charts.Axis("epoch", (0, max(config.epochs for config, _ in runs)), ticks=4)
    values = [curves.metrics[metric] for _, curves in runs if curves and len(curves.metrics[metric])]
    if metric == "train_loss":
        span = (0.0, 1.05 * max((float(each.max()) for each in values), default=0.7))
    else:
        lowest = min((float(each.min()) for each in values), default=0.5)
        span = (min(0.42, lowest - 0.02), 1.03)
    y = charts.Axis(span=span, ticks=4)
    panels = []
    for i, (config, curves) in enumerate(runs):
        rules = [] if ceiling is None else [charts.level(ceiling, "" if i else "ceiling", right=True)]
        panels.append(_panel(config, curves, metric, x, y, rules))
    return tuple(panels)


def _panel(
    config: RunConfig, curves: Curves | None, metric: str, x: charts.Axis, y: charts.Axis, rules: list[charts.Rule]
) -> ui.Panel:
    row, epochs, spread = model_row(config.model), np.zeros(0), np.zeros((0, 3))
    if curves is not None:
        spread = median_and_range(curves.metrics[metric])
        kept = downsample(spread, max_points=150)  # of small multiples
        epochs = curves.axis_values("epoch", curves.evaluated, config.steps_per_epoch)[kept]
        spread = spread[kept]
    line = charts.Line(row.title, row.title, row.colour, row.dash, epochs, spread)
    subject = f"{_METRICS[metric].capitalize()} by epoch"
    return ui.Panel(
        f"{row.name}-{metric}",
        charts.LineChart(subject, [line], x, y, rules, labels="none", digits=3),
        title=row.title,
        colour=row.colour,
        value=f"{spread[-1, 0]:.3f}" if len(spread) else "–",
        reads_in_title=True,
    )
