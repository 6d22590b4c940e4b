"""Sentences of the page on sequence shapes, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.recall import SOLVED
from explorer.inspection.recurrent import input_gradients, unrolled
from explorer.inspection.verdicts import MeanDifference, judge, mean_difference, solved_difference
from explorer.number_format import format_percent, format_range, format_significant, format_units
from explorer.tasks.negation import CLASSES, true_label
from explorer.tasks.sequence_labelling.homographs import (
    FIRST_NOUN_SLOT,
    FRAMES,
    NOUNS,
    SECOND_NOUN_SLOT,
    SENSES,
    WORD_SLOT,
)
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import count_seeds, join_words, number_word, visible_whitespace

LAST_STEPS = 2  # the last steps, whose share of the gradient is reported
MIN_ACCURACY_LOSS = 0.05  # smallest drop in accuracy that counts
_VANISHED = 1e-3


def gradient_share_finding(nets: Sequence[tuple[str, Float[ndarray, "replicas time"]]], trained: bool) -> str:
    """Say how much of the gradient of the shared weights the last steps contribute. `nets`: names and shares."""
    shares = [(name, float(np.median(share[:, -LAST_STEPS:].sum(axis=1)))) for name, share in nets]
    parts = join_words([f"{format_percent(share, 0)} ({name})" for name, share in shares])
    when = "After training" if trained else "Before training"
    return f"{when}, the last {number_word(LAST_STEPS)} steps contribute {parts} of the gradient."


def exactness_text(off: float, seed_count: int, steps: int) -> str:
    """Say how closely the terms add up to the gradient that PyTorch computes. `off`: largest relative difference."""
    return (
        f"The sum of the {steps} terms differs from the gradient that PyTorch computes by at most "
        f"{format_significant(off)} ({count_seeds(seed_count)}, double precision)."
    )


# ---- clipping


def clipping_verdict(clipped: input_gradients.RecallOutcome, unclipped: input_gradients.RecallOutcome) -> str:
    """Say in at most 20 words whether clipping restores vanished gradients."""
    counts = [int((each.accuracy >= SOLVED).sum()) for each in (clipped, unclipped)]
    solved = f"{counts[0]} of {len(clipped.accuracy)} seeds learn with clipping, {counts[1]} without it"
    ratio = _ratio_difference(clipped, unclipped)
    if np.median(clipped.gradient_ratio) < _VANISHED:
        return f"No: the gradient vanishes with clipping too; {solved}."
    if np.median(unclipped.gradient_ratio) > _VANISHED:
        return f"These gradients do not vanish, clipped or not; {solved}."
    is_certain = ratio and judge([ratio])[0].verdict == "different"
    return f"{'In these runs, yes' if is_certain else 'These runs cannot tell'}: {solved}."


def clipping_caption(clipped: input_gradients.RecallOutcome, unclipped: input_gradients.RecallOutcome) -> str:
    """Return whether the differences between the runs with and without clipping are certain."""
    learned = solved_difference(unclipped.accuracy >= SOLVED, clipped.accuracy >= SOLVED)
    ratio = _ratio_difference(clipped, unclipped)
    judgements = judge([learned, *([ratio] if ratio else [])])
    first, second = (format_significant(float(np.median(each.gradient_ratio))) for each in (clipped, unclipped))
    gradients = f": {verdict_words(judgements[1])}" if ratio else ""
    return (
        f"Seeds that learn the task: {verdict_words(judgements[0])}. Gradient at the first symbol divided by that at "
        f"the last, after training (median): {first} with clipping, {second} without{gradients}."
    )


def _ratio_difference(
    clipped: input_gradients.RecallOutcome, unclipped: input_gradients.RecallOutcome
) -> MeanDifference | None:
    """Return the difference of the orders of magnitude of both ratios; None if one is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = [np.log10(each.gradient_ratio) for each in (unclipped, clipped)]
    return mean_difference(orders[0], orders[1], paired=True) if np.isfinite(orders).all() else None


# ---- positions


@dataclass(frozen=True, eq=False)
class PositionRuleAccuracy:
    """Accuracy of a model on a rule that depends on the position."""

    words: str  # with its article
    shares_weights: bool  # the same weights at every position
    trained: Float[ndarray, " replicas"]  # accuracy at the trained positions
    beyond: Float[ndarray, " replicas"]  # accuracy at later positions


