"""What a sweep tries: a base configuration, the values of some settings, and how they are searched.

    grid      every combination of the listed values
    random    a number of combinations, each value drawn at random from its list or range (Bergstra and Bengio 2012,
              "Random Search for Hyper-Parameter Optimization")

A combination is a trial: one run that trains all seeds of the sweep side by side. `trials` computes the trials from the
sweep, so a sweep is stored as its definition only.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

from explorer.environment import environment
from explorer.errors import InvalidSetting, shorten
from explorer.inspection.language.split_leakage import leak_sentence
from explorer.lazy_libraries import torch
from explorer.models.configs import NgramTextConfig
from explorer.seeds import generator
from explorer.tasks.text import corpora
from explorer.training import objective
from explorer.training.comparability import comparability, lower_is_better
from explorer.training.config import (
    RunConfig,
    key,
    parse_config,
    setting_declaration,
    setting_value,
    to_json,
    with_settings,
)

Value: TypeAlias = str | int | float | bool
Search: TypeAlias = Literal["grid", "random"]
HALVING_FACTOR = 3  # by default one third of the trials goes on at each rung, and trains three times as long
_EARLIEST = 27  # no rung before 1/27 of the steps: earlier, the order of trials says little about that at the end
CONFIRMATION_SEEDS = 8  # with fewer, `inspection/verdicts.py` gives no verdict
_CONFIRMATION_OFFSET = 1_000  # of the seeds of the confirmation, so that they are not those of the search
_ROUNDED_TO = 3  # digits of a number that is drawn from a range
_MOST_DRAWS = 50  # of a random search for each trial: combinations may repeat or be impossible
_MOST_NAMED = 3  # impossible combinations that a message names
_PLAIN_FIELDS = ("search", "number", "search_seed", "halving", "finalists", "metric")  # of a definition
_OTHERWISE_GIVEN = {
    "seed": "The seeds of a sweep are those of its base configuration; change `seed` there",
    "replicas": "The number of seeds is the same for all trials: give `seeds`",
    "evaluation_size": "It changes what is measured during training, and nothing that is learned",
    "threads": "Threads change no result that a sweep could compare",
    "snapshots": "Snapshots change no result that a sweep could compare",
}


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, from which a random search draws.

    log: draw uniformly on a logarithmic scale, as for a learning rate. Drawn numbers have three digits; a setting that
    takes whole numbers gets whole numbers.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        numbers = (self.low, self.high)
        if any(isinstance(n, bool) or not isinstance(n, int | float) or not math.isfinite(n) for n in numbers):
            raise InvalidSetting(
                f"A range is given by two numbers, not by {shorten(self.low)} and {shorten(self.high)}."
            )
        if not self.low < self.high:
            raise InvalidSetting(f"A range from {self.low:g} to {self.high:g} is empty. Give the smaller number first.")
        if self.log and self.low <= 0:
            raise InvalidSetting(f"A logarithmic range begins above 0, not at {self.low:g}. Give a positive number.")

    def value_at(self, share: float) -> float:
        """Return the number at a share (0 to 1) of the range."""
        if self.log:
            return math.exp(math.log(self.low) + share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class Trial:
    """One combination of values, and the run that trains it."""

    number: int  # counted from 1, in the order of the search
    settings: tuple[tuple[str, Value], ...]  # by name, in the order of the sweep
    config: RunConfig

    @property
    def key(self) -> str:
        """The key of the run."""
        return key(self.config)

    @property
    def label(self) -> str:
        """The values in words: “learning rate 0.003, width 32”."""
        return ", ".join(f"{name.replace('_', ' ')} {format_value(value)}" for name, value in self.settings)


@dataclass(frozen=True)
class Sweep:
    """The definition of a sweep; make it with `make_sweep`, which validates it.

    base: the configuration whose settings are changed; its seeds are those of every trial
    space: each searched setting by its name, with its values or its range
    search: every combination, or `number` random ones drawn with the seed `search_seed`
    halving: the factor of successive halving (see `controller.py`): at each rung one of so many trials goes on; 0: all
        trials are trained to their end
    finalists: how many of the best trials are trained again with new seeds, which decide; 0: none
    metric: what is compared, as its mean over the seeds
    """

    base: RunConfig
    space: tuple[tuple[str, tuple[Value, ...] | Range], ...]
    search: Search = "grid"
    number: int = 0
    search_seed: int = 0
    halving: int = HALVING_FACTOR
    finalists: int = 2
    metric: str = "loss"

    @cached_property
    def key(self) -> str:
        """The key of the sweep: a hash of its definition, as twelve characters."""
        text = json.dumps(sweep_to_json(self), sort_keys=True, separators=(",", ":"))
        return base64.b32encode(hashlib.sha256(text.encode()).digest())[:12].decode().lower()

    @property
    def lower_is_better(self) -> bool:
        """Whether small values of the metric are good."""
        return lower_is_better(self.metric)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the searched settings."""
        return tuple(name for name, _ in self.space)

    @property
    def rungs(self) -> tuple[int, ...]:
        """The steps at which trials are compared and given up; see `controller.py`."""
        return _rungs(self.base, len(trials(self)), self.halving, max(self.finalists, 1))

    def confirmation(self, trial: Trial) -> RunConfig:
        """Return the run that trains the values of a finalist with the new seeds."""
        return with_settings(
            trial.config, {"seed": self.base.seed + _CONFIRMATION_OFFSET, "replicas": CONFIRMATION_SEEDS}
        )


