"""Sentences on word vectors, made from measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.words import word_vectors
from explorer.number_format import format_percent, format_signed
from explorer.ui.wording import format_median, join_words, number_word


def neighbours_finding(word: str, candidates: Sequence[word_vectors.Candidate]) -> str:
    """Name the nearest neighbours of a word."""
    names = join_words([each.word for each in candidates[:4]])
    return f"Nearest to “{word}”: {names}."


def analogy_finding(question: tuple[str, str, str], answer: word_vectors.Analogy) -> str:
    """Say how many seeds give which answer."""
    a, b, c = question
    (word, votes), seeds = Counter(answer.answers).most_common(1)[0], len(answer.answers)
    if 2 * votes <= seeds and seeds > 1:
        return f"{a} is to {b} as {c} is to … the seeds disagree: {join_words(sorted(set(answer.answers)))}."
    return f"{a} is to {b} as {c} is to {word} ({votes} of {seeds} seeds)."


def exclusion_sentence(question: tuple[str, str, str], answer: word_vectors.Analogy) -> str:
    """Return what the answer would be if the words of the question could be answers."""
    own = sum(word in question for word in answer.raw_answers)
    return f"Without this exclusion {own} of {len(answer.raw_answers)} seeds would answer with a word of the question."


def accuracy_sentence(name: str, accuracy: word_vectors.AnalogyAccuracy, planted: bool, words: int) -> str:
    """State the accuracy on all known questions, with and without excluding the words of the question."""
    kind = "planted questions" if planted else "questions about pairs such as king and queen"
    return (
        f"{name} answers {_percent(accuracy.excluded, 1)} of {accuracy.questions:,} {kind} correctly, and "
        f"{_percent(accuracy.raw, 1)} without the exclusion (median and range of the seeds); guessing among {words:,} "
        f"words gives {format_percent(1 / words, 2)}."
    )


def _percent(values: Float[ndarray, " _"], digits: int) -> str:
    """Return the median in percent and, if they look different, the lowest and the highest value."""
    middle, low, high = (format_percent(float(v), digits) for v in (np.median(values), values.min(), values.max()))
    return middle if low == high else f"{middle} ({low} to {high})"


def frequency_finding(effects: word_vectors.FrequencyEffects) -> str:
    """Say whether the neighbours of rare words are less reliable than those of frequent words."""
    if effects.agreement is None:
        if len(effects.lengths) > 1:
            return "This text has too few words to tell what frequency changes."
        return "One seed cannot show which neighbours are reliable: train at least two."
    if len(effects.groups) < 2:
        return "Nearly all words of this text are equally frequent, so this text cannot show what frequency changes."
    rare, frequent = effects.agreement[:, 0], effects.agreement[:, -1]
    first, last = effects.groups[0], effects.groups[-1]
    pairs = f"median of {number_word(len(rare))} pairs" if len(rare) > 1 else "one pair"
    return (
        f"Two seeds share {_percent(rare, 0)} of the neighbours of words that occur {first} times, and "
        f"{_percent(frequent, 0)} if they occur {last} times ({pairs})."
    )


def antonyms_finding(pairs: Sequence[word_vectors.PairSimilarity]) -> str:
    """Say how often a word's nearest neighbour is its antonym."""
    first, cases = sum(int((pair.ranks == 1).sum()) for pair in pairs), sum(len(pair.ranks) for pair in pairs)
    names = f"{pairs[0].first} and {pairs[0].second}"
    return (
        f"The nearest neighbour of a word is its antonym, as in {names}, in {first} of {cases} cases (pairs and seeds)."
    )


def senses_finding(
    word: str, senses: Sequence[word_vectors.PairSimilarity], between: word_vectors.PairSimilarity
) -> str:
    """Say how near a word with two senses is to a word of each sense, and how near these are to each other."""
    parts = join_words([f"{format_median(sense.cosines)} to “{sense.second}”" for sense in senses])
    return (
        f"“{word}” has two senses but one vector: its cosine similarity is {parts}, while these two words have "
        f"{format_median(between.cosines)} to each other."
    )


def associations_finding(
    groups: tuple[Sequence[str], Sequence[str]], leans: tuple[Float[ndarray, "replicas words"], ...], share: float
) -> str:
    """Say whether professions lean towards the pronoun that they stand with more often.

    groups: professions that stand with “he” more often, and those that stand with “she” more often
    leans: cosine with “he” minus cosine with “she” of both
    share: how often the first say “he”, and the second “she”
    """
    per_seed = leans[0].mean(axis=1) - leans[1].mean(axis=1)
    first, second = (
        f"{format_signed(float(lean.mean()))} for {join_words(list(group))}"
        for group, lean in zip(groups, leans, strict=True)
    )
    return (
        f"In {int((per_seed > 0).sum())} of {len(per_seed)} seeds the vectors reproduce the associations of the text: "
        f"similarity to “he” minus similarity to “she” is on average {first}, and {second}. The text says “he” in "
        f"{format_percent(share, 0)} of the sentences about the first, and “she” in as many of the others."
    )


def map_caption(explained: float, seed: int, width: int) -> str:
    """Say what the map shows, and how much of the differences it leaves out."""
    return (
        f"The vectors of these words in seed {seed} on their first two principal components, which hold "
        f"{format_percent(explained, 0)} of the variance of {width} dimensions: near words on the map may still be far "
        "apart."
    )
