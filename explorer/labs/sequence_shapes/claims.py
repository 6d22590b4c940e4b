"""Three questions about training, each with a small experiment and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments import sequence_shapes
from explorer.experiments.sequence_shapes import RULE_MODELS, RULES, PositionRule
from explorer.figures.comparison import TRACES_PER_RUN, Line
from explorer.figures.recurrent.unrolled import accuracy_by_position
from explorer.inspection import load_model
from explorer.inspection.attention import agreement_heads
from explorer.inspection.compare import last_answers
from explorer.inspection.recurrent import input_gradients
from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.claim_training import ClaimTraining, CurveSpec, training_section
from explorer.labs.sequence_shapes.findings import ClippingOutcome, PositionRuleAccuracy
from explorer.labs.sequence_shapes.state import SequenceShapesState
from explorer.number_format import format_percent, format_significant
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.training.record import Curves, Record
from explorer.ui.budgets import budget_sentence, learning_rates_sentence
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView, untrained_panel

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
    explanation(
        "An RNN with standard initialization learns to name the first of 50 random symbols, with and without gradient "
        "clipping. Clipping shortens a gradient whose norm is above 1; it cannot lengthen one that has vanished."
    )
    training = _clipping_training()
    views = training.run_views()
    loaded = {name: view.loaded_run for name, view in views.items() if view.loaded_run is not None}
    if len(loaded) == len(views):
        result_section(
            "shapes-clipping",
            {
                name: (("shapes-clipping", *views[name].cache_key), partial(_clipping_outcome, loaded[name]))
                for name in loaded
            },
            partial(_draw_clipping),
            "The gradients of both networks are being computed …",
            HEIGHT,
        )
    else:
        untrained_panel(views, "A run is not finished yet: train it below.", HEIGHT)
    training_section(training)


def _clipping_training() -> ClaimTraining:
    row = MODELS["rnn"]
    curves = [("clipped", "clipped", "solid"), ("free", "not clipped", "6px,4px")]
    specs = tuple(
        CurveSpec(name, "accuracy", words, f"the RNN {words}", row.colour, dash) for name, words, dash in curves
    )
    return ClaimTraining(
        "clipping",
        {name: sequence_shapes.clipping_config(clip) for name, clip in _CLIPS.items()},
        {"The first of 50 symbols": specs},
        "Share of new sequences whose first symbol is named; guessing is right in 50 %. Line: median of eight seeds; "
        "band: lowest to highest.",
    )


def _clipping_outcome(run: StoredRun | Record) -> ClippingOutcome:
    norms = input_gradients.input_gradient_norms(load_model.load_model(run))
    return ClippingOutcome(run.curves.last("accuracy"), norms[:, 0] / np.maximum(norms[:, -1], 1e-300))


def _draw_clipping(document: Document, results: Mapping[str, ClippingOutcome]) -> None:
    if len(results) < len(_CLIPS):
        return
    document.finding(findings.clipping_verdict(results["clipped"], results["free"]))
    document.text(findings.clipping_caption(results["clipped"], results["free"]))
    columns = [
        column("name", "RNN", "model"),
        column("right", "right on new sequences", "strip", range=[0.0, 1.0]),
        column("reach", "gradient, first ÷ last", "number", minor=True),
    ]
    rows = [
        {
            "name": {"text": _CLIP_WORDS[name], "colour": MODELS["rnn"].colour},
            "right": strip_cell(
                f"{int((each.accuracy >= findings.LEARNED).sum())} of {len(each.accuracy)} seeds", each.accuracy
            ),
            "reach": format_significant(float(np.median(each.gradient_ratio))),
        }
        for name, each in results.items()
    ]
    add_table(
        document,
        columns,
        rows,
        key="shapes-clipping",
        label="An RNN with and without clipping",
        caption="A dot for each seed, and how many learn the task; guessing is right in 50 %. Gradient at the "
        "first symbol divided by that at the last, after training: median of the seeds.",
    )


# ---- rules that depend on the position


def position_section() -> None:
    """Draw two rules that depend on the position, learned by two recurrent networks and a Transformer."""
    explanation(
        "The inputs are random digits without a position. Two recurrent networks, which use the same weights at every "
        "step, learn two rules that depend on the position; a Transformer has a learned vector for every position."
    )
    training = _position_training()
    views = training.run_views()
    results = {rule.words: _position_accuracies(rule, views) for rule in RULES}
    if any(results.values()):
        _draw_position_results(results, views)
    else:
        untrained_panel(views, "No finished run yet: train the models below.", HEIGHT)
    training_section(training)


def _position_training() -> ClaimTraining:
    rows = [MODELS[model] for model in RULE_MODELS]
    return ClaimTraining(
        "place",
        {
            f"{rule.name}-{model}": sequence_shapes.position_rule_config(rule, model)
            for rule in RULES
            for model in RULE_MODELS
        },
        {
            rule.title: tuple(
                CurveSpec(f"{rule.name}-{row.name}", "accuracy", row.title, f"the {row.title}", row.colour, row.dash)
                for row in rows
            )
            for rule in RULES
        },
        "Share of right answers on new rows of the trained length. Line: median of five seeds; band: lowest to "
        "highest.",
    )


def _draw_position_results(results: Mapping[str, Sequence[PositionRuleAccuracy]], views: Mapping[str, RunView]) -> None:
    st.subheader(escape_markdown(findings.position_verdict(results)), anchor=False)
    if caption := findings.position_caption(results):
        explanation(escape_markdown(caption))
    panels = [
        _position_panel(rule, tuple((m, views[f"{rule.name}-{m}"].result) for m in RULE_MODELS)) for rule in RULES
    ]
    draw_plot_frame(panels, key="shapes-place", height=HEIGHT, narrow_height=220, columns=2)
    for rule in RULES:
        st.caption(f"**{rule.title}.** {_RULE_HELP[rule.name]}")
    configs = {f"the {MODELS[m].title}": sequence_shapes.position_rule_config(RULES[0], m) for m in RULE_MODELS}
    summary = f"{findings.extrapolation_finding(results)} {budget_sentence(configs)} {learning_rates_sentence(configs)}"
    st.caption(f"{summary} Line: median of the seeds; band: lowest to highest. Dashed: the last trained position.")


def _position_accuracies(rule: PositionRule, views: Mapping[str, RunView]) -> list[PositionRuleAccuracy]:
    results = []
    for model in RULE_MODELS:
        view = views[f"{rule.name}-{model}"]
        if view.result is None or not train_controls.is_finished(view):
            continue
        by_place, length = view.result.answers["by_place"][-1], view.config.task_as(PositionRuleConfig).length
        right, beyond = by_place[:, :length].mean(axis=1), by_place[:, length:].mean(axis=1)
        results.append(PositionRuleAccuracy(f"the {MODELS[model].title}", model != "transformer", right, beyond))
    return results


@cached()
def _position_panel(rule: PositionRule, curves_by_model: tuple[tuple[str, Curves | None], ...]) -> Panel:
    trained = sequence_shapes.position_rule_config(rule, "rnn").task_as(PositionRuleConfig).length
    lines, summary = [], []
    for model, curves in curves_by_model:
        row, values = MODELS[model], last_answers(curves, "by_place")
        if values is None:
            continue
        x = np.arange(1, values.shape[1] + 1, dtype=float)
        middle = np.median(values, axis=0)
        lines.append(
            Line(row.title, row.title, row.colour, row.dash, x, middle, values.min(axis=0), values.max(axis=0))
        )
        summary.append(
            f"{row.title} {np.median(values[:, :trained].mean(axis=1)):.2f}, at the last position {middle[-1]:.2f}"
        )
    return Panel(
        f"place-{rule.name}",
        accuracy_by_position(lines, trained),
        alt=f"{rule.title}: share of right answers by position. In training {'; '.join(summary)}.",
        title=f"{rule.title}: share right by position",
        tracks=value_tracks([(line.title, line.colour) for line in lines], per_line=TRACES_PER_RUN),
    )


# ---- heads


def heads_section(session: PageSession[SequenceShapesState]) -> None:
    """Draw the heads of a small Transformer that predicts a verb and a pronoun."""
    explanation(
        "“The king near the queens … proud of …”: a small Transformer predicts “is” or “are”, and at the end "
        "“himself”, “herself” or “themselves”. It is tested where the noun before the verb is misleading, and each of "
        "its heads is removed in turn (its output is set to zero)."
    )
    word = session.state.agreeing
    bind_widget(session, "agreeing", st.segmented_control)
    training = _agreement_training()
    views = training.run_views()
    run = views["heads"].loaded_run
    if run is None:
        untrained_panel(views, "No finished run yet: train the model below.", 420)
    else:
        jobs = {"heads": (("shapes-heads", *views["heads"].cache_key, word), partial(_measure_heads, run, word))}
        result_section(
            "shapes-heads",
            jobs,
            partial(_draw_heads, word),
            "Every head of every seed is removed in turn …",
            420,
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


def _measure_heads(run: StoredRun | Record, word: str) -> agreement_heads.AgreementHeads:
    return agreement_heads.measure_agreement_heads(load_model.load_model(run), word)


def _draw_heads(word: str, document: Document, results: Mapping[str, agreement_heads.AgreementHeads]) -> None:
    measured = results["heads"]
    document.finding(findings.heads_verdict(measured.accuracy, measured.ablated_accuracy))
    document.text(
        findings.heads_caption(word, measured.accuracy, measured.subject_attention, measured.ablated_accuracy)
    )
    layers, heads = measured.subject_attention.shape[1:]
    strips = {
        "subject": ("attention to the subject", measured.subject_attention),
        "nearest": ("to the noun before the verb", measured.nearest_noun_attention),
        "without": ("accuracy without it", measured.ablated_accuracy),
    }
    columns = [column("name", "head", "model")]
    columns += [
        column(key, label, "strip", range=[0.0, 1.0], minor=key == "nearest") for key, (label, _) in strips.items()
    ]
    rows = []
    for layer in range(layers):
        for head in range(heads):
            colour = MODELS["transformer"].colour
            cells: dict[str, object] = {"name": {"text": f"layer {layer + 1}, head {head + 1}", "colour": colour}}
            for key, (_, seed_values) in strips.items():
                values = seed_values[:, layer, head]
                cells[key] = strip_cell(f"{np.median(values):.2f}", values)
            rows.append(cells)
    add_table(
        document,
        columns,
        rows,
        key="shapes-heads",
        label="Attention and importance of each head, a row a head",
        caption=f"A dot for each of {len(measured.accuracy)} seeds, and their median. Heads with the same number in "
        "different seeds are unrelated. Attention: from the position that predicts the word. With all heads the lowest "
        f"seed is right in {format_percent(measured.accuracy.min(), 0)}.",
    )
