"""Sentences of the negation page, made from numbers; each holds whatever the numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_percent, format_range, format_signed
from explorer.tasks.ceiling import LinearReadout
from explorer.tasks.negation import CLASSES
from explorer.tasks.own_sentences import MARKERS
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import both_or_all, capitalize, join_words, number_word

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
        count = len(self.probabilities)
        if truth is None:
            same = self.correct_seeds(self.answer)
            return f"{same} of {count} seeds say so" if count > 1 else "one seed"
        right = self.correct_seeds(truth)
        word = "right" if self.answer == truth else "wrong"
        held = right if self.answer == truth else count - right
        if count == 1:
            return word
        return f"{word} in all {count} seeds" if held == count else f"{word} in {held} of {count} seeds"


def answers_finding(answers: Sequence[ModelAnswer], truth: int | None, authority: str = GRAMMAR) -> str:
    """Return the headline for a sentence: the answer of each model, and whether the grammar or the file agrees.

    truth: the class that the grammar gives the sentence; None if it cannot make the sentence.
    """
    if not answers:
        return "No model has a finished run with these settings yet."
    split = [answer.title for answer in answers if not answer.is_unanimous]
    whose = split[0] if len(split) == 1 else f"{number_word(len(split))} models"
    disagree = f"The seeds of {whose} disagree." if split else ""
    unanimous = [answer for answer in answers if answer.is_unanimous]
    return f"{_unanimous_finding(unanimous, truth, bool(split), authority)} {disagree}".strip()


def _unanimous_finding(answers: Sequence[ModelAnswer], truth: int | None, others: bool, authority: str) -> str:
    """Return the answers of the models whose seeds agree; `others`: whether there are further models."""
    if not answers:
        return ""
    classes = answers[0].classes
    sides: dict[int, list[str]] = {}
    for each in answers:
        sides.setdefault(each.answer, []).append(each.title)
    if len(sides) == 1:
        answer, titles = next(iter(sides.items()))
        everyone = join_words(titles) if others or len(titles) == 1 else both_or_all(len(titles))
        says = f"{everyone} {_say_verb(len(titles))} {classes[answer]}"
        if truth is None:
            return f"{says}."
        return f"{says}, and so does {authority}." if answer == truth else f"{says}; {authority} says {classes[truth]}."
    # The fewest models stand first; of sides of equal size, the one that is wrong.
    order = sorted(sides, key=lambda side: (len(sides[side]), side == truth, -side))
    parts = []
    for side in order:
        names = join_words(sides[side])
        if side == order[-1] and len(sides[side]) > max(1, len(sides[order[-2]])):
            count = number_word(len(sides[side]))
            names = f"{capitalize(count)} others" if others else f"The other {count}"
        agrees = f", and so does {authority}" if side == truth else ""
        parts.append(f"{names} {_say_verb(len(sides[side]))} {classes[side]}{agrees}.")
    if truth is not None and truth not in sides:
        parts.append(f"{capitalize(authority)} says {classes[truth]}.")
    return " ".join(parts)


def _say_verb(count: int) -> str:
    return "says" if count == 1 else "say"


def contributions_finding(tokens: Sequence[str], values: Float[ndarray, " tokens"]) -> str:
    """Return the largest term of a sum of words, or that of “not”."""
    if "not" in tokens:
        value = float(values[list(tokens).index("not")])
        often = "" if tokens.count("not") == 1 else ", each time"
        return f"“not” always adds {format_signed(value)}{often}, whatever stands next to it."
    strongest = int(np.abs(values).argmax())
    return f"“{tokens[strongest]}” adds most: {format_signed(float(values[strongest]))}."


def pairs_finding(pairs: Sequence[str], values: Float[ndarray, " pairs"]) -> str:
    """Return the weight of a pair of neighbouring tokens that begins with "not", or the largest one."""
    with_not = [i for i, pair in enumerate(pairs) if pair.startswith("not ")]
    if with_not:
        at = with_not[-1]
        return f"“{pairs[at]}” has a weight of its own: {format_signed(float(values[at]))}."
    strongest = int(np.abs(values).argmax())
    return f"“{pairs[strongest]}” adds most: {format_signed(float(values[strongest]))}."


def units_finding(units: Sequence[str], values: Float[ndarray, " units"]) -> str:
    """Return the largest term of a hidden layer, each of whose units reads the counts of all words."""
    strongest = int(np.abs(values).argmax())
    return (
        f"Each hidden unit reads the counts of all words together. {units[strongest].capitalize()} adds most: "
        f"{format_signed(float(values[strongest]))}."
    )


def windows_finding(windows: Sequence[str], values: Float[ndarray, " windows"]) -> str:
    """Return the window that adds most to a sum of filters, each of which counts with its largest response."""
    if not len(windows):
        return "No filter responds to this sentence, so the answer is that of the bias."
    strongest = int(np.abs(values).argmax())
    return (
        "Each filter counts once, at the words to which it responds most. Those that respond most to "
        f"“{windows[strongest]}” add {format_signed(float(values[strongest]))}."
    )


def reading_finding(tokens: Sequence[str], sustain: Float[ndarray, " tokens"], name: str = "sustain") -> str:
    """Return where the prediction of a recurrent network changes most, and which of its predictions is trained."""
    untrained = "Only the answer after the last token is trained; the answers before it are not."
    if len(sustain) < 2:
        return untrained
    at = int(np.abs(np.diff(sustain)).argmax()) + 1
    return f"P({name}) changes most at “{tokens[at]}”, from {sustain[at - 1]:.2f} to {sustain[at]:.2f}. {untrained}"


_SHARP = 0.5  # from this weight on, a token has more attention than all others together


def _attention_row(weights: Float[ndarray, "query key"]) -> Float[ndarray, " _"]:
    """Return the weights of the first query, at which the answer is read, without those of padding."""
    first: ndarray = weights[0]
    known: ndarray = first[~np.isnan(first)]
    return known


def _is_uniform(row: Float[ndarray, " _"]) -> bool:
    return bool(row.max() < 1.5 / len(row))


def attention_title(tokens: Sequence[str], weights: Float[ndarray, "query key"]) -> str:
    """Return a title with the token to which the position of the answer attends."""
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
    """Return where one head attends at the position of the answer, and to which other token another head attends.

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
    others[:, [i for i, token in enumerate(tokens) if token == tokens[at] or token in MARKERS]] = 0
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
    """Return the final accuracy of a model that does not get everything right with every seed."""
    solved = int(_is_solved(values).sum())
    if solved:
        does = "does so" if others_do else "gets every sentence right"
        return f"{title} {does} with only {solved} of {len(values)} seeds."
    if np.ptp(values) < 5e-4:
        at_ceiling = ", the ceiling of a sum of word weights" if abs(values.mean() - ceiling) < 5e-4 else ""
        return f"{title} ends at {values.mean():.3f}{at_ceiling}."
    return f"{title} ends between {values.min():.3f} and {values.max():.3f}."