def make_sweep(
    base: RunConfig,
    space: Mapping[str, object],
    *,
    seeds: int = 3,
    search: str = "grid",
    number: int | None = None,
    search_seed: int = 0,
    halving: bool | int = True,
    finalists: int = 2,
    metric: str = "",
) -> Sweep:
    """Return a sweep whose values and combinations are all possible.

    base: the configuration whose settings are changed
    space: for each setting by its name a list of values, or for a random search a `Range`. A text is also possible:
        "1e-3,3e-3", or "1e-4:1e-1" and "1e-4:1e-1:log" for a range.
    number: the trials of a random search; the other arguments are those of `explorer.sweep`

    Raises InvalidSetting with the setting, combination or argument that is not possible.
    """
    if not isinstance(space, Mapping) or not space:
        raise InvalidSetting(
            'A sweep needs at least one setting with its values, as in {"learning_rate": [1e-3, 3e-3]}.'
        )
    if search not in ("grid", "random"):
        raise InvalidSetting(f"search = {shorten(search)} is not possible. Give grid or random.")
    if base.own_text and not corpora.is_personal():
        raise InvalidSetting(
            "A sweep stores its runs, and runs on a text of your own are private. Choose another corpus."
        )
    if base.branch:
        raise InvalidSetting("A sweep trains every trial from its start, so a branch cannot be its base.")
    if isinstance(base.model, NgramTextConfig) and (seeds != 1 or finalists):
        raise InvalidSetting(
            "An n-gram has no random numbers: every seed gives the same one. Give seeds = 1 and finalists = 0."
        )
    try:
        base = with_settings(base, {"replicas": _whole_number("seeds", seeds, 1)})
    except InvalidSetting as error:
        raise InvalidSetting(str(error).replace("replicas", "seeds", 1)) from error
    values = tuple((name, _parse_values(base, name, given)) for name, given in space.items())
    _check_twice(base, [name for name, _ in values])
    if search == "grid" and number is not None:
        raise InvalidSetting("A grid tries every combination, so it takes no number of trials. Leave `trials` out.")
    if search == "random" and number is None:
        raise InvalidSetting("A random search needs the number of its trials: give `trials`.")
    sweep = Sweep(
        base,
        values,
        search,  # type: ignore[arg-type]  # it was checked above
        _whole_number("trials", number, 1) if number is not None else 0,
        _whole_number("search_seed", search_seed, 0),
        _halving_factor(halving),
        _whole_number("finalists", finalists, 0),
        metric or default_metric(base),
    )
    if sweep.metric not in (recorded := recorded_metrics(base)):
        raise InvalidSetting(
            f"Runs of this task do not record “{shorten(sweep.metric)}”. There is {', '.join(recorded)}."
        )
    _check_number(sweep)
    found = trials(sweep)  # raises for impossible combinations
    if len(found) < 2:
        raise InvalidSetting("A sweep compares at least two trials; these values give one. Give more values.")
    _check_comparable(sweep, [trial.config for trial in found])
    if sweep.finalists == 1:
        raise InvalidSetting("finalists = 1 is not possible: one trial is not compared with anything. Give 0 or 2.")
    sweep = replace(sweep, finalists=min(sweep.finalists, len(found)))
    return _with_possible_halving(sweep, found, asked=halving is not True)


