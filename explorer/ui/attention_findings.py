"""Sentences about attention, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.figures.style import signed
from explorer.ui.findings import listed, number
from explorer.ui.gaze import Gaze, heads

if TYPE_CHECKING:
    from explorer.inspection.heads import Worth
    from explorer.ui.attention_views import Looked

_CHANCE = 2.5  # standard errors that chance hardly ever makes
_TRIFLE = 0.005  # of a probability: two digits do not show it


def answer(found: Looked, gaze: Gaze, row: int, names: Sequence[str], of_text: bool) -> str:
    """What it says, and what a touch made of it."""
    now, before = np.exp(found.answers[row]), np.exp(found.untouched[row])
    first, was = int(now.argmax()), int(before.argmax())
    says = f"after “{_tail(found, row)}” it expects “{names[first]}” most" if of_text else f"it answers {names[first]}"
    if not gaze.touched:
        return f"{says[0].upper()}{says[1:]}, {now[first]:.2f}."
    what = touches(gaze)
    if first != was:
        return f"With {what}, {says}, {now[first]:.2f}; untouched it is “{names[was]}”, {before[was]:.2f}."
    moved = float(now[first] - before[first])
    if abs(moved) < _TRIFLE:
        return f"With {what}, its answer stays “{names[first]}”, {now[first]:.2f}: nothing moves that two digits show."
    return f"With {what}, its answer stays “{names[first]}”, but goes from {before[first]:.2f} to {now[first]:.2f}."


def touches(gaze: Gaze) -> str:
    """What is not as it was learned."""
    off, flat = len(heads(gaze.off)), len(heads(gaze.flat))
    parts = []
    if off:
        parts.append(f"{number(off)} head{'s' * (off > 1)} off")
    if flat:
        parts.append(f"{number(flat)} head{'s' * (flat > 1)} made uniform")
    if gaze.unmasked:
        parts.append("the mask lifted")
    if gaze.unplaced:
        parts.append("no positions")
    return listed(parts)


def _tail(found: Looked, row: int) -> str:
    text = "".join(found.read.tokens[: row + 1]).replace("\n", "↵")
    return text if len(text) <= 16 else f"…{text[-16:]}"


def worth(found: Worth, labels: Sequence[str]) -> str:
    """Which head is needed most, and how many are not needed at all."""
    values, errors = found.worth.reshape(-1), found.error.reshape(-1)
    most = int(values.argmax())
    said = f"Without {labels[most]} the loss rises most, by {values[most]:.3f} on {found.base:.3f} nats"
    if len(values) == 1:
        return f"Without its only head the loss goes from {found.base:.3f} to {found.base + values[0]:.3f} nats."
    idle = int((np.abs(values) <= np.maximum(_CHANCE * errors, 1e-4)).sum())
    if idle:
        return f"{said}; {number(idle)} of {len(values)} heads can be off and nothing measurable is lost."
    least = int(values.argmin())
    return f"{said}; least of all without {labels[least]}, {signed(float(values[least]), 3)}."


def how_measured(found: Worth, of_text: bool) -> str:
    """What the dots stand for."""
    if of_text:
        return (
            f"{found.asked:,} held-out targets, the same for every head. Lines: two standard errors to either side, "
            "from how the difference varies between rows."
        )
    return f"All {found.asked} sentences of the grammar, weighted by their probability: nothing is drawn at random."


def lens(layers: Sequence[str], sure: np.ndarray, right: np.ndarray) -> str:
    """From which layer on the answer is the final one."""
    settled = next(i for i in range(len(layers)) if right[i:].all())
    if settled == len(layers) - 1:
        return (
            f"Only the last layer says what the model answers; after {layers[settled - 1]} it is still another token."
        )
    then, at_last = f"{sure[settled]:.2f}", f"{sure[-1]:.2f}"
    return f"From {layers[settled]} on it has its answer; there it is {then} sure, at the end {at_last}."
