"""Sentences about attention, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.number_format import format_probability, format_signed
from explorer.ui.training.model_input import parse_heads
from explorer.ui.wording import join_words, number_word

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

_MAX_END = 16  # characters
MIN_STANDARD_ERRORS = 2.5  # of a difference that counts as measurable; the browser uses the same number


def answer_finding(
    reading: AttentionReading,
    row: int,
    outcome_name: Callable[[int], str],
    where: str,
    trained: bool = True,
) -> str:
    """Return the most probable answer, and how the ablation changes it.

    row: the row of the answer; outcome_name: returns the text of an outcome id; where: where the model predicts it, as
    the end of a sentence; trained: whether the training asked for a prediction at this token.
    """
    if reading.answers is None:
        return "Here no token is predicted: attention makes a vector of each token from the tokens that it attends to."
    probabilities, original = reading.answers.probabilities[row], reading.answers.original[row]
    top, original_top = int(probabilities.argmax()), int(original.argmax())
    name, original_name = (outcome_name(int(reading.answers.outcomes[row, i])) for i in (top, original_top))
    where = f" {where}" if where else ""
    if not trained:
        return f"The model was not trained to predict anything{where}: it learned the verb and the pronoun only."
    if not reading.state.is_ablated:
        return f"The model predicts “{name}”{where}, with probability {format_probability(probabilities[top])}."
    ablation = describe_ablation(reading.state)
    if top != original_top:
        return (
            f"With {ablation} the model predicts “{name}” ({format_probability(probabilities[top])}); unchanged it "
            f"predicts “{original_name}” ({format_probability(original[original_top])})."
        )
    old, new = format_probability(original[top]), format_probability(probabilities[top])
    if old == new:
        return f"With {ablation} the model still predicts “{name}” ({new}); the probability does not change."
    return f"With {ablation} the model still predicts “{name}”; its probability goes from {old} to {new}."


def describe_ablation(state: AttentionState) -> str:
    """Return the ablation in words; empty without one."""
    off, flat = len(parse_heads(state.off)), len(parse_heads(state.flat))
    parts = []
    if off:
        parts.append(f"{number_word(off)} head{'s' * (off > 1)} switched off")
    if flat:
        parts.append(f"{number_word(flat)} head{'s' * (flat > 1)} made uniform")
    if state.unmasked:
        parts.append("the causal mask removed")
    if state.unplaced:
        parts.append("the positions removed")
    return join_words(parts)


def text_end(tokens: Sequence[str], separator: str) -> str:
    """Return the end of a text, at most four words or whole tokens of 16 characters.

    `separator` stands between the tokens.
    """
    if separator:
        return "…" * (len(tokens) > 4) + separator.join(tokens[-4:])
    first = len(tokens) - 1
    while first > 0 and len("".join(tokens[first - 1 :])) <= _MAX_END:
        first -= 1
    end = "".join(tokens[first:]).replace("\n", "↵")
    return f"…{end.lstrip()}" if first > 0 else end


def importance_finding(measured: HeadImportance, labels: Sequence[str]) -> str:
    """Return which head is most important, and how many have no measurable importance."""
    values, errors, base = measured.importance.reshape(-1), measured.error.reshape(-1), measured.base_loss
    if len(values) == 1:
        return f"Without its only head the loss rises from {base:.3f} to {base + values[0]:.3f} nats."
    idle = int((np.abs(values) <= np.maximum(MIN_STANDARD_ERRORS * errors, 1e-4)).sum())
    if idle == len(values):
        return f"Without any one of the {len(values)} heads the loss does not change measurably."
    most, least = int(values.argmax()), int(values.argmin())
    rise = format_signed(float(values[most]), 3)
    rises = f"Without {labels[most]} the loss rises most: by {rise} from {base:.3f} nats"
    if idle:
        return f"{rises}. {number_word(idle).capitalize()} of the {len(values)} heads change nothing measurable."
    return f"{rises}. It changes least without {labels[least]} ({format_signed(float(values[least]), 3)})."


def importance_caption(measured: HeadImportance) -> str:
    """Return on what the importance was measured."""
    if measured.sample == "grammar":
        return f"Measured on all {measured.targets} sentences of the grammar, weighted by their probability."
    sample = {
        "held-out text": f"{measured.targets:,} of {measured.available:,} held-out tokens, the same for every head",
        "misleading sentences": f"{measured.targets:,} sentences in which the nearest noun is misleading",
        "this text": f"the {measured.targets:,} tokens after the first of this text",
    }[measured.sample]
    return f"Measured on {sample}. Lines: two standard errors to either side."


def lens_finding(layers: Sequence[str], confidence: np.ndarray, is_final: np.ndarray) -> str:
    """Return from which layer on the prediction is the final one.

    `confidence` is the probability of each layer's prediction, `is_final` whether it is that of the last layer.
    """
    first = next(i for i in range(len(layers)) if is_final[i:].all())
    if len(layers) == 1:
        return f"The model predicts from {layers[0]}, with probability {confidence[0]:.2f}."
    if first == len(layers) - 1:
        return f"Only the last layer gives the final prediction; after {layers[first - 1]} it is still another one."
    at_first, at_last = float(confidence[first]), float(confidence[-1])
    start = f"After {layers[first]} the model already has its final prediction ({at_first:.2f})"
    if abs(at_first - at_last) < 0.005:
        return f"{start}; the last layer is as sure."
    return f"{start}; the last layer is {'more' if at_last > at_first else 'less'} sure ({at_last:.2f})."
