"""Sentences about attention, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.labs.attention.measurements import AttentionReading
from explorer.labs.attention.state import AttentionState
from explorer.number_format import format_number, format_probability, format_signed
from explorer.ui.training.model_input import parse_heads
from explorer.ui.wording import capitalize, join_words, number_word, visible_whitespace

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance
    from explorer.inspection.attention.logit_attribution import LogitAttribution
    from explorer.inspection.attention.patching import Patching

_MAX_END = 16  # characters
MIN_RESTORED = 0.5  # share from which a state is said to carry the answer
MIN_HEAD_SHARE = 0.1  # of a head that is named
MIN_LOGIT_DIFFERENCE = 0.5  # between two texts; shares of a smaller one are called unreliable
MIN_STANDARD_ERRORS = 2.5  # of a difference that counts as measurable; the browser uses the same number


def answer_finding(
    reading: AttentionReading, row: int, outcome_name: Callable[[int], str], where: str, trained: bool = True
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
    still = "still " * (top == original_top)
    return (
        f"With {describe_ablation(reading.state)} the model {still}predicts “{name}” "
        f"({format_probability(probabilities[top])}); unchanged it predicts “{original_name}” "
        f"({format_probability(original[original_top])})."
    )


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
    """Return without which head the loss changes most, and how many have no measurable importance."""
    values, errors = measured.importance.reshape(-1), measured.error.reshape(-1)
    idle = int((np.abs(values) <= np.maximum(MIN_STANDARD_ERRORS * errors, 1e-4)).sum())
    if idle == len(values):
        return f"Without any one of the {len(values)} heads the loss does not change measurably."
    most = int(np.abs(values).argmax())
    change = f"{'falls' if values[most] < 0 else 'rises'} by {abs(values[most]):.3f} from {measured.base_loss:.3f} nats"
    unmeasured = f" {number_word(idle).capitalize()} of the {len(values)} heads change nothing measurable." * bool(idle)
    return f"Without {labels[most]} the loss {change}, the largest change.{unmeasured}"


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
    return (
        f"From {layers[first]} on the most probable prediction is the final one, with probability "
        f"{confidence[first]:.2f} there and {confidence[-1]:.2f} at the end."
    )


def token_pair(first: str, changed: str) -> str:
    """Return a token that two texts share, or both tokens where they differ: “king / queen”.

    Spaces around a token are left out, unless it consists of spaces or the tokens differ in nothing else.
    """
    names = [visible_whitespace(token.strip() or token) for token in (first, changed)]
    if first == changed:
        return names[0]
    if names[0] == names[1]:
        names = [visible_whitespace(token) for token in (first, changed)]
    return " / ".join(names)


def answers_to_both_texts(found: Patching, name: Callable[[int], str]) -> str:
    """Return the answers to both texts; `name` returns the text of an outcome."""
    answer, contrast = (f"“{name(outcome)}”" for outcome in found.outcomes[:2])
    first, changed = ([format_probability(np.exp(p)) for p in logs[:2]] for logs in (found.clean, found.changed))
    sentence = (
        f"{answer} has the probability {first[0]} for the first text and {changed[0]} for the changed text, {contrast} "
        f"{first[1]} and {changed[1]}."
    )
    difference = abs(float(found.metric(found.clean) - found.metric(found.changed)))
    if difference < MIN_LOGIT_DIFFERENCE:
        sentence += f" The difference of their logits changes by {difference:.2f} only, so a share of it says little."
    return sentence


def patching_finding(found: Patching, tokens: Sequence[str]) -> str:
    """Return where the answer is in the residual stream, and which head restores most of it."""
    return f"{_stream_finding(found, tokens)} {_heads_finding(found)}"


def _stream_finding(found: Patching, tokens: Sequence[str]) -> str:
    shares = found.share(found.residual)
    best = shares.argmax(axis=1)
    restores = shares.max(axis=1) >= MIN_RESTORED
    if found.position not in found.positions or not restores[0]:
        return "No single token of the embedding restores half of the difference."
    first, last = int(best[0]), found.positions.index(found.position)
    name, answer = (f"“{tokens[found.positions[column]]}”" for column in (first, last))
    if first == last:
        return f"The token that differs is {answer}, where the answer is read, so no state has to be carried to it."
    leaves = next(i for i in range(len(best)) if not (best[i] == first and restores[i]))  # the last depth is `last`
    arrives = next(i for i in range(len(best)) if (best[i:] == last).all() and restores[i:].all())
    until = "in the embedding" if leaves == 1 else f"up to layer {leaves - 1}"
    return (
        f"{capitalize(until)} the state at {name} alone restores more than half of the difference; from layer "
        f"{arrives} on the state at {answer} does, where the answer is read."
    )


def _heads_finding(found: Patching) -> str:
    shares = found.share(found.heads)
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    most = float(shares[layer, head])
    if shares.size == 1:
        return f"The only head restores {_as_percent(most)} of it."
    if most < MIN_HEAD_SHARE:
        return f"None of the {shares.size} heads restores more than {_as_percent(MIN_HEAD_SHARE)} of it alone."
    return f"Of the {shares.size} heads, layer {layer + 1}, head {head + 1} restores most: {_as_percent(most)}."


def _as_percent(share: float) -> str:
    return f"{format_number(100 * share, 0)}\u00a0%"


def stream_caption(found: Patching, outcomes: tuple[str, str], tokens: int) -> str:
    """Return what the colours of the maps mean, and which tokens the map leaves out."""
    caption = (
        f"Share of the difference between the logits of “{outcomes[0]}” and “{outcomes[1]}” that comes back: 0 is "
        "the changed text, 1 the first text. It can be below 0 and above 1."
    )
    first, last = found.positions[0], found.positions[-1]
    if len(found.positions) < last + 1 - first:
        return f"{caption} Shown are {len(found.positions)} tokens: those that differ, and the last ones."
    if len(found.positions) < tokens:
        return f"{caption} Tokens before the first one that differs, or after the answer, change nothing."
    return caption


def share_alt(title: str, rows: Sequence[str], columns: Sequence[str], shares: np.ndarray) -> str:
    """Return a description of a map of shares: its largest cells."""
    order = np.argsort(-np.nan_to_num(shares, nan=-np.inf), axis=None)[:3]
    cells = (divmod(int(i), shares.shape[1]) for i in order)
    largest = ", ".join(f"{rows[row]}, {columns[column]}: {shares[row, column]:.2f}" for row, column in cells)
    return f"{title}: share of the difference that is restored. The largest are {largest}."


def patched_state_finding(found: Patching, patched: np.ndarray, outcomes: Sequence[str]) -> str:
    """Return how the answer to the changed text changes with one state of the first text.

    patched: log-probabilities of the outcomes with that state; outcomes: their texts
    """
    old, new, target = (format_probability(float(np.exp(each[0]))) for each in (found.changed, patched, found.clean))
    share = _as_percent(float(found.share(patched)))
    return (
        f"With this state, the probability of “{outcomes[0]}” goes from {old} to {new} ({target} for the first text): "
        f"{share} of the difference is restored."
    )


def attribution_finding(found: LogitAttribution, outcomes: tuple[str, str]) -> str:
    """Return which part of the model adds most to the difference of the logits of two outcomes."""
    is_lower = found.logit < 0
    name, most = max(found.parts(), key=lambda part: -part[1] if is_lower else part[1])
    verb = "add" if name == "biases" else "adds"
    return (
        f"The logit of “{outcomes[0]}” is {'lower' if is_lower else 'higher'} than that of “{outcomes[1]}” by "
        f"{format_number(abs(found.logit))}. "
        f"{capitalize(describe_part(name))} {verb} most to this: {format_signed(most)}."
    )


def describe_part(name: str) -> str:
    """Return a part of a model in a sentence, from its name in `LogitAttribution.parts`."""
    if name in ("embedding", "biases"):
        return f"the {name}"
    layer, _, part = name.partition(", ")
    return f"the feedforward layer of {layer}" if part == "feedforward" else name
