"""Findings about generated texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from explorer.generation import text_statistics
from explorer.labs.generation.state import GenerationState
from explorer.ui.wording import join_words, number_word

CORPUS_PIECES = 8  # evenly spaced in the corpus


@dataclass(frozen=True, eq=False)
class MeasuredTexts:
    """The statistics of one model's texts and of its corpus."""

    generated: text_statistics.StatisticsByTemperature
    corpus: Float[ndarray, " measures"] | None  # mean over pieces of the corpus; None if it is not on this machine
    held_out: bool  # whether these pieces are held out from training


def repetition_finding(measured: Sequence[tuple[str, MeasuredTexts]]) -> str:
    """Return how repetitive each model's text is at temperature 0. `measured` are titles and statistics."""
    cold = join_words(
        [f"{100 * each.generated.repetition8[0].mean():.0f} % of the text of the {title}" for title, each in measured]
    )
    return f"At temperature 0, {cold} repeats itself (mean over texts)."


def corpus_finding(measured: Sequence[tuple[str, MeasuredTexts]]) -> str:
    """Return at which temperature each model's text is as diverse, and as probable to the model, as the corpus."""
    varied, likely = [], []
    for title, each in measured:
        if each.corpus is not None:
            generated = each.generated
            varied.append(f"the {title} {_crossing(generated.temperatures, generated.distinct4, each.corpus[0])}")
            likely.append(f"the {title} {_crossing(generated.temperatures, generated.log_probability, each.corpus[2])}")
    if not varied:
        return ""
    return (
        f"As varied as human text: {join_words(varied)}. As probable to the model as human text: {join_words(likely)}."
    )


def _crossing(temperatures: Sequence[float], values: Float[ndarray, "temperatures seeds"], corpus: float) -> str:
    """Return the temperature at which the mean first crosses the corpus value, by linear interpolation."""
    gaps = values.mean(axis=1) - corpus
    for i in range(len(gaps) - 1):
        if gaps[i] * gaps[i + 1] <= 0 and gaps[i] != gaps[i + 1]:
            share = gaps[i] / (gaps[i] - gaps[i + 1])
            return f"at about {temperatures[i] + share * (temperatures[i + 1] - temperatures[i]):.1f}"
    return "at no temperature"


def statistics_caption(measured: Sequence[tuple[str, MeasuredTexts]], state: GenerationState) -> str:
    """Return what lines, bands and the dashed line of the charts mean."""
    seeds = measured[0][1].generated.distinct4.shape[1]
    kinds: dict[str, list[str]] = {}
    for title, each in measured:
        if each.corpus is not None:
            kinds.setdefault("held-out text" if each.held_out else "training text", []).append(title)
    human = join_words([f"{kind} ({join_words(titles)})" for kind, titles in kinds.items()])
    dashed = f" Dashed: human text, {human}, in {number_word(CORPUS_PIECES)} pieces of the same length."
    return (
        f"Line: the mean of {number_word(seeds)} texts of {state.tokens} tokens, band: from the lowest to the highest; "
        f"the random numbers of each text are the same at every temperature.{dashed * bool(kinds)}"
    )


def describe_sampling(state: GenerationState) -> str:
    """Return the restrictions of the sampling settings; empty without any."""
    if state.greedy:
        return "greedy"
    restrictions = {
        f"top-k {state.top_k}": state.top_k,
        f"top-p {state.top_p:g}": state.top_p < 1,
        f"min-p {state.min_p:g}": state.min_p,
    }
    return join_words([text for text, is_set in restrictions.items() if is_set])
