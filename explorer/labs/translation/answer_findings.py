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
from explorer.ui.wording import both_or_all, capitalize, join_words, number_word

MAX_QUOTED = 14  # tokens up to which an answer is written out in a sentence
MAX_WORDS = 20  # of a headline
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

    def is_right(self, expected: str) -> bool:
        """Return whether it is the expected answer and has ended."""
        return self.ended and self.text == expected


def answers_finding(task: str, source: str, answers: Sequence[SeedAnswer], expected: str | None, seed: str = "") -> str:
    """Return which models are right; at most 20 words, except where model names are longer.

    expected: the right answer; None if there is none.
    seed: the seed whose answers these are, in words; "" if each model has only one.
    """
    if not answers:
        return ""
    if expected is None:
        return _without_right_answer(answers)
    count, one, many = len(answers), *(f"{verb} {_name_source(task, source)} correctly" for verb in _VERBS[task])
    right = [each.words for each in answers if each.is_right(expected)]
    wrong = [each.words for each in answers if not each.is_right(expected)]
    if count == 1:
        sentence = f"{right[0]} {one}" if right else f"{wrong[0]} {_describe_error(answers[0], expected)}"
    elif not wrong:
        sentence = f"{both_or_all(count).lower()} models {many}"
    elif not right:
        sentence = f"{'neither model' if count == 2 else f'none of the {number_word(count)} models'} {one}"
    else:
        sentence = _name_right_or_wrong(right, wrong, one, many)
        if len(sentence.split()) > MAX_WORDS - 3 * bool(seed):
            sentence = f"{number_word(len(right))} of {number_word(count)} models {many if len(right) > 1 else one}"
    return capitalize(f"with {seed}, {sentence}." if seed else f"{sentence}.")


def _name_source(task: str, source: str) -> str:
    if task in ("dates", "pairs"):
        return f"“{source}”"
    return source if len(source) <= MAX_QUOTED else f"these {len(source)} digits"


def _name_right_or_wrong(right: Sequence[str], wrong: Sequence[str], one: str, many: str) -> str:
    """Return which models are right, by naming those or the others, whichever are fewer."""
    if len(wrong) < len(right):
        return f"all models except {join_words(wrong)} {many}"
    others = "the other model does not" if len(wrong) == 1 else f"the other {number_word(len(wrong))} models do not"
    return f"{join_words(right)} {many if len(right) > 1 else one}; {others}"


def _describe_error(each: SeedAnswer, expected: str) -> str:
    """Return what is wrong: a short answer in full, else the position of its first error."""
    if len(expected) <= MAX_QUOTED and len(each.text) <= MAX_QUOTED + 6:
        return f"{_describe_answer(each)}, which is wrong"
    same = next((i for i, (a, b) in enumerate(zip(each.text, expected, strict=False)) if a != b), None)
    if same is not None:
        return f"makes its first error at position {same + 1}"
    if len(each.text) < len(expected):
        return f"stops after {len(each.text)} of {len(expected)} tokens"
    return f"does not stop after {len(expected)} tokens"


def _describe_answer(each: SeedAnswer) -> str:
    return f"writes {each.text or 'nothing'}{'' if each.ended else ' without an end'}"


def _without_right_answer(answers: Sequence[SeedAnswer]) -> str:
    if len(answers) == 1:
        return f"{capitalize(answers[0].words)} {_describe_answer(answers[0])} anyway."
    if len({(each.text, each.ended) for each in answers}) == 1:
        return (
            f"{both_or_all(len(answers))} models write {_describe_answer(answers[0]).removeprefix('writes ')} anyway."
        )
    return "The models answer anyway, and not all write the same."


def seed_agreement(texts: Sequence[str], expected: str | None, shown: str) -> str:
    """Return in how many seeds the answer is right; without a right answer, in how many it is the shown one."""
    count = len(texts)
    if expected is None:
        same = sum(text == shown for text in texts)
        return "one seed" if count == 1 else f"same answer in {same} of {count} seeds"
    right = sum(text == expected for text in texts)
    return "one seed" if count == 1 else f"right in {right} of {count} seeds"


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
    after_right, after_own = map(_format_nats, losses)
    return (
        f"{where}{verdict}Loss: {after_right} nats per position after correct tokens, {after_own} after its own "
        "(median)."
    )


def _format_nats(losses: Float[ndarray, "replicas positions"]) -> str:
    median = float(np.median(np.nanmean(losses, axis=1)))
    return f"{median:.2f}" if median >= 0.01 else f"{median:.3f}"


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
