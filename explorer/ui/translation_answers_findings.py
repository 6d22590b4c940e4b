"""Sentences about what translators answer to one source, and how they do with the right target given, from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import capital, everybody, listed, number

SHORT = 14  # tokens up to which an answer is written out in a sentence
LITTLE = 0.02  # accuracy that is too little to speak of
_DEEDS = {"reverse": ("turns {} around", "turn {} around"), "copy": ("copies {}", "copy {}")}
_PLURAL = {"writes": "write", "goes": "go", "stops": "stop"}
_DATES = ("reads {} as {}", "read {} as {}")


@dataclass(frozen=True)
class Said:
    """What one seed of a contestant writes about the source."""

    words: str  # the contestant, in the middle of a sentence
    text: str  # without <EOS>
    ended: bool  # whether it came to its <EOS>

    def right(self, wanted: str) -> bool:
        """Whether it is the right answer to its end."""
        return self.ended and self.text == wanted


def answered(task: str, source: str, every: Sequence[Said], wanted: str | None) -> str:
    """Who is right, and what the others write. `wanted`: the right answer; None where there is none."""
    if not every:
        return ""
    if wanted is None:
        return _all_the_same(every)
    count, one, many = len(every), *_deed(task, source, wanted)
    good = [each for each in every if each.right(wanted)]
    slips = "; ".join(_together([(each.words, *_slip(each, wanted)) for each in every if not each.right(wanted)]))
    if count == 1:
        return f"{capital(every[0].words)} {one}." if good else f"{capital(slips)}; it is wrong."
    if not slips:
        return f"{everybody(count)} models {many}."
    if not good:
        nobody = "Neither model" if count == 2 else f"None of the {number(count)} models"
        return f"{nobody} {one}: {slips}."
    if len(good) == 1:
        return f"Of {number(count)} models only {good[0].words} {one}; {slips}."
    return f"{capital(number(len(good)))} of {number(count)} models {many}; {slips}."


def _deed(task: str, source: str, wanted: str) -> tuple[str, str]:
    if task == "dates":
        one, many = (deed.format(f"“{source}”", wanted) for deed in _DATES)
    else:
        named = source if len(source) <= SHORT else f"these {len(source)} digits"
        one, many = (deed.format(named) for deed in _DEEDS[task])
    return one, many


def _together(deeds: Sequence[tuple[str, str, str]]) -> list[str]:
    """Who did what, (words, verb, the rest), one part for all who did the same."""
    who: dict[tuple[str, str], list[str]] = {}
    for words, verb, rest in deeds:
        who.setdefault((verb, rest), []).append(words)
    return [
        f"{listed(words)} {verb if len(words) == 1 else _PLURAL[verb]} {rest}" for (verb, rest), words in who.items()
    ]


def _slip(each: Said, wanted: str) -> tuple[str, str]:
    """What is wrong, written out where it is short, else where it begins."""
    if len(wanted) <= SHORT and len(each.text) <= SHORT + 6:
        return _writes(each)
    same = next((i for i, (a, b) in enumerate(zip(each.text, wanted, strict=False)) if a != b), None)
    if same is not None:
        return "goes", f"wrong at place {same + 1}"
    if len(each.text) < len(wanted):
        return "stops", f"after {len(each.text)} of {len(wanted)}"
    return "goes", f"on after place {len(wanted)}"


def _writes(each: Said) -> tuple[str, str]:
    return "writes", f"{each.text or 'nothing'}{'' if each.ended else ' without an end'}"


def _all_the_same(every: Sequence[Said]) -> str:
    parts = _together([(each.words, *_writes(each)) for each in every])
    if len(parts) > 1:
        return f"They answer all the same: {'; '.join(parts)}."
    verb, rest = _writes(every[0])
    if len(every) == 1:
        return f"{capital(every[0].words)} {verb} {rest} all the same."
    return f"{everybody(len(every))} models {_PLURAL[verb]} {rest} all the same."


def agreed(texts: Sequence[str], wanted: str | None, shown: str) -> str:
    """In how many seeds it is right; where nothing is right, in how many it is what is shown."""
    count = len(texts)
    if wanted is None:
        same = sum(text == shown for text in texts)
        return "one seed" if count == 1 else f"{same} of {count} seeds write this"
    right = sum(text == wanted for text in texts)
    return "one seed" if count == 1 else f"right in {right} of {count} seeds"


def beyond(length: int, longest: int, unit: str) -> str:
    """Said of a source that is longer than any that was trained, else nothing."""
    if length <= longest:
        return ""
    return f"Beyond training: this source has {length} {unit}, the longest that is trained {longest}."


def exposed(
    words: str,
    given: Float[ndarray, "replicas places"],
    own: Float[ndarray, "replicas places"],
    losses: tuple[Float[ndarray, "replicas places"], Float[ndarray, "replicas places"]],
) -> str:
    """What it costs to read one's own writing. `given`, `own`: accuracy with the right target before each question,
    and with what the model wrote; `losses` likewise, in nats."""
    taught, alone = given.mean(axis=0), own.mean(axis=0)
    gap = taught - alone
    rises = f"The loss is {_nats(losses[0])} nats a place after the right tokens, {_nats(losses[1])} after its own."
    over = np.flatnonzero(gap >= LITTLE)
    if not len(over):
        if float(-gap.min()) >= LITTLE:
            return (
                f"{capital(words)} does not suffer from its own writing: over all places it is right in "
                f"{alone.mean():.2f} with it, in {taught.mean():.2f} with the right tokens put before it. {rises}"
            )
        return (
            f"It makes no difference to {words} what stands before: at its worst place it is right in "
            f"{taught.min():.2f} after the right tokens, in {alone.min():.2f} after its own. {rises}"
        )
    first = int(over[0])
    if gap[first:].mean() < LITTLE:
        first = int(gap.argmax())
        where, ends = f"At place {first + 1}", first + 1
    else:
        where, ends = f"From place {first + 1} on", len(gap)
    if first == 0 and ends == len(gap):
        where = "Over all places"
    return (
        f"{where} {words} is right in {taught[first:ends].mean():.2f} when the right tokens are put before it, in "
        f"{alone[first:ends].mean():.2f} when it reads its own. {rises}"
    )


def _nats(losses: Float[ndarray, "replicas places"]) -> str:
    mean = float(np.nanmean(losses))
    return f"{mean:.2f}" if mean >= 0.01 else f"{mean:.3f}"
