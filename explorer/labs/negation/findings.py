"""Sentences of the negation page, made from numbers; each holds whatever the numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.experiments.recall import SOLVED
from explorer.inspection.verdicts import EVERY_RIGHT, compare_with_best
from explorer.number_format import format_percent, format_range, format_signed
from explorer.tasks.ceiling import LinearReadout
from explorer.tasks.negation import CLASSES
from explorer.tasks.own_sentences import MARKERS
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import capitalize, join_words, number_word

GRAMMAR, FILE = "the grammar", "your file"  # what the true classes come from


@dataclass(frozen=True)
class ModelAnswer:
    """The answer of one model to a sentence: the probability of each class by every seed."""

    title: str
    colour: str
    probabilities: Float[ndarray, "replicas classes"]
    classes: tuple[str, ...] = CLASSES
    effects: tuple[tuple[str, float], ...] = ()  # what each word adds to the score of the second class, if known
    words: tuple[str, ...] = ()  # of the sentence

    @property
    def answer(self) -> int:
        return int(self.probabilities.mean(axis=0).argmax())

    @property
    def name(self) -> str:
        """The name of the class with the highest mean probability."""
        return self.classes[self.answer]

    @property
    def probability(self) -> float:
        """The mean probability of this class."""
        return float(self.probabilities.mean(axis=0)[self.answer])

    @property
    def shown_class(self) -> int:
        """The class whose probability a bar shows: the second of two, or the answer among more."""
        return 1 if len(self.classes) == 2 else self.answer

    @property
    def shown_probabilities(self) -> Float[ndarray, " replicas"]:
        """The probability of the shown class by every seed."""
        values: ndarray = self.probabilities[:, self.shown_class]
        return values

    @property
    def is_unanimous(self) -> bool:
        """Whether at least three of four seeds give this answer."""
        return self.correct_seeds(self.answer) >= 0.75 * len(self.probabilities)

    def correct_seeds(self, truth: int) -> int:
        """Return the number of seeds whose most probable class is this one."""
        return int((self.probabilities.argmax(axis=1) == truth).sum())

    def note(self, truth: int | None) -> str:
        """Return whether the answer is right, and with how many seeds."""
        same, count = self.correct_seeds(self.answer), len(self.probabilities)
        if self.effects:
            return f"only {same} of {count} trainings" if same < count else ""
        if truth is None:
            return f"{same} of {count} seeds say so" if count > 1 else "one seed"
        word = "right" if self.answer == truth else "wrong"
        return f"{word} in {same} of {count} seeds" if count > 1 else word


def answers_finding(answers: Sequence[ModelAnswer], truth: int | None, authority: str = GRAMMAR) -> str:
    """Return the headline for a sentence: the answer of each model, and whether the grammar or the file agrees.

    truth: the class that the grammar gives the sentence; None if it cannot make the sentence.
    """
    if not answers:
        return "No model has a finished run with these settings yet."
    classes, sides = answers[0].classes, dict[int, list[str]]()
    for each in answers:
        if each.is_unanimous:
            sides.setdefault(each.answer, []).append(each.title)
    parts: list[str] = []
    # The fewest models stand first; of sides of equal size, the one that is wrong.
    for side, titles in sorted(sides.items(), key=lambda item: (len(item[1]), item[0] == truth, -item[0])):
        many = f"{capitalize(number_word(len(titles)))} {'other ' * bool(parts)}models"
        names = join_words(titles) if len(titles) <= 3 else many
        agrees = f", and so does {authority}" * (side == truth)
        parts.append(f"{names} say{'s' * (len(titles) == 1)} {classes[side]}{agrees}.")
    if sides and truth is not None and truth not in sides:
        parts.append(f"{capitalize(authority)} says {classes[truth]}.")
    if split := [answer.title for answer in answers if not answer.is_unanimous]:
        whose = split[0] if len(split) == 1 else f"{number_word(len(split))} models"
        parts.append(f"The seeds of {whose} disagree.")
    return " ".join(parts)


_PARTS = {  # what a readout adds up, by model
    "bag_of_bigrams": "Each pair has a weight of its own. ",
    "bag_of_words_hidden": "Each hidden unit reads the counts of all words together. ",
    "convolution": "Each filter counts once, at the words to which it responds most. ",
}


def contributions_finding(model: str, parts: Sequence[str], values: Float[ndarray, " parts"]) -> str:
    """Return the largest term of a sum, or that of “not” in a bag of words."""
    if not len(parts):
        return "No filter responds to this sentence, so the answer is that of the bias."
    if model == "bag_of_words" and "not" in parts:
        value = format_signed(float(values[list(parts).index("not")]))
        return f"“not” always adds {value}, whatever stands next to it."
    strongest = int(np.abs(values).argmax())
    return f"{_PARTS.get(model, '')}“{parts[strongest]}” adds most: {format_signed(float(values[strongest]))}."


def reading_finding(tokens: Sequence[str], sustain: Float[ndarray, " tokens"], name: str = "sustain") -> str:
    """Return where the prediction of a recurrent network changes most, and which of its predictions is trained."""
    untrained = "Only the answer after the last token is trained; the answers before it are not."
    if len(sustain) < 2:
        return untrained
    at = int(np.abs(np.diff(sustain)).argmax()) + 1
    return f"P({name}) changes most at “{tokens[at]}”, from {sustain[at - 1]:.2f} to {sustain[at]:.2f}. {untrained}"


_SHARP = 0.5  # from this weight on, a token has more attention than all others together


def attention_title(tokens: Sequence[str], weights: Float[ndarray, "query key"]) -> str:
    """Return a title with the token to which the position of the answer attends; padding has no weight (NaN)."""
    at = int(np.nanargmax(weights[0]))
    return f"The Transformer attends to {f'“{tokens[at]}”' if weights[0, at] >= _SHARP else 'several tokens'}"


def attention_finding(
    tokens: Sequence[str], weights: Float[ndarray, "heads query key"], head: int, layer: int, layers: int
) -> str:
    """Return where one head attends at the position of the answer, and to which other token another head attends."""
    row = weights[head, 0][~np.isnan(weights[head, 0])]
    where = "The answer is read at" if layer == layers - 1 else f"In layer {layer + 1} of {layers},"
    if row.max() < 1.5 / len(row):
        return f"{where} “{tokens[0]}”. It attends to all tokens almost evenly, {format_range(row.min(), row.max())}."
    at = int(row.argmax())
    first = f"{where} “{tokens[0]}”. It attends most to “{tokens[at]}”, with weight {row[at]:.2f}."
    others = np.nan_to_num(weights[:, 0]).copy()
    others[:, [i for i, token in enumerate(tokens) if token == tokens[at] or token in MARKERS]] = 0
    other, token = divmod(int(others.argmax()), others.shape[1])
    if row[at] >= _SHARP <= others[other, token]:
        first += f" Head {other + 1} attends to “{tokens[token]}”, with weight {others[other, token]:.2f}."
    return first


def final_accuracy_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], ceiling: float) -> str:
    """Return which models get every sentence right with every seed, and where the others end.

    ceiling: of a sum of word weights
    """
    perfect = [title for title, values in ends if _is_right(values).all()]
    others = [(title, values) for title, values in ends if title not in perfect]
    parts = []
    for title, values in others[:2]:
        most = ", at most" * bool(np.ptp(values) > 5e-4)
        limit = f"{most or ','} the ceiling of a sum of word weights" * (abs(float(values.max()) - ceiling) < 5e-4)
        parts.append(f"{title} ends at {format_range(values.min(), values.max(), 3)}{limit}.")
    if perfect:
        count = f"{capitalize(number_word(len(perfect)))} of {number_word(len(ends))} models"
        names = join_words(perfect) if len(perfect) < 3 else count
        verb = "gets" if len(perfect) == 1 else "get"
        parts.insert(0, f"{names} {verb} every sentence right{_in_every_seed(ends[0][1])}.")
    return " ".join([*parts, *["The table has the others."] * (len(others) > 2)])


def comparison_with_best(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], kind: str = "sentence") -> str:
    """Return which models are worse than the best at the end, of which one cannot tell, and how that was tested.

    The means are compared, and the seeds that solve the task, whatever the values are.
    """
    solved = {title: values >= SOLVED for title, values in ends}
    found = compare_with_best(dict(ends), paired=True)
    means = f"The mean accuracies are compared. {comparison_finding(found)} {comparison_note(found)}" if found else ""
    return f"{means} {solved_comparison(solved, f'are right on {SOLVED:.0%} of the {kind}s or more')}".strip()


def english_finding(
    ends: Mapping[str, Mapping[str, Float[ndarray, " seeds"]]], parameters: Mapping[str, int | None]
) -> str:
    """Return what the bag of words and the model with the fewest errors on validation sentences get right of the test.

    ends: the measurements of each model by their names, by the title of the model
    parameters: their numbers, by the title of the model
    """
    best = min(ends, key=lambda title: float(np.median(ends[title]["val_error"])))
    shown = [title for title in dict.fromkeys((MODELS["bag_of_words"].title, best)) if title in ends]

    parts = []
    for title in shown:
        reviews, negated = (format_percent(float(np.median(ends[title][part])), 0) for part in ("reviews", "negated"))
        parts.append(f"{title} ({parameters[title] or 0:,} parameters) {reviews} and {negated}")
    seeds = len(ends[best]["reviews"])
    return (
        "Right on reviews that no model has seen, and on sentences that a negation turns round: "
        f"{'; '.join(parts)}{f' (medians over {seeds} seeds)' * (seeds > 1)}."
    )


def _in_every_seed(values: Float[ndarray, " replicas"]) -> str:
    """Return words for several seeds; empty for one."""
    return " with every seed" if len(values) > 1 else ""


def _is_right(values: Float[ndarray, " replicas"]) -> ndarray:
    """Return which seeds are right everywhere."""
    return values >= EVERY_RIGHT


def ceiling_finding(ceiling: float) -> str:
    """Return the best accuracy of a sum of word weights, as a sentence."""
    if ceiling > 1 - 1e-9:
        return "In this version of the task a sum of word weights can get every sentence right."
    return f"No sum of word weights gets more than {ceiling:.4f} of the sentences right, however long it trains."


def cross_entropy_finding(cross_entropy: float, reached: Float[ndarray, " replicas"] | None) -> str:
    """Return the accuracy at the minimum of cross-entropy of a sum of word weights, and those of the trained seeds."""
    first = f"Cross-entropy weighs how wrong an answer is, and its minimum gets {cross_entropy:.4f} right."
    if reached is None:
        return first
    ended = format_range(float(reached.min()), float(reached.max()), 4)
    return f"{first} The bag of words on this page ended at {ended}{_in_every_seed(reached) * (' to ' not in ended)}."


def beyond_sums_finding(ceiling: float, hidden: Float[ndarray, " replicas"]) -> str:
    """Return whether a hidden layer over the same word counts is more accurate than any sum of word weights.

    ceiling: the best exact accuracy of a sum of word weights
    hidden: exact accuracies of a bag of words with a hidden layer
    """
    solved, count, best = int(_is_right(hidden).sum()), len(hidden), float(hidden.max())
    first = "With the same word counts, a hidden layer"
    if solved:
        seeds = f" in {solved} of {count} seeds" if count > 1 else ""
        return f"{first} is right on every sentence{seeds}, so the class is a function of the counts."
    above = ", more than any sum of word weights" * (best > ceiling + 5e-4)
    return f"{first} reaches at most {best:.4f}{above}."


def held_out_finding(verb: str, ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Return which models answer a pair that training never showed, and with how many seeds."""
    solved = {title: int(_is_right(values).sum()) for title, values in ends}
    seeds = len(ends[0][1])
    right = [title + f" ({count} of {seeds} seeds)" * (seeds > 1) for title, count in solved.items() if count]
    verb = f"Training never shows “not {verb}”. {join_words(right) or 'No model'} {'get' if len(right) > 1 else 'gets'}"
    return f"{verb} it right."


