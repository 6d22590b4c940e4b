"""Sentences of the negation page, made from numbers; each holds whatever the numbers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_range, format_signed
from explorer.tasks.negation import CLASSES
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import both_or_all, join_words, number_word


@dataclass(frozen=True)
class ModelAnswer:
    """The answer of one model to a sentence: P(sustain) of every seed."""

    title: str
    colour: str
    sustain: Float[ndarray, " replicas"]

    @property
    def mean(self) -> float:
        return float(self.sustain.mean())

    @property
    def answer(self) -> int:
        return int(self.mean > 0.5)

    @property
    def probability(self) -> float:
        """Of the class it answers with."""
        return max(self.mean, 1 - self.mean)

    def correct_seeds(self, truth: int) -> int:
        """How many seeds are right."""
        return int(((self.sustain > 0.5) == bool(truth)).sum())

    def note(self, truth: int | None) -> str:
        """Right or wrong, and in how many seeds."""
        count = len(self.sustain)
        if truth is None:
            same = int(((self.sustain > 0.5) == bool(self.answer)).sum())
            return f"{same} of {count} seeds say so" if count > 1 else "one seed"
        right = self.correct_seeds(truth)
        word = "right" if self.answer == truth else "wrong"
        held = right if self.answer == truth else count - right
        if count == 1:
            return word
        return f"{word} in all {count} seeds" if held == count else f"{word} in {held} of {count} seeds"


def answers_finding(answers: Sequence[ModelAnswer], truth: int | None) -> str:
    """The headline of a sentence: who says what, and what the grammar says."""
    if not answers:
        return "No model has been trained under these settings yet."
    sides = {answer: [v.title for v in answers if v.answer == answer] for answer in (0, 1)}
    grammar = "The grammar has no sentence like this one." if truth is None else None
    if not sides[0] or not sides[1]:
        answer = 0 if sides[0] else 1
        everyone = answers[0].title if len(answers) == 1 else both_or_all(len(answers))
        says = f"{everyone} {_say_verb(len(answers))} {CLASSES[answer]}"
        if truth is None:
            return f"{says}. {grammar}"
        return f"{says}, and so does the grammar." if answer == truth else f"{says}; the grammar says {CLASSES[truth]}."
    few = 0 if len(sides[0]) < len(sides[1]) else 1
    if len(sides[0]) == len(sides[1]):  # neither is few: those who are wrong stand first
        few = 1 - truth if truth is not None else 0
    many = 1 - few
    first = f"{join_words(sides[few])} {_say_verb(len(sides[few]))} {CLASSES[few]}"
    rest = (
        f"The other {number_word(len(sides[many]))}"
        if len(sides[many]) > 1 and len(sides[few]) < len(sides[many])
        else join_words(sides[many])
    )
    second = f"{rest} {_say_verb(len(sides[many]))} {CLASSES[many]}"
    if truth is None:
        return f"{first}. {second}. {grammar}"
    if truth == many:
        return f"{first}. {second}, and so does the grammar."
    return f"{second}. {first}, and so does the grammar."


def _say_verb(count: int) -> str:
    return "says" if count == 1 else "say"


def contributions_finding(tokens: Sequence[str], values: Float[ndarray, " tokens"]) -> str:
    """What a sum of words is about."""
    if "not" in tokens:
        value = float(values[list(tokens).index("not")])
        often = "" if tokens.count("not") == 1 else ", each time"
        return f"“not” always adds {format_signed(value)}{often}, whatever stands next to it."
    strongest = int(np.abs(values).argmax())
    return f"“{tokens[strongest]}” adds most: {format_signed(float(values[strongest]))}."


def pairs_finding(pairs: Sequence[str], values: Float[ndarray, " pairs"]) -> str:
    """What a sum of pairs of neighbouring tokens is about: a pair with "not" has a weight of its own."""
    with_not = [i for i, pair in enumerate(pairs) if pair.startswith("not ")]
    if with_not:
        at = with_not[-1]
        return f"“{pairs[at]}” has a weight of its own: {format_signed(float(values[at]))}."
    strongest = int(np.abs(values).argmax())
    return f"“{pairs[strongest]}” adds most: {format_signed(float(values[strongest]))}."


def units_finding(units: Sequence[str], values: Float[ndarray, " units"]) -> str:
    """What a hidden layer over word counts is about: every unit reads all counts together."""
    strongest = int(np.abs(values).argmax())
    return (
        f"Each hidden unit reads the counts of all words together. {units[strongest].capitalize()} adds most: "
        f"{format_signed(float(values[strongest]))}."
    )


def reading_finding(tokens: Sequence[str], sustain: Float[ndarray, " tokens"]) -> str:
    """Where a reader changed its mind most."""
    turns = np.abs(np.diff(sustain))
    at = int(turns.argmax()) + 1
    return f"The largest turn, {sustain[at - 1]:.2f} to {sustain[at]:.2f}, comes with “{tokens[at]}”."


def attention_finding(tokens: Sequence[str], weights: Float[ndarray, "query key"], layer: int, layers: int) -> str:
    """Where the answer looks. It is read at the first token, so in the last block only that row matters."""
    row = weights[0]
    known = row[~np.isnan(row)]
    where = "The answer is read at" if layer == layers - 1 else f"In block {layer + 1} of {layers},"
    if known.max() < 1.5 / len(known):
        return (
            f"{where} “{tokens[0]}”, which looks almost evenly at everything, "
            f"{format_range(known.min(), known.max())}: here an average of the words is enough for the layer above."
        )
    at = int(np.nanargmax(row))
    return f"{where} “{tokens[0]}”, which looks hardest at “{tokens[at]}”: {row[at]:.2f}."


def final_accuracy_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], ceiling: float) -> str:
    """Return how exact accuracy ends: models right everywhere, with one value, and those that depend on the seed."""
    perfect = [title for title, values in ends if _is_solved(values).all()]
    parts, partly_solved = [], []
    if perfect:
        everyone = both_or_all(len(perfect)) if len(perfect) == len(ends) > 1 else join_words(perfect)
        reach = f"reach{'es' if len(perfect) == 1 else ''} 1.000"
        parts.append(f"{everyone} {reach}{_in_every_seed(ends[0][1])}.")
    for title, values in ends:
        if title in perfect:
            continue
        if np.ptp(values) < 5e-4:
            at_ceiling = (
                ", the ceiling of a linear readout of word counts" if abs(values.mean() - ceiling) < 5e-4 else ""
            )
            parts.append(f"{title} ends at {values.mean():.3f}{_in_every_seed(values)}{at_ceiling}.")
        elif _is_solved(values).any():
            partly_solved.append((title, values))
        else:
            parts.append(f"{title} ends between {values.min():.3f} and {values.max():.3f}, depending on the seed.")
    if partly_solved:
        parts.append(f"It depends on the seed: everything right for {_solved_seeds(partly_solved)}.")
    return " ".join(parts)


def comparison_with_best(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Return which models are worse than the best at the end, of which one cannot tell, and how that was tested.

    If any seed of any model is right everywhere, the seeds that are right everywhere are compared, otherwise the means.
    """
    solved = {title: _is_solved(values) for title, values in ends}
    if not any(seeds.any() for seeds in solved.values()):
        found = compare_with_best(dict(ends), paired=True)
        return f"{comparison_finding(found)} {comparison_note(found)}".strip()
    return solved_comparison(solved, "classify every sentence correctly")


