"""Three questions about training, each with a small experiment, its result and its training curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments import sequence_shapes
from explorer.experiments.recall import SOLVED
from explorer.experiments.sequence_shapes import RULE_MODELS, RULES, PositionRule
from explorer.inspection.attention import agreement_heads
from explorer.inspection.compare import last_answers, median_and_range, metric_over_seeds
from explorer.inspection.recurrent import input_gradients
from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.findings import PositionRuleAccuracy
from explorer.labs.sequence_shapes.state import SequenceShapesState
from explorer.number_format import format_percent, format_significant
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.training.config import RunConfig
from explorer.training.record import Curves


@dataclass(frozen=True)
class CurveSpec:
    """One line of a chart: a run, one of its metrics, and how it is drawn."""

    run: str
    metric: str
    label: str  # at the end of the line
    words: str
    colour: str
    dash: str


@dataclass(frozen=True)
class ClaimTraining:
    """The runs of one claim. `panels`: the lines of each chart, by its title."""

    name: str
    configs: Mapping[str, RunConfig]
    panels: Mapping[str, tuple[CurveSpec, ...]]
    caption: str

    def run_views(self) -> dict[str, ui.RunView]:
        """Return the views of the runs."""
        return ui.TrainRequest.for_section(self.name).views(self.configs)


def training_section(training: ClaimTraining) -> None:
    """Draw the button and the training curves."""
    request = ui.TrainRequest.for_section(training.name)
    ui.show_problems(request.problems)
    keys = f"shapes.{training.name}.run", f"shapes.{training.name}.stop"
    ui.draw_train_controls(request, training.configs, keys=keys)

    def make_panels(views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
        return [
            _panel(training.name, title, tuple((s, views[s.run].curves) for s in specs), ui.last_step(views))
            for title, specs in training.panels.items()
        ]

    ui.draw_learning_chart(
        f"shapes-{training.name}-race",
        request,
        training.configs,
        make_panels,
        training.caption,
        height=220,
        narrow_height=180,
        columns=len(training.panels),
    )


@cached()
def _panel(name: str, title: str, curves_by_spec: tuple[tuple[CurveSpec, Curves | None], ...], last: int) -> ui.Panel:
    """Draw one chart; cached for all visitors who look at the same runs."""
    lines = []
    for spec, curves in curves_by_spec:
        x, *values = metric_over_seeds(curves, spec.metric, median_and_range)
        lines.append(charts.Line(spec.label, spec.words, spec.colour, spec.dash, x, np.stack(values, axis=1)))
    x_axis, subject = charts.Axis("step", (0.0, float(last))), f"{title}, share of right answers by step"
    return ui.Panel(f"shapes-{name}-{title}", charts.LineChart(subject, lines, x_axis, charts.ACCURACY), title=title)


HEIGHT = 260
_CLIPS = {"clipped": 1.0, "free": 0.0}
_CLIP_WORDS = {"clipped": "clipped at 1", "free": "not clipped"}
_RULE_HELP = {
    "turns": "At every second position the answer is the digit itself, at the others the next digit.",
    "places": "At each of twenty positions another number is added to the digit; then the rule repeats.",
}


# ---- clipping


def clipping_section() -> None:
    """Draw an RNN with and without gradient clipping."""
    ui.explanation(
        "An RNN with standard initialization learns to name the first of 50 random symbols, with and without gradient "
        "clipping. Clipping shortens a gradient whose norm is above 1; it cannot lengthen one that has vanished."
    )
    training = _clipping_training()
    views = training.run_views()
    runs = {name: view.loaded_run for name, view in views.items() if view.loaded_run is not None}
    if len(runs) == len(views):
        ui.show_each(
            "shapes-clipping",
            {name: ui.Call(input_gradients.recall_outcome, run) for name, run in runs.items()},
            clipping_view,
            waiting="The gradients of both networks are being computed …",
            height=HEIGHT,
        )
    else:
        ui.untrained_panel(views, "A run is not finished yet: train it below.", HEIGHT)
    training_section(training)


def _clipping_training() -> ClaimTraining:
    configs = {name: sequence_shapes.clipping_config(clip) for name, clip in _CLIPS.items()}
    curves = [("clipped", "clipped", "solid"), ("free", "not clipped", "6px,4px")]
    specs = tuple(
        CurveSpec(name, "accuracy", words, f"the RNN {words}", MODELS["rnn"].colour, dash)
        for name, words, dash in curves
    )
    caption = (
        "Share of new sequences whose first symbol is named; guessing is right in 50 %. Line: median of eight seeds; "
        "band: lowest to highest."
    )
    return ClaimTraining("clipping", configs, {"The first of 50 symbols": specs}, caption)


def clipping_view(document: ui.Document, results: Mapping[str, input_gradients.RecallOutcome]) -> None:
    """Write whether clipping restores the gradient, and a table of both runs."""
    if len(results) < len(_CLIPS):
        return
    document.finding(findings.clipping_verdict(results["clipped"], results["free"]))
    document.text(findings.clipping_caption(results["clipped"], results["free"]))
    columns = {
        "name": charts.Column("RNN", "model"),
        "right": charts.Column("right on new sequences", "strip", range=(0.0, 1.0)),
        "reach": charts.Column("gradient, first ÷ last", "number", minor=True),
    }
    rows: list[charts.Row] = [
        {
            "name": charts.Cell(_CLIP_WORDS[name], MODELS["rnn"].colour),
            "right": charts.strip(
                f"{int((each.accuracy >= SOLVED).sum())} of {len(each.accuracy)} seeds", each.accuracy
            ),
            "reach": format_significant(float(np.median(each.gradient_ratio))),
        }
        for name, each in results.items()
    ]
    caption = (
        "A dot for each seed, and how many learn the task; guessing is right in 50 %. Gradient at the first symbol "
        "divided by that at the last, after training: median of the seeds."
    )
    document.table("shapes-clipping", charts.Table(columns, rows, "An RNN with and without clipping", caption))


# ---- rules that depend on the position


def position_section() -> None:
    """Draw two rules that depend on the position, learned by two recurrent networks and a Transformer."""
    ui.explanation(
        "The inputs are random digits without a position. Two recurrent networks, which use the same weights at every "
        "step, learn two rules that depend on the position; a Transformer has a learned vector for every position."
    )
    training = _position_training()
    views = training.run_views()
    results = {rule.words: _position_accuracies(rule, views) for rule in RULES}
    if any(results.values()):
        _draw_position_results(results, views)
    else:
        ui.untrained_panel(views, "No finished run yet: train the models below.", HEIGHT)
    training_section(training)


def _position_training() -> ClaimTraining:
    configs: dict[str, RunConfig] = {}
    panels: dict[str, tuple[CurveSpec, ...]] = {}
    for rule in RULES:
        names = {model: f"{rule.name}-{model}" for model in RULE_MODELS}
        configs |= {name: sequence_shapes.position_rule_config(rule, model) for model, name in names.items()}
        rows = [(name, MODELS[model]) for model, name in names.items()]
        panels[rule.title] = tuple(
            CurveSpec(name, "accuracy", row.title, f"the {row.title}", row.colour, row.dash) for name, row in rows
        )
    caption = (
        "Share of right answers on new rows of the trained length. Line: median of "
        f"{ui.count_seeds(sequence_shapes.RULE_SEEDS)}; band: lowest to highest."
    )
    return ClaimTraining("place", configs, panels, caption)


def _draw_position_results(
    results: Mapping[str, Sequence[PositionRuleAccuracy]], views: Mapping[str, ui.RunView]
) -> None:
    panels = [
        _position_panel(rule, tuple((m, views[f"{rule.name}-{m}"].result) for m in RULE_MODELS)) for rule in RULES
    ]
    ui.draw_now(position_view, results, panels)
    for rule in RULES:
        ui.caption(f"**{rule.title}.** {_RULE_HELP[rule.name]}")
    ui.caption(
        f"{findings.extrapolation_finding(results)} Line: median of the seeds; band: lowest to highest. Dashed: the "
        "last trained position."
    )


def position_view(
    document: ui.Document, results: Mapping[str, Sequence[PositionRuleAccuracy]], panels: Sequence[ui.Panel]
) -> None:
    """Write which networks learn the rules, and their accuracy by position."""
    verdict, counts = findings.position_verdict(results)
    document.finding(verdict)
    document.text(counts)
    document.figures("shapes-place", panels, height=HEIGHT, narrow_height=220, columns=2)


def _position_accuracies(rule: PositionRule, views: Mapping[str, ui.RunView]) -> list[PositionRuleAccuracy]:
    results = []
    for model in RULE_MODELS:
        view = views[f"{rule.name}-{model}"]
        if view.result is not None and ui.is_finished(view):
            by_place, length = view.result.answers["by_place"][-1], view.config.task_as(PositionRuleConfig).length
            right, beyond = by_place[:, :length].mean(axis=1), by_place[:, length:].mean(axis=1)
            results.append(PositionRuleAccuracy(f"the {MODELS[model].title}", model != "transformer", right, beyond))
    return results


@cached()
def _position_panel(rule: PositionRule, curves_by_model: tuple[tuple[str, Curves | None], ...]) -> ui.Panel:
    trained = sequence_shapes.position_rule_config(rule, "rnn").task_as(PositionRuleConfig).length
    lines = []
    for model, curves in curves_by_model:
        row, right = MODELS[model], last_answers(curves, "by_place")
        if right is not None:
            x = np.arange(1, right.shape[1] + 1)
            lines.append(charts.Line(row.title, row.title, row.colour, row.dash, x, median_and_range(right.T)))
    chart = charts.LineChart(
        f"{rule.title}, share of right answers by position",
        lines,
        charts.Axis("place"),
        charts.Axis(span=(0.0, 1.06), ticks=[0, 0.5, 1]),
        [charts.limit(trained + 0.5)],
        margin=110,
    )
    return ui.Panel(f"place-{rule.name}", chart, title=f"{rule.title}: share right by position")


# ---- heads


def heads_section(session: ui.PageSession[SequenceShapesState]) -> None:
    """Draw the heads of a small Transformer that predicts a verb and a pronoun."""
    ui.explanation(
        "“The king near the queens … proud of …”: a small Transformer predicts “is” or “are”, and at the end "
        "“himself”, “herself” or “themselves”. It is tested where the noun before the verb is misleading, and each of "
        "its heads is removed in turn (its output is set to zero)."
    )
    word = session.state.agreeing
    ui.bind_widget(session, "agreeing", st.segmented_control)
    training = _agreement_training()
    views = training.run_views()
    run = views["heads"].loaded_run
    if run is None:
        ui.untrained_panel(views, "No finished run yet: train the model below.", 420)
    else:
        ui.show(
            "shapes-heads",
            ui.Call(agreement_heads.measure_heads, run, word),
            heads_view,
            word,
            waiting="Every head of every seed is removed in turn …",
            height=420,
        )
    training_section(training)


def _agreement_training() -> ClaimTraining:
    row = MODELS["transformer"]
    curves = [("verb", "verb", "solid"), ("pronoun", "pronoun", "6px,4px")]
    specs = tuple(CurveSpec("heads", metric, words, f"the {words}", row.colour, dash) for metric, words, dash in curves)
    return ClaimTraining(
        "agreement",
        {"heads": sequence_shapes.agreement_config()},
        {"Where the noun before the verb is misleading": specs},
        "Share of right answers on new sentences. Line: median of five seeds; band: lowest to highest.",
    )


def heads_view(document: ui.Document, measured: agreement_heads.AgreementHeads, word: str) -> None:
    """Write whether a single head is needed to predict the word, and a table of all heads."""
    document.finding(findings.heads_verdict(measured.accuracy, measured.ablated_accuracy))
    document.text(
        findings.heads_caption(word, measured.accuracy, measured.subject_attention, measured.ablated_accuracy)
    )
    strips = {
        "subject": ("attention to the subject", measured.subject_attention),
        "nearest": ("to the noun before the verb", measured.nearest_noun_attention),
        "without": ("accuracy without it", measured.ablated_accuracy),
    }
    columns = {"name": charts.Column("head", "model")} | {
        key: charts.Column(label, "strip", range=(0.0, 1.0), minor=key == "nearest")
        for key, (label, _) in strips.items()
    }
    colour, (layers, heads) = MODELS["transformer"].colour, measured.subject_attention.shape[1:]
    rows = [
        {"name": charts.Cell(f"layer {layer + 1}, head {head + 1}", colour)}
        | {
            key: charts.strip(f"{np.median(values[:, layer, head]):.2f}", values[:, layer, head])
            for key, (_, values) in strips.items()
        }
        for layer in range(layers)
        for head in range(heads)
    ]
    caption = (
        f"A dot for each of {len(measured.accuracy)} seeds, and their median. Heads with the same number in different "
        "seeds are unrelated. Attention: from the position that predicts the word. With all heads the lowest seed is "
        f"right in {format_percent(measured.accuracy.min(), 0)}."
    )
    label = "Attention and importance of each head, a row a head"
    document.table("shapes-heads", charts.Table(columns, rows, label, caption))
