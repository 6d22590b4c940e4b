"""Sentences on induction heads, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained import repeated_tokens
from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.verdicts import compare_with_best, judge, mean_difference
from explorer.number_format import format_interval, format_number, format_percent
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement
from explorer.ui.wording import capitalize, count_seeds, format_median, join_words, number_word

SOLVED_LOSS = 0.5  # nats per symbol on the second copy; the step at which the loss falls below it is shown
PREVIOUS_SCORE, INDUCTION_SCORE = 0.4, 0.5  # shares of attention that count as the appearance of a head

Head = tuple[int, int]  # layer and head, from 0 on
Seeds = Float[ndarray, " seeds"]


def _count_of_all(count: int, seeds: int) -> str:
    """Return “all eight seeds”, “no seed of eight” or “3 of eight seeds”."""
    if count == seeds:
        return {1: "its only seed", 2: "both seeds"}.get(seeds, f"all {count_seeds(seeds)}")
    return f"{count} of {count_seeds(seeds)}" if count else f"no seed of {number_word(seeds)}"


def row_finding(repeated: Sequence[bool], probabilities: Mapping[str, Float[ndarray, "seeds positions"]]) -> str:
    """State the probability that each model, by its words, gives to symbols that follow as they did before."""
    known = np.array(repeated)
    if not known.any():
        return "No pair of symbols occurs twice, so there is nothing to continue. Write some symbols twice."
    count = int(known.sum())
    follow = "One pair of symbols occurs" if count == 1 else f"{capitalize(number_word(count))} pairs of symbols occur"
    medians = join_words(
        [f"{format_median(values[:, known].mean(axis=1))} by {words}" for words, values in probabilities.items()]
    )
    return (
        f"{follow} a second time. Probability of the symbol that follows, median of the seeds (lowest to highest): "
        f"{medians}."
    )


def accuracy_finding(accuracies: Mapping[str, Seeds]) -> str:
    """State the share of the symbols of the second copy that each model, by its words, predicts."""
    if not accuracies:
        return ""
    shares = [f"{words} {format_percent(float(np.median(each)))}" for words, each in accuracies.items()]
    return f"Right in the second copy: {join_words(shares)}."


def comparison_text(losses: Mapping[str, Seeds]) -> str:
    """Compare the losses of the models, with the test that was used."""
    found = compare_with_best(losses, paired=True, higher=False)
    return f"{comparison_finding(found, digits=2, unit='nats')} {comparison_note(found)}".strip()


def moment_finding(words: str, previous: Seeds, induction: Seeds, loss: Seeds) -> str:
    """Say in which order the scores of a model rise and its loss falls; "" if no seed does all three.

    Each array has the step at which a seed passes PREVIOUS_SCORE, INDUCTION_SCORE or SOLVED_LOSS; NaN if it does not.
    """
    all_three = np.isfinite(previous + induction + loss)
    if not all_three.any():
        return ""
    seeds = int(all_three.sum())
    earlier, below = (int(order[all_three].sum()) for order in (induction < loss, previous < induction))
    return (
        f"In {words} the induction score reaches {INDUCTION_SCORE} before the loss falls below {SOLVED_LOSS} nats in "
        f"{_count_of_all(earlier, seeds)}; the previous-token score reaches {PREVIOUS_SCORE} before the induction "
        f"score does in {_count_of_all(below, seeds)}."
    )


def heads_finding(
    seed: int, previous: Float[ndarray, "layers heads"], induction: Float[ndarray, "layers heads"]
) -> str:
    """Name the heads of a seed that attend most to the token before, and to the token after the earlier occurrence.

    previous, induction: the scores of the heads; where roles are known, those of all other heads are 0.
    """
    best = [(scores, np.unravel_index(scores.argmax(), scores.shape)) for scores in (previous, induction)]
    before, after = (f"{scores[at]:.2f} ({_name_head((int(at[0]), int(at[1])))})" for scores, at in best)
    return f"Seed {seed}: the highest previous-token score is {before}, the highest induction score {after}."


def changed_row_text(changed: float, unchanged: float, count: int) -> str:
    """Say what changed heads of one seed do to the symbols that follow as they did before; "" if there are none."""
    if not count:
        return ""
    return (
        "With these changes the mean probability of the repeated symbols is "
        f"{format_number(changed)} in this seed; unchanged it is {format_number(unchanged)}."
    )


def ablation_finding(title: str, base: Seeds, without: Seeds) -> str:
    """State the loss on the second copy without a head of each seed."""
    return (
        f"Without {title} the loss on the second copy is {np.median(without):.2f} instead of {np.median(base):.2f} "
        "nats per symbol."
    )


def control_text(title: str, without: Seeds, other_title: str, other: Seeds) -> str:
    """Compare the losses without a head and without another head of its layer."""
    higher = int((without > other).sum())
    difference = mean_difference(other, without, paired=True)
    verdict = ""
    if difference:
        verdict = f" Difference in nats (95 % confidence interval): {describe_judgement(judge([difference])[0])}."
    return (
        f"Median and range over the seeds: {format_median(without)} nats without {title}, "
        f"{format_median(other)} without {other_title}. Removing {title} costs more in "
        f"{_count_of_all(higher, len(other))}.{verdict}"
    )


def real_heads_finding(induction: tuple[Head, Estimate], previous: tuple[Head, Estimate] | None) -> str:
    """Name the best induction head of a real model and the previous-token head below it, with their scores."""
    head, score = induction
    text = (
        f"{capitalize(_name_head(head))} attends to the token after the earlier occurrence with {score.format()} of "
        "its attention"
    )
    if previous is None:
        return f"{text}."
    below, of_previous = previous
    return f"{text}; {_name_head(below)} attends to the token before with {of_previous.format()}."


def _name_head(head: Head) -> str:
    return f"layer {head[0] + 1}, head {head[1] + 1}"


def real_removal_text(title: str, removal: repeated_tokens.Removal) -> str:
    """State the loss without heads, by their title, and compare it with random heads of the same layers."""
    names, controls = join_words([_name_head(head) for head in removal.heads]), removal.control_losses
    increase = removal.increase
    text = (
        f"Without {title} ({names}) the loss on the second copy is {removal.without.mean():.2f} instead of "
        f"{removal.with_all.mean():.2f} nats: a change of "
        f"{format_interval(increase.mean, increase.low, increase.high)}."
    )
    if not len(controls):
        return f"{text} There are no other heads in these layers to compare with."
    exceeded = round(removal.p * (len(controls) + 1)) - 1
    return (
        f"{text} Without random heads of the same layers instead it is {float(np.median(controls)):.2f} in the median, "
        f"{format_number(float(controls.min()))} to {format_number(float(controls.max()))}; {exceeded or 'none'} of "
        f"{len(controls)} random groups reach the same loss."
    )
