"""Sentences on the predictions of an unrolled network."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.inspection.recurrent import unrolled
from explorer.number_format import format_units
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

_VISIBLE = {" ": "␣", "\n": "⏎"}
SURE = 0.995
_MAX_NAMED = 3  # words with two senses that a headline names


def visible_token(token: str) -> str:
    """Return a token with its white space made visible."""
    return _VISIBLE.get(token, token)


def format_probability(p: float) -> str:
    """Format a probability without rounding up to certainty."""
    return "more than 99 %" if p > SURE else "less than 1 %" if p < 1 - SURE else f"{100 * p:.0f} %"


def many_to_one_finding(net: unrolled.UnrolledNetwork, words: Sequence[str]) -> tuple[str, str]:
    """Many to one: report the prediction that is used, and how often an earlier one would have differed."""
    label, p = net.steps[-1].top_answers[0]
    true = true_label(tuple(words))
    verdict = "" if true is None else ", which is right" if CLASSES[true] == label else ", which is wrong"
    others = sum(step.top_answers[0][0] != label for step in net.steps[:-1])
    headline = f"After the last token the network answers “{label}” ({format_probability(p)}){verdict}."
    return headline, f"Its unused outputs differ from this answer at {others} of {len(net.steps) - 1} earlier steps."


def senses_finding(net: unrolled.UnrolledNetwork) -> tuple[str, str]:
    """Aligned: report the prediction for every homograph, and how many cue nouns had been read by then."""
    answers, cues_read = [], []
    for t, step in enumerate(net.steps):
        if step.reads not in SENSES:
            continue
        cues = [i for i, other in enumerate(net.steps) if _is_cue(other, step.reads)]
        label, p = step.top_answers[0]
        answers.append(f"“{step.reads}” as {label} ({format_probability(p)})")
        cues_read.append(f"{sum(i < t for i in cues)} of {len(cues)} before “{step.reads}”")
    if not answers:
        senses = join_words(list(SENSES))
        return f"None of these {len(net.steps)} words has two senses.", f"Words with two senses: {senses}."
    if len(answers) > _MAX_NAMED:
        headline = f"The network tags {len(answers)} words that have two senses."
    else:
        headline = f"The network tags {join_words(answers)}."
    return headline, f"Nouns that tell the sense, read so far: {'; '.join(cues_read)}."


def senses_caption(right: Sequence[float]) -> str:
    """Report the accuracy of every seed on new sentences."""
    early = sum(
        frame.index(WORD_SLOT) < min(frame.index(FIRST_NOUN_SLOT), frame.index(SECOND_NOUN_SLOT)) for frame in FRAMES
    )
    return (
        f"On new sentences, {count_seeds(len(right))} name the right sense in {100 * min(right):.0f} to "
        f"{100 * max(right):.0f} % of cases (guessing: 50 %). In {early} of {len(FRAMES)} sentence patterns the word "
        "comes before all nouns that tell."
    )


def _is_cue(step: unrolled.UnrolledStep, word: str) -> bool:
    return any(step.reads in NOUNS[topic] for topic in SENSES[word])


def letters_finding(net: unrolled.UnrolledNetwork) -> tuple[str, str]:
    """Aligned: report how often the most likely character was the next one."""
    pairs = list(zip(net.steps, net.steps[1:], strict=False))
    right = sum(step.top_answers[0][0] == after.reads for step, after in pairs)
    label, p = net.steps[-1].top_answers[0]
    last = f"After the last character it predicts “{visible_token(label)}” ({format_probability(p)})."
    if not pairs:
        return last, ""
    return f"At {right} of {len(pairs)} steps the most likely next character is the right one.", last


def unaligned_finding(net: unrolled.UnrolledNetwork, right: str | None) -> tuple[str, str]:
    """Unaligned: report what was generated after the input was read. `right`: None if there is no right answer."""
    writing = [step for step in net.steps if step.used]
    sentence = "".join(step.top_answers[0][0] for step in writing if step.top_answers[0][0] != "<EOS>")
    verdict = "" if right is None else ", which is right" if sentence == right else f" instead of {right}"
    read = len(net.steps) - len(writing)
    headline = (
        f"The encoder reads {format_units(read, 'token')}, then the decoder writes {sentence or 'nothing'}{verdict}."
    )
    return headline, f"The output has {format_units(len(writing), 'token')}, counting the end token."


def one_to_many_finding(net: unrolled.UnrolledNetwork) -> tuple[str, str]:
    """One to many: report what was generated from one token, and where the network was least certain."""
    text = "".join(visible_token(step.top_answers[0][0]) for step in net.steps)
    least = min(net.steps, key=lambda step: step.top_answers[0][1])
    label, p = least.top_answers[0]
    return (
        f"From “{visible_token(net.steps[0].reads)}” alone the network writes “{text}”.",
        f"It is least certain of “{visible_token(label)}” ({format_probability(p)}).",
    )
