"""Common parts of the sections with a line for each language model: lines, bands and captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.charts import Line
from explorer.inspection.compare import median_and_range
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words, number_word

HEIGHT, NARROW = 380, 320  # of a figure, in pixels


def model_line(
    model: str,
    x: Int[ndarray, " points"],
    values: Float[ndarray, " points"] | Float[ndarray, "points 3"],
    explicit: bool = False,
) -> Line:
    """Return the line of a model; `explicit` marks attention that stores its weights (hollow dots)."""
    row = MODELS[model]
    if explicit:
        title = f"explicit attention of the {row.title}"
        return Line("explicit", title, row.colour, row.dash, x, values, "hollow", name=f"{row.title}, explicit")
    return Line(row.title, row.title, row.colour, row.dash, x, values, "filled")


def seed_values(values: Float[ndarray, "seeds points"], error: Float[ndarray, " points"]) -> Float[ndarray, "points 3"]:
    """Return the median, lowest and highest seed; of one seed, its value and one standard error to either side."""
    if len(values) > 1:
        return median_and_range(values.T)
    return np.stack([values[0], values[0] - error, values[0] + error], axis=1)


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
