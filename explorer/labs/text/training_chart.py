"""Learning curves of the language models: held-out loss by step, token and second, and generated texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import unwrap
from typing import TypeAlias, TypeVar

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import model_row
from explorer.figures.comparison import Line, comparison_figure
from explorer.figures.language.text import gradient_norms, train_and_held_out_loss
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.text.current_standings import characters_per_token
from explorer.labs.text.findings import overfitting_finding
from explorer.labs.text.samples import SampleTexts, samples_data
from explorer.labs.text.standings import (
    Standing,
    compute_standing,
    convert_loss,
    gradient_norm,
    training_steps,
    unit_name,
)
from explorer.labs.text.state import UNITS, Along, TextLab, Unit
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.learning_chart import Axis, draw_learning_chart, live_training_section, seconds_to_next
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls
from explorer.ui.wording import describe_line, join_words

_AXIS_TITLES: dict[Along, str] = {
    "step": "training steps",
    "tokens": "training tokens read by one seed",
    "seconds": "seconds of training, all seeds together, on the computer that trained them",
}
Result = TypeVar("Result")
FindViews: TypeAlias = Callable[[], Mapping[str, RunView]]  # the current views, on any thread
_AXIS_UNITS: dict[Along, str] = {"step": "step", "tokens": "token", "seconds": "second"}


def training_section(session: ExperimentSession[TextLab]) -> None:
    """Draw the learning curves, then the choice of their axes and the Train button."""
    lab = session.experiment
    request = TrainRequest.for_section(lab.TASK)
    draw_learning_chart(
        "text-race",
        request,
        lab.configs,
        lambda views: [loss_panel(lab, views)],
        partial(curves_caption, lab),
        run=f"{'.'.join(key(config) for config in lab.configs.values())}/{lab.along}",
        axis=partial(_axis, lab),
        height=380,
        narrow_height=300,
        columns=1,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_train_controls(request, lab.configs, next_seed=session.next_seed_configs, keys=("train", "stop"))
        bind_widget(session, "along", st.segmented_control)
        bind_widget(session, "unit", st.segmented_control)


def model_curves_section(lab: TextLab, standings: Mapping[str, Standing]) -> None:
    """Draw training and held-out loss of every network, and which of them overfits."""
    request = TrainRequest.for_section(lab.TASK)
    if standings:
        headline, rest = overfitting_finding(standings)
        st.subheader(escape_markdown(headline), anchor=False)
        explanation(escape_markdown(rest))
    find_views = partial(request.views, lab.configs, current_visitor().id)
    live_training_section("text-each", request, partial(_draw_models, lab, find_views), 480)
    st.caption(
        "Thick: loss on a fixed part of the held-out text, so the last value differs a little from the results above. "
        "Thin: loss on a part of the training text. Where the two separate, the network predicts the training text "
        "better than new text."
    )


def samples_section(lab: TextLab) -> None:
    """Draw what every model generated at each evaluation."""
    request = TrainRequest.for_section(lab.TASK)
    find_views = partial(request.views, lab.configs, current_visitor().id)
    live_training_section("text-samples", request, partial(_draw_samples, find_views), 480)


def _draw_models(lab: TextLab, find_views: FindViews, document: Document) -> float | None:
    views = find_views()
    add_plot_frame(document, model_panels(lab, views), key="text-each", height=190, narrow_height=170, columns=3)
    return seconds_to_next(views.values(), 1.5)


def _draw_samples(find_views: FindViews, document: Document) -> float | None:
    views = find_views()
    live = any(view.live for view in views.values())
    document.component("text_samples", samples_data(text_samples(views), "text-samples", live), "text-samples")
    return seconds_to_next(views.values(), 1.5)


def text_samples(views: Mapping[str, RunView]) -> list[SampleTexts]:
    """Return the generated texts of every model."""
    return [SampleTexts.from_curves(view.row, view.curves) for view in views.values()]


def loss_panel(lab: TextLab, views: Mapping[str, RunView]) -> Panel:
    """Return the held-out loss of every model on one axis, with the n-gram as a reference line."""
    characters = characters_per_token(views, lab.task)
    unit: Unit = "loss" if lab.unit == "bits" and characters is None else lab.unit
    lines = {model: loss_line(view, lab.along, unit, characters) for model, view in views.items() if model != "ngram"}
    mark = ngram_reference(views, unit, characters)
    _, end = _reached_and_end(lab, views, lines.values())
    span = _axis_range([each.mean for each in lines.values()], mark[0] if mark else None)
    draw = _uncached_if_private(_loss_panel, next(iter(views.values())))
    title = f"Held-out {'loss, ' * (unit != 'perplexity')}{unit_name(unit, lab.task.tokenizer)} (logarithmic scale)"
    return draw(tuple(lines.values()), lab.along, unit, title, span, max(end, 1.0), mark)


def _reached_and_end(lab: TextLab, views: Mapping[str, RunView], lines: Iterable[Line]) -> tuple[float, float]:
    """Return how far the longest curve reaches along the axis of the chart, and where the axis ends."""
    longest = max((training_steps(view.config) for view in views.values()), default=1)
    reached = max((float(each.x[-1]) for each in lines if len(each.x)), default=0.0)
    return reached, float(longest) if lab.along == "step" else max(reached, 1.0) * 1.02


def _axis(lab: TextLab, views: Mapping[str, RunView]) -> Axis:
    characters = characters_per_token(views, lab.task)
    unit: Unit = "loss" if lab.unit == "bits" and characters is None else lab.unit
    lines = [loss_line(view, lab.along, unit, characters) for model, view in views.items() if model != "ngram"]
    reached, end = _reached_and_end(lab, views, lines)
    return Axis(_AXIS_UNITS[lab.along], round(end) or 1, round(reached))


@cached()
def _loss_panel(
    lines: tuple[Line, ...],
    along: Along,
    unit: Unit,
    title: str,
    y_range: tuple[float, float],
    x_end: float,
    reference: tuple[float, str, str] | None,
) -> Panel:
    """Return the panel of all models, drawn once for all visitors who look at the same curves."""
    tracks = [
        {"trace": 3 * i + 2, "low": 3 * i, "high": 3 * i + 1, "title": line.title, "colour": line.colour}
        for i, line in enumerate(lines)
    ]
    figure = comparison_figure(
        lines,
        _AXIS_TITLES[along],
        y_range,
        x_end=x_end,
        reference=reference,
        right_margin=104,
        log_y=True,
    )
    return Panel(
        f"held-out-{unit}-{along}",
        figure,
        title=title,
        alt=f"{title}, {_AXIS_TITLES[along]}: {join_words([line.title for line in lines])}.",
        tracks=tracks,
    )


def loss_line(view: RunView, along: Along, unit: Unit, characters: float | None) -> Line:
    """Return the loss of a model on held-out text."""
    none, row = np.zeros(0), view.row
    if view.curves is None or not len(view.curves.evaluated):
        return Line(row.title, row.title, row.colour, row.dash, none, none, none, none)
    return _uncached_if_private(_loss_line, view)(view.curves, view.config, along, unit, characters)


def _uncached_if_private(function: Callable[..., Result], view: RunView) -> Callable[..., Result]:
    """Return the cached function, or the plain one for a private text, of which nothing may be kept."""
    return unwrap(function) if view.config.task_as(TextConfig).corpus == "own" else function


@cached()
def _loss_line(curves: Curves, config: RunConfig, along: Along, unit: Unit, characters: float | None) -> Line:
    values = convert_loss(_held_out_loss(curves), unit, characters)
    values = np.where(np.isfinite(values), values, np.nan)
    x = curves.axis_values(along, curves.evaluated, 0)
    spread = median_and_range(values)
    kept = downsample(spread)
    row = model_row(config.model)
    return Line(
        row.title, row.title, row.colour, row.dash, x[kept] - (x[0] if along == "seconds" else 0), *spread[kept].T
    )


def _held_out_loss(curves: Curves) -> Float[ndarray, "evaluations replicas"]:
    """Return the loss on all held-out text where that was evaluated, elsewhere on a fixed part of it."""
    whole: ndarray = curves.metrics["val_loss"]
    return np.where(np.isfinite(whole).all(axis=1, keepdims=True), whole, curves.metrics["val_loss_part"])


def ngram_reference(
    views: Mapping[str, RunView], unit: Unit, characters: float | None
) -> tuple[float, str, str] | None:
    """Return the loss of the n-gram, its label and its colour; None before it is counted."""
    view = views.get("ngram")
    if view is None or view.curves is None or not len(view.curves.evaluated):
        return None
    value = float(convert_loss(_held_out_loss(view.curves)[-1], unit, characters)[0])
    order = getattr(view.config.model, "n", 0)
    return value, f"{order}-gram {value:.3f}", view.row.colour


def _axis_range(lines: Sequence[ndarray], mark: float | None) -> tuple[float, float]:
    """Return the range of the logarithmic loss axis, with the initial losses."""
    finite = [values[np.isfinite(values)] for values in lines]
    known = np.concatenate([*finite, np.array([] if mark is None else [mark])])
    known = known[known > 0]
    if not len(known):
        return 0.5, 5.0
    low, high = float(known.min()), float(known.max())
    return max(low, 1e-4) * 0.93, max(high * 1.08, low * 1.2, 1e-3)


def model_panels(lab: TextLab, views: Mapping[str, RunView]) -> list[Panel]:
    """Return a panel for each model with training and held-out loss, and one with all gradient norms."""
    trained = {model: view for model, view in views.items() if model != "ngram"}
    characters = characters_per_token(views, lab.task)
    unit: Unit = "loss" if lab.unit == "bits" and characters is None else lab.unit
    both = []
    for view in trained.values():
        if view.curves is not None:
            both += [
                median_and_range(convert_loss(view.curves.metrics[name], unit, characters))[:, 0]
                for name in ("val_loss_part", "train_loss")
            ]
    span = _panel_range(both)
    last = max((training_steps(view.config) for view in trained.values()), default=1)
    panels = []
    for view in trained.values():
        panels.append(
            _uncached_if_private(_model_panel, view)(view.curves, view.config, unit, characters, last, span, view.live)
        )
    recorded = tuple(
        (view.config, view.curves)
        for view in trained.values()
        if view.curves is not None and len(gradient_norm(view.curves))
    )
    if recorded:
        panels.append(_uncached_if_private(_gradient_panel, next(iter(views.values())))(recorded, last))
    return panels


def _panel_range(curves: Sequence[ndarray]) -> tuple[float, float]:
    """Return the range of the loss axis of the small panels: from the lowest loss to twice that."""
    finite = [values[np.isfinite(values)] for values in curves]
    known = np.concatenate([*finite, np.zeros(0)])
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return max(low * 0.93, 0.0), max(min(high, 2 * low) * 1.02, low * 1.1, 1e-3)


@cached()
def _gradient_panel(recorded: tuple[tuple[RunConfig, Curves], ...], last: int) -> Panel:
    """Return the panel with the gradient norms of all models."""
    norms = {}
    for config, curves in recorded:
        row = model_row(config.model)
        norms[row.title] = row.colour, row.dash, _binned_gradient_norm(curves)
    ends = [f"{title} {means[0]:.2f} to {means[-1]:.2f}" for title, (_, _, (_, means)) in norms.items()]
    return Panel(
        "gradient-norm",
        gradient_norms(norms, last),
        alt=f"Gradient norm from the first steps to the last: {join_words(ends)}.",
        title="Gradient norm",
        caption="Before clipping; median over the seeds.",
    )


@cached()
def _model_panel(
    curves: Curves | None,
    config: RunConfig,
    unit: Unit,
    characters: float | None,
    last: int,
    span: tuple[float, float],
    live: bool,
) -> Panel:
    """Return the panel of one model."""
    row = model_row(config.model)
    none = np.zeros(0)
    steps, held_out, trained, value, best = none, none, none, "–", None
    caption = "waiting in the queue" if live else "not trained yet"
    if curves is not None and len(curves.evaluated):
        steps = curves.evaluated.astype(float)
        held_out, trained = (
            median_and_range(convert_loss(curves.metrics[name], unit, characters))[:, 0]
            for name in ("val_loss_part", "train_loss")
        )
        value = f"{held_out[-1]:.3f}"
        caption = f"step {curves.step:,} of {config.steps:,}"
        current = compute_standing(curves, config)
        if current and curves.step == config.steps:
            best = float(current.best_step)
            caption += f"; lowest at {current.best_step:,}"
    return Panel(
        f"{row.name}-losses",
        train_and_held_out_loss(steps, held_out, trained, row.title, row.colour, last, span, best),
        alt=f"{row.title}: {UNITS[unit]} of held-out and of training text by step, at the end {value}.",
        title=row.title,
        colour=row.colour,
        value=value,
        caption=caption,
        track=(0, 0, 0) if len(steps) else None,
    )


def _binned_gradient_norm(curves: Curves) -> tuple[Float[ndarray, " points"], Float[ndarray, " points"]]:
    """Return steps and the median gradient norm of the seeds in about a hundred bins."""
    norms = median_and_range(gradient_norm(curves))[:, 0]
    long = max(1, len(norms) // 100)
    kept = norms[: len(norms) // long * long].reshape(-1, long)
    return (np.arange(len(kept)) + 0.5) * long + curves.first, np.nanmean(kept, axis=1)


def curves_caption(lab: TextLab, views: Mapping[str, RunView]) -> str:
    """Return how the curves were measured."""
    many = lab.value("replicas")
    band = f"{describe_line(many)} "
    contexts = {loss_context(view.config) for view in views.values()}  # the page explains several of them above
    titles: dict[str, list[str]] = {}
    for view in views.values():
        titles.setdefault(loss_context(view.config, brief=len(contexts) > 1), []).append(view.row.title)
    parts = [f"{context} ({join_words(names)})" if len(titles) > 1 else context for context, names in titles.items()]
    context = f"Context of the losses: {'; '.join(parts)}. "
    size = max(view.config.evaluation_size for view in views.values())
    part = (
        _evaluated_part(size, [found for view in views.values() if (found := view.curves or view.result)])
        if size
        else ""
    )
    return f"{band}{context}{part}{_bits_note(lab, views)}".strip()


def _bits_note(lab: TextLab, views: Mapping[str, RunView]) -> str:
    """Return what the unit of the curves leaves out if it is bits a character, or why it is not shown."""
    if lab.unit != "bits":
        return ""
    if characters_per_token(views, lab.task) is None:
        return "Bits per character are shown after the first finished run. "
    if lab.task.tokenizer in ("char", "bytes"):
        return ""
    return "Bits per character do not count unknown words and dropped spaces; bits per byte in the table below do. "


def _evaluated_part(size: int, every: Sequence[Curves]) -> str:
    """Return how much of the held-out text was evaluated; `size` is the requested number of tokens."""
    every = [each for each in every if len(each.evaluated)]
    if not every:
        return ""
    ends = [(each.last("val_loss_part"), each.last("val_loss")) for each in every]
    ends = [(part, whole) for part, whole in ends if np.isfinite(whole).all()]
    if not ends:  # all of it is asked for at the end only; it may be less than the part could be
        return f"Evaluated on at most {size:,} tokens of the held-out text. "
    if all(np.allclose(part, whole, rtol=1e-6, atol=0.0) for part, whole in ends):
        return "Evaluated on all of the held-out text. "
    return f"The last point is evaluated on all of the held-out text, the others on {size:,} tokens of it. "
