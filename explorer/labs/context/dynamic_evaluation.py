"""Dynamic evaluation: models that keep learning on the held-out text, beside the same models without learning.

An n-gram learns from the held-out text through a cache, and is shown with and without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS, ModelRow
from explorer.figures.language import dynamic_evaluation as figures
from explorer.figures.language.dynamic_evaluation import RunningMean
from explorer.inspection import load_model
from explorer.inspection.language import dynamic_evaluation
from explorer.number_format import format_duration, format_signed
from explorer.run_store.store import StoredRun
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.config import RunConfig
from explorer.training.record import Record
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.fields import PageState, setting
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.wording import capitalize, join_words, number_word

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
_HEIGHT = 620  # of what the button brings
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
ReadingKey = tuple[Hashable, ...]  # what names one reading: a view's stamp and a rate


@dataclass(frozen=True)
class DynamicEvaluationState(PageState):
    """What a visitor has chosen in this section."""

    models: tuple[str, ...] = setting((), "Models")  # none: the best one
    rate: float = setting(DEFAULT_RATE, "Learning rate", options={r: f"{r:g}" for r in LEARNING_RATES})
    requested: frozenset[ReadingKey] = setting(frozenset(), in_url=False)  # asked for in this window


@dataclass(frozen=True)
class FinalBits:
    """The final losses of one model with and without learning, in bits per character."""

    title: str
    static: float
    dynamic: float  # NaN: its steps were so long that its losses are no numbers any more

    @property
    def no_numbers(self) -> bool:
        """Whether even the losses without learning are no numbers: then there is nothing to draw."""
        return not math.isfinite(self.static)

    @property
    def saved(self) -> float:
        return self.static - self.dynamic


def dynamic_evaluation_section(views: Mapping[str, RunView]) -> None:
    """Draw the section, from the question to the papers."""
    explanation(
        "With dynamic evaluation a model learns from text that it has already predicted: each piece of the held-out "
        "text is **scored first**, then the model takes **one training step** on it."
    )
    st.latex(r"\theta_{s+1} = \theta_s - \eta \, \frac{g_s}{\max(1, \lVert g_s \rVert)}")
    st.latex(r"g_s = \nabla_{\theta} \, \frac{1}{n} \sum_{t \in s} -\log p_{\theta_s}(w_t \mid w_{<t})")
    explanation(
        "An n-gram adapts through a **cache**: a second n-gram, counted on the held-out text read so far, is mixed in "
        "with a weight λ:"
    )
    st.latex(r"p = (1 - \lambda) \, p_{\text{training}} + \lambda \, p_{\text{read}}")
    neural_views = {name: view for name, view in views.items() if name != "ngram" and view.loaded_run}
    if not neural_views:
        untrained_panel(
            views,
            "No neural network has been trained to the end yet. Train one above; then it can be evaluated here.",
            160,
        )
        return
    session: PageSession[DynamicEvaluationState] = st.session_state.setdefault(
        f"lineage.{_PREFIX}", PageSession(DynamicEvaluationState(), _PREFIX)
    )
    chosen = _selected_models(session.state, neural_views)
    _controls(session, neural_views, chosen)
    requested = [
        name for name in chosen if _reading_key(neural_views[name], session.state.rate) in session.state.requested
    ]
    if requested:
        _show_readings({name: neural_views[name] for name in requested}, session.state.rate, views.get("ngram"))


def _selected_models(state: DynamicEvaluationState, readers: Mapping[str, RunView]) -> list[str]:
    """Return the chosen models; by default the best one."""
    return [name for name in readers if name in state.models] or [
        min(readers, key=lambda name: _final_bits_per_character(readers[name]))
    ]


def _final_bits_per_character(view: RunView) -> float:
    """Return the final loss of a training in bits per character; infinity if unknown."""
    if view.result is None or not len(view.result.evaluated):
        return math.inf
    bits = float(np.mean(view.result.last("bits_per_char")))
    return bits if math.isfinite(bits) else math.inf


def _reading_key(view: RunView, rate: float) -> ReadingKey:
    return (*view.cache_key, rate)


def _controls(
    session: PageSession[DynamicEvaluationState], readers: Mapping[str, RunView], chosen: Sequence[str]
) -> None:
    """Draw the choice of the models and the learning rate, and the button that starts the evaluation."""

    def start() -> None:
        keys = {_reading_key(readers[name], session.state.rate) for name in chosen}
        session.change(lambda state: replace(state, requested=state.requested | keys))

    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {name: view.row.title for name, view in readers.items()}
        bind_widget(session, "models", st.pills, shown=list(chosen), options=titles, selection_mode="multi")
        help_text = f"Plain gradient descent. Mikolov and others took 0.1. {_RATE_HELP}"
        bind_widget(session, "rate", st.select_slider, help=help_text, width=300)
    missing = [
        name for name in chosen if _reading_key(readers[name], session.state.rate) not in session.state.requested
    ]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Evaluate dynamically",
            icon=":material/auto_stories:",
            key="online.start",
            on_click=start,
            disabled=not missing,
        )
        if missing:
            who = capitalize(join_words([_noun_phrase(readers[name].row.title) for name in missing]))
            st.caption(f"{who} read{'s' * (len(missing) == 1)} the held-out text twice, which takes a few seconds.")


def _show_readings(readers: Mapping[str, RunView], rate: float, ngram: RunView | None) -> None:
    """Draw the requested evaluations once all of them are there."""
    tasks: dict[str, tuple[ReadingKey, Callable[[], Any]]] = {}
    for name, view in readers.items():
        task = view.config.task_as(TextConfig)
        assert view.loaded_run  # it is a reader
        tasks[name] = (
            ("online", task.text, *_reading_key(view, rate)),
            partial(_evaluate_dynamically, view.loaded_run, task, rate),
        )
        if ngram and ngram.loaded_run and _same_held_out_text(ngram.config.task_as(TextConfig), task):
            tasks[f"{name}/ngram"] = (
                ("with a cache", task.text, *ngram.cache_key, task),
                partial(_evaluate_ngram, ngram.loaded_run, task),
            )
    who = join_words([_noun_phrase(view.row.title) for view in readers.values()])
    meanwhile = f"{capitalize(who)} read{'s' * (len(readers) == 1)} on; that takes a few seconds …"
    draw = partial(_draw, {name: view.config for name, view in readers.items()})
    result_section("text-online", tasks, draw, meanwhile, _HEIGHT)


def _evaluate_dynamically(
    run: StoredRun | Record, task: TextConfig, rate: float
) -> dynamic_evaluation.DynamicEvaluation:
    return dynamic_evaluation.evaluate_dynamically(load_model.load_model(run).single_replica(0), task, rate)


def _evaluate_ngram(run: StoredRun | Record, task: TextConfig) -> dynamic_evaluation.NgramEvaluation:
    from explorer.models.kneser_ney import Ngram

    model = load_model.load_model(run).single_replica(0)
    assert isinstance(model, Ngram)
    return dynamic_evaluation.evaluate_ngram(model, task)


def _same_held_out_text(one: TextConfig, other: TextConfig) -> bool:
    """Return whether two tasks hold out the same tokens."""
    alike = replace(one, batches=other.batches)
    return (replace(alike, context=other.context) if one.split == "end" else alike) == other


def _draw(configs: Mapping[str, RunConfig], document: Document, results: Mapping[str, Any]) -> None:
    """Write the finding, a panel for each model, how it was measured, and the numbers of the formula."""
    readings: dict[
        str, tuple[ModelRow, dynamic_evaluation.DynamicEvaluation, dynamic_evaluation.NgramEvaluation | None]
    ] = {name: (MODELS[name], results[name], results.get(f"{name}/ngram")) for name in configs if name in results}
    if not readings:
        return
    final_bits = {name: _final_bits(row, each) for name, (row, each, _) in readings.items()}
    cached_bits = {name: _cached_bits(each, ngram) for name, (_, each, ngram) in readings.items() if ngram}
    contexts = {name: loss_context(configs[name], brief=True) for name in cached_bits}
    rivals = [NgramRival(final_bits[name], contexts[name], bits) for name, bits in cached_bits.items()]
    sentences = dynamic_evaluation_finding(list(final_bits.values())), ngram_cache_finding(rivals)
    document.finding(" ".join(filter(None, sentences)))
    readings = {name: those for name, those in readings.items() if not final_bits[name].no_numbers}
    if not readings:
        return
    ends = [final_bits[name] for name in readings]
    to_bits = {name: 1 / each.characters_per_token / math.log(2) for name, (_, each, _) in readings.items()}
    courses = {
        name: {
            which: RunningMean(progress.tokens, progress.losses * to_bits[name])
            for which, progress in (
                ("learning", each.dynamic),
                ("still", each.static),
                *((("ngram", ngram.static), ("cache", ngram.cached)) if ngram else ()),
            )
        }
        for name, (_, each, ngram) in readings.items()
    }
    y_range = figures.shared_y_range(
        [course for those in courses.values() for which, course in those.items() if which in ("learning", "still")],
        [course for those in courses.values() for which, course in those.items() if which in ("ngram", "cache")],
    )
    task = configs[next(iter(readings))].task_as(TextConfig)
    unit = "characters" if task.tokenizer == "char" else "tokens"
    panels = [
        _panel(row, end, courses[name], y_range, unit)
        for (name, (row, _, _)), end in zip(readings.items(), ends, strict=True)
    ]
    add_plot_frame(document, panels, key="text-online", height=300, narrow_height=240, columns=min(len(panels), 3))
    replicas = max(configs[name].replicas for name in readings)
    reads = {row.title: each for row, each, _ in readings.values()}
    weights = {row.title: ngram.weight for row, _, ngram in readings.values() if ngram}
    document.caption(method_caption(reads, task, unit, replicas, weights))
    for title, each in reads.items():
        document.text(steps_sentence(title, each, unit))


def _final_bits(row: ModelRow, read: dynamic_evaluation.DynamicEvaluation) -> FinalBits:
    bits = 1 / read.characters_per_token / math.log(2)
    learning = math.nan if read.diverged else float(read.dynamic.losses[-1])
    # Without a first loss there is no course of it, whatever the weights that stand still come to later.
    still = float(read.static.losses[-1]) if len(read.dynamic.losses) else math.nan
    return FinalBits(row.title, still * bits, learning * bits)


def _panel(
    row: ModelRow, end: FinalBits, courses: Mapping[str, RunningMean], y_range: tuple[float, float], unit: str
) -> Panel:
    ngram = MODELS["ngram"]
    ngram_courses = (courses["ngram"], courses["cache"], ngram.colour, ngram.dash) if "ngram" in courses else None
    tracks: list[dict[str, object]] = [
        {"trace": figures.ADAPTING, "title": "dynamic evaluation", "colour": row.colour},
        {"trace": figures.STATIC, "title": "fixed weights", "colour": row.colour},
    ]
    if ngram_courses:
        tracks.append({"trace": figures.NGRAM, "title": "n-gram without a cache", "colour": ngram.colour})
        tracks.append({"trace": figures.CACHE, "title": "n-gram with a cache", "colour": ngram.colour})
    value = "not finite" if math.isnan(end.dynamic) else f"{format_signed(-end.saved, 3)} bits per character"
    return Panel(
        f"online-{row.name}",
        figures.dynamic_evaluation_figure(
            courses["learning"],
            courses["still"],
            row.colour,
            y_range,
            f"{unit} read",
            "bits per character so far",
            ngram_courses,
        ),
        alt=f"{row.title}: mean bits per character so far over the {unit} read. {dynamic_evaluation_finding([end])}",
        title=row.title,
        colour=row.colour,
        value=value,
        tracks=tracks,
    )


def _noun_phrase(title: str) -> str:
    """Return the title of a model with an article."""
    return "the feedforward network" if title == "Feedforward" else f"the {title}"


def dynamic_evaluation_finding(ends: Sequence[FinalBits]) -> str:
    """Return which models dynamic evaluation helps or harms."""
    no_numbers = [end for end in ends if end.no_numbers]
    broken = [end for end in ends if math.isnan(end.dynamic) and not end.no_numbers]
    finite = [end for end in ends if not end.no_numbers and not math.isnan(end.dynamic)]
    if len(ends) == 1 and finite:
        (end,) = finite
        numbers = f"{end.dynamic:.2f} bits per character instead of {end.static:.2f}"
        if end.saved >= _NEGLIGIBLE:
            return f"With dynamic evaluation, {_noun_phrase(end.title)} needs {numbers}."
        if end.saved <= -_NEGLIGIBLE:
            return f"Dynamic evaluation harms {_noun_phrase(end.title)}: {numbers}."
        return (
            f"Dynamic evaluation hardly changes the loss of {_noun_phrase(end.title)}: {end.static:.2f} bits per "
            "character."
        )
    parts = []
    if helped := [end for end in finite if end.saved >= _NEGLIGIBLE]:
        parts.append(f"saves {_amounts(helped)} bits per character.")
    if harmed := [end for end in finite if end.saved <= -_NEGLIGIBLE]:
        parts.append(f"costs {_amounts(harmed)}{'' if helped else ' bits per character'}.")
    if same := [end for end in finite if abs(end.saved) < _NEGLIGIBLE]:
        parts.append(f"hardly changes the loss of {join_words([_noun_phrase(end.title) for end in same])}.")
    parts = [f"{'It' if i else 'Dynamic evaluation'} {part}" for i, part in enumerate(parts)]
    if broken:
        parts.append(
            f"At this rate the losses of {join_words([_noun_phrase(end.title) for end in broken])} soon diverge."
        )
    if no_numbers:
        names = join_words([_noun_phrase(end.title) for end in no_numbers])
        parts.append(f"The losses of {names} are not finite, even with fixed weights.")
    return " ".join(parts)


@dataclass(frozen=True)
class NgramRival:
    """The n-gram with a cache beside one model with dynamic evaluation, on the same text in the same context."""

    end: FinalBits  # of the model
    context: str
    cached: float  # bits per character of the n-gram with a cache


def _cached_bits(read: dynamic_evaluation.DynamicEvaluation, ngram: dynamic_evaluation.NgramEvaluation) -> float:
    """Return the bits per character of the n-gram with a cache, over as many tokens as the model reads."""
    inside = ngram.cached.losses[ngram.cached.tokens <= read.tokens]
    return float(inside[-1]) / read.characters_per_token / math.log(2) if len(inside) else math.nan


def ngram_cache_finding(rivals: Sequence[NgramRival]) -> str:
    """Return which models with dynamic evaluation are better or worse than the n-gram with a cache."""
    finite = [each for each in rivals if math.isfinite(each.end.dynamic) and math.isfinite(each.cached)]
    differences = {
        "fewer": [each for each in finite if each.end.dynamic - each.cached >= _NEGLIGIBLE],
        "more": [each for each in finite if each.end.dynamic - each.cached <= -_NEGLIGIBLE],
    }
    parts = [
        f"{comparative} bits per character than {join_words([_describe_rival(each) for each in group])}"
        for comparative, group in differences.items()
        if group
    ]
    same = [each for each in finite if abs(each.end.dynamic - each.cached) < _NEGLIGIBLE]
    if same:
        parts.append(f"about as many bits per character as {join_words([_describe_rival(each) for each in same])}")
    return f"The n-gram with a cache needs {'; '.join(parts)}." if parts else ""


def _describe_rival(each: NgramRival) -> str:
    return f"{_noun_phrase(each.end.title)} ({each.context}: {each.cached:.2f} against {each.end.dynamic:.2f})"


def _amounts(ends: Sequence[FinalBits]) -> str:
    ordered = sorted(ends, key=lambda end: -abs(end.saved))
    return join_words([f"{_noun_phrase(end.title)} {abs(end.saved):.2f}" for end in ordered])


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
    if not carried:
        state = "each from a zero state"
    elif len(carried) == len(reads):
        state = "the state carried on from piece to piece"
    else:
        state = f"by {join_words(carried)} with the state carried on, otherwise each from a zero state"
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
    distinct = sorted(set(weights.values()))
    beside = {
        weight: join_words([_noun_phrase(title) for title, each in weights.items() if each == weight])
        for weight in distinct
    }
    chosen = f"{distinct[0]:g}"
    if len(distinct) > 1:
        chosen = join_words([f"{weight:g} beside {beside[weight]}" for weight in distinct])
    return (
        "The n-gram reads the same text in the same context: solid with a cache of all text read so far, dashed "
        f"without one. Of {number_word(len(dynamic_evaluation.CACHE_WEIGHTS))} weights of the cache, λ = {chosen} has "
        "the lowest loss on text from the last tenth of the training text, with an n-gram of the other nine tenths. "
        "The cache counts each token at once; a network takes a step after each piece."
    )


def steps_sentence(title: str, read: dynamic_evaluation.DynamicEvaluation, unit: str) -> str:
    """Return the numbers of the formula for one model."""
    cut = int((read.gradient_norms > 1).sum())
    length = f"{np.median(read.gradient_norms):.2f}" if len(read.gradient_norms) else "–"
    moved = f"{read.relative_change:.1%}" if math.isfinite(read.relative_change) else "more than can be said"
    return (
        f"{capitalize(_noun_phrase(title))} took {len(read.gradient_norms):,} steps of η = {read.rate:g}, each on "
        f"n = {read.tokens / max(1, len(read.static.tokens)):.0f} {unit}; the gradient was longer than 1, and cut, "
        f"before {cut:,} of them (median length {length}). All steps together moved its {read.parameters:,} weights "
        f"by {moved} of their length."
    )