def _check_comparable(sweep: Sweep, configs: Sequence[RunConfig]) -> None:
    """Raise InvalidSetting with the nearest possible question if the metric of these trials cannot be compared."""
    if not (differences := comparability(configs, sweep.metric)):
        return
    possible = [name for name in recorded_metrics(sweep.base) if not comparability(configs, name)]
    names = " and ".join(f"`{name}`" for name in sweep.names if hasattr(sweep.base.task, name.rpartition(".")[2]))
    reasons = f"{'; '.join(each.sentence for each in differences)}. {leak_sentence(configs)}".strip()
    advice = f"Give metric = {' or '.join(possible)}, or keep" if possible else "Keep"
    raise InvalidSetting(
        f"These trials cannot be ranked by {sweep.metric}: {reasons} {advice} {names} the same in all trials and "
        f"search other settings: a sweep for each value of {names} shows what is best for it."
    )


def default_metric(config: RunConfig) -> str:
    """Return the metric that a sweep compares by default: bits per byte, or the loss on data not trained on."""
    recorded = recorded_metrics(config)
    return next(
        (
            name
            for name in ("bits_per_byte", "val_loss", "test_loss", "loss", "second_copy_loss", "train_loss")
            if name in recorded
        ),
        recorded[0],
    )


@lru_cache(maxsize=256)
def recorded_metrics(config: RunConfig) -> tuple[str, ...]:
    """Return the metrics that a run of this configuration records."""
    return objective.objective_class(config.task).layout(config).metrics


@lru_cache(maxsize=64)
def trials(sweep: Sweep) -> tuple[Trial, ...]:
    """Return the trials of a sweep, always the same ones in the same order.

    Raises InvalidSetting if a combination of a grid is not possible, or if a random search finds too few.
    """
    return _grid_trials(sweep) if sweep.search == "grid" else _random_trials(sweep)


def possible_runs(sweep: Sweep) -> tuple[str, ...]:
    """Return the keys of all runs that a sweep may train: those of its trials, and of their confirmations."""
    every = trials(sweep)
    return (*(trial.key for trial in every), *(key(sweep.confirmation(trial)) for trial in every if sweep.finalists))


def sweep_to_json(sweep: Sweep) -> dict[str, Any]:
    """Return the definition of a sweep as JSON-compatible data."""
    return {
        "base": to_json(sweep.base),
        "space": [
            [name, {"low": v.low, "high": v.high, "log": v.log} if isinstance(v, Range) else list(v)]
            for name, v in sweep.space
        ],
        **{name: getattr(sweep, name) for name in _PLAIN_FIELDS},
    }


