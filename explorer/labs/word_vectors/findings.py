"""Sentences on word vectors, made from measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float
from numpy import ndarray

from explorer.number_format import format_interval, format_percent, format_signed
from explorer.ui.wording import count_seeds, join_words, number_word

if TYPE_CHECKING:
    from explorer.inspection.words.word_vectors import (
        Analogy,
        AnalogyAccuracy,
        Candidate,
        FrequencyEffects,
        PairSimilarity,
    )


def neighbours_finding(word: str, candidates: Sequence[Candidate]) -> str:
    """Name the nearest neighbours of a word."""
    names = join_words([each.word for each in candidates[:3]])
    return f"Nearest to “{word}”: {names}."


def analogy_finding(question: tuple[str, str, str], answer: Analogy) -> str:
    """Say how many seeds give which answer."""
    a, b, c = question
    (word, votes), seeds = Counter(answer.answers).most_common(1)[0], len(answer.answers)
    if 2 * votes <= seeds and seeds > 1:
        return f"{a} is to {b} as {c} is to … the seeds disagree: {join_words(sorted(set(answer.answers)))}."
    return f"{a} is to {b} as {c} is to {word} ({votes} of {seeds} seeds)."


def exclusion_sentence(question: tuple[str, str, str], answer: Analogy) -> str:
    """Say what the answer would be if the words of the question could be answers."""
    own = sum(word in question for word in answer.raw_answers)
    seeds = len(answer.raw_answers)
    if not own:
        return f"Even if the words of the question could be answers, no seed of {seeds} would choose one of them."
    return (
        f"If the words of the question could be answers, {own} of {seeds} seeds would choose one of them; "
        "the usual method excludes them."
    )


def accuracy_sentence(name: str, accuracy: AnalogyAccuracy, planted: bool, words: int) -> str:
    """State the accuracy on all known questions, with and without excluding the words of the question."""
    kind = "planted questions" if planted else "questions about pairs such as king and queen that the text has"
    return (
        f"{name}, {accuracy.questions:,} {kind}: right {_percent(accuracy.excluded)} of the time, and "
        f"{_percent(accuracy.raw)} if the words of the question are not excluded. Guessing among {words:,} words is "
        f"right {format_percent(1 / words, 2)} of the time."
    )


def _percent(values: Float[ndarray, " replicas"]) -> str:
    mean, low, high = (format_percent(float(v)) for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high} over {count_seeds(len(values))})"


def frequency_finding(effects: FrequencyEffects) -> str:
    """Say whether the neighbours of rare words are less reliable than those of frequent words."""
    if effects.agreement is None:
        if len(effects.lengths) > 1:
            return "This text has so few words that most are neighbours, so it cannot be told what frequency changes."
        return "With one seed it cannot be told which neighbours are reliable: train at least two."
    if len(effects.groups) < 2:
        return "Nearly all words of this text are about equally frequent, so it cannot be told what frequency changes."
    rare, frequent = effects.agreement[:, 0], effects.agreement[:, -1]
    first, last = effects.groups[0], effects.groups[-1]
    pairs = f"mean, and lowest to highest of {number_word(len(rare))} pairs of seeds" if len(rare) > 1 else "one pair"
    return (
        f"Two seeds share {_percent_of(rare)} of the nearest neighbours of words that occur {first} times, and "
        f"{_percent_of(frequent)} of those of words that occur {last} times ({pairs}). Pairs have seeds in common, so "
        "this difference is not tested."
    )


def _percent_of(values: Float[ndarray, " pairs"]) -> str:
    mean, low, high = (format_percent(float(v), 0) for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


def antonyms_finding(pairs: Sequence[PairSimilarity]) -> str:
    """Say how often a word's nearest neighbour is its antonym."""
    first = sum(int((pair.ranks == 1).sum()) for pair in pairs)
    cases = sum(len(pair.ranks) for pair in pairs)
    names = " and ".join((pairs[0].first, pairs[0].second))
    if 2 * first > cases:
        return (
            f"Opposites are neighbours: in {first} of {cases} cases (pairs and seeds) the nearest neighbour of a word "
            f"is its antonym. {names.capitalize()} stand in the same sentences, so their vectors become similar."
        )
    return f"In {first} of {cases} cases (pairs and seeds) the nearest neighbour of a word is its antonym."


def senses_finding(word: str, senses: Sequence[PairSimilarity], between: PairSimilarity) -> str:
    """Say how near a word with two senses is to a word of each sense, and how near these are to each other."""
    parts = join_words([f"{_cosine(sense.cosines)} to “{sense.second}”" for sense in senses])
    return (
        f"One vector has to serve both senses of “{word}”: its cosine is {parts}, which between themselves have "
        f"{_cosine(between.cosines)}."
    )


def _cosine(values: Float[ndarray, " replicas"]) -> str:
    return format_interval(float(values.mean()), float(values.min()), float(values.max()))


def associations_finding(
    groups: tuple[Sequence[str], Sequence[str]], leans: tuple[Float[ndarray, "replicas words"], ...], share: float
) -> str:
    """Say whether professions lean towards the pronoun that they stand with more often.

    groups: professions that stand with “he” more often, and those that stand with “she” more often
    leans: cosine with “he” minus cosine with “she” of both
    share: how often the first say “he”, and the second “she”
    """
    per_seed = leans[0].mean(axis=1) - leans[1].mean(axis=1)
    words = [join_words(list(group)) for group in groups]
    numbers = (
        f"cosine with “he” minus cosine with “she” is {format_signed(float(leans[0].mean()))} for {words[0]}, and "
        f"{format_signed(float(leans[1].mean()))} for {words[1]}"
    )
    planted = (
        f"The text says “he” in {format_percent(share, 0)} of the sentences about the first, and “she” in as many of "
        "the others."
    )
    if (per_seed > 0).all():
        return f"The vectors repeat the associations of the text, in every seed: {numbers}. {planted}"
    positive = int((per_seed > 0).sum())
    return f"In {positive} of {len(per_seed)} seeds the vectors repeat an association: {numbers}. {planted}"


def map_caption(explained: float, seed: int, width: int) -> str:
    """Say what the map shows, and how much of the differences it leaves out."""
    return (
        f"The vectors of these words in seed {seed}, on the two directions in which they differ most (principal "
        f"component analysis of the unit vectors). The two directions hold {format_percent(explained, 0)} of "
        f"the variance of {width} numbers, so words that are near on the map may still be far apart."
    )
