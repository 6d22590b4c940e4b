"""Sentences on induction heads, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained import repeated_tokens
from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.verdicts import compare_with_best, judge, mean_difference
from explorer.number_format import format_interval, format_number
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

SOLVED_LOSS = 0.5  # nats per symbol on the second copy, below which a model continues it
PREVIOUS_SCORE, INDUCTION_SCORE = 0.4, 0.5  # shares of attention that count as the appearance of a head

Head = tuple[int, int]  # layer and head, from 0 on
Seeds = Float[ndarray, " seeds"]


def _median_and_range(values: Seeds, digits: int = 2) -> str:
    """Format the median, and in brackets the lowest and the highest seed."""
    return format_interval(float(np.median(values)), float(values.min()), float(values.max()), digits)


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
        [f"{_median_and_range(values[:, known].mean(axis=1))} by {words}" for words, values in probabilities.items()]
    )
    return (
        f"{follow} a second time. Probability of the symbol that follows, median of the seeds (lowest to highest): "
        f"{medians}."
    )


def row_headline(repeated: Sequence[bool], probabilities: Mapping[str, Float[ndarray, "seeds positions"]]) -> str:
    """Say how well each model, by its words, continues a typed row; empty if there is nothing to continue."""
    known = np.array(repeated)
    medians = [
        f"{words} {np.median(values[:, known].mean(axis=1)):.2f}"
        for words, values in probabilities.items()
        if any(known)
    ]
    return f"In your row, {join_words(medians)} is the probability of the next symbol after a repeat." * bool(medians)


def loss_finding(losses: Mapping[str, Seeds]) -> str:
    """Say with how many seeds each model, by its words, continues the second copy."""
    parts: list[str] = []
    for words, values in losses.items():
        count = int((values < SOLVED_LOSS).sum())
        how = f"with {_count_of_all(count, len(values))}" if count or not parts else "with none"
        parts.append(f"{words} {how}" if parts else f"{words} continues the second copy {how}")
    return f"{capitalize('; '.join(parts))}." if parts else ""


def loss_text(losses: Mapping[str, Seeds]) -> str:
    """State the loss of each model, by its words: median and range over the seeds."""
    parts = [f"{_median_and_range(values)} for {words}" for words, values in losses.items()]
    return f"Loss on the second copy in nats per symbol, median (range) over the seeds: {join_words(parts)}." * bool(
        parts
    )


def comparison_text(losses: Mapping[str, Seeds]) -> str:
    """Compare the losses of the models, with the test that was used."""
    found = compare_with_best(losses, paired=True, higher=False)
    return f"{comparison_finding(found, digits=2, unit='nats')} {comparison_note(found)}".strip()


def moment_finding(words: str, previous: Seeds, induction: Seeds, loss: Seeds) -> str:
    """Say in which order the scores of a model rise and its loss falls; "" if no seed does all three.

    Each array has the step at which a seed passes PREVIOUS_SCORE, INDUCTION_SCORE or SOLVED_LOSS; NaN if it does not.
    """
    all_three = np.isfinite(previous + induction + loss)
    seeds = int(all_three.sum())
    if not seeds:
        return ""
    earlier = int((induction < loss)[all_three].sum())
    below = int((previous < induction)[all_three].sum())
    return (
        f"In {words} the induction score reaches {INDUCTION_SCORE} before the loss falls below {SOLVED_LOSS} nats, in "
        f"{_count_of_all(earlier, seeds)}; the previous-token score reaches {PREVIOUS_SCORE} before the induction "
        f"score does, in {_count_of_all(below, seeds)}."
        if 2 * earlier > seeds
        else f"In {words} the induction score reaches {INDUCTION_SCORE} before the loss falls below {SOLVED_LOSS} nats "
        f"in only {_count_of_all(earlier, seeds)}."
    )


def heads_finding(
    seed: int, previous: Float[ndarray, "layers heads"], induction: Float[ndarray, "layers heads"], layers: int
) -> str:
    """Name the heads of a seed that attend most to the token before, and to the token after the earlier occurrence.

    previous, induction: the scores of the heads; where roles are known, those of all other heads are 0.
    """
    before, after = (np.unravel_index(scores.argmax(), scores.shape) for scores in (previous, induction))
    if layers == 1:
        return (
            f"Seed {seed}: the highest previous-token score is {previous[before]:.2f}, the highest induction score "
            f"{induction[after]:.2f}."
        )
    names = [f"layer {at[0] + 1}, head {at[1] + 1}" for at in (before, after)]
    return (
        f"Seed {seed}: {names[0]} is the previous-token head ({previous[before]:.2f}); {names[1]} is the induction "
        f"head ({induction[after]:.2f})."
    )


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
    moves = "rises" if np.median(without) > np.median(base) else "falls"
    return (
        f"Without {title} the loss on the second copy {moves} from {np.median(base):.2f} to {np.median(without):.2f} "
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
        f"Median and range over the seeds: {_median_and_range(without)} nats without {title}, "
        f"{_median_and_range(other)} without {other_title}. Removing {title} costs more in "
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
    """Return a head counted from 1, as the page shows it."""
    return f"layer {head[0] + 1}, head {head[1] + 1}"


def real_removal_text(title: str, removal: repeated_tokens.Removal) -> str:
    """State the loss without heads, by their title, and compare it with random heads of the same layers."""
    names, controls = join_words([_name_head(head) for head in removal.heads]), removal.control_losses
    increase = removal.increase
    text = (
        f"Without {title} ({names}) the loss on the second copy is {removal.without.mean():.2f} instead of "
        f"{removal.with_all.mean():.2f} nats: {format_interval(increase.mean, increase.low, increase.high)} more."
    )
    if not len(controls):
        return f"{text} There are no other heads in these layers to compare with."
    exceeded = round(removal.p * (len(controls) + 1)) - 1
    return (
        f"{text} Without random heads of the same layers instead it is {float(np.median(controls)):.2f} in the median, "
        f"{format_number(float(controls.min()))} to {format_number(float(controls.max()))}; {exceeded or 'none'} of "
        f"{len(controls)} random groups reach the same loss."
    )