def parse_sweep(data: Mapping[str, Any]) -> Sweep:
    """Return the sweep of a stored definition. Raises InvalidSetting if this version cannot carry it out."""
    try:
        base = parse_config(data["base"])
        return make_sweep(
            base,
            {name: Range(**given) if isinstance(given, dict) else given for name, given in data["space"]},
            seeds=base.replicas,
            **{name: data[name] for name in _PLAIN_FIELDS}
            | {"number": data["number"] or None, "halving": data["halving"] or False},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidSetting("This is not the definition of a sweep.") from error


def format_value(value: Value) -> str:
    """Return a value of a setting as text; different values have different texts."""
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_values(base: RunConfig, name: str, given: object) -> tuple[Value, ...] | Range:
    """Return the values of a setting as this setting stores them. Raises InvalidSetting."""
    if not isinstance(name, str):
        raise InvalidSetting(f"A setting is given by its name, not by {shorten(name)}.")
    last = name.rpartition(".")[2]
    if last in _OTHERWISE_GIVEN and "." not in name:
        raise InvalidSetting(f"`{name}` cannot be searched. {_OTHERWISE_GIVEN[last]}.")
    try:
        setting_value(base, name)
    except KeyError:
        with_settings(base, {name: None})  # raises with the nearest names
    if isinstance(given, str):
        given = _parse_text(given)
    if isinstance(given, Range):
        if setting_declaration(base, name).metadata["high"] is None:
            raise InvalidSetting(f"`{name}` is no number, so it has no range. Give a list of its values.")
        for number in (given.low, given.high):
            with_settings(base, {name: round(number) if _is_whole(base, name) else number})
        return given
    if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping):
        found = [setting_value(with_settings(base, {name: value}), name) for value in given]
        if found:
            return tuple(dict.fromkeys(found))
        raise InvalidSetting(f"`{name}` has no values. Give a list of values, or a range.")
    raise InvalidSetting(f"`{name}` = {shorten(given)} is not possible. Give a list of values, or a range.")


def _parse_text(text: str) -> list[str] | Range:
    """Return the values "1,2,3", or the range "1:9" or "1:9:log". Raises InvalidSetting."""
    if ":" not in text:
        return [part.strip() for part in text.split(",") if part.strip()]
    parts = [part.strip() for part in text.split(":")]
    try:
        if len(parts) > 3 or (len(parts) == 3 and parts[2] != "log"):
            raise ValueError
        return Range(float(parts[0]), float(parts[1]), log=len(parts) == 3)
    except ValueError:
        raise InvalidSetting(
            f"“{shorten(text)}” is no range. Write it as LOW:HIGH or LOW:HIGH:log, e.g. 1e-4:1e-1:log."
        ) from None


def _is_whole(base: RunConfig, name: str) -> bool:
    return isinstance(setting_value(base, name), int)


def _check_twice(base: RunConfig, names: list[str]) -> None:
    """Raise InvalidSetting if a setting is named twice, once with its section (`layers` and `model.layers`)."""
    declared = [setting_declaration(base, name) for name in names]
    for i, name in enumerate(names):
        if any(other is declared[i] for other in declared[:i]):
            raise InvalidSetting(f"`{name}` is given twice. Give all of its values once.")