def padding_finding(alone: Sequence[ModelAnswer], padded: Sequence[ModelAnswer]) -> str:
    """Return whether the answer to one sentence depends on the other sentences of its batch."""
    pairs = list(zip(alone, padded, strict=True))
    changed = [f"{a.title} ({a.name}, then {b.name})" for a, b in pairs if a.answer != b.answer]
    shifted = [a.title for a, b in pairs if a.answer == b.answer and abs(a.probability - b.probability) >= 0.005]
    if changed:
        return f"The padding changes the answer of {join_words(changed)}."
    if shifted:
        return f"The padding changes a probability, but no answer: {join_words(shifted)}."
    return "Alone or with a longer sentence in the batch, the answers are the same."


def readout_finding(fitted: LinearReadout | None, sentences: int) -> str:
    """Return whether a sum of word weights can get every training sentence of a file right.

    sentences: how many training sentences there are
    """
    if fitted is None:
        return "Whether a sum of word weights can get every training sentence right was not found in 10 seconds."
    if fitted.separable:
        return f"A sum of word weights can get all {sentences:,} training sentences right."
    if fitted.separable is None:
        return (
            f"A sum of word weights gets at least {format_percent(fitted.training)} of the {sentences:,} training "
            "sentences right; whether one gets all of them right is not known."
        )
    return f"No sum of word weights gets all {sentences:,} training sentences right."