def position_verdict(results: Mapping[str, Sequence[PositionRuleAccuracy]]) -> tuple[str, str]:
    """Say whether shared weights learn rules that depend on the position, and with how many seeds; keyed by rule."""
    shared = [
        (int((each.trained >= SOLVED).sum()), len(each.trained), f"{each.words.removeprefix('the ')}s learn {rule}")
        for rule, models in results.items()
        for each in models
        if each.shares_weights
    ]
    if not shared:
        return "", ""
    always = join_words([words for count, seeds, words in shared if count == seeds])
    verdict = f"Yes: with every seed {always}." if always else "Not with every seed."
    return verdict, f"{join_words([f'{count} of {seeds} {words}' for count, seeds, words in shared])}."


def extrapolation_finding(results: Mapping[str, Sequence[PositionRuleAccuracy]]) -> str:
    """Say how accurate models are beyond the trained positions, of the seeds that learned the rule (medians)."""
    medians: dict[bool, list[float]] = {True: [], False: []}
    for each in (model for models in results.values() for model in models):
        if (learned := each.trained >= SOLVED).any():
            medians[each.shares_weights].append(100 * float(np.median(each.beyond[learned])))
    if not all(medians.values()):
        return ""
    with_shared, with_own = (f"{min(each):.0f} to {max(each):.0f} %" for each in medians.values())
    return (
        f"At positions beyond training, the seeds that learned the rule are right in {with_shared} with shared "
        f"weights, and in {with_own} with a learned vector for every position, which was never trained there."
    )


# ---- heads


def heads_verdict(whole: Float[ndarray, " replicas"], without: Float[ndarray, "replicas layers heads"]) -> str:
    """Say in at most 20 words whether a single head is needed.

    whole: accuracy with all heads; without: accuracy with each head ablated.
    """
    needed = (_accuracy_loss(whole, without) > MIN_ACCURACY_LOSS).sum(axis=1)
    single, seed_count = int((needed == 1).sum()), len(whole)
    verdict = "Yes" if single == seed_count else "No" if single <= seed_count // 2 else "Sometimes"
    return (
        f"{verdict}: in {single} of {seed_count} seeds exactly one head matters (removing it costs more than "
        f"{format_percent(MIN_ACCURACY_LOSS, 0)})."
    )


def heads_caption(
    what: str,
    whole: Float[ndarray, " replicas"],
    subject: Float[ndarray, "replicas layers heads"],
    without: Float[ndarray, "replicas layers heads"],
) -> str:
    """Return how many heads attend to the subject, and what the most important one costs.

    what: the predicted word; subject: attention to the subject; the others are those of `heads_verdict`.
    """
    attention = subject.reshape(len(whole), -1)
    attending = (attention > 0.5).sum(axis=1)
    loss = _accuracy_loss(whole, without)
    most, median = (format_percent(float(value), 0) for value in (loss.max(), np.median(loss.max(axis=1))))
    return (
        f"Removing the most important head lowers the accuracy on the {what} by {most} at most, by {median} in the "
        f"median seed. In {int((attending > 0).sum())} of {len(whole)} "
        f"seeds at least one head gives the subject more than half of its attention "
        f"({format_range(attending.min(), attending.max(), 0)} of {attention.shape[1]} heads do)."
    )


def _accuracy_loss(
    whole: Float[ndarray, " replicas"], without: Float[ndarray, "replicas layers heads"]
) -> Float[ndarray, "replicas heads"]:
    lost: ndarray = whole[:, None] - without.reshape(len(whole), -1)
    return lost


# ---- the unrolled network


SURE = 0.995
_MAX_NAMED = 3  # words with two senses that a headline names


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
        words = {word for topic in SENSES[step.reads] for word in NOUNS[topic]}
        cues = [i for i, other in enumerate(net.steps) if other.reads in words]
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


def letters_finding(net: unrolled.UnrolledNetwork) -> tuple[str, str]:
    """Aligned: report how often the most likely character was the next one."""
    pairs = list(zip(net.steps, net.steps[1:], strict=False))
    right = sum(step.top_answers[0][0] == after.reads for step, after in pairs)
    label, p = net.steps[-1].top_answers[0]
    last = f"After the last character it predicts “{visible_whitespace(label)}” ({format_probability(p)})."
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
    text = "".join(visible_whitespace(step.top_answers[0][0]) for step in net.steps)
    least = min(net.steps, key=lambda step: step.top_answers[0][1])
    label, p = least.top_answers[0]
    return (
        f"From “{visible_whitespace(net.steps[0].reads)}” alone the network writes “{text}”.",
        f"It is least certain of “{visible_whitespace(label)}” ({format_probability(p)}).",
    )
