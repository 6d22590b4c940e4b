"""What the sections share that draw a line for each language model: who can be asked, its line, what the bands are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.reach import PER_LINE, Line
from explorer.tasks.text import TextConfig
from explorer.ui.components import Panel, frame
from explorer.ui.findings import listed, number
from explorer.ui.runs import Lane

if TYPE_CHECKING:
    from torch import nn

HEIGHT, NARROW = 380, 320  # of a figure, in pixels


def with_weights(lanes: Mapping[str, Lane]) -> dict[str, Lane]:
    return {name: lane for name, lane in lanes.items() if lane.kept}


def names_of(lane: Lane) -> tuple[Hashable, ...]:
    """What names these weights; with an own text's SHA-256, by which its results are forgotten."""
    return lane.config.on(TextConfig).text, *lane.stamp


def stack_of(lane: Lane) -> nn.Module:
    """All seeds of a lane that has weights, side by side. Raises DamagedRun. Not for the page itself: it loads them."""
    from explorer.inspection.opening import open_model

    assert lane.kept
    return open_model(lane.kept).stack


def line_of(
    model: str,
    x: Int[ndarray, " points"],
    y: Float[ndarray, " points"],
    low: Float[ndarray, " points"] | None = None,
    high: Float[ndarray, " points"] | None = None,
    hollow: bool = False,
) -> Line:
    row = MODELS[model]
    return Line("explicit" if hollow else row.title, row.colour, row.dash, x, y, low, high, hollow)


def band(values: Float[ndarray, "seeds points"], error: Float[ndarray, " points"]) -> tuple[ndarray, ndarray]:
    """From the lowest to the highest seed; of one seed, one standard error to either side."""
    if len(values) > 1:
        return values.min(axis=0), values.max(axis=0)
    return values[0] - error, values[0] + error


def tracks(lines: Sequence[Line], digits: int = 3) -> list[dict[str, object]]:
    """Lines whose numbers are read while the pointer moves; a band only where there is one."""
    found: list[dict[str, object]] = []
    for i, line in enumerate(lines):
        title = f"Transformer, {line.name}" if line.hollow else line.name
        track: dict[str, object] = {"trace": PER_LINE * i + 2, "title": title, "colour": line.colour, "digits": digits}
        if line.low is not None:
            track |= {"low": PER_LINE * i, "high": PER_LINE * i + 1}
        found.append(track)
    return found


def framed(panels: Sequence[Panel], key: str, columns: int = 1) -> None:
    frame(panels, key=key, height=HEIGHT, narrow_height=NARROW, columns=columns)


def bands(seeds: Sequence[int], error: str) -> str:
    """What a line and its band are."""
    several = [count for count in seeds if count > 1]
    if not several:
        return f"Band: {error}."
    count = f"{number(several[0])} seeds" if len(set(several)) == 1 else "all seeds"
    one = "" if len(several) == len([count for count in seeds if count]) else f" (where there is one seed: {error})"
    return f"Line: the mean of {count}, band: from the lowest to the highest{one}."


def absent(lanes: Mapping[str, Lane], diverged: Mapping[str, int]) -> list[str]:
    """Models without a line, and why."""
    said = []
    without = [MODELS[name].title for name, lane in lanes.items() if not lane.kept]
    if without:
        said.append(f"Without weights yet: {listed(without)}.")
    lost = [f"{MODELS[name].title} ({number(count)})" for name, count in diverged.items() if count]
    if lost:
        said.append(f"Seeds whose training diverged give no numbers and are left out: {listed(lost)}.")
    return said
