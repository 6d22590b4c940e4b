"""Growth: the loss of every architecture against its parameters and against the amount of text, to be trained again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.growth import (
    SEEDS,
    SHARES,
    SIZES,
    Cell,
    GrowthResult,
    growth_configs,
    included_result,
)
from explorer.figures.runs.growth import TRACES_PER_LINE, GrowthLine, growth_figure
from explorer.labs.cost import growth_findings as findings
from explorer.labs.cost.growth_findings import Results
from explorer.labs.cost.state import ALL_MODELS, CostState
from explorer.number_format import format_count
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.state.widgets import bind_widget
from explorer.ui.text_picker import draw_missing_corpus
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls
from explorer.ui.wording import count_seeds

HEIGHT, NARROW = 380, 320  # of a figure, in pixels
_WIDE_RANGE = 100  # ratio of two numbers from which an axis of a phone has no space for more than powers of ten
_DASHES = ("1px,4px", "4px,4px", "9px,4px", "solid")  # of the sizes or shares of one architecture, ascending
_CHARACTERS = {"tinyshakespeare": 1_003_854, "repeats": 900_000}  # of the training part


def growth_section(session: PageSession[CostState]) -> None:
    """Draw the controls, the finding and the figures of the section."""
    state, request = session.state, TrainRequest.for_section("growth")
    explanation(findings.LIMITS)
    with st.container(horizontal=True, vertical_alignment="top"):  # pills and segments differ in height
        bind_widget(session, "architecture", st.pills)
        bind_widget(session, "corpus", st.segmented_control)
        if state.architecture == ALL_MODELS:
            bind_widget(session, "share", st.segmented_control)
            bind_widget(session, "size", st.segmented_control)
    show_problems(request.problems)
    configs = {cell.name: config for cell, config in shown_configs(state).items()}
    visitor_id = current_visitor().id

    def draw(document: Document) -> float | None:
        views = request.views(configs, visitor_id)
        draw_growth(document, state, views)
        return seconds_to_next(views.values(), 1.0)

    live_training_section("growth", request, draw, HEIGHT + 240)
    _draw_training(session, request, configs)


def _draw_training(session: PageSession[CostState], request: TrainRequest, configs: Mapping[str, RunConfig]) -> None:
    """Draw the button that trains the runs of one architecture again, with its cost."""
    state = session.state
    if state.architecture == ALL_MODELS:
        st.caption("Choose one architecture to see all of its sizes and shares, and to train it again.")
    elif not corpora.is_corpus_available(state.corpus):
        draw_missing_corpus(session, "The text is not on this machine. Download it, or choose the text Repeats.")
    else:
        draw_train_controls(request, configs, label="Train again")


def shown_configs(state: CostState) -> dict[Cell, RunConfig]:
    """Return the runs of the selected text, and of the selected architecture if it is one."""
    every = growth_configs(state.corpus)
    return {cell: each for cell, each in every.items() if state.architecture in (ALL_MODELS, cell.model)}


def growth_results(state: CostState, views: Mapping[str, RunView]) -> dict[Cell, GrowthResult]:
    """Return the result of every run: of the run that was trained here, or else the included one."""
    results = {}
    for cell, config in shown_configs(state).items():
        result = trained_result(views[cell.name]) if cell.name in views else None
        if found := result or included_result(config):
            results[cell] = found
    return results


def trained_result(view: RunView) -> GrowthResult | None:
    """Return the result of a run that was trained here and has finished; None without one."""
    if view.result is None or view.parameters is None:
        return None
    losses, training_losses = (tuple(map(float, view.result.last(name))) for name in ("val_loss", "train_loss"))
    if not np.isfinite(losses).all():
        return None
    return GrowthResult(view.parameters, view.seconds or 0.0, losses, training_losses)


def draw_growth(document: Document, state: CostState, views: Mapping[str, RunView]) -> None:
    """Draw the finding, the figures and their notes."""
    results = growth_results(state, views)
    if not results:
        document.empty("No run of this text and architecture is stored. Train them below.", HEIGHT)
        return
    model = state.architecture
    is_one = model != ALL_MODELS
    document.finding(findings.model_finding(results, model) if is_one else findings.all_finding(results))
    lines = _one_model_lines(results, model, state.corpus) if is_one else _all_lines(results, state)
    ends = [value for side in lines for line in side for value in (*line.low, *line.high)]
    y_range = min(ends) * 0.95, max(ends) * 1.05
    parameters = [result.parameters for result in results.values()]
    characters = [share * _CHARACTERS[state.corpus] for share in SHARES]
    titles = _panel_titles(state)
    panels = [
        _panel("growth-parameters", titles[0], "parameters", lines[0], _log_ticks(parameters), parameters, y_range),
        _panel("growth-text", titles[1], "characters of training text", lines[1], characters, characters, y_range),
    ]
    add_plot_frame(document, panels, key="growth-figures", height=HEIGHT, narrow_height=NARROW, columns=2)
    document.caption(_caption(state, views))
    document.text(findings.model_notes(results, model) if is_one else findings.all_notes(results))


def _panel_titles(state: CostState) -> tuple[str, str]:
    if state.architecture != ALL_MODELS:
        title = MODELS[state.architecture].title
        return f"{title}: loss against parameters", f"{title}: loss against text"
    size = ("smallest", "second", "third", "largest")[state.size]
    return f"On {findings.share_words(state.share)}", f"The {size} size of each architecture"


def _caption(state: CostState, views: Mapping[str, RunView]) -> str:
    trained = sum(trained_result(view) is not None for view in views.values())
    live = f" {describe_state(views).capitalize()}." if any(view.live for view in views.values()) else ""
    return (
        "Loss on the held-out last tenth of the text after the last step, in nats per character; lower is better. "
        f"Dots: means over {count_seeds(SEEDS)}. Bands: lowest to highest seed. All axes are logarithmic. "
        "The learning rate of each size is the best of three on the whole text, searched with other seeds. "
        f"{findings.progress_note(trained, len(views))}{live}"
    ).strip()


def _all_lines(results: Results, state: CostState) -> tuple[list[GrowthLine], list[GrowthLine]]:
    """Return a line for each architecture: over its sizes on one share, and over the shares at one size."""
    by_size, by_share = [], []
    for model in SIZES:
        row = MODELS[model]
        cells = [Cell(model, size, state.share) for size in range(len(SIZES[model]))]
        by_size.append(_line(results, cells, row.title, row.colour, row.dash, _parameters_of(results)))
        cells = [Cell(model, state.size, share) for share in SHARES]
        by_share.append(_line(results, cells, row.title, row.colour, row.dash, _characters_of(state.corpus)))
    return [line for line in by_size if len(line.x)], [line for line in by_share if len(line.x)]


def _one_model_lines(results: Results, model: str, corpus: str) -> tuple[list[GrowthLine], list[GrowthLine]]:
    """Return a line over the sizes for each share, and a line over the shares for each size."""
    colour, sizes = MODELS[model].colour, range(len(SIZES[model]))
    by_size = [
        _line(
            results,
            [Cell(model, size, share) for size in sizes],
            "whole text" if share == 1 else f"1/{1 / share:.0f}",
            colour,
            dash,
            _parameters_of(results),
        )
        for share, dash in zip(SHARES, _DASHES, strict=True)
    ]
    by_share = [
        _line(results, [Cell(model, size, share) for share in SHARES], label, colour, dash, _characters_of(corpus))
        for size, label, dash in zip(sizes, _size_labels(results, model), _DASHES, strict=True)
    ]
    return [line for line in by_size if len(line.x)], [line for line in by_share if len(line.x)]


def _line(
    results: Results, cells: Sequence[Cell], name: str, colour: str, dash: str, x_of: Callable[[Cell], float]
) -> GrowthLine:
    found = [cell for cell in cells if cell in results]
    losses = [np.array(results[cell].losses) for cell in found]
    x = np.array([x_of(cell) for cell in found])
    mean, low, high = (np.array([statistic(each) for each in losses]) for statistic in (np.mean, np.min, np.max))
    return GrowthLine(name, colour, dash, x, mean, low, high)


def _parameters_of(results: Results) -> Callable[[Cell], float]:
    return lambda cell: results[cell].parameters


def _characters_of(corpus: str) -> Callable[[Cell], float]:
    return lambda cell: cell.share * _CHARACTERS[corpus]


def _size_labels(results: Results, model: str) -> list[str]:
    """Return the parameters of each size, or the order of an n-gram, whose parameters depend on the text."""
    if model == "ngram":
        return [f"order {settings['n']}" for settings in SIZES[model]]
    counts = (
        next((results[cell].parameters for cell in results if cell.size == size), 0)
        for size in range(len(SIZES[model]))
    )
    return [format_count(count) for count in counts]


def _log_ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten within the values, and three times these unless there are many."""
    low, high = min(values), max(values)
    factors = (1, 3) if high < _WIDE_RANGE * low else (1,)
    candidates = [factor * 10.0**power for power in range(2, 8) for factor in factors]
    return [tick for tick in candidates if low <= tick <= high]


def _panel(
    name: str,
    title: str,
    x_title: str,
    lines: Sequence[GrowthLine],
    ticks: Sequence[float],
    x_values: Sequence[float],
    y_range: tuple[float, float],
) -> Panel:
    x_range = min(x_values) * 0.85, max(x_values) * 1.15
    ends = "; ".join(f"{line.name} {line.mean[0]:.2f} to {line.mean[-1]:.2f}" for line in lines)
    return Panel(
        name,
        growth_figure(lines, x_title, x_range, ticks, y_range),
        f"Loss in nats per character by {x_title}, from the first to the last point: {ends}.",
        title=title,
        tracks=value_tracks([(line.name, line.colour) for line in lines], per_line=TRACES_PER_LINE),
    )
