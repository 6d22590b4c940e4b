"""Sentences on the sentence encoder, made from measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_interval, format_number
from explorer.ui.verdict_sentences import comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, join_words, number_word

CHANCE = 0.5  # of two senses
MIN_DIFFERENCE, MAX_EQUAL = 0.1, 0.03  # of two cosines: different from here on; equal up to here
Cosines = Float[ndarray, "replicas layers"]


def similarity_verdict(same: Cosines, other: Cosines) -> str:
    """Say what the layers do to a homograph: its cosine similarity in the same sense and in the other one."""
    layers, replicas = same.shape[1] - 1, same.shape[0]
    first, first_other, last, last_other = (float(v[:, i].mean()) for i in (0, -1) for v in (same, other))
    after = f"After {number_word(layers)} layer{'s' if layers > 1 else ''}"
    numbers = f"{last:.2f} where the sense is the same, {last_other:.2f} where it is the other one"
    if last - last_other < MIN_DIFFERENCE:
        return (
            f"{after} a word with two senses is still one vector: likeness {numbers} (mean of {count_seeds(replicas)})."
        )
    start = (
        f"Before attention every “bank” is one vector, whichever its sense (likeness {first:.2f} and "
        f"{first_other:.2f})."
        if abs(first - first_other) < MAX_EQUAL
        else f"Before attention the likeness is {first:.2f} and {first_other:.2f}."
    )
    worst = float((same - other)[:, -1].min())
    every = " In every seed the senses part." if worst > MIN_DIFFERENCE else " Not in every seed do the senses part."
    return f"{start} {after} it is {numbers} (mean of {count_seeds(replicas)}).{every}"


def controls_finding(trained: tuple[Any, Any], untrained: tuple[Any, Any], alone: tuple[Any, Any]) -> str:
    """Compare how far the senses part after training, before it, and without attention.

    trained, untrained, alone: similarity (replicas, layers) in the same sense and in the other one; the controls may
    have other numbers of layers.
    """
    each = {
        "the trained encoder": trained,
        "the encoder before training": untrained,
        "the one without attention": alone,
    }
    summary = join_words([f"{name} {_range(other[:, -1])}" for name, (_, other) in each.items()])
    gaps = {name: np.asarray((same - other)[:, -1], float) for name, (same, other) in each.items()}
    found = compare_with_best(gaps, paired=False)
    return (
        f"To the other sense the likeness is, mean and lowest to highest seed: {summary}. The difference between the "
        f"two likenesses is compared. {comparison_finding(found, digits=2)} {comparison_note(found)}"
    ).strip()


def nearest_neighbour_finding(trained: Cosines, untrained: Cosines) -> str:
    """Say how often the nearest occurrence of a word has the same sense, which alone proves nothing."""
    before, after = float(untrained[:, -1].mean()), float(trained[:, -1].mean())
    if before > CHANCE + MIN_DIFFERENCE:
        return (
            f"The nearest neighbour proves nothing here: the occurrence of a word that lies nearest has the right "
            f"sense {after:.2f} of the time, but before training {before:.2f} of the time already."
        )
    return (
        f"The occurrence of a word that lies nearest has the right sense {after:.2f} of the time, and {before:.2f} "
        "before training."
    )


def word_sense_finding(
    right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None
) -> str:
    """Say how often the sense is right, and how often with new cue words. `blind`: accuracy without attention."""
    without = "" if blind is None else f" Without attention it is {blind:.2f}; a coin is right in {CHANCE:.2f}."
    return (
        f"On fresh sentences the sense is right {_range(right)} of the time.{without} Beside nouns that never stood "
        f"next to a homograph in training it is {_range(new)}."
    )


def masked_word_finding(
    right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None
) -> str:
    """Say how often a homograph is nearer to the right synonym, also with new cue words. `blind`: without attention."""
    without = "" if blind is None else f" Without attention {blind:.2f} do."
    return (
        f"Nobody told it what a homograph means; yet {_range(right)} of them lie nearer to the synonym of their sense "
        f"than to that of the other one.{without} Beside nouns that never stood next to a homograph it is "
        f"{_range(new)}. By chance it would be {CHANCE:.2f}."
    )


def _range(values: Float[ndarray, " replicas"]) -> str:
    return format_interval(float(values.mean()), float(values.min()), float(values.max()))


def format_sense(gloss: bool, topic: str, synonym: str, amount: float) -> str:
    """Format the prediction for a homograph: a sense with its probability, or a synonym with its cosine similarity."""
    return f"{topic if gloss else synonym} {format_number(amount)}"
