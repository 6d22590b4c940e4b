"""Whether the answers of the lessons hold with other seeds.

    LINEAGE_HOME=FOLDER python -m benchmarks.lessons [NAME ...] [--seed 400 --seed 500] [--seconds 20]

Trains every run that the lessons measure again with other seeds in place of 0 (the first seed of a run; default: 100,
200, 300), with as many replicas and steps, and measures every step again. The steps with the shortest training come
first, and each is printed when it is measured. Trained runs are stored in LINEAGE_HOME, so that a second call
continues; give it a folder of its own. Runs on Tiny Shakespeare need it (LINEAGE_DATA_DIR). A step without a run
(random vectors, untrained models, a product) is measured once. An answer that was changed because of some seeds is
tested by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from explorer.errors import InvalidSetting
from explorer.lessons.grading import Answer, describe_measurement, grade_step
from explorer.lessons.lesson import Step
from explorer.lessons.measures import measure
from explorer.lessons.parse import read_lessons
from explorer.run_store import store
from explorer.training.config import with_settings
from explorer.training.recorder import record_run

SEEDS = (100, 200, 300)
RUNS = ("run", "other")  # settings of a measure that may name a run


def runs_of(step: Step) -> set[str]:
    """Return the names of the included runs that a step measures."""
    named = {str(each.settings[name]) for each in step.measurement.subjects for name in RUNS if name in each.settings}
    return named & set(store.pretrained_folders().values())


def with_runs(step: Step, names: Mapping[str, str]) -> Step:
    """Return a step that measures other runs in place of those of this name."""

    def renamed(settings: Mapping[str, object]) -> dict[str, object]:
        return {name: names.get(str(value), value) if name in RUNS else value for name, value in settings.items()}

    subjects = tuple(replace(each, settings=renamed(each.settings)) for each in step.measurement.subjects)
    return replace(step, measurement=replace(step.measurement, subjects=subjects))


def train_with_seed(name: str, seed: int) -> str:
    """Train an included run with another first seed, unless it is stored, and return its key."""
    config = with_settings(store.find(name).config, {"seed": seed})
    if (stored := store.find_by_config(config)) is None:
        stored = store.save_run(record_run(config), store.run_folder(config))
        print(f"  trained {name} with seed {seed}: {stored.card.seconds:.0f} s", flush=True)
    return stored.key


def has_other_seeds(name: str) -> bool:
    """Return whether another seed gives another run: an n-gram that is fitted by counting has no random numbers."""
    return store.find(name).config.model_name != "ngram"


def training_seconds(step: Step) -> float:
    """Return how long the runs of a step took to train, from their cards."""
    return sum(store.find(name).card.seconds for name in runs_of(step) if has_other_seeds(name))


def grade_with_seeds(step: Step, seeds: Sequence[int]) -> dict[int, Answer]:
    """Measure a step with the included runs (seed 0) and with runs of each other seed, which are trained if needed."""
    names = list(filter(has_other_seeds, runs_of(step)))
    keys = {seed: {name: train_with_seed(name, seed) for name in names} for seed in seeds} if names else {}
    return {seed: grade_step(with_runs(step, runs), measure) for seed, runs in {0: {}, **keys}.items()}


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Names of lessons. Default: all.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Skip steps with a run whose training took longer on its card.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="First seed of a set; may be repeated.")] = None,
) -> None:
    """Train the runs of the lessons with other seeds and grade every step. Exit with 1 if an answer does not hold."""
    lessons = {each.name: each for each in read_lessons()}
    if unknown := set(names or ()) - set(lessons):
        raise InvalidSetting(f"There is no lesson {', '.join(unknown)}. There is {', '.join(lessons)}.")
    steps = [
        (name, number, step)
        for name in names or lessons
        for number, step in enumerate(lessons[name].steps, start=1)
        if not step.real_model  # its weights have no other seeds
        and (seconds is None or all(store.find(run).card.seconds < seconds for run in runs_of(step)))
    ]
    steps.sort(key=lambda each: training_seconds(each[2]))
    failed = []
    for name, number, step in steps:
        expects = step.expects if isinstance(step.expects, str) else " to ".join(f"{each:g}" for each in step.expects)
        print(f"{name} {number}: {step.question.text} Expected: {expects}.")
        holds = True
        for first, answer in grade_with_seeds(step, seed or SEEDS).items():
            is_expected = answer.agrees and len(answer.right) <= 1
            described = describe_measurement(step, answer).removeprefix("Measured: ")
            print(f"  seed {first:3}  {'holds' if is_expected else 'FAILS'}  {described}", flush=True)
            holds = holds and is_expected
        failed += [] if holds else [f"{name} {number}"]
    left_out = sum(len(lessons[name].steps) for name in names or lessons) - len(steps)
    print(f"{len(steps) - len(failed)} of {len(steps)} answers hold with every seed; {left_out} left out. {failed}")
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
