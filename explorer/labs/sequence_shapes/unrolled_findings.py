"""Sentences on the predictions of an unrolled network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.tasks.negation import CLASSES, true_label
from explorer.tasks.sequence_labelling.homographs import (
    FIRST_NOUN_SLOT,
    FRAMES,
    NOUNS,
    SECOND_NOUN_SLOT,
    SENSES,
    WORD_SLOT,
)
from explorer.ui.wording import count_seeds, join_words

if TYPE_CHECKING:
    from explorer.inspection.recurrent.unrolled import UnrolledNetwork, UnrolledStep

_VISIBLE = {" ": "␣", "\n": "⏎"}
SURE = 0.995


def visible_token(token: str) -> str:
    """Return a token with its white space made visible."""
    return _VISIBLE.get(token, token)


def format_probability(p: float) -> str:
    """Format a probability without rounding up to certainty."""
    return "more than 99%" if p > SURE else "less than 1%" if p < 1 - SURE else f"{p:.0%}"


def many_to_one_finding(net: UnrolledNetwork, words: Sequence[str]) -> str:
    """Many to one: report the prediction that is used, and how often an earlier one would have differed."""
    label, p = net.steps[-1].top_answers[0]
    true = true_label(tuple(words))
    verdict = "" if true is None else ", which is right" if CLASSES[true] == label else ", which is wrong"
    others = sum(step.top_answers[0][0] != label for step in net.steps[:-1])
    total = len(net.steps) - 1
    return (
        f"After the last of {total + 1} tokens it says {label}, with {format_probability(p)}{verdict}. Had it been "
        "asked earlier, "
        f"it would have said something else at {others} of {total} steps."
    )


def senses_finding(net: UnrolledNetwork) -> str:
    """Aligned: report the prediction for every homograph, and how many cue nouns had been read by then."""
    parts = []
    for t, step in enumerate(net.steps):
        if step.reads not in SENSES:
            continue
        cues = [i for i, other in enumerate(net.steps) if _is_cue(other, step.reads)]
        before = sum(i < t for i in cues)
        label, p = step.top_answers[0]
        parts.append(
            f"“{step.reads}” is answered with {label}, {format_probability(p)}, after {before} of {len(cues)} nouns "
            "that tell"
        )
    if not parts:
        return f"{len(net.steps)} words, as many answers. None has two senses: write one of {join_words(list(SENSES))}."
    return f"Each of {len(net.steps)} words has its answer at once: {'; '.join(parts)}."


def senses_caption(right: Sequence[float]) -> str:
    """Report the accuracy of every seed on fresh sentences."""
    early = sum(
        frame.index(WORD_SLOT) < min(frame.index(FIRST_NOUN_SLOT), frame.index(SECOND_NOUN_SLOT)) for frame in FRAMES
    )
    return (
        f"On fresh sentences {count_seeds(len(right))} name the sense right in {min(right):.0%} to {max(right):.0%}; "
        f"guessing is right in half. In {early} of {len(FRAMES)} frames the word comes before all nouns that tell."
    )


def _is_cue(step: UnrolledStep, word: str) -> bool:
    return any(step.reads in NOUNS[topic] for topic in SENSES[word])


def letters_finding(net: UnrolledNetwork) -> str:
    """Aligned: report how often the most likely character was the next one."""
    pairs = list(zip(net.steps, net.steps[1:], strict=False))
    right = sum(step.top_answers[0][0] == after.reads for step, after in pairs)
    label, p = net.steps[-1].top_answers[0]
    came = f"At {right} of {len(pairs)} steps the likeliest next character is the one that comes. " if pairs else ""
    return f"{came}After the last one it expects “{visible_token(label)}”, with {format_probability(p)}."


def unaligned_finding(net: UnrolledNetwork, right: str | None) -> str:
    """Unaligned: report what was generated after the input was read. `right`: None if there is no right answer."""
    writing = [step for step in net.steps if step.used]
    sentence = "".join(step.top_answers[0][0] for step in writing if step.top_answers[0][0] != "<EOS>")
    verdict = "" if right is None else ", which is right" if sentence == right else f", where {right} is right"
    read = len(net.steps) - len(writing)
    first = "1 step reads and says" if read == 1 else f"{read} steps read and say"
    return (
        f"{first} nothing; then {len(writing)} steps write {sentence}{verdict}. Between the two halves stands one "
        "vector."
    )


def one_to_many_finding(net: UnrolledNetwork) -> str:
    """One to many: report what was generated from one token, and where the network was least certain."""
    text = "".join(visible_token(step.top_answers[0][0]) for step in net.steps)
    least = min(net.steps, key=lambda step: step.top_answers[0][1])
    label, p = least.top_answers[0]
    return (
        f"From “{visible_token(net.steps[0].reads)}” alone it writes “{text}”, always the likeliest character. It is "
        "least "
        f"sure of “{visible_token(label)}”: {format_probability(p)}."
    )
