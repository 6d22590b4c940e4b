"""Sentences on position encodings, made from the outputs of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.transformer import positions
from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_range, format_significant, format_units
from explorer.ui.verdict_sentences import comparison_finding, comparison_note
from explorer.ui.wording import capitalize, count_seeds, join_words

ROUNDING = 1e-5  # upper bound of float32 rounding when terms are summed in another order
SCHEME_NAMES = {
    "none": "no positions",
    "sinusoidal": "sinusoidal positions",
    "learned": "learned positions",
    "rotary": "rotary positions",
}


# ---- two sentences


def order_finding(first: Sequence[str], second: Sequence[str], models: Sequence[positions.OrderDistance]) -> str:
    """Say which models distinguish two sentences of the same words."""
    if list(first) == list(second):
        return "Both sentences are the same, so there is no difference to detect."
    if sorted(first) != sorted(second):
        return "The sentences have different words, which every model detects. Write the same words in two orders."
    blind = [_model_name(one) for one in models if float(one.sentence_distance.max()) < ROUNDING]
    seeds = count_seeds(len(models[0].sentence_distance))
    if not blind:
        return f"All these models tell the two orders apart, in all {seeds}."
    return f"{capitalize(join_words(blind))} cannot tell the two orders apart, in any of {seeds}."


def order_words(model: positions.OrderDistance) -> str:
    """Return whether a model has the same vector for both sentences, with the range of the distances."""
    low, high = float(model.sentence_distance.min()), float(model.sentence_distance.max())
    word = "the same" if high < ROUNDING else "different" if low >= ROUNDING else "nearly the same"
    return f"{word} ({format_significant(low)} to {format_significant(high)})"


def causal_mask_finding(models: Sequence[positions.OrderDistance]) -> str:
    """Say what a causal mask alone reveals about word order."""
    encoder, decoder = (
        next(one for one in models if one.positions == "none" and one.causal is mask) for mask in (False, True)
    )
    parts = []
    if encoder.word_distance is not None:
        parts.append(
            "Without positions the vectors of a word in both sentences of an encoder differ by at most "
            f"{format_significant(float(encoder.word_distance.max()))} of their length; up to "
            f"{format_significant(ROUNDING)} can be rounding error."
        )
    low, high = float(decoder.sentence_distance.min()), float(decoder.sentence_distance.max())
    if low > ROUNDING:
        parts.append(
            f"With a causal mask the same model tells them apart: the distance is {format_range(low, high)}. Each word "
            "attends only to the words before it, so the mask gives some information about the order."
        )
    return " ".join(parts)


def _model_name(model: positions.OrderDistance) -> str:
    with_ = "without positions" if model.positions == "none" else f"with {SCHEME_NAMES[model.positions]}"
    return f"{'a causal decoder' if model.causal else 'an encoder'} {with_}"


# ---- digits


@dataclass(frozen=True, eq=False)
class CopyAccuracy:
    """Exact match of a trained model at each tested length."""

    words: str
    lengths: tuple[int, ...]
    exact: Float[ndarray, "replicas lengths"]

    def accuracy_at(self, length: int) -> float:
        """Return the median over seeds at this length; NaN if it was not tested."""
        return float(np.median(self.exact[:, self.lengths.index(length)])) if length in self.lengths else float("nan")

    def longest_solved(self, level: float = 0.5) -> int:
        """Return the longest length up to which exact match is at least `level` in the median seed; 0 if none."""
        enough = np.median(self.exact, axis=0) >= level
        return self.lengths[-1] if enough.all() else int(np.array((0, *self.lengths))[int(np.argmin(enough))])


def length_verdict(results: Mapping[str, CopyAccuracy], longest: int) -> str:
    """Say up to which length the models copy at least half of the rows, and whether any goes beyond training."""
    reach = {one.words: one.longest_solved() for one in results.values()}
    best = max(reach.values())
    farthest = [words for words, each in reach.items() if each == best]
    count = sum(each >= longest for each in reach.values())
    return (
        f"{count or 'None'} of {len(reach)} models copy at least half of the rows at the trained {longest} digits; "
        f"{join_words(farthest)} come{'s' * (len(farthest) == 1)} farthest, up to {best}."
    )


def extrapolation_finding(results: Mapping[str, CopyAccuracy], longest: int) -> str:
    """Say how the median accuracy falls beyond the longest trained length."""
    falls = [
        f"{one.words} {one.accuracy_at(longest):.2f}, {one.accuracy_at(longest + 1):.2f}, "
        f"{one.accuracy_at(longest + 2):.2f}"
        for one in results.values()
    ]
    return (
        f"Exact match at {longest}, {longest + 1} and {longest + 2} digits, median over the seeds: {'; '.join(falls)}."
    )


def beyond_training_finding(results: Mapping[str, CopyAccuracy], longest: int) -> str:
    """Compare the models one digit beyond the longest trained length; "" if none gets a row right there."""
    length = longest + 1
    exact = {one.words: one.exact[:, one.lengths.index(length)] for one in results.values() if length in one.lengths}
    found = compare_with_best(exact, paired=True)  # all models have the same seeds and data
    if found is None or not any(values.any() for values in exact.values()):
        return ""
    sentences = f"{comparison_finding(found, digits=2)} {comparison_note(found)}"
    return f"Exact match at {length} digits is compared. {sentences}".strip()


def no_positions_finding(results: Mapping[str, CopyAccuracy], longest: int) -> str:
    """Say how far the causal mask alone carries a model without position encoding."""
    one, others = results.get("none"), [each.longest_solved() for name, each in results.items() if name != "none"]
    if one is None or not others:
        return ""
    return (
        "Without positions at least half of the rows are right up to "
        f"{format_units(one.longest_solved(), 'digit')}, with the best of the others up to {max(others)} (median seed)."
    )
