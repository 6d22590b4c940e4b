"""Sentences about recall, made from numbers: who solves it, who holds it longer, and whose answer is a clock's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.tasks.recall import LONGEST_ASKED, RecallConfig, asked_lengths
from explorer.training.config import RunConfig
from explorer.training.recall_runs import LENGTHS, SOLVED, Contestant
from explorer.training.record import Curves
from explorer.ui.findings import capital, listed, number, seeds

_MORE = " With more, others may solve it."
CLOCK = 0.25  # below chance by so much, one symbol further: not lost, but wrong


@dataclass(frozen=True)
class Recalled:
    """What became of one run."""

    contestant: Contestant
    config: RunConfig
    accuracy: Float[ndarray, " replicas"]  # at the trained length, on fresh sequences
    first: Int[ndarray, " replicas"]  # the evaluated step from which on a seed had solved it; -1: never
    lengths: tuple[int, ...]
    by_length: Float[ndarray, "replicas lengths"]  # NaN where it was stopped before it was asked

    @property
    def solved(self) -> int:
        """How many seeds solve it."""
        return int((self.accuracy >= SOLVED).sum())

    def at(self, length: int, solvers: bool = False) -> Float[ndarray, " replicas"]:
        """Accuracy at one of the lengths asked; of all seeds, or of those that solve the trained one."""
        values = self.by_length[:, self.lengths.index(length)]
        return values[self.accuracy >= SOLVED] if solvers else values


def recalled(contestant: Contestant, config: RunConfig, curves: Curves) -> Recalled | None:
    """None before the first evaluation."""
    found = curves.metrics.get("accuracy")
    if found is None or not len(found):
        return None
    there = found >= SOLVED
    # Solved for good: from the step on after which it never fell below again.
    stays = np.flip(np.logical_and.accumulate(np.flip(there, 0), axis=0), 0)
    first = np.where(stays.any(axis=0), curves.evaluated[stays.argmax(axis=0)], -1)
    return Recalled(
        contestant,
        config,
        found[-1],
        first,
        asked_lengths(config.on(RecallConfig).length),
        curves.answers["by_length"][-1],
    )


def who(names: Sequence[Contestant]) -> str:
    """Several, those of one start together: the LSTM and the GRU with open gates."""
    by_words: dict[str, list[str]] = {}
    for each in names:
        by_words.setdefault(each.words, []).append(f"the {MODELS[each.model].title}")
    return listed([f"{listed(titles)} {words}" for words, titles in by_words.items()])


def verdict(found: Mapping[str, Recalled], length: int) -> str:
    """Who names the first symbol, and in how many seeds."""
    if not found:
        return ""
    every = [each for each in found.values() if each.solved == len(each.accuracy)]
    never = [each for each in found.values() if not each.solved]
    some = [each for each in found.values() if 0 < each.solved < len(each.accuracy)]
    parts = []
    if every:
        parts.append(f"{who([e.contestant for e in every])} in every seed")
    parts += [f"{who([e.contestant])} in {number(e.solved)} of {number(len(e.accuracy))}" for e in some]
    if never:
        parts.append(f"{who([e.contestant for e in never])} in none")
    told = "; ".join(parts)
    symbols = "symbol" if length == 1 else "symbols"
    return f"Who can name the first of {length:,} {symbols}? {capital(told)}."


def budgets(found: Mapping[str, Recalled]) -> str:
    """For how many steps each was trained: “in none” is said of these."""
    more = "" if all(each.solved == len(each.accuracy) for each in found.values()) else _MORE
    by_steps: dict[int, list[str]] = {}
    for each in found.values():
        titles = by_steps.setdefault(each.config.steps, [])
        if MODELS[each.contestant.model].title not in titles:
            titles.append(MODELS[each.contestant.model].title)
    if len(by_steps) == 1:
        return f"All were trained for {next(iter(by_steps)):,} steps.{more}"
    told = [f"{listed(titles)} {steps:,}" for steps, titles in sorted(by_steps.items())]
    return f"Steps of training: {'; '.join(told)}.{more}"


def elsewhere(found: Mapping[str, Recalled], length: int) -> list[str]:
    """What the solvers do at lengths that they were not trained at."""
    solvers = [each for each in found.values() if each.solved and not np.isnan(each.by_length).all()]
    told = []
    far = min(LONGEST_ASKED, max(asked_lengths(length)))
    if far > length:
        kept = [e for e in solvers if e.at(far, True).min() >= SOLVED]
        lost = [e for e in solvers if e not in kept]
        if kept:
            told.append(
                f"Trained at {length:,}, asked at {far:,}: {listed([_solvers(each) for each in kept])} still know."
            )
        for each in lost:
            values = each.at(far, True)
            told.append(
                f"Asked at {far:,}, {_solvers(each)} {'is' if each.solved == 1 else 'are'} right in {_share(values)}."
            )
    for each in solvers:
        beside = each.at(length + 1, True)
        chance = 1 / each.config.on(RecallConfig).symbols
        clocks = int((beside <= chance - CLOCK).sum())
        if clocks:
            told.append(
                f"One symbol further, at {length + 1:,}, {number(clocks)} of the {seeds(each.solved)} of "
                f"{who([each.contestant])} {'is' if clocks == 1 else 'are'} not lost but wrong: right in "
                f"{_share(beside[beside <= chance - CLOCK])}. What such a net learned is a clock that is right at "
                f"{length:,}.{_rest(beside[beside > chance - CLOCK])}"
            )
    return told


def _solvers(each: Recalled) -> str:
    """The seeds of a run that solve it: all eight seeds of the GRU with open gates."""
    many = len(each.accuracy)
    some = f"all {seeds(many)}" if each.solved == many > 1 else f"{number(each.solved)} of {seeds(many)}"
    return f"{some} of {who([each.contestant])}"


def _rest(others: Float[ndarray, " seeds"]) -> str:
    return f" The others are right in {_share(others)} there." if len(others) else ""


def _share(values: Float[ndarray, " seeds"]) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def moves(found: Mapping[tuple[float, int], Recalled], names: str) -> str:
    """Where a net ends at each step size: no length is the end, it moves."""
    ends: dict[float, int] = {}
    for (rate, length), each in found.items():
        if each.solved:
            ends[rate] = max(ends.get(rate, 0), length)
        else:
            ends.setdefault(rate, 0)
    if len(ends) < 2:
        return ""
    told = [f"{end:,} at a step size of {rate:g}" if end else f"none at {rate:g}" for rate, end in sorted(ends.items())]
    return f"The longest that any seed of {names} solves: {listed(told)}."


def ends(found: Mapping[str, Mapping[int, Recalled]]) -> str:
    """Who solves every length of the sweep in every seed, who none, and where luck decides."""
    whole: list[Contestant] = []
    never: list[Contestant] = []
    luck: list[Contestant] = []
    for of in found.values():
        if len(of) < len(LENGTHS):
            continue  # nothing is said of a row with holes
        each = next(iter(of.values())).contestant
        solved = [(r.solved, len(r.accuracy)) for r in of.values()]
        group = whole if all(s == n for s, n in solved) else never if not any(s for s, _ in solved) else luck
        group.append(each)
    parts = []
    if whole:
        parts.append(f"{capital(who(whole))} solve{'s' * (len(whole) == 1)} every length here in every seed.")
    if never:
        parts.append(f"{capital(who(never))} solve{'s' * (len(never) == 1)} none.")
    if luck:
        parts.append(f"For {who(luck)} it depends on the length and on the seed.")
    return " ".join(parts)


def trapped(ended: Mapping[str, Curves]) -> list[str]:
    """What training for longer makes of each net: of its own sequences, and of fresh ones, seed by seed."""
    told = []
    for model, curves in ended.items():
        own, fresh = (curves.last(name) for name in ("train_accuracy", "accuracy"))
        learned = fresh >= SOLVED
        said = f"After {curves.step:,} steps the {MODELS[model].title} is right in {_share(own)} of its own sequences. "
        if learned.all():
            said += f"On fresh ones too: {_share(fresh)}."
        elif not learned.any():
            said += f"On fresh ones, in {_share(fresh)}."
        else:
            few, rest = int(learned.sum()), int((~learned).sum())
            said += (
                f"On fresh ones {number(rest)} of {seeds(len(fresh))} {'is' if rest == 1 else 'are'} right in "
                f"{_share(fresh[~learned])}; {number(few)} {'has' if few == 1 else 'have'} learned it."
            )
        told.append(said)
    return told


def stopped(ended: Mapping[str, Curves], step: int) -> str:
    """What the notebook would have seen here, at the step at which it stops: means over the seeds."""
    told = []
    for model, curves in ended.items():
        at = int(np.searchsorted(curves.evaluated, step))
        if at < len(curves.evaluated) and curves.evaluated[at] == step:
            own, fresh = (float(curves.metrics[name][at].mean()) for name in ("train_accuracy", "accuracy"))
            told.append(f"{MODELS[model].title} {own:.2f} and {fresh:.2f}")
    return f"At step {step} here, on its own and on fresh sequences, mean: {'; '.join(told)}." if told else ""
