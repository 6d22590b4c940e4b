"""Sentences on how the loss changes with the size of a model and the amount of its text."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Final, Literal, TypeAlias

from explorer.catalogue import MODELS
from explorer.experiments.growth import SEEDS, SHARES, SIZES, Cell, GrowthResult
from explorer.number_format import format_count, format_number
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

Results: TypeAlias = Mapping[Cell, GrowthResult]
# "unclear": the ranges over the seeds overlap, so one cannot tell
Change: TypeAlias = Literal["lower", "higher", "unclear"]
NETWORKS: Final = tuple(model for model in SIZES if model != "ngram")
LARGEST: Final = len(next(iter(SIZES.values()))) - 1
LIMITS: Final = (
    "This is an experiment, not a law. All networks train for the same 400 steps, even if the loss on held-out text "
    "rises before the end, and a share of a text is its beginning. Kaplan et al. (2020) and Hoffmann et al. (2022) "
    "found power laws with models on at least 22 million and 5 billion tokens; here the whole text has about a million "
    "characters. No line is fitted, because four sizes in so small a range cannot show its form."
)


def share_words(share: float, whole: str = "the text") -> str:
    """Return a share of the text within a sentence; `whole` is how the text is called in it."""
    return "the whole text" if share == 1 else f"1/{1 / share:.0f} of {whole}"


def mean(result: GrowthResult) -> float:
    """Return the mean loss over the seeds."""
    return sum(result.losses) / len(result.losses)


def change(before: GrowthResult, after: GrowthResult) -> Change:
    """Return whether the loss of the second run is lower: every seed of one must lie below every seed of the other."""
    if max(after.losses) < min(before.losses):
        return "lower"
    return "higher" if min(after.losses) > max(before.losses) else "unclear"


def size_changes(results: Results, share: float) -> dict[str, Change]:
    """Return for each network how the loss changes from the smallest to the largest size on a share of the text."""
    return _changes(results, (0, share), (LARGEST, share))


def _changes(results: Results, first: tuple[int, float], last: tuple[int, float]) -> dict[str, Change]:
    """Return for each network how the loss changes from one size and share of the text to another."""
    pairs = {model: (Cell(model, *first), Cell(model, *last)) for model in NETWORKS}
    return {model: change(results[a], results[b]) for model, (a, b) in pairs.items() if {a, b} <= results.keys()}


def all_finding(results: Results) -> str:
    """Return for how many networks more parameters lower the loss, on the whole text and on the smallest share."""
    whole, least = (size_changes(results, share) for share in (SHARES[-1], SHARES[0]))
    if not whole or not least:
        return "No architecture has runs at its smallest and its largest size yet."
    return (
        f"More parameters lower the loss of {_count(whole, 'lower')} networks on {share_words(SHARES[-1])}, and of "
        f"{_count(least, 'lower')} on {share_words(SHARES[0], 'it')}."
    )


def all_notes(results: Results) -> str:
    """Return which networks lose by more parameters, what more text does, and when a loss counts as lower."""
    least, sentences = size_changes(results, SHARES[0]), []
    overfit = [model for model, each in least.items() if each == "higher" and _learns_more(results, model)]
    if overfit:
        worst = max((results[Cell(model, LARGEST, SHARES[0])] for model in overfit), key=mean)
        sentences.append(
            f"On {share_words(SHARES[0])} the largest size of {join_words([MODELS[model].title for model in overfit])} "
            "has a higher loss on held-out text than the smallest, and a lower one on the text of its training: it "
            f"overfits. The highest loss there is {format_number(mean(worst))} nats per character; on the text of its "
            f"training that network reaches {format_number(_training_mean(worst))}."
        )
    by_text = {size: _changes(results, (size, SHARES[0]), (size, SHARES[-1])) for size in (0, LARGEST)}
    if all(by_text.values()):
        sentences.append(
            f"More text, {share_words(SHARES[-1])} instead of {share_words(SHARES[0], 'it')}, lowers the loss of "
            f"{_count(by_text[0], 'lower')} networks at the smallest size and of {_count(by_text[LARGEST], 'lower')} "
            "at the largest."
        )
    changes = [*size_changes(results, SHARES[-1]).items(), *least.items()]
    if unclear := list(dict.fromkeys(MODELS[model].title for model, each in changes if each == "unclear")):
        sentences.append(f"Cannot tell for {join_words(unclear)}: the ranges of the seeds overlap.")
    return " ".join([*sentences, _RULE])


def _learns_more(results: Results, model: str) -> bool:
    """Return whether the largest size has a lower loss than the smallest on the text that it was trained on."""
    small, large = (_training_mean(results[Cell(model, size, SHARES[0])]) for size in (0, LARGEST))
    return large < small


def _training_mean(result: GrowthResult) -> float:
    return sum(result.training_losses) / len(result.training_losses)


# In 2 of the (6 over 3) orders of the seeds of two equal models, those of one are all below those of the other.
_RULE: Final = (
    "The smallest and the largest size are compared; “lower” means that every seed of one has a lower loss than every "
    f"seed of the other. With {count_seeds(SEEDS)} each, that also happens in one of "
    f"{number_word(comb(2 * SEEDS, SEEDS) // 2)} comparisons of equal models."
)


def model_finding(results: Results, model: str) -> str:
    """Return how the loss of an architecture changes from the smallest to the largest size, on much and little text."""
    parts = []
    for share in (SHARES[-1], SHARES[0]):
        small, large = (results.get(Cell(model, size, share)) for size in (0, LARGEST))
        if small and large:
            found, size = change(small, large), format_number(abs(mean(large) - mean(small)))
            verb = {"lower": f"lowers the loss by {size} nats", "higher": f"raises the loss by {size} nats"}
            parts.append(f"{verb.get(found, 'cannot be told from the smallest')} on {share_words(share, 'it')}")
    if not parts:
        return f"{MODELS[model].title} has no runs at its smallest and its largest size yet."
    return f"{MODELS[model].title}: the largest of {number_word(LARGEST + 1)} sizes {join_words(parts)}."


def model_notes(results: Results, model: str) -> str:
    """Return which size has the lowest loss on each share of the text."""
    parts = []
    for share in SHARES:
        sizes = [results[cell] for size in range(LARGEST + 1) if (cell := Cell(model, size, share)) in results]
        if len(sizes) > LARGEST:
            best = min(sizes, key=mean)
            rivals = [each for each in sizes if each is not best and change(each, best) != "lower"]
            unclear = " (within the range of the seeds of another size)" * bool(rivals)
            parts.append(f"{format_count(best.parameters)} parameters on {share_words(share)}{unclear}")
    if not parts:
        return ""
    spread = f" Means over {count_seeds(SEEDS)}. {_RULE}" if model in NETWORKS else " An n-gram has no random numbers."
    return f"Size with the lowest loss: {'; '.join(parts)}.{spread}"


def _count(changes: Mapping[str, Change], kind: Change) -> str:
    """Return “four of five”, or “none of five”."""
    count = sum(each == kind for each in changes.values())
    return f"{number_word(count) if count else 'none'} of {number_word(len(changes))}"


def progress_note(trained: int, total: int) -> str:
    """Return how many of the shown runs were trained here; "" if none was."""
    if not trained:
        return ""
    return f"{capitalize(number_word(trained))} of {total} runs were trained on this server; the others are included."
