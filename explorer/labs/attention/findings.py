"""Sentences about attention, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.number_format import format_signed
from explorer.ui.training.model_input import parse_heads
from explorer.ui.wording import join_words, number_word

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

MIN_STANDARD_ERRORS = 2.5  # of a difference that counts as measurable; the browser uses the same number


def answer_finding(reading: AttentionReading, row: int, outcome_name: Callable[[int], str], of_text: bool) -> str:
    """Return the most probable answer, and how the ablation changes it.

    `row` is the row of the answer, `outcome_name` the text of an outcome id, `of_text` whether the model predicts text.
    """
    probabilities, original = np.exp(reading.log_probabilities[row]), np.exp(reading.original_log_probabilities[row])
    top, original_top = int(probabilities.argmax()), int(original.argmax())
    name, original_name = outcome_name(top), outcome_name(original_top)
    prediction = f"after “{_text_end(reading, row)}” it expects “{name}” most" if of_text else f"it answers {name}"
    if not reading.state.is_ablated:
        return f"{prediction[0].upper()}{prediction[1:]}, {probabilities[top]:.2f}."
    ablation = describe_ablation(reading.state)
    if top != original_top:
        unchanged = f"untouched it is “{original_name}”, {original[original_top]:.2f}"
        return f"With {ablation}, {prediction}, {probabilities[top]:.2f}; {unchanged}."
    old, new = f"{original[top]:.2f}", f"{probabilities[top]:.2f}"
    if old == new:
        return f"With {ablation}, its answer stays “{name}”, {new}: nothing moves that two digits show."
    return f"With {ablation}, its answer stays “{name}”, but goes from {old} to {new}."


def describe_ablation(state: AttentionState) -> str:
    """Return the ablation in words; empty without one."""
    off, flat = len(parse_heads(state.off)), len(parse_heads(state.flat))
    parts = []
    if off:
        parts.append(f"{number_word(off)} head{'s' * (off > 1)} off")
    if flat:
        parts.append(f"{number_word(flat)} head{'s' * (flat > 1)} made uniform")
    if state.unmasked:
        parts.append("the mask lifted")
    if state.unplaced:
        parts.append("no positions")
    return join_words(parts)


def _text_end(reading: AttentionReading, row: int) -> str:
    text = "".join(reading.input.tokens[: row + 1]).replace("\n", "↵")
    return text if len(text) <= 16 else f"…{text[-16:]}"


def importance_finding(measured: HeadImportance, labels: Sequence[str]) -> str:
    """Return which head is most important, and how many have no measurable importance."""
    values, errors, base = measured.importance.reshape(-1), measured.error.reshape(-1), measured.base_loss
    if len(values) == 1:
        return f"Without its only head the loss goes from {base:.3f} to {base + values[0]:.3f} nats."
    idle = int((np.abs(values) <= np.maximum(MIN_STANDARD_ERRORS * errors, 1e-4)).sum())
    if idle == len(values):
        return f"Without any one of its {len(values)} heads the loss changes by nothing that can be measured."
    most, least = int(values.argmax()), int(values.argmin())
    rise = format_signed(float(values[most]), 3)
    rises = f"Without {labels[most]} the loss rises most, from {base:.3f} nats by {rise}"
    if idle:
        return f"{rises}; without any one of {number_word(idle)} of the {len(values)} heads nothing measurable is lost."
    return f"{rises}; least of all without {labels[least]}, {format_signed(float(values[least]), 3)}."


def importance_caption(measured: HeadImportance, of_text: bool, total: int = 0) -> str:
    """Return on what the importance was measured; `total` is the number of held-out targets."""
    if of_text:
        return (
            f"{measured.targets:,} of {total:,} held-out targets, the same for every head, so the loss is near that of "
            "the whole, not equal. Lines: two standard errors to either side, from how the difference varies between "
            "rows."
        )
    return (
        f"All {measured.targets} sentences of the grammar, weighted by their probability: nothing is drawn at random."
    )


def lens_finding(layers: Sequence[str], confidence: np.ndarray, is_final: np.ndarray) -> str:
    """Return from which layer on the prediction is the final one.

    `confidence` is the probability of each layer's prediction, `is_final` whether it is that of the last layer.
    """
    first = next(i for i in range(len(layers)) if is_final[i:].all())
    if first == len(layers) - 1:
        return f"Only the last layer says what the model answers; after {layers[first - 1]} it is still another one."
    at_first, at_last = f"{confidence[first]:.2f}", f"{confidence[-1]:.2f}"
    return f"From {layers[first]} on it has its answer; there it is {at_first} sure, at the end {at_last}."
