"""Claims that are measured again with seeds that nobody saw: the same trainings in several draws.

A draw is a number. Draw 47 trains every run that a claim names with 4,700 as its first seed, with as many replicas and
steps as the included run. Without a number, the draws begin at random. Trained runs are stored in LINEAGE_HOME, so that
a second call with the same number continues; give it a folder of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import typer

from explorer.lessons.grading import UndefinedMeasurement
from explorer.run_store import store
from explorer.training.config import with_settings
from explorer.training.recorder import record_run

COUNT = typer.Option("--draws", help="Number of draws; with 0 nothing is trained.")
DRAW = typer.Option(help="First draw. Default: a random one.")
SECONDS = typer.Option(help="No draws of claims with a run whose training took longer on its card.")
_MOST_REPLICAS, _DRAWS = 100, 1_000_000
_RUNS = ("run", "other")  # settings of a measure that name runs


@dataclass(frozen=True)
class Claim:
    """A general statement, the measure of runs that has to confirm it, and what is expected."""

    text: str
    shown: str  # page, or step of a lesson
    measure: str
    expected: str
    runs: tuple[str, ...]  # included runs
    evaluate: Callable[
        [Mapping[str, str]], tuple[str, bool]
    ]  # keys in place of names of runs -> value, whether it holds
    needs_text: bool = False  # whether it is measured on Tiny Shakespeare

    @cached_property
    def seeded_runs(self) -> tuple[str, ...]:
        """The runs that have other seeds: an n-gram that is fitted by counting has no random numbers."""
        return tuple(name for name in self.runs if store.find(name).config.model_name != "ngram")

    @property
    def seconds(self) -> float:
        """How long the training of its longest run took, from its card."""
        return max((store.find(name).card.seconds for name in self.seeded_runs), default=0.0)


@dataclass(frozen=True)
class DrawResults:
    """What a claim measured with the included runs, then in each draw."""

    values: tuple[str, ...]
    held: tuple[bool, ...]

    @property
    def count(self) -> str:
        """With how many sets of seeds the claim holds; empty if there are no draws."""
        return f"{sum(self.held)} of {len(self.held)}" if len(self.held) > 1 else ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds with the included runs, and with nine of ten sets of seeds."""
        return self.held[0] and sum(self.held) >= 0.9 * len(self.held)


def runs_in(settings: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the names of included runs in the settings of measures."""
    named = (each for row in settings for name in _RUNS for each in str(row.get(name, "")).split())
    included = set(store.pretrained_folders().values())
    return tuple(each for each in dict.fromkeys(named) if each in included)


def rename_runs(settings: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a measure with other runs in place of those of these names."""
    named = {name: value for name in _RUNS if isinstance(value := settings.get(name), str)}
    return {**settings, **{name: " ".join(keys.get(each, each) for each in named[name].split()) for name in named}}


def choose_draws(count: int, first: int | None) -> range:
    """Return the numbers of some draws, which begin at random if no first one is given."""
    first = random.SystemRandom().randrange(1, _DRAWS) if first is None else first
    if count:
        print(f"Draws {first} to {first + count - 1}; --draw {first} repeats them.", flush=True)
    return range(first, first + count)


def train_draw(name: str, draw: int) -> str:
    """Train an included run with the seeds of a draw, unless it is stored, and return its key."""
    config = with_settings(store.find(name).config, {"seed": _MOST_REPLICAS * draw})
    if (stored := store.find_by_config(config)) is None:
        stored = store.save_run(record_run(config), store.run_folder(config))
        print(f"  trained {name} in draw {draw}: {stored.card.seconds:.0f} s", flush=True)
    return stored.key


def _measure_draw(claim: Claim, draw: int | None) -> tuple[str, bool]:
    try:
        return claim.evaluate({} if draw is None else {name: train_draw(name, draw) for name in claim.seeded_runs})
    except UndefinedMeasurement as problem:  # no number with these seeds
        return str(problem), False


def measure_claims(claims: Sequence[Claim], draws: range, seconds: float) -> list[DrawResults]:
    """Measure claims with the included runs and in draws; print each that was drawn, the shortest training first."""
    found = {}
    for claim in sorted(claims, key=lambda each: each.seconds):
        is_drawn = claim.seeded_runs and claim.seconds < seconds
        results = [_measure_draw(claim, draw) for draw in (None, *(draws if is_drawn else ()))]
        found[id(claim)] = DrawResults(*zip(*results, strict=True))
        if draws and is_drawn:
            print(f"{claim.shown}: {claim.text} Expected: {claim.expected}.")
            for draw, (value, held) in zip(("included", *draws), results, strict=True):
                print(f"  {draw:8}  {'holds' if held else 'FAILS'}  {value}", flush=True)
    return [found[id(claim)] for claim in claims]


def report(claims: Sequence[Claim], found: Sequence[DrawResults], seconds: float) -> None:
    """Print which claims do not hold and how many were not drawn. Exit with 1 if one does not hold."""
    long = sum(claim.seconds >= seconds for claim in claims)
    failed = [(claim, each) for claim, each in zip(claims, found, strict=True) if not each.holds]
    print(
        f"{len(claims) - len(failed)} of {len(claims)} claims hold. {long} with a training of {seconds:g} s or more "
        "are left out of the draws."
    )
    for claim, each in failed:
        print(f"{sum(each.held)} of {len(each.held)}: {claim.shown}: {claim.text} Measured: {each.values[0]}")
    if failed:
        raise typer.Exit(1)