def comparison_with_best(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], kind: str = "sentence") -> str:
    """Return which models are worse than the best at the end, of which one cannot tell, and how that was tested.

    If any seed of any model is right everywhere, the seeds that are right everywhere are compared, otherwise the means.
    """
    solved = {title: _is_solved(values) for title, values in ends}
    if not any(seeds.any() for seeds in solved.values()):
        found = compare_with_best(dict(ends), paired=True)
        return f"{comparison_finding(found)} {comparison_note(found)}".strip()
    return solved_comparison(solved, f"classify every {kind} correctly")


def english_finding(
    ends: Mapping[str, Mapping[str, Float[ndarray, " seeds"]]], parameters: Mapping[str, int | None]
) -> str:
    """Return what the bag of words and the model with the fewest errors on validation sentences get right of the test.

    ends: the measurements of each model by their names, by the title of the model
    parameters: their numbers, by the title of the model
    """
    best = min(ends, key=lambda title: float(np.median(ends[title]["val_error"])))
    shown = [title for title in dict.fromkeys((MODELS["bag_of_words"].title, best)) if title in ends]

    def share(title: str, part: str) -> str:
        return format_percent(float(np.median(ends[title][part])), 0)

    first, *others = [f"{title} ({parameters[title] or 0:,} parameters)" for title in shown]
    parts = [(share(title, "reviews"), share(title, "negated")) for title in shown]
    rest = "".join(f"; {each} {' and '.join(part)}" for each, part in zip(others, parts[1:], strict=True))
    reviews, negated = parts[0]
    seeds = len(ends[best]["reviews"])
    return (
        f"{first} correctly classifies {reviews} of the reviews that no model has seen, and {negated} of the sentences "
        f"that a negation turns round{rest}{f' (medians over {seeds} seeds)' * (seeds > 1)}."
    )


