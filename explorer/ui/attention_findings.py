"""Sentences about attention, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.figures.style import signed
from explorer.ui.findings import listed, number
from explorer.ui.gaze import Gaze, heads

if TYPE_CHECKING:
    from explorer.inspection.heads import Worth
    from explorer.ui.attention_views import Looked

CHANCE = 2.5  # standard errors that chance hardly ever makes; `assets/headhabits.js` has the same


def answer(found: Looked, row: int, name: Callable[[int], str], of_text: bool) -> str:
    """What it says, and what a touch made of it. `name` says what the outcome of an id is."""
    now, before = np.exp(found.answers[row]), np.exp(found.untouched[row])
    first, was = int(now.argmax()), int(before.argmax())
    says = f"after “{_tail(found, row)}” it expects “{name(first)}” most" if of_text else f"it answers {name(first)}"
    if not found.gaze.touched:
        return f"{says[0].upper()}{says[1:]}, {now[first]:.2f}."
    what = touches(found.gaze)
    if first != was:
        return f"With {what}, {says}, {now[first]:.2f}; untouched it is “{name(was)}”, {before[was]:.2f}."
    then, here = f"{before[first]:.2f}", f"{now[first]:.2f}"
    if then == here:
        return f"With {what}, its answer stays “{name(first)}”, {here}: nothing moves that two digits show."
    return f"With {what}, its answer stays “{name(first)}”, but goes from {then} to {here}."


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
    """Which head is needed most, and how many are not needed by themselves."""
    values, errors = found.worth.reshape(-1), found.error.reshape(-1)
    if len(values) == 1:
        return f"Without its only head the loss goes from {found.base:.3f} to {found.base + values[0]:.3f} nats."
    idle = int((np.abs(values) <= np.maximum(CHANCE * errors, 1e-4)).sum())
    if idle == len(values):
        return f"Without any one of its {len(values)} heads the loss changes by nothing that can be measured."
    most, least = int(values.argmax()), int(values.argmin())
    said = f"Without {labels[most]} the loss rises most, from {found.base:.3f} nats by {signed(float(values[most]), 3)}"
    if idle:
        return f"{said}; without any one of {number(idle)} of the {len(values)} heads nothing measurable is lost."
    return f"{said}; least of all without {labels[least]}, {signed(float(values[least]), 3)}."


def how_measured(found: Worth, of_text: bool, total: int = 0) -> str:
    """What the dots stand for."""
    if of_text:
        return (
            f"{found.asked:,} of {total:,} held-out targets, the same for every head, so the loss is near that of the "
            "whole, not equal. Lines: two standard errors to either side, from how the difference varies between rows."
        )
    return f"All {found.asked} sentences of the grammar, weighted by their probability: nothing is drawn at random."


def lens(layers: Sequence[str], sure: np.ndarray, right: np.ndarray) -> str:
    """From which layer on the answer is the final one."""
    settled = next(i for i in range(len(layers)) if right[i:].all())
    if settled == len(layers) - 1:
        return f"Only the last layer says what the model answers; after {layers[settled - 1]} it is still another one."
    then, at_last = f"{sure[settled]:.2f}", f"{sure[-1]:.2f}"
    return f"From {layers[settled]} on it has its answer; there it is {then} sure, at the end {at_last}."
