"""Growth: the loss of every architecture against its parameters and against the amount of text, to be trained again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments.growth import SEEDS, SHARES, SIZES, Cell, GrowthResult, growth_configs, included_result
from explorer.labs.cost import growth_findings as findings
from explorer.labs.cost.growth_findings import Results
from explorer.labs.cost.state import ALL_MODELS, CostState
from explorer.number_format import format_count
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig
from explorer.ui.state.visitor import current_visitor
from explorer.ui.text_picker import draw_missing_corpus
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next

HEIGHT, NARROW = 380, 320  # of a figure, in pixels
_WIDE_RANGE = 100  # ratio of two numbers from which an axis of a phone has no space for more than powers of ten
_DASHES = ("1px,4px", "4px,4px", "9px,4px", "solid")  # of the sizes or shares of one architecture, ascending
_CHARACTERS = {"tinyshakespeare": 1_003_854, "repeats": 900_000}  # of the training part


def growth_section(session: ui.PageSession[CostState]) -> None:
    """Draw the controls, the finding and the figures of the section."""
    state, request = session.state, ui.TrainRequest.for_section("growth")
    ui.explanation(findings.LIMITS)
    with st.container(horizontal=True, vertical_alignment="top"):  # pills and segments differ in height
        ui.bind_widget(session, "architecture", st.pills)
        ui.bind_widget(session, "corpus", st.segmented_control)
        if state.architecture == ALL_MODELS:
            ui.bind_widget(session, "share", st.segmented_control)
            ui.bind_widget(session, "size", st.segmented_control)
    ui.show_problems(request.problems)
    configs = {cell.name: config for cell, config in shown_configs(state).items()}
    visitor_id = current_visitor().id

    def draw(document: ui.Document) -> float | None:
        views = request.views(configs, visitor_id)
        growth_view(document, state, views)
        return seconds_to_next(views.values(), 1.0)

    live_training_section("growth", request, draw, HEIGHT + 240)
    if state.architecture == ALL_MODELS:
        ui.caption("Choose one architecture to see all of its sizes and shares, and to train it again.")
    elif not corpora.is_corpus_available(state.corpus):
        draw_missing_corpus(session, "The text is not on this machine. Download it, or choose the text Repeats.")
    else:
        ui.draw_train_controls(request, configs, label="Train again")


def shown_configs(state: CostState) -> dict[Cell, RunConfig]:
    """Return the runs of the selected text, and of the selected architecture if it is one."""
    every = growth_configs(state.corpus)
    return {cell: each for cell, each in every.items() if state.architecture in (ALL_MODELS, cell.model)}


def growth_results(state: CostState, views: Mapping[str, ui.RunView]) -> dict[Cell, GrowthResult]:
    """Return the result of every run: of the run that was trained here, or else the included one."""
    results = {}
    for cell, config in shown_configs(state).items():
        result = trained_result(views[cell.name]) if cell.name in views else None
        if found := result or included_result(config):
            results[cell] = found
    return results


def trained_result(view: ui.RunView) -> GrowthResult | None:
    """Return the result of a run that was trained here and has finished; None without one."""
    if view.result is None or view.parameters is None:
        return None
    losses, training_losses = (tuple(map(float, view.result.last(name))) for name in ("val_loss", "train_loss"))
    is_finite = np.isfinite(losses).all()
    return GrowthResult(view.parameters, view.seconds or 0.0, losses, training_losses) if is_finite else None


def growth_view(document: ui.Document, state: CostState, views: Mapping[str, ui.RunView]) -> None:
    """Write the finding, the loss by parameters and by text, and their notes."""
    results = growth_results(state, views)
    if not results:
        document.empty("No run of this text and architecture is stored. Train them below.", HEIGHT)
        return
    model = state.architecture
    is_one = model != ALL_MODELS
    document.finding(findings.model_finding(results, model) if is_one else findings.all_finding(results))
    found = _one_model_lines(results, model, state.corpus) if is_one else _all_lines(results, state)
    by_size, by_share = ([line for line in lines if len(line.x)] for lines in found)
    low, high = charts.span_of([line.values for line in (*by_size, *by_share)], 0.0)
    y = charts.Axis("nats per character", (0.95 * low, 1.05 * high), log=True)
    parameters = [result.parameters for result in results.values()]
    characters = [share * _CHARACTERS[state.corpus] for share in SHARES]
    size = ("smallest", "second", "third", "largest")[state.size]
    left, right = f"On {findings.share_words(state.share)}", f"The {size} size of each architecture"
    if is_one:
        title = MODELS[model].title
        left, right = f"{title}: loss against parameters", f"{title}: loss against text"
    sizes = growth_chart("parameters", by_size, parameters, _ticks(parameters), y)
    shares = growth_chart("characters of training text", by_share, characters, characters, y)
    panels = [ui.Panel("growth-parameters", sizes, title=left), ui.Panel("growth-text", shares, title=right)]
    document.figures("growth-figures", panels, height=HEIGHT, narrow_height=NARROW, columns=2)
    document.caption(_caption(state, views))
    document.text(findings.model_notes(results, model) if is_one else findings.all_notes(results))


def growth_chart(
    x_title: str, lines: Sequence[charts.Line], values: Sequence[float], ticks: Sequence[float], y: charts.Axis
) -> charts.LineChart:
    """Return losses on logarithmic axes; `values`: of all points on the x axis, which has these ticks."""
    labels = {tick: _short_number(tick) for tick in ticks}
    x = charts.Axis(x_title, (0.85 * min(values), 1.15 * max(values)), log=True, ticks=labels, upright=True)
    return charts.LineChart(f"Loss in nats per character by {x_title}", lines, x, y, margin=112)


def _caption(state: CostState, views: Mapping[str, ui.RunView]) -> str:
    trained = sum(trained_result(view) is not None for view in views.values())
    live = f" {describe_state(views).capitalize()}." if any(view.live for view in views.values()) else ""
    return (
        "Loss on the held-out last tenth of the text after the last step, in nats per character; lower is better. "
        f"Dots: means over {ui.count_seeds(SEEDS)}. Bands: lowest to highest seed. All axes are logarithmic. "
        "The learning rate of each size is the best of three on the whole text, searched with other seeds. "
        f"{findings.progress_note(trained, len(views))}{live}"
    ).strip()


def _all_lines(results: Results, state: CostState) -> tuple[list[charts.Line], list[charts.Line]]:
    """Return a line for each architecture: over its sizes on one share, and over the shares at one size."""
    by_size, by_share = [], []
    for model, sizes in SIZES.items():
        row, characters = MODELS[model], _CHARACTERS[state.corpus]
        cells = [Cell(model, size, state.share) for size in range(len(sizes))]
        by_size.append(_line(results, cells, row.title, row.colour, row.dash))
        cells = [Cell(model, state.size, share) for share in SHARES]
        by_share.append(_line(results, cells, row.title, row.colour, row.dash, characters))
    return by_size, by_share


def _one_model_lines(results: Results, model: str, corpus: str) -> tuple[list[charts.Line], list[charts.Line]]:
    """Return a line over the sizes for each share, and a line over the shares for each size."""
    colour, sizes, characters = MODELS[model].colour, SIZES[model], _CHARACTERS[corpus]
    by_size, by_share = [], []
    for share, dash in zip(SHARES, _DASHES, strict=True):
        label = "whole text" if share == 1 else f"1/{1 / share:.0f}"
        cells = [Cell(model, size, share) for size in range(len(sizes))]
        by_size.append(_line(results, cells, label, colour, dash))
    for size, (settings, dash) in enumerate(zip(sizes, _DASHES, strict=True)):
        cells = [Cell(model, size, share) for share in SHARES]
        count = next((results[cell].parameters for cell in results if cell.size == size), 0)
        label = f"order {settings['n']}" if model == "ngram" else format_count(count)  # whose parameters depend on text
        by_share.append(_line(results, cells, label, colour, dash, characters))
    return by_size, by_share


def _line(
    results: Results, cells: Sequence[Cell], name: str, colour: str, dash: str, characters: int = 0
) -> charts.Line:
    """Return the mean losses of runs by their parameters; with `characters` of the whole text, by those they read."""
    found = [cell for cell in cells if cell in results]
    losses = [results[cell].losses for cell in found]
    values = np.array([(float(np.mean(each)), min(each), max(each)) for each in losses]).reshape(-1, 3)
    x = np.array([cell.share * characters if characters else results[cell].parameters for cell in found])
    return charts.Line(name, name, colour, dash, x, values, "filled", statistic="mean")


def _ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten within the values, and three times these unless there are many."""
    low, high = min(values), max(values)
    factors = (1, 3) if high < _WIDE_RANGE * low else (1,)
    candidates = [factor * 10.0**power for power in range(2, 8) for factor in factors]
    return [tick for tick in candidates if low <= tick <= high]


def _short_number(value: float) -> str:
    """Return 2.5k for 2,500 and 1M for a million, to fit under an axis."""
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.3g}k" if value >= 1e3 else f"{value:g}"