def _whole_number(name: str, value: object, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InvalidSetting(f"{name} = {shorten(value)} is not possible. Give a whole number of at least {low}.")
    return value


def _halving_factor(halving: bool | int) -> int:
    if isinstance(halving, bool):
        return HALVING_FACTOR if halving else 0
    if not isinstance(halving, int) or not 2 <= halving <= 10:
        raise InvalidSetting(
            f"halving = {shorten(halving)} is not possible. Give True, False or a factor from 2 to 10."
        )
    return halving


def _check_number(sweep: Sweep) -> None:
    most, count = environment().most_trials, sweep.number
    if sweep.search == "grid":
        count = 1
        for name, values in sweep.space:
            if isinstance(values, Range):
                raise InvalidSetting(
                    f"A grid needs a list of values for `{name}`, not a range. Or take a random search."
                )
            count *= len(values)
    if count > most:
        raise InvalidSetting(
            f"This sweep has {count:,} trials; {most:,} are possible. Give fewer values."
        ).for_operator("The limit is LINEAGE_MOST_TRIALS.")


def _make_trial(sweep: Sweep, number: int, values: Iterable[Value]) -> Trial:
    config = with_settings(sweep.base, dict(zip(sweep.names, values, strict=True)))
    return Trial(number, tuple((name, setting_value(config, name)) for name in sweep.names), config)


def _grid_trials(sweep: Sweep) -> tuple[Trial, ...]:
    found: list[Trial] = []
    impossible: list[str] = []
    for values in itertools.product(*(values for _, values in sweep.space if not isinstance(values, Range))):
        try:
            found.append(_make_trial(sweep, len(found) + 1, values))
        except InvalidSetting as error:
            words = ", ".join(f"{name} = {format_value(v)}" for name, v in zip(sweep.names, values, strict=True))
            impossible.append(f"{words} ({str(error).split('. ')[0].rstrip('.')})")
    if impossible:
        more = f", and {len(impossible) - _MOST_NAMED} more" if len(impossible) > _MOST_NAMED else ""
        raise InvalidSetting(
            f"These combinations are not possible: {'; '.join(impossible[:_MOST_NAMED])}{more}. Leave out a value of "
            "each, or take a random search, which draws other values instead."
        )
    return tuple(found)


def _random_trials(sweep: Sweep) -> tuple[Trial, ...]:
    stream = generator(sweep.search_seed, "sweep")

    def uniform() -> float:
        return float(torch.rand((), generator=stream, dtype=torch.float64))

    found: dict[str, Trial] = {}
    problem = ""
    for _ in range(sweep.number * _MOST_DRAWS):
        if len(found) == sweep.number:
            break
        drawn = [_draw(sweep, name, values, uniform) for name, values in sweep.space]
        try:
            trial = _make_trial(sweep, len(found) + 1, drawn)
        except InvalidSetting as error:
            problem = f" One that is not possible: {error}"
        else:
            found.setdefault(trial.key, trial)
    if len(found) < sweep.number:
        raise InvalidSetting(
            f"Only {len(found):,} different combinations were found for {sweep.number:,} trials. Give fewer trials, or "
            f"more values.{problem}"
        )
    return tuple(found.values())


def _draw(sweep: Sweep, name: str, values: tuple[Value, ...] | Range, uniform: Callable[[], float]) -> Value:
    share = uniform()
    if not isinstance(values, Range):
        return values[min(int(share * len(values)), len(values) - 1)]
    number = values.value_at(share)
    return round(number) if _is_whole(sweep.base, name) else float(f"{number:.{_ROUNDED_TO}g}")


def _rungs(base: RunConfig, count: int, factor: int, least: int) -> tuple[int, ...]:
    """Return the steps of the rungs, the first one first: the snapshots nearest to steps / factor^i."""
    if not factor:
        return ()
    possible = [step for step in base.snapshot_steps if 0 < step < base.steps]
    found: list[int] = []
    left, share = count, 1.0
    while math.ceil(left / factor) >= least and left > least and possible and factor ** (len(found) + 1) <= _EARLIEST:
        left, share = math.ceil(left / factor), share / factor
        found.append(min(possible, key=lambda step: abs(math.log(step / (base.steps * share)))))
        possible = [step for step in possible if step < found[-1]]
    return tuple(reversed(found))


def _with_possible_halving(sweep: Sweep, found: tuple[Trial, ...], asked: bool) -> Sweep:
    """Return the sweep without halving where there is nothing to halve. Raises InvalidSetting if trials differ."""
    if not sweep.halving:
        return sweep
    steps = sorted({trial.config.steps for trial in found})
    if len(steps) > 1 or len({trial.config.snapshot_steps for trial in found}) > 1:
        raise InvalidSetting(
            "Halving compares trials after the same number of steps, and these take "
            f"{' or '.join(f'{count:,}' for count in steps[:4])}{' …' * (len(steps) > 4)} steps. Keep epochs, steps "
            "and batch size fixed, or set halving off."
        )
    if any(trial.config.stop_at or trial.config.patience for trial in found):
        raise InvalidSetting(
            "Halving compares trials after the same number of steps, so they cannot end early by themselves. Leave "
            "stop_at and patience out, or set halving off."
        )
    if not sweep.rungs and not asked:
        return replace(sweep, halving=0)
    if not sweep.rungs:
        raise InvalidSetting(
            f"With {len(found)} trials of {steps[0]:,} steps there is nothing to halve. Set halving off, or give more "
            "values."
        )
    return sweep
