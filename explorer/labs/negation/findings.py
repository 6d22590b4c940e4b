"""Sentences of the negation page, made from numbers; each holds whatever the numbers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_range, format_signed
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import both_or_all, capitalize, join_words, number_word


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

    @property
    def is_unanimous(self) -> bool:
        """Whether at least three of four seeds give this answer."""
        return float(((self.sustain > 0.5) == bool(self.answer)).mean()) >= 0.75

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
    """The headline of a sentence: what each model answers, and whether the grammar agrees.

    truth: the class that the grammar gives the sentence; None if it cannot make the sentence.
    """
    if not answers:
        return "No model has a finished run with these settings yet."
    split = [answer.title for answer in answers if not answer.is_unanimous]
    whose = split[0] if len(split) == 1 else f"{number_word(len(split))} models"
    disagree = f"The seeds of {whose} disagree." if split else ""
    unanimous = [answer for answer in answers if answer.is_unanimous]
    return f"{_unanimous_finding(unanimous, truth, bool(split))} {disagree}".strip()


def _unanimous_finding(answers: Sequence[ModelAnswer], truth: int | None, others: bool) -> str:
    """What the models whose seeds agree answer; `others`: whether there are further models."""
    if not answers:
        return ""
    sides = {answer: [v.title for v in answers if v.answer == answer] for answer in (0, 1)}
    if not sides[0] or not sides[1]:
        answer = 0 if sides[0] else 1
        titles = sides[answer]
        everyone = join_words(titles) if others or len(titles) == 1 else both_or_all(len(titles))
        says = f"{everyone} {_say_verb(len(titles))} {CLASSES[answer]}"
        if truth is None:
            return f"{says}."
        return f"{says}, and so does the grammar." if answer == truth else f"{says}; the grammar says {CLASSES[truth]}."
    few = 0 if len(sides[0]) < len(sides[1]) else 1
    if len(sides[0]) == len(sides[1]):  # the side that is wrong stands first
        few = 1 - truth if truth is not None else 0
    many = 1 - few
    first = f"{join_words(sides[few])} {_say_verb(len(sides[few]))} {CLASSES[few]}"
    rest = join_words(sides[many])
    if len(sides[many]) > max(1, len(sides[few])):
        count = number_word(len(sides[many]))
        rest = f"{capitalize(count)} others" if others else f"The other {count}"
    second = f"{rest} {_say_verb(len(sides[many]))} {CLASSES[many]}"
    if truth is None:
        return f"{first}. {second}."
    if truth == many:
        return f"{first}. {second}, and so does the grammar."
    return f"{first}, and so does the grammar. {second}."


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
    """Where the prediction of a recurrent network changes most, and which of its predictions is trained."""
    untrained = "Only the answer after the last token is trained; the answers before it are not."
    if len(sustain) < 2:
        return untrained
    at = int(np.abs(np.diff(sustain)).argmax()) + 1
    return f"P(sustain) changes most at “{tokens[at]}”, from {sustain[at - 1]:.2f} to {sustain[at]:.2f}. {untrained}"


_SHARP = 0.5  # from this weight on, a token has more attention than all others together


def _attention_row(weights: Float[ndarray, "query key"]) -> Float[ndarray, " _"]:
    """Return the weights of the first query, at which the answer is read, without those of padding."""
    first: ndarray = weights[0]
    known: ndarray = first[~np.isnan(first)]
    return known


def _is_uniform(row: Float[ndarray, " _"]) -> bool:
    return bool(row.max() < 1.5 / len(row))


def attention_title(tokens: Sequence[str], weights: Float[ndarray, "query key"]) -> str:
    """What the position of the answer attends to, as a title."""
    row = _attention_row(weights)
    if _is_uniform(row):
        return "The Transformer averages all tokens"
    if row.max() >= _SHARP:
        return f"The Transformer attends to “{tokens[int(row.argmax())]}”"
    return "The Transformer attends to several tokens"


def attention_finding(
    tokens: Sequence[str],
    weights: Float[ndarray, "heads query key"],
    head: int,
    layer: int,
    layers: int,
    solved: bool,
) -> str:
    """Where one head attends at the position of the answer, and which other token another head attends to.

    solved: whether this seed answers every sentence correctly
    """
    row = _attention_row(weights[head])
    where = "The answer is read at" if layer == layers - 1 else f"In layer {layer + 1} of {layers},"
    if _is_uniform(row):
        enough = ": an average of the words is enough for the layer above" if solved else ""
        weights_seen = format_range(row.min(), row.max())
        return f"{where} “{tokens[0]}”. It attends to all tokens almost evenly, {weights_seen}{enough}."
    at = int(row.argmax())
    first = f"{where} “{tokens[0]}”. It attends most to “{tokens[at]}”, with weight {row[at]:.2f}."
    others = np.nan_to_num(weights[:, 0]).copy()
    others[:, [i for i, token in enumerate(tokens) if token == tokens[at] or token in VOCABULARY.markers]] = 0
    other, token = divmod(int(others.argmax()), others.shape[1])
    if row[at] >= _SHARP <= others[other, token]:
        first += f" Head {other + 1} attends to “{tokens[token]}”, with weight {others[other, token]:.2f}."
    if "not" in tokens and "“not”" not in first:
        first += f" It gives “not” {row[list(tokens).index('not')]:.2f}."
    return first


def final_accuracy_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], ceiling: float) -> str:
    """Return which models get every sentence right, in how many seeds, and where the others end."""
    perfect = [title for title, values in ends if _is_solved(values).all()]
    seeds = _in_every_seed(ends[0][1])
    parts = []
    if perfect:
        everyone = join_words(perfect)
        if len(perfect) == len(ends) > 1:
            everyone = both_or_all(len(perfect)) + " models" * (len(perfect) > 2)
        elif len(perfect) > 2:
            everyone = f"{capitalize(number_word(len(perfect)))} of {number_word(len(ends))} models"
        parts.append(f"{everyone} {'gets' if len(perfect) == 1 else 'get'} every sentence right{seeds}.")
    others = [(title, values) for title, values in ends if title not in perfect]
    parts += [_end_of_model(title, values, ceiling, bool(perfect)) for title, values in others[:2]]
    if len(others) > 2:
        parts.append("The table has the others.")
    return " ".join(parts)


def _end_of_model(title: str, values: Float[ndarray, " replicas"], ceiling: float, others_do: bool) -> str:
    """Where the accuracy of a model ends that does not get everything right with every seed."""
    solved = int(_is_solved(values).sum())
    if solved:
        does = "does so" if others_do else "gets every sentence right"
        return f"{title} {does} with only {solved} of {len(values)} seeds."
    if np.ptp(values) < 5e-4:
        at_ceiling = ", the ceiling of a sum of word weights" if abs(values.mean() - ceiling) < 5e-4 else ""
        return f"{title} ends at {values.mean():.3f}{at_ceiling}."
    return f"{title} ends between {values.min():.3f} and {values.max():.3f}."


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
    return " with every seed" if len(values) > 1 else ""


def _is_solved(values: Float[ndarray, " replicas"]) -> ndarray:
    """Which seeds are right everywhere; accuracies are sums of rounded probabilities."""
    return values > 1 - 1e-6


def ceiling_finding(ceiling: float) -> str:
    """The best accuracy of a sum of word weights."""
    if ceiling > 1 - 1e-9:
        return "In this version of the task a sum of word weights can get every sentence right."
    return f"No sum of word weights gets more than {ceiling:.4f} of the sentences right, however long it trains."


def cross_entropy_finding(ceiling: float, cross_entropy: float, reached: Float[ndarray, " replicas"] | None) -> str:
    """Where minimizing cross-entropy leads a sum of word weights, and where the seeds of this page ended."""
    if cross_entropy < ceiling - 5e-4:
        first = (
            f"Training does not lead there: cross-entropy weighs how wrong an answer is, and its minimum gets only "
            f"{cross_entropy:.4f} right."
        )
    else:
        first = "The minimum of the cross-entropy reaches this value."
    if reached is None:
        return first
    low, high = float(reached.min()), float(reached.max())
    ended = f"{low:.4f}{_in_every_seed(reached)}" if high - low < 5e-5 else f"{low:.4f} to {high:.4f} over its seeds"
    return f"{first} The bag of words on this page ended at {ended}."


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
    """Which models answer a pair correctly that training never showed: the best ones, and how many do never."""
    first = f"Training never shows “not {verb}”."
    counts = {title: int(_is_solved(values).sum()) for title, values in ends}
    most, seeds = max(counts.values()), len(ends[0][1])
    if not most:
        return f"{first} No model gets it right{_in_any_seed(seeds)}."
    best = [title for title, count in counts.items() if count == most]
    names = join_words(best) if len(best) < 3 else f"{capitalize(number_word(len(best)))} models"
    often = f" with {most} of {seeds} seeds" if seeds > 1 else ""
    never = sum(count == 0 for count in counts.values())
    rest = (
        f"; {number_word(never)} of {number_word(len(ends))} models never {'does' if never == 1 else 'do'}"
        if never
        else ""
    )
    return f"{first} {names} {'gets' if len(best) == 1 else 'get'} it right{often}{rest}."


def _in_any_seed(seeds: int) -> str:
    return " with any seed" if seeds > 1 else ""


def padding_finding(alone: Sequence[ModelAnswer], padded: Sequence[ModelAnswer]) -> str:
    """Whether the answer to one sentence depends on what stands next to it in the batch."""
    pairs = list(zip(alone, padded, strict=True))
    changed = [f"{a.title} ({CLASSES[a.answer]}, then {CLASSES[b.answer]})" for a, b in pairs if a.answer != b.answer]
    shifted = [a.title for a, b in pairs if a.answer == b.answer and abs(a.mean - b.mean) >= 0.005]
    if changed:
        return f"The padding changes the answer of {join_words(changed)}."
    if shifted:
        return f"The padding changes a probability, but no answer: {join_words(shifted)}."
    return "Alone or with a longer sentence in the batch, the answers are the same."
