"""Dynamic evaluation: models that keep learning on the held-out text, beside the same models without learning.

An n-gram learns from the held-out text through a cache, and is shown with and without one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS, ModelRow
from explorer.inspection.language import dynamic_evaluation
from explorer.number_format import format_duration, format_signed
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.config import RunConfig
from explorer.ui.state.fields import PageState, setting
from explorer.web.background import Key

LEARNING_RATES: Final = (0.003, 0.01, 0.03, 0.1, 0.3)
DEFAULT_RATE: Final = 0.1
# Nats a character saved over 20,000 characters by rates 0.003 to 0.3: GRU .006 .015 .028 .037 .007, GRU with its state
# carried .008 .017 .029 .036 .004, RNN likewise .013 .030 .052 .061 -.007, Transformer .010 .023 .037 .034 -.045.
_RATE_HELP: Final = (
    "Of the rates here it was also the best one, or nearly, for a GRU, an RNN and a Transformer that had learned the "
    "first 81 % of Tiny Shakespeare and read on in the next 9 %. The last tenth was left alone."
)
_PREFIX = "online"  # of the keys of the widgets
_NEGLIGIBLE = 0.005  # bits per character that two digits do not show
_MAX_POINTS = 200  # of a line
_WARM_UP = 0.1  # share of the text that is ignored for the axis: a mean over so few tokens is too noisy
_MAX_AXIS_GROWTH = 3  # factor by which the lines of the n-gram may lengthen the axis
PAPERS = (
    (
        "The cache",
        "Kuhn and De Mori 1990, A cache-based natural language model for speech recognition",
        "https://doi.org/10.1109/34.56193",
    ),
    (
        "The dynamic model",
        "Mikolov, Karafiát, Burget, Černocký and Khudanpur 2010, Recurrent neural network based language model",
        "https://www.isca-archive.org/interspeech_2010/mikolov10_interspeech.html",
    ),
    (
        "Dynamic evaluation",
        "Krause, Kahembwe, Murray and Renals 2018, Dynamic evaluation of neural sequence models",
        "https://arxiv.org/abs/1709.07432",
    ),
)


@dataclass(frozen=True)
class DynamicEvaluationState(PageState):
    """What a visitor has chosen in this section."""

    models: tuple[str, ...] = setting((), "Models")  # none: the best one
    rate: float = setting(DEFAULT_RATE, "Learning rate", options={r: f"{r:g}" for r in LEARNING_RATES})
    requested: frozenset[Key] = setting(frozenset(), in_url=False)  # evaluations that were started in this tab


@dataclass(frozen=True)
class FinalBits:
    """The final losses of one model with and without learning, in bits per character."""

    title: str
    static: float
    dynamic: float  # NaN: its steps were so long that its losses are no numbers any more
    context: str = ""  # in which the model reads, and the n-gram beside it
    cached: float = math.nan  # of the n-gram with a cache; NaN: it did not read the same text

    @property
    def no_numbers(self) -> bool:
        """Whether even the losses without learning are no numbers: then there is nothing to draw."""
        return not math.isfinite(self.static)

    @property
    def saved(self) -> float:
        return self.static - self.dynamic


@dataclass(frozen=True)
class Reading:
    """The evaluation of a model and, where it read the same text, of the n-gram."""

    row: ModelRow
    config: RunConfig
    found: dynamic_evaluation.DynamicEvaluation
    ngram: dynamic_evaluation.NgramEvaluation | None

    @property
    def bits(self) -> float:
        """Bits per character of a nat per token."""
        return 1 / self.found.characters_per_token / math.log(2)

    @property
    def end(self) -> FinalBits:
        """The losses at the end of the text that the model read."""
        dynamic = math.nan if self.found.diverged else float(self.found.dynamic.losses[-1])
        # Without a first loss there is no line, whatever the loss with fixed weights is later.
        static = float(self.found.static.losses[-1]) if len(self.found.dynamic.losses) else math.nan
        cached = []
        if self.ngram:
            cached = self.ngram.cached.losses[self.ngram.cached.tokens <= self.found.tokens].tolist()
        return FinalBits(
            self.row.title,
            static * self.bits,
            dynamic * self.bits,
            loss_context(self.config, brief=True),
            cached[-1] * self.bits if cached else math.nan,
        )


def dynamic_evaluation_section(views: Mapping[str, ui.RunView]) -> None:
    """Draw the section, from the question to the papers."""
    ui.explanation(
        "With dynamic evaluation a model learns from text that it has already predicted: each piece of the held-out "
        "text is **scored first**, then the model takes **one training step** on it."
    )
    st.latex(r"\theta_{s+1} = \theta_s - \eta \, \frac{g_s}{\max(1, \lVert g_s \rVert)}")
    st.latex(r"g_s = \nabla_{\theta} \, \frac{1}{n} \sum_{t \in s} -\log p_{\theta_s}(w_t \mid w_{<t})")
    ui.explanation(
        "An n-gram adapts through a **cache**: a second n-gram, counted on the held-out text read so far, is mixed in "
        "with a weight λ:"
    )
    st.latex(r"p = (1 - \lambda) \, p_{\text{training}} + \lambda \, p_{\text{read}}")
    runs = {name: view.loaded_run for name, view in views.items() if view.loaded_run}
    ngram = runs.pop("ngram", None)
    if not runs:
        ui.untrained_panel(
            views,
            "No neural network has been trained to the end yet. Train one above; then it can be evaluated here.",
            160,
        )
        return
    session: ui.PageSession[DynamicEvaluationState] = st.session_state.setdefault(
        f"lineage.{_PREFIX}", ui.PageSession(DynamicEvaluationState(), _PREFIX)
    )

    def final_bits(name: str) -> float:
        result = views[name].result
        bits = float(np.mean(result.last("bits_per_char"))) if result and len(result.evaluated) else math.inf
        return bits if math.isfinite(bits) else math.inf

    best = min(runs, key=final_bits)
    chosen = [name for name in runs if name in session.state.models] or [best]
    every = {
        name: ui.Call(dynamic_evaluation.evaluate_run_dynamically, runs[name], session.state.rate) for name in chosen
    }
    _controls(session, list(runs), every)
    calls: dict[str, ui.Call[Any]] = {name: call for name, call in every.items() if call.key in session.state.requested}
    if not calls:
        return
    who = ui.join_words([_noun_phrase(MODELS[name].title) for name in calls])
    configs = tuple((name, runs[name].config) for name in calls)
    for name, config in configs:
        task = config.task_as(TextConfig)
        if ngram and _same_held_out_text(ngram.config.task_as(TextConfig), task):
            calls[f"{name}/ngram"] = ui.Call(dynamic_evaluation.evaluate_ngram_run, ngram, task)
    ui.show_each(
        "text-online",
        calls,
        readings_view,
        configs,
        waiting=f"{ui.capitalize(who)} read{'s' * (len(configs) == 1)} on; that takes a few seconds …",
        height=620,
    )


def _controls(
    session: ui.PageSession[DynamicEvaluationState], models: Sequence[str], calls: Mapping[str, ui.Call[Any]]
) -> None:
    """Draw the choice of the models and the learning rate, and the button that starts the evaluation.

    models: names of those that can be chosen
    calls: the evaluations of the chosen ones
    """

    def start() -> None:
        keys = {call.key for call in calls.values()}
        session.change(lambda state: replace(state, requested=state.requested | keys))

    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {name: MODELS[name].title for name in models}
        ui.bind_widget(session, "models", st.pills, shown=list(calls), options=titles, selection_mode="multi")
        help_text = f"Plain gradient descent. Mikolov and others took 0.1. {_RATE_HELP}"
        ui.bind_widget(session, "rate", st.select_slider, help=help_text, width=300)
    missing = [name for name, call in calls.items() if call.key not in session.state.requested]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Evaluate dynamically",
            icon=":material/auto_stories:",
            key="online.start",
            on_click=start,
            disabled=not missing,
        )
        if missing:
            who = ui.capitalize(ui.join_words([_noun_phrase(MODELS[name].title) for name in missing]))
            ui.caption(f"{who} read{'s' * (len(missing) == 1)} the held-out text twice, which takes a few seconds.")


def _same_held_out_text(one: TextConfig, other: TextConfig) -> bool:
    """Return whether two tasks hold out the same tokens."""
    alike = replace(one, batches=other.batches)
    return (replace(alike, context=other.context) if one.split == "end" else alike) == other


def readings_view(document: ui.Document, results: Mapping[str, Any], configs: Sequence[tuple[str, RunConfig]]) -> None:
    """Write the finding, a chart for each model, how it was measured, and the numbers of the formula.

    results: the evaluation of each model by its name, and of the n-gram beside it by this name and "/ngram"
    configs: name and configuration of each model
    """
    readings = [
        Reading(MODELS[name], config, results[name], results.get(f"{name}/ngram"))
        for name, config in configs
        if name in results
    ]
    ends = [each.end for each in readings]
    document.finding(" ".join(filter(None, (dynamic_evaluation_finding(ends), ngram_cache_finding(ends)))))
    readings = [each for each in readings if not each.end.no_numbers]
    if not readings:
        return
    task = readings[0].config.task_as(TextConfig)
    unit = "characters" if task.tokenizer == "char" else "tokens"
    shared = shared_span(readings)
    panels = [
        ui.Panel(
            f"online-{each.row.name}",
            reading_chart(each, shared, unit),
            title=each.row.title,
            colour=each.row.colour,
            value="not finite"
            if math.isnan(each.end.dynamic)
            else f"{format_signed(-each.end.saved, 3)} bits per character",
        )
        for each in readings
    ]
    document.figures("text-online", panels, height=300, narrow_height=240, columns=min(len(panels), 3))
    found = {each.row.title: each.found for each in readings}
    weights = {each.row.title: each.ngram.weight for each in readings if each.ngram}
    document.caption(method_caption(found, task, unit, max(each.config.replicas for each in readings), weights))
    for title, evaluation in found.items():
        document.text(steps_sentence(title, evaluation, unit))


def shared_span(readings: Sequence[Reading]) -> tuple[float, float]:
    """Return one y range for all models; the lines of the n-gram count unless they would make the axis too long."""

    def late_losses(course: dynamic_evaluation.RunningLoss, reading: Reading) -> Float[ndarray, " _"]:
        late: Float[ndarray, " _"] = course.losses[course.tokens >= _WARM_UP * course.tokens[-1]] * reading.bits
        return late

    courses = [late_losses(course, each) for each in readings for course in (each.found.dynamic, each.found.static)]
    ngrams = [late_losses(course, r) for r in readings if r.ngram for course in (r.ngram.static, r.ngram.cached)]
    values, every = np.concatenate(courses), np.concatenate([*courses, *ngrams])
    if np.ptp(every) <= _MAX_AXIS_GROWTH * np.ptp(values):
        values = every
    room = max(0.08 * float(np.ptp(values)), 0.005)
    return float(values.min()) - room, float(values.max()) + room


def reading_chart(reading: Reading, shared: tuple[float, float], unit: str) -> charts.LineChart:
    """Return the mean loss so far of a model with and without learning, and of the n-gram beside it.

    shared: the y range of all models
    unit: of the text, "characters" or "tokens"
    """
    row, ngram, last = reading.row, MODELS["ngram"], reading.found.tokens
    low, high = shared

    def line(
        course: dynamic_evaluation.RunningLoss, label: str, title: str, drawn: ModelRow, learning: bool, name: str = ""
    ) -> charts.Line:
        indices = np.flatnonzero(course.tokens <= last)
        indices = indices[np.unique(np.linspace(0, len(indices) - 1, _MAX_POINTS).round().astype(int))]
        x, values = course.tokens[indices], course.losses[indices] * reading.bits
        outside = "↓ " if values[-1] < low else "↑ " if values[-1] > high else ""
        dash, width = ("", 3.0) if learning else ("5px,4px", 2.0)
        return charts.Line(
            outside + label, outside + title, drawn.colour, dash, x, values, width=width, name=name or title
        )

    lines = [
        line(reading.found.dynamic, "dynamic", "dynamic evaluation", row, True),
        line(reading.found.static, "fixed", "fixed weights", row, False),
    ]
    if reading.ngram:
        lines.append(line(reading.ngram.static, "n-gram", "n-gram without a cache", ngram, False))
        lines.append(line(reading.ngram.cached, "cache", "cache of the n-gram", ngram, True, "n-gram with a cache"))
    return charts.LineChart(
        f"{row.title}: mean bits per character so far over the {unit} read",
        lines,
        charts.Axis(f"{unit} read", (0, last), ticks=5),
        charts.Axis("bits per character so far", shared),
        margin=72,
    )


def _noun_phrase(title: str) -> str:
    return "the feedforward network" if title == "Feedforward" else f"the {title}"


def dynamic_evaluation_finding(ends: Sequence[FinalBits]) -> str:
    """Return for which models dynamic evaluation changes the bits per character, and how."""
    groups = {
        "fall for": [end for end in ends if end.saved >= _NEGLIGIBLE],
        "rise for": [end for end in ends if end.saved <= -_NEGLIGIBLE],
        "hardly change for": [end for end in ends if abs(end.saved) < _NEGLIGIBLE],
    }
    parts = [
        f"{verb} {ui.join_words([f'{_noun_phrase(e.title)} ({e.static:.2f} to {e.dynamic:.2f})' for e in group])}"
        for verb, group in groups.items()
        if group
    ]
    if broken := [_noun_phrase(end.title) for end in ends if math.isnan(end.dynamic) and not end.no_numbers]:
        parts.append(f"soon diverge for {ui.join_words(broken)}")
    sentences = [f"With dynamic evaluation the bits per character {ui.join_words(parts)}."] * bool(parts)
    if no_numbers := [_noun_phrase(end.title) for end in ends if end.no_numbers]:
        sentences.append(f"The losses of {ui.join_words(no_numbers)} are not finite, even with fixed weights.")
    return " ".join(sentences)


def ngram_cache_finding(ends: Sequence[FinalBits]) -> str:
    """Return how many bits per character the n-gram with a cache needs beside each model with dynamic evaluation."""
    parts = [
        f"{each.cached:.2f} beside {each.dynamic:.2f} of {_noun_phrase(each.title)} ({each.context})"
        for each in ends
        if math.isfinite(each.dynamic) and math.isfinite(each.cached)
    ]
    return f"The n-gram with a cache needs {ui.join_words(parts)}." if parts else ""


def method_caption(
    reads: Mapping[str, dynamic_evaluation.DynamicEvaluation],
    task: TextConfig,
    unit: str,
    seeds: int,
    weights: Mapping[str, float],
) -> str:
    """Return how the losses were measured. `weights`: of the cache of the n-gram, by title of the model beside it."""
    longest = max(reads.values(), key=lambda each: each.tokens)
    most = "at most " if any(each.tokens < longest.tokens for each in reads.values()) else ""
    piece = f"pieces of {task.context}" if task.rows == "blocks" else "pieces of a few lines"
    carried = [_noun_phrase(title) for title, each in reads.items() if each.carries_state]
    state = f"with the state carried on by {ui.join_words(carried)}" if carried else "each from a zero state"
    parts = [
        f"Mean so far over {most}the first {longest.tokens:,} of {longest.held_out:,} held-out {unit}, read in order "
        f"in {piece}, {state}. Every piece is scored before the step that learns from it. Solid: dynamic evaluation. "
        "Dashed: fixed weights.",
        _cache_sentence(weights),
        f"The first of {seeds} seeds." if seeds > 1 else "",
        "The steps change a copy of the model. Read twice in "
        f"{format_duration(sum(each.seconds for each in reads.values()))} on this server.",
    ]
    return " ".join(filter(None, parts))


def _cache_sentence(weights: Mapping[str, float]) -> str:
    """Return how the n-gram reads, and how the weight of its cache was chosen."""
    if not weights:
        return ""
    chosen = ui.join_words([f"{weight:g} beside {_noun_phrase(title)}" for title, weight in weights.items()])
    return (
        "The n-gram reads the same text in the same context: solid with a cache of all text read so far, dashed "
        f"without one. Of {ui.number_word(len(dynamic_evaluation.CACHE_WEIGHTS))} weights of the cache, λ = {chosen} "
        "has the lowest loss on text from the last tenth of the training text, with an n-gram of the other nine "
        "tenths. The cache counts each token at once; a network takes a step after each piece."
    )


def steps_sentence(title: str, read: dynamic_evaluation.DynamicEvaluation, unit: str) -> str:
    """Return the numbers of the formula for one model."""
    cut = int((read.gradient_norms > 1).sum())
    length = f"{np.median(read.gradient_norms):.2f}" if len(read.gradient_norms) else "–"
    moved = f"{read.relative_change:.1%}" if math.isfinite(read.relative_change) else "more than can be said"
    return (
        f"{ui.capitalize(_noun_phrase(title))} took {len(read.gradient_norms):,} steps of η = {read.rate:g}, each on "
        f"n = {read.tokens / max(1, len(read.static.tokens)):.0f} {unit}; the gradient was longer than 1, and cut, "
        f"before {cut:,} of them (median length {length}). All steps together moved its {read.parameters:,} weights "
        f"by {moved} of their length."
    )