def readout_explanation(fitted: LinearReadout) -> str:
    """Return what the fitted readout shows, and what it does not."""
    held_out = f"The sum that was found gets {format_percent(fitted.held_out)} of the held-out sentences right."
    if fitted.separable:
        return (
            f"{held_out} Its errors there show that these weights generalize badly, not that every sum of word weights "
            "makes errors there."
        )
    return (
        f"The sum with the smallest violations of its margin gets {format_percent(fitted.training)} of them right, so "
        f"the best sum gets at least as many right. {held_out}"
    )


def hidden_layer_finding(linear: Float[ndarray, " replicas"], hidden: Float[ndarray, " replicas"]) -> str:
    """Return how a hidden layer over the same word counts changes the accuracy on held-out sentences."""
    low, high = float(np.median(linear)), float(np.median(hidden))
    return (
        f"Trained on the same word counts, the bag of words gets {format_percent(low)} of the held-out sentences right "
        f"and the one with a hidden layer {format_percent(high)} (medians over the seeds)."
    )


def file_accuracy_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Return which models have the highest accuracy on the held-out sentences of a file."""
    medians = {title: float(np.median(values)) for title, values in ends}
    highest = max(medians.values())
    best = [title for title, median in medians.items() if median == highest]
    return (
        f"{join_words(best)} {'gets' if len(best) == 1 else 'get'} {format_percent(highest)} of the held-out sentences "
        f"right, the highest accuracy ({'median of the seeds' if len(ends[0][1]) > 1 else 'one seed'})."
    )