def _in_every_seed(values: Float[ndarray, " replicas"]) -> str:
    """Return words for several seeds; empty for one."""
    return " with every seed" if len(values) > 1 else ""


def _is_solved(values: Float[ndarray, " replicas"]) -> ndarray:
    """Return which seeds are right everywhere; accuracies are sums of rounded probabilities."""
    return values > 1 - 1e-6


def ceiling_finding(ceiling: float) -> str:
    """Return the best accuracy of a sum of word weights, as a sentence."""
    if ceiling > 1 - 1e-9:
        return "In this version of the task a sum of word weights can get every sentence right."
    return f"No sum of word weights gets more than {ceiling:.4f} of the sentences right, however long it trains."


def cross_entropy_finding(ceiling: float, cross_entropy: float, reached: Float[ndarray, " replicas"] | None) -> str:
    """Return the accuracy at the minimum of cross-entropy of a sum of word weights, and those of the trained seeds."""
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
    """Return whether a hidden layer over the same word counts is more accurate than any sum of word weights.

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
    """Return which models most often answer a pair that training never showed, and how many never do."""
    first = f"Training never shows “not {verb}”."
    counts = {title: int(_is_solved(values).sum()) for title, values in ends}
    most, seeds = max(counts.values()), len(ends[0][1])
    if not most:
        return f"{first} No model gets it right{' with any seed' if seeds > 1 else ''}."
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
            "There are weights, one for each word and class, with which every training sentence has the right answer. "
            f"{held_out} Its errors there show that these weights generalize badly, not that every sum of word weights "
            "makes errors there."
        )
    return (
        f"The sum with the smallest violations of its margin gets {format_percent(fitted.training)} of them right, so "
        "the best sum gets at least as many right. The highest number can be computed for the grammar, but not in "
        f"reasonable time for a file. {held_out}"
    )


def hidden_layer_finding(linear: Float[ndarray, " replicas"], hidden: Float[ndarray, " replicas"]) -> str:
    """Return how a hidden layer over the same word counts changes the accuracy on held-out sentences."""
    low, high = float(np.median(linear)), float(np.median(hidden))
    return (
        f"Trained on the same word counts, the bag of words gets {format_percent(low)} of the held-out sentences right "
        f"and the one with a hidden layer {format_percent(high)} (medians over the seeds)."
    )


def file_accuracy_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Return which model has the highest accuracy on the held-out sentences of a file, and which the lowest."""
    medians = {title: float(np.median(values)) for title, values in ends}
    unit = "median of the seeds" if len(ends[0][1]) > 1 else "one seed"
    if len(medians) == 1:
        title, value = next(iter(medians.items()))
        return f"{title} gets {format_percent(value)} of the held-out sentences right ({unit})."
    best, worst = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
    if medians[best] == medians[worst]:
        return f"Every model gets {format_percent(medians[best])} of the held-out sentences right ({unit})."
    return (
        f"{best} gets {format_percent(medians[best])} of the held-out sentences right, the highest accuracy; {worst} "
        f"gets {format_percent(medians[worst])}, the lowest ({unit})."
    )
