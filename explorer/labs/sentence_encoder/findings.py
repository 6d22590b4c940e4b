"""Sentences on the sentence encoder, made from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.verdicts import LEVEL, compare_with_best
from explorer.number_format import format_number, format_units
from explorer.ui.verdict_sentences import comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, format_median, number_word

CHANCE = 0.5  # of two senses
MIN_DIFFERENCE, MAX_EQUAL = 0.1, 0.03  # of two cosines: different from here on; equal up to here
Cosines = Float[ndarray, "replicas layers"]


def similarity_verdict(same: Cosines, other: Cosines) -> str:
    """Return what the layers do to a word with two senses: its cosine similarity within one sense and between both.

    The numbers are medians over the seeds.
    """
    first, first_other, last, last_other = (float(np.median(v[:, i])) for i in (0, -1) for v in (same, other))
    layers = same.shape[1] - 1
    separated = "" if last - last_other >= MIN_DIFFERENCE else "the senses are not separated: "
    begin = (
        f"they are {first:.2f} and {first_other:.2f}" if abs(first - first_other) > 0.005 else f"both are {first:.2f}"
    )
    return (
        f"After {number_word(layers)} layer{'s' * (layers > 1)}, {separated}similarity is {last:.2f} within one sense "
        f"and {last_other:.2f} between senses; at layer 0 {begin}."
    )


def similarity_note(same: Cosines, other: Cosines) -> str:
    """Return in how many seeds the senses are separated, and why layer 0 does not have a similarity of 1."""
    separated = int(((same - other)[:, -1] > MIN_DIFFERENCE).sum())
    replicas = same.shape[0]
    how_many = "every seed" if separated == replicas and replicas > 1 else f"{separated} of {count_seeds(replicas)}"
    note = f"Medians of {count_seeds(replicas)}; the senses are separated in {how_many}."
    if float(np.median(same[:, 0])) < 1 - MAX_EQUAL:
        note += " At layer 0 the same word has the same embedding; only its position in the sentence differs."
    return note


def controls_finding(trained: tuple[Any, Any], untrained: tuple[Any, Any], alone: tuple[Any, Any]) -> str:
    """Compare how far the senses part after training, before it, and without attention.

    trained, untrained, alone: similarity (replicas, layers) in the same sense and in the other one; the controls may
    have other numbers of layers.
    """
    names = "the trained encoder", "the encoder before training", "the one without attention"
    gaps = {
        name: np.asarray((same - other)[:, -1], float)
        for name, (same, other) in zip(names, (trained, untrained, alone), strict=True)
    }
    found = compare_with_best(gaps, paired=False)
    return (
        "The measure is by how much the similarity within one sense exceeds that between senses, at the last layer. "
        f"{comparison_finding(found, digits=2)} {comparison_note(found)}"
    ).strip()


def nearest_neighbour_finding(trained: Cosines, untrained: Cosines) -> str:
    """Say how often the nearest occurrence of a word has the same sense, which alone proves nothing."""
    before, after = float(np.median(untrained[:, -1])), float(np.median(trained[:, -1]))
    nothing = ", so nearest neighbours alone prove nothing" * (before > CHANCE + MIN_DIFFERENCE)
    return (
        f"The nearest occurrence of the same word has the same sense with probability {after:.2f}; before training it "
        f"is {before:.2f}{nothing}."
    )


def word_sense_finding(
    right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None
) -> str:
    """Say how often the sense is right, and how often with new cue words. `blind`: accuracy without attention."""
    without = "" if blind is None else f" Without attention it is {blind:.2f}; guessing gives {CHANCE:.2f}."
    return (
        f"On new sentences the accuracy is {format_median(right)}.{without} With nouns that never stood next to the "
        f"word in training it is {format_median(new)}. Numbers are medians, with the range over seeds."
    )


def masked_word_finding(
    right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None
) -> str:
    """Say how often a homograph is nearer to the right synonym, also with new cue words. `blind`: without attention."""
    without = "" if blind is None else f" Without attention it is {blind:.2f}."
    return (
        f"No training example says what a word with two senses means; yet a share of {format_median(right)} lies "
        f"nearer to the synonym of the right sense.{without} With nouns that never stood next to the word it is "
        f"{format_median(new)}; guessing gives {CHANCE:.2f}. Numbers are medians, with the range over seeds."
    )


def format_sense(gloss: bool, topic: str, synonym: str, amount: float) -> str:
    """Format the prediction for a homograph: a sense with its probability, or a synonym with its cosine similarity."""
    return f"{topic if gloss else synonym} {format_number(amount)}"


def real_senses_finding(by_depth: Sequence[Estimate]) -> str:
    """Say how often the nearest occurrence of a word has the same sense in a real encoder, by depth."""
    best = max(range(len(by_depth)), key=lambda depth: by_depth[depth].value)
    last = len(by_depth) - 1
    at_best = "" if best in (0, last) else f" It is highest after layer {best}: {by_depth[best].format()}."
    return (
        f"The nearest occurrence of a word has the same sense in {by_depth[0].format()} of the cases at the embedding, "
        f"and in {by_depth[last].format()} after the last layer.{at_best}"
    )


def coreference_text(pairs: int, heads: int, best: Estimate, by_chance: float, p: float) -> str:
    """Say whether a head of a real encoder finds what “it” means.

    best: share of the pairs in which the best head attends more to the right noun in both sentences
    by_chance: that of the best head if random nouns count as right; p: how often that is at least as high
    """
    verdict = (
        "no head does so more often than the best of so many does by chance"
        if p > LEVEL
        else "this is more often than the best of so many does by chance"
    )
    return (
        "What does not work: “The trophy does not fit in the suitcase because it is too big” and “… too small” differ "
        f"in what “it” means. In {pairs} such pairs, a head would have to attend from “it” to the right noun in both "
        f"sentences. The best of {heads} heads does so in {best.format()} of the pairs; with random nouns as the right "
        f"ones the best head reaches {by_chance:.2f} on average (p = {p:.2f}), so {verdict}."
    )


def word_in_sentences_finding(
    word: str,
    reference: int,
    real: Float[ndarray, "depths sentences sentences"],
    random: Float[ndarray, "depths sentences sentences"] | None,
) -> str:
    """Say to which sentence a word is most similar after most layers of a real encoder, and of a random network.

    reference: index of the sentence that is compared with the others; real, random: cosines; None without a network
    """
    sentence, layers = _most_often_nearest(reference, real)
    text = (
        f"“{word}” in sentence {reference + 1} is most similar to that in sentence {sentence + 1} after {layers} of "
        f"{format_units(len(real) - 1, 'layer')}"
    )
    if random is None:
        return f"{text}."
    control, control_layers = _most_often_nearest(reference, random)
    return f"{text}; with random weights to that in sentence {control + 1} after {control_layers}."


def _most_often_nearest(reference: int, cosines: Float[ndarray, "depths sentences sentences"]) -> tuple[int, int]:
    """Return the sentence that is nearest to another one after most layers, and after how many."""
    similar = cosines[1:, reference].copy()
    similar[:, reference] = -np.inf
    counts = np.bincount(similar.argmax(axis=1), minlength=similar.shape[1])
    return int(counts.argmax()), int(counts.max())