def _in_every_seed(values: Float[ndarray, " replicas"]) -> str:
    """Said only where there are several."""
    return " in every seed" if len(values) > 1 else ""


def _is_solved(values: Float[ndarray, " replicas"]) -> ndarray:
    """Which seeds are right everywhere; accuracies are sums of rounded probabilities."""
    return values > 1 - 1e-6


def _solved_seeds(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """In how many of its seeds each model is right everywhere."""
    return join_words([f"{title} in {int(_is_solved(values).sum())} of {len(values)} seeds" for title, values in ends])


def ceiling_finding(ceiling: float, cross_entropy: float, reached: Float[ndarray, " replicas"] | None) -> str:
    """The best accuracy of a sum of word weights, where cross-entropy leads it, and where its seeds ended."""
    if ceiling > 1 - 1e-9:
        first = "In this version of the task a sum of word weights is enough: the ceiling is 1."
    else:
        first = f"No sum of word weights passes {ceiling:.4f} here, however long it trains."
    if cross_entropy < ceiling - 5e-4:
        second = (
            f" Training does not even lead there: cross-entropy weighs how wrong an answer is, not whether, and its "
            f"best compromise gets only {cross_entropy:.4f} right."
        )
    else:
        second = " Cross-entropy leads up to the ceiling."
    if reached is None:
        return first + second
    low, high = float(reached.min()), float(reached.max())
    same = high - low < 5e-5
    third = f"{low:.4f}{_in_every_seed(reached)}" if same else f"{low:.4f} to {high:.4f} over its seeds"
    return f"{first}{second} The bag of words on this page ended at {third}."


def beyond_sums_finding(ceiling: float, hidden: Float[ndarray, " replicas"]) -> str:
    """What a hidden layer over the same word counts shows: whether the counts hold more than a sum of weights uses.

    ceiling: the best exact accuracy of a sum of word weights
    hidden: exact accuracies of a bag of words with a hidden layer
    """
    solved, count, best = int(_is_solved(hidden).sum()), len(hidden), float(hidden.max())
    first = "With the same word counts, a hidden layer"
    if solved:
        seeds = f" in {solved} of {count} seeds" if count > 1 else ""
        fails = ". What fails is adding one weight per word" if ceiling < 1 - 1e-9 else ", and adding weights is enough"
        return f"{first} is right on every sentence{seeds}, so the class is a function of the counts{fails}."
    if best > ceiling + 5e-4:
        return f"{first} reaches up to {best:.4f}, more than any sum of word weights."
    return (
        f"{first} reaches at most {best:.4f}, which is not above the ceiling. These runs do not show whether the "
        f"counts hold more than a sum of word weights can use."
    )


def held_out_finding(verb: str, ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Who understood a pair that training never showed: seeds that got it all right, model by model."""
    unsolved = [title for title, values in ends if not _is_solved(values).any()]
    solved = [(title, values) for title, values in ends if title not in unsolved]
    parts = [f"“not {verb}” was never shown in training."]
    if solved:
        parts.append(f"It is understood all the same by {_solved_seeds(solved)}.")
    if unsolved:
        parts.append(f"{join_words(unsolved)} never understand{'s' if len(unsolved) == 1 else ''} it.")
    return " ".join(parts)


def padding_finding(alone: Sequence[ModelAnswer], padded: Sequence[ModelAnswer], truth: int | None) -> str:
    """Whether the answer to one sentence depends on what stands beside it in the batch."""
    changed_answers, changed_probabilities = [], []
    for a, b in zip(alone, padded, strict=True):
        if a.answer != b.answer:
            wrong = f", and alone it is {a.note(truth)}" if truth is not None and a.answer != truth else ""
            changed_answers.append(f"{a.title} says {CLASSES[a.answer]} alone, {CLASSES[b.answer]} in company{wrong}.")
        elif abs(a.mean - b.mean) >= 0.005:
            changed_probabilities.append(
                f"{a.title} is {a.probability:.2f} sure alone, {b.probability:.2f} in company."
            )
    if not changed_answers and not changed_probabilities:
        return "The same sentence gets the same answer, alone or in company."
    return " ".join(
        [*(["One sentence, two answers."] if changed_answers else []), *changed_answers, *changed_probabilities]
    )
