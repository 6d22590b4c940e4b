"""Findings about the answers to one source, and about exposure bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import shorten
from explorer.inspection.verdicts import judge, mean_difference
from explorer.number_format import format_number
from explorer.ui.verdict_sentences import describe_judgement
from explorer.ui.wording import capitalize, join_words, number_word

MAX_QUOTED = 14  # characters of a source of digits in a sentence
NEGLIGIBLE = 0.02  # accuracy that is too little to speak of
_VERBS = {
    "reverse": ("reverses", "reverse"),
    "copy": ("copies", "copy"),
    "dates": ("reads", "read"),
    "pairs": ("rewrites", "rewrite"),
}


@dataclass(frozen=True)
class SeedAnswer:
    """The answer of one seed to the source."""

    words: str  # the variant, in the middle of a sentence
    text: str  # without <EOS>
    ended: bool  # whether it came to its <EOS>


def answers_finding(task: str, source: str, answers: Sequence[SeedAnswer], expected: str | None) -> str:
    """Return how many models are right, and which if these are few.

    expected: the right answer; None if there is none.
    """
    if not answers:
        return ""
    if expected is None:
        return "There is no right answer; below is what the models write."
    source = f"“{source}”" if task in ("dates", "pairs") else shorten(source, MAX_QUOTED)
    one, many = (f"{verb} {source} correctly" for verb in _VERBS[task])
    right = [each.words for each in answers if each.ended and each.text == expected]
    if len(answers) == 1:
        sentence = f"{answers[0].words} {one if right else f'does not {many}'}"
    elif len(right) == len(answers):
        sentence = f"{'both' if len(answers) == 2 else f'all {number_word(len(answers))}'} models {many}"
    else:
        count = number_word(len(right)) if right else "none"
        sentence = f"{count} of {number_word(len(answers))} models {one if len(right) < 2 else many}"
        sentence += f": {join_words(right)}" if 0 < len(right) < 3 else ""
    return capitalize(f"{sentence}.")


def seed_agreement(texts: Sequence[str], expected: str | None, shown: str) -> str:
    """Return in how many seeds the answer is right; without a right answer, in how many it is the shown one."""
    if len(texts) == 1:
        return "one seed"
    same = sum(text == (shown if expected is None else expected) for text in texts)
    return f"{'same answer' if expected is None else 'right'} in {same} of {len(texts)} seeds"


def length_caption(length: int, longest: int, unit: str) -> str:
    """Return a caption for a source that is longer than the trained ones; empty for others."""
    if length <= longest:
        return ""
    return f"This source is longer than any in training: {length} {unit} instead of at most {longest}."


def exposure_finding(given: Float[ndarray, "replicas positions"], own: Float[ndarray, "replicas positions"]) -> str:
    """Return the accuracy over all positions after correct tokens and after the model's own, as medians over seeds."""
    forced, free = (f"{100 * float(np.median(each.mean(axis=1))):.0f}\u00a0%" for each in (given, own))
    return f"After correct tokens the model predicts {forced} of the tokens, after its own output {free}."


def exposure_caption(
    given: Float[ndarray, "replicas positions"],
    own: Float[ndarray, "replicas positions"],
    losses: tuple[Float[ndarray, "replicas positions"], Float[ndarray, "replicas positions"]],
) -> str:
    """Return from which position on the accuracy falls, whether the difference is certain, and both losses.

    given: accuracy by position after the right tokens.
    own: accuracy after the tokens that the model generated.
    losses: the losses of both, in nats.
    """
    gap = np.median(given, axis=0) - np.median(own, axis=0)
    over = np.flatnonzero(gap >= NEGLIGIBLE)
    where = f"The first position with a lower accuracy is {int(over[0]) + 1} of {len(gap)}. " if len(over) else ""
    verdict = ""
    if (difference := mean_difference(own.mean(axis=1), given.mean(axis=1), paired=True)) is not None:
        (judgement,) = judge([difference], margin=NEGLIGIBLE)
        found = describe_judgement(judgement)
        verdict = f"Mean difference over all positions (after correct tokens minus after its own): {found}. "
    after_right, after_own = (float(np.median(np.nanmean(each, axis=1))) for each in losses)
    loss = f"Loss: {after_right:.3f} nats per position after correct tokens, {after_own:.3f} after its own (median)."
    return f"{where}{verdict}{loss}"


def real_translation_finding(title: str, text: str, translation: str) -> str:
    """Say what a real model writes for a text."""
    if not translation:
        return f"{title} writes nothing for “{shorten(text, 120)}”."
    return f"{title} translates “{shorten(text, 120)}” as “{shorten(translation, 160)}”."


def alignment_text(source: Sequence[str], target: Sequence[str], weights: Float[ndarray, "target source"]) -> str:
    """Say what is attended to most when each token is written."""
    strongest = weights.argmax(axis=1).tolist()
    pairs = [
        f"“{target[i].strip()}” attends most to “{source[j].strip()}” ({format_number(float(weights[i, j]))})"
        for i, j in enumerate(strongest)
    ]
    return f"{'; '.join(pairs)}."


def omitted_text(target: int, most_target: int, source: int, most_source: int) -> str:
    """Say which tokens of a long source or answer are not drawn; nothing if all are."""
    sides = (("the answer", target, most_target), ("the source", source, most_source))
    cut = [f"the first {most} of {count} tokens of {side}" for side, count, most in sides if count > most]
    return f" Drawn are {join_words(cut)}." if cut else ""
