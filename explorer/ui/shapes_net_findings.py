"""What an unrolled net answered, as a sentence made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.tasks.meanings import FIRST, FRAMES, NOUNS, SECOND, SENSES, WORD
from explorer.tasks.negation import CLASSES, grammar_says
from explorer.ui.findings import listed, seeds

if TYPE_CHECKING:
    from explorer.inspection.shapes import Step, Unrolled

VISIBLE = {" ": "␣", "\n": "⏎"}
SURE = 0.995


def visible(token: str) -> str:
    """A token with nothing in it that cannot be seen."""
    return VISIBLE.get(token, token)


def share(p: float) -> str:
    """A probability in words that do not round up to certainty."""
    return "more than 99%" if p > SURE else "less than 1%" if p < 1 - SURE else f"{p:.0%}"


def one_finding(net: Unrolled, words: Sequence[str]) -> str:
    """Many to one: the answer that is used, and how it would have been otherwise on the way."""
    label, p = net.steps[-1].best[0]
    true = grammar_says(tuple(words))
    verdict = "" if true is None else ", which is right" if CLASSES[true] == label else ", which is wrong"
    others = sum(step.best[0][0] != label for step in net.steps[:-1])
    total = len(net.steps) - 1
    return (
        f"After the last of {total + 1} tokens it says {label}, with {share(p)}{verdict}. Had it been asked earlier, "
        f"it would have said something else at {others} of {total} steps."
    )


def senses_finding(net: Unrolled) -> str:
    """Aligned: every homograph, its answer, and how many nouns it had read by then that tell the sense."""
    told = []
    for t, step in enumerate(net.steps):
        if step.reads not in SENSES:
            continue
        cues = [i for i, other in enumerate(net.steps) if _tells(other, step.reads)]
        before = sum(i < t for i in cues)
        label, p = step.best[0]
        told.append(
            f"“{step.reads}” is answered with {label}, {share(p)}, after {before} of {len(cues)} nouns that tell"
        )
    if not told:
        return f"{len(net.steps)} words, as many answers. None has two senses: write one of {listed(list(SENSES))}."
    return f"Each of {len(net.steps)} words has its answer at once: {'; '.join(told)}."


def senses_caption(right: Sequence[float]) -> str:
    """How often every seed is right, on fresh sentences."""
    early = sum(frame.index(WORD) < min(frame.index(FIRST), frame.index(SECOND)) for frame in FRAMES)
    return (
        f"On fresh sentences {seeds(len(right))} name the sense right in {min(right):.0%} to {max(right):.0%}; "
        f"guessing is right in half. In {early} of {len(FRAMES)} frames the word comes before all nouns that tell."
    )


def _tells(step: Step, word: str) -> bool:
    return any(step.reads in NOUNS[topic] for topic in SENSES[word])


def letters_finding(net: Unrolled) -> str:
    """Aligned: how often the first guess was the character that came."""
    pairs = list(zip(net.steps, net.steps[1:], strict=False))
    right = sum(step.best[0][0] == after.reads for step, after in pairs)
    label, p = net.steps[-1].best[0]
    came = f"At {right} of {len(pairs)} steps the likeliest next character is the one that comes. " if pairs else ""
    return f"{came}After the last one it expects “{visible(label)}”, with {share(p)}."


def other_finding(net: Unrolled, right: str | None) -> str:
    """Unaligned: what was written after all was read. `right` is None where nothing is."""
    writing = [step for step in net.steps if step.used]
    said = "".join(step.best[0][0] for step in writing if step.best[0][0] != "<EOS>")
    verdict = "" if right is None else ", which is right" if said == right else f", where {right} is right"
    read = len(net.steps) - len(writing)
    first = "1 step reads and says" if read == 1 else f"{read} steps read and say"
    return (
        f"{first} nothing; then {len(writing)} steps write {said}{verdict}. Between the two halves stands one vector."
    )


def writes_finding(net: Unrolled) -> str:
    """One to many: what was written from one token, and where it was least sure."""
    text = "".join(visible(step.best[0][0]) for step in net.steps)
    least = min(net.steps, key=lambda step: step.best[0][1])
    label, p = least.best[0]
    return (
        f"From “{visible(net.steps[0].reads)}” alone it writes “{text}”, always the likeliest character. It is least "
        f"sure of “{visible(label)}”: {share(p)}."
    )
