"""Findings about the answers to one source, and about exposure bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.verdicts import judge, mean_difference
from explorer.ui.verdict_sentences import describe_judgement
from explorer.ui.wording import both_or_all, capitalize, join_words, number_word

MAX_QUOTED = 14  # tokens up to which an answer is written out in a sentence
NEGLIGIBLE = 0.02  # accuracy that is too little to speak of
_VERBS = {"reverse": ("turns {} around", "turn {} around"), "copy": ("copies {}", "copy {}")}
_PLURAL = {"writes": "write", "goes": "go", "stops": "stop"}
_DATES = ("reads {} as {}", "read {} as {}")


@dataclass(frozen=True)
class SeedAnswer:
    """The answer of one seed to the source."""

    words: str  # the variant, in the middle of a sentence
    text: str  # without <EOS>
    ended: bool  # whether it came to its <EOS>

    def is_right(self, expected: str) -> bool:
        """Return whether it is the expected answer and has ended."""
        return self.ended and self.text == expected


def answers_finding(task: str, source: str, answers: Sequence[SeedAnswer], expected: str | None) -> str:
    """Return which models are right, and what the others answer.

    `expected` is the right answer; None if there is none.
    """
    if not answers:
        return ""
    if expected is None:
        return _without_right_answer(answers)
    count, one, many = len(answers), *_verbs(task, source, expected)
    right = [each for each in answers if each.is_right(expected)]
    errors = "; ".join(
        _group([(each.words, *_describe_error(each, expected)) for each in answers if not each.is_right(expected)])
    )
    if count == 1:
        return f"{capitalize(answers[0].words)} {one}." if right else f"{capitalize(errors)}; it is wrong."
    if not errors:
        return f"{both_or_all(count)} models {many}."
    if not right:
        nobody = "Neither model" if count == 2 else f"None of the {number_word(count)} models"
        return f"{nobody} {one}: {errors}."
    if len(right) == 1:
        return f"Of {number_word(count)} models only {right[0].words} {one}; {errors}."
    return f"{capitalize(number_word(len(right)))} of {number_word(count)} models {many}; {errors}."


def _verbs(task: str, source: str, expected: str) -> tuple[str, str]:
    if task == "dates":
        one, many = (verb.format(f"“{source}”", expected) for verb in _DATES)
    else:
        named = source if len(source) <= MAX_QUOTED else f"these {len(source)} digits"
        one, many = (verb.format(named) for verb in _VERBS[task])
    return one, many


def _group(answers: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return one part for all models with the same answer: words, verb, rest."""
    who: dict[tuple[str, str], list[str]] = {}
    for words, verb, rest in answers:
        who.setdefault((verb, rest), []).append(words)
    return [
        f"{join_words(words)} {verb if len(words) == 1 else _PLURAL[verb]} {rest}"
        for (verb, rest), words in who.items()
    ]


def _describe_error(each: SeedAnswer, expected: str) -> tuple[str, str]:
    """Return what is wrong: a short answer in full, else the position of its first error."""
    if len(expected) <= MAX_QUOTED and len(each.text) <= MAX_QUOTED + 6:
        return _describe_answer(each)
    same = next((i for i, (a, b) in enumerate(zip(each.text, expected, strict=False)) if a != b), None)
    if same is not None:
        return "goes", f"wrong at place {same + 1}"
    if len(each.text) < len(expected):
        return "stops", f"after {len(each.text)} of {len(expected)}"
    return "goes", f"on after place {len(expected)}"


def _describe_answer(each: SeedAnswer) -> tuple[str, str]:
    return "writes", f"{each.text or 'nothing'}{'' if each.ended else ' without an end'}"


def _without_right_answer(answers: Sequence[SeedAnswer]) -> str:
    parts = _group([(each.words, *_describe_answer(each)) for each in answers])
    if len(parts) > 1:
        return f"They answer all the same: {'; '.join(parts)}."
    verb, rest = _describe_answer(answers[0])
    if len(answers) == 1:
        return f"{capitalize(answers[0].words)} {verb} {rest} all the same."
    return f"{both_or_all(len(answers))} models {_PLURAL[verb]} {rest} all the same."


def seed_agreement(texts: Sequence[str], expected: str | None, shown: str) -> str:
    """Return in how many seeds the answer is right; without a right answer, in how many it is the shown one."""
    count = len(texts)
    if expected is None:
        same = sum(text == shown for text in texts)
        return "one seed" if count == 1 else f"{same} of {count} seeds write this"
    right = sum(text == expected for text in texts)
    return "one seed" if count == 1 else f"right in {right} of {count} seeds"


def length_caption(length: int, longest: int, unit: str) -> str:
    """Return a caption for a source that is longer than the trained ones; empty for others."""
    if length <= longest:
        return ""
    return f"Beyond training: this source has {length} {unit}, the longest that is trained {longest}."


def exposure_finding(
    words: str,
    given: Float[ndarray, "replicas places"],
    own: Float[ndarray, "replicas places"],
    losses: tuple[Float[ndarray, "replicas places"], Float[ndarray, "replicas places"]],
) -> str:
    """Return how accuracy and loss change when the decoder reads its own output (exposure bias).

    words: the model in words.
    given: accuracy by position after the right tokens.
    own: accuracy after the tokens that the model generated.
    losses: the losses of both, in nats.
    """
    taught, alone = given.mean(axis=0), own.mean(axis=0)
    gap = taught - alone
    after_right, after_own = map(_format_nats, losses)
    rises = f"The loss is {after_right} nats a place after the right tokens, {after_own} after its own."
    over = np.flatnonzero(gap >= NEGLIGIBLE)
    verdict = ""
    if (difference := mean_difference(own.mean(axis=1), given.mean(axis=1), paired=True)) is not None:
        (judgement,) = judge([difference], margin=NEGLIGIBLE)
        verdict = f" The first minus the second, over all places: {describe_judgement(judgement)}."
    first = int(over[0]) if len(over) else 0
    if len(over) and gap[first:].mean() < NEGLIGIBLE:
        first = int(gap.argmax())
        where, ends = f"At place {first + 1}", first + 1
    else:
        where, ends = f"From place {first + 1} on", len(gap)
    if first == 0 and ends == len(gap):
        where = "Over all places"
    return (
        f"{where} {words} is right in {taught[first:ends].mean():.2f} when the right tokens are put before it, in "
        f"{alone[first:ends].mean():.2f} when it reads its own.{verdict} {rises}"
    )


def _format_nats(losses: Float[ndarray, "replicas places"]) -> str:
    mean = float(np.nanmean(losses))
    return f"{mean:.2f}" if mean >= 0.01 else f"{mean:.3f}"
