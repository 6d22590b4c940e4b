"""Outcomes of a paper experiment, and sentences made from them; they hold also where the claim is false.

Most experiments have three seeds, too few for a verdict. So the sentences say at how many settings all seeds agree
whether the loss falls or rises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.experiments.default_runs import SEEDS
from explorer.experiments.paper_experiments import UNIFORM_BITS, Condition, Experiment, ExperimentPanel, Trial
from explorer.inspection.verdicts import MeanDifference, mean_difference
from explorer.number_format import format_count, format_interval, format_scientific, format_signed
from explorer.training.record import Curves
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

Direction = Literal["lower", "higher", "mixed", "same", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """How one run ended, over its seeds."""

    trial: Trial
    bits: Float[ndarray, " replicas"]  # a character of all held-out text; NaN where the run ended without numbers
    recorded_divergences: int  # seeds that guessed better than blind and then, in some batch, worse
    worst_batch: float  # bits per character of the worst such batch
    longest_gradient: float  # the longest gradient

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.bits).all())

    @property
    def diverged_seeds(self) -> int:
        """Seeds that diverged; all of them where the losses are no numbers: nobody can tell which seed it was."""
        return self.recorded_divergences if self.is_finite else self.trial.config.replicas

    @property
    def worse_than_blind(self) -> bool:
        """Whether every seed ends with a loss above that of uniform guessing."""
        return bool((~(self.bits < UNIFORM_BITS)).all())

    @property
    def mean(self) -> float:
        return float(self.bits.mean())


@cached()
def compute_outcome(trial: Trial, curves: Curves, diverged: bool) -> Outcome | None:
    """Return the outcome of a run; None before it has ended."""
    if curves.step < trial.config.steps and not diverged:
        return None
    bits = np.full(trial.config.replicas, np.nan)
    if not diverged:
        bits = np.asarray(curves.last("bits_per_char"), float)
    lost = [_worst_batch_after_learning(losses / math.log(2)) for losses in curves.losses.T]
    norms = curves.signals.get("gradient_norm", np.zeros((0, 1)))
    return Outcome(
        trial,
        bits,
        sum(worst > UNIFORM_BITS for worst in lost),
        max(lost, default=0.0),
        float(np.nanmax(norms)) if norms.size else math.nan,
    )


def _worst_batch_after_learning(losses: Float[ndarray, " steps"]) -> float:
    """Return the largest batch loss after the first below uniform guessing; 0 if there is none."""
    below = np.flatnonzero(losses < UNIFORM_BITS)
    return float(np.nanmax(losses[below[0] :])) if len(below) else 0.0


@dataclass(frozen=True)
class OutcomeComparison:
    """Two runs that differ in one setting, with the same seeds and data."""

    value: int | float
    first: Outcome
    second: Outcome

    @property
    def difference(self) -> MeanDifference | None:
        """How far the second ends above the first; None where one ends without numbers."""
        if not (self.first.is_finite and self.second.is_finite):
            return None
        return mean_difference(self.first.bits, self.second.bits, paired=True)

    @property
    def direction(self) -> Direction:
        """Whether the second ends lower in every seed, or higher; a run without numbers counts as the highest."""
        if np.array_equal(self.first.bits, self.second.bits):
            return "same"
        first, second = (np.where(np.isnan(each.bits), np.inf, each.bits) for each in (self.first, self.second))
        if (second < first).all():
            return "lower"
        if (second > first).all():
            return "higher"
        return "mixed" if self.difference else "unknown"


def compare_conditions(
    experiment: Experiment, panel: ExperimentPanel, outcomes: Mapping[str, Outcome]
) -> list[OutcomeComparison]:
    """Compare the two conditions at every value of the setting that has both."""
    without, with_it = (outcomes_by_value(experiment, panel, line, outcomes) for line in experiment.conditions[:2])
    return [
        OutcomeComparison(value, without[value], with_it[value])
        for value in panel.values
        if value in without and value in with_it
    ]


def compare_consecutive(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> list[OutcomeComparison]:
    """Compare each value of the setting with the one before."""
    ends = list(outcomes_by_value(experiment, experiment.panels[0], experiment.conditions[0], outcomes).items())
    return [OutcomeComparison(value, before, now) for (_, before), (value, now) in pairwise(ends)]


def outcomes_by_value(
    experiment: Experiment, panel: ExperimentPanel, condition: Condition, outcomes: Mapping[str, Outcome]
) -> dict[int | float, Outcome]:
    """Return the outcomes of one condition by the value of the setting."""
    trials = (trial for trial in experiment.trials if (trial.panel, trial.condition) == (panel, condition))
    return {trial.value: outcomes[trial.name] for trial in trials if trial.name in outcomes}


# ---- sentences


def experiment_headline(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> str:
    """Return at how many settings the claim is seen; empty before every run has ended."""
    if len(outcomes) < len(experiment.trials):
        return ""
    if len(experiment.conditions) == 1:
        steps = compare_consecutive(experiment, outcomes)
        better = _count_of(sum(step.direction == "lower" for step in steps), len(steps))
        return f"The wider window is better with every seed at {better} steps."
    without, with_it = (condition.words for condition in experiment.conditions[:2])
    if experiment.claims_divergence:
        counts = []
        for condition in experiment.conditions[:2]:
            ends = [each for each in outcomes.values() if each.trial.condition == condition]
            counts.append(_count_of(sum(each.diverged_seeds > 0 for each in ends), len(ends)))
        return f"{capitalize(without)} training diverges at {counts[0]} learning rates, {with_it} at {counts[1]}."
    every = [each for part in experiment.panels for each in compare_conditions(experiment, part, outcomes)]
    lower, higher = (sum(each.direction == direction for each in every) for direction in ("lower", "higher"))
    return (
        f"{capitalize(with_it)} every seed ends lower at {_count_of(lower, len(every))} settings, higher at "
        f"{number_word(higher) if higher else 'none'}."
    )


def _count_of(count: int, total: int) -> str:
    return f"{number_word(count) if count else 'none'} of {number_word(total)}"


def experiment_finding(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> str:
    """Return what limits the result of an experiment, or in which of its runs a model diverged; "" if nothing does."""
    missing = len(experiment.trials) - len(outcomes)
    if not outcomes:
        return "No run of this experiment has ended yet."
    if missing:
        return f"{len(outcomes)} of {len(experiment.trials)} runs have ended. The result follows with the last one."
    if experiment.claims_divergence:
        return divergence_finding(experiment, outcomes)
    seeds = experiment.trials[0].config.replicas
    return "" if seeds >= SEEDS else f"{capitalize(count_seeds(seeds))} are too few to tell whether the claim holds."


def divergence_finding(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> str:
    """Return in which runs a model diverged after it had learned something."""
    without, with_it = (_diverged_settings(experiment, line, outcomes) for line in experiment.conditions[:2])
    first, second = (capitalize(line.words) for line in experiment.conditions[:2])
    ends = [each for each in outcomes.values() if each.trial.condition == experiment.conditions[0]]
    worst = format_short(max(each.worst_batch for each in ends))
    cost = f", up to {worst} bits per character" if without else ""
    return (
        f"{first} batches come to cost more than uniform guessing ({UNIFORM_BITS:.0f} bits per character) at "
        f"{join_words(without) or 'no setting'}{cost}. {second} that happens at {join_words(with_it) or 'no setting'}."
    )


def _diverged_settings(experiment: Experiment, condition: Condition, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the settings with diverged seeds, and how many seeds."""
    settings = []
    for part in experiment.panels:
        for value, each in outcomes_by_value(experiment, part, condition, outcomes).items():
            count, replicas = each.diverged_seeds, each.trial.config.replicas
            if count:
                share = "all" if count == replicas else f"{number_word(count)} of"
                setting = f"{value:g} with {part.words}" if part.words else f"{value:g}"
                settings.append(f"{setting} ({share} {count_seeds(replicas)})")
    return settings


def describe_outcome(outcome: Outcome | None) -> str:
    """Return mean and range of one run."""
    if outcome is None:
        return "–"
    if not outcome.is_finite:
        return "not finite"
    return format_interval(outcome.mean, outcome.bits.min(), outcome.bits.max(), 3)


def describe_difference(comparison: OutcomeComparison) -> str:
    """Return a difference with its confidence interval."""
    if comparison.direction == "same":
        return "none: identical losses"
    if comparison.first.worse_than_blind != comparison.second.worse_than_blind:
        return f"the {'first' if comparison.first.worse_than_blind else 'second'} is worse than uniform guessing"
    if comparison.difference is None:
        return "–"
    difference = comparison.difference
    mean, low, high = (format_signed(value, 3) for value in (difference.mean, difference.low, difference.high))
    return f"{mean} ({low} to {high})"


def format_short(value: float) -> str:
    """Return a gradient norm in a few characters: 1.3, or 1.3 × 10⁸."""
    if not math.isfinite(value):
        return "infinite"
    if value < 10_000:
        return f"{value:.2g}" if value < 100 else format_count(value)
    return format_scientific(value, 2)
