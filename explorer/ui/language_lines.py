"""Common parts of the sections with a line for each language model: weights, lines, bands and captions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.language.loss_by_context import TRACES_PER_LINE, Line
from explorer.inspection import load_model
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words, number_word

if TYPE_CHECKING:
    from torch import nn

HEIGHT, NARROW = 380, 320  # of a figure, in pixels


def with_weights(views: Mapping[str, RunView]) -> dict[str, RunView]:
    """Return the views of finished runs, which have weights."""
    return {name: view for name, view in views.items() if view.loaded_run}


def cache_key(view: RunView) -> tuple[Hashable, ...]:
    """Return a key of the weights; it holds the SHA-256 of a private text, so that its results can be dropped."""
    return view.config.task_as(TextConfig).text, *view.cache_key


def load_stack(view: RunView) -> nn.Module:
    """Return the model with all seeds stacked. Loads weights, so call it from a background thread.

    Raises DamagedRun.
    """
    assert view.loaded_run
    return load_model.load_model(view.loaded_run).stack


def model_line(
    model: str,
    x: Int[ndarray, " points"],
    y: Float[ndarray, " points"],
    low: Float[ndarray, " points"] | None = None,
    high: Float[ndarray, " points"] | None = None,
    explicit: bool = False,
) -> Line:
    """Return the line of a model; `explicit` marks attention that stores its weights (hollow dots)."""
    row = MODELS[model]
    return Line("explicit" if explicit else row.title, row.colour, row.dash, x, y, low, high, explicit)


def seed_band(values: Float[ndarray, "seeds points"], error: Float[ndarray, " points"]) -> tuple[ndarray, ndarray]:
    """Return the lowest and highest seed; of one seed, one standard error to either side."""
    if len(values) > 1:
        return values.min(axis=0), values.max(axis=0)
    return values[0] - error, values[0] + error


def line_tracks(lines: Sequence[Line], digits: int = 3) -> list[dict[str, object]]:
    """Return the tracks whose values are read at the pointer, with a band where the line has one."""
    tracks: list[dict[str, object]] = []
    for i, line in enumerate(lines):
        title = f"Transformer, {line.name}" if line.hollow else line.name
        track: dict[str, object] = {
            "trace": TRACES_PER_LINE * i + 2,
            "title": title,
            "colour": line.colour,
            "digits": digits,
        }
        if line.low is not None:
            track |= {"low": TRACES_PER_LINE * i, "high": TRACES_PER_LINE * i + 1}
        tracks.append(track)
    return tracks


def add_line_charts(document: Document, panels: Sequence[Panel], key: str, columns: int = 1) -> None:
    """Add panels of the height that these sections share."""
    add_plot_frame(document, panels, key=key, height=HEIGHT, narrow_height=NARROW, columns=columns)


def band_caption(seeds: Sequence[int], error: str) -> str:
    """Return what the line and its band are; `error` names the band of a single seed."""
    several = [count for count in seeds if count > 1]
    if not several:
        return f"Band: {error}."
    count = f"{number_word(several[0])} seeds" if len(set(several)) == 1 else "all seeds"
    one = "" if len(several) == len([count for count in seeds if count]) else f" (where there is one seed: {error})"
    return f"Line: the median of {count}, band: from the lowest to the highest{one}."


def without_weights(views: Mapping[str, RunView]) -> tuple[str, ...]:
    """Return the titles of the models without a finished run."""
    return tuple(MODELS[name].title for name, view in views.items() if not view.loaded_run)


def missing_models(without: Sequence[str], diverged: Mapping[str, int]) -> list[str]:
    """Return sentences about the models without a finished run (their titles) and the number of seeds that diverged."""
    sentences = []
    if without:
        sentences.append(f"Without a finished run: {join_words(without)}.")
    lost = [f"{MODELS[name].title} ({number_word(count)})" for name, count in diverged.items() if count]
    if lost:
        sentences.append(f"Seeds whose training diverged give no numbers and are left out: {join_words(lost)}.")
    return sentences
