"""Lists every group of compared runs with what makes the comparison fair, and fails where a difference is not said.

    python -m benchmarks.compared_groups

For each run: the learning rates of its search, the best of them, the examples that one seed reads in training, its
parameters, optimizer and seeds; for each group: the data on which the rates were chosen. The rule is in
explorer/experiments/compared_groups.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import typer

from explorer.experiments.compared_groups import ComparedGroup, Fact, compared_groups
from explorer.experiments.learning_rates import SEEDS, best_rate, read_search
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.training.config import RunConfig
from explorer.ui.budgets import examples_read

FEWEST_RATES, FEWEST_SEEDS = 5, 3
MANY_SEEDS, SHORT = 8, 3.0  # as many seeds where every training of a group took so few seconds for each seed
PARAMETERS = 1.1  # largest ratio


def included_run(config: RunConfig) -> store.StoredRun:
    """Return the included run of a configuration. Raises LookupError."""
    run = store.find_by_config(config)
    if run is None:
        raise LookupError(f"No included run has the configuration of {config.title}.")
    return run


def optimizer_of(config: RunConfig) -> str:
    """Return the settings of the optimizer except the learning rate."""
    settings = {name: value for name, value in asdict(config.optimiser).items() if name != "learning_rate"}
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{value}" for name, value in settings.items()
    )


def facts_of(config: RunConfig) -> Mapping[Fact, object]:
    """Return the facts that have to be equal in a group."""
    return {
        "examples": examples_read(config),
        "parameters": included_run(config).card.parameters,
        "optimizer": optimizer_of(config),
        "seeds": config.replicas,
    }


def problems_of(group: ComparedGroup) -> Iterator[str]:
    """Yield what breaks the rule in a group and is not said by it, and what it says without need."""
    facts = {name: facts_of(config) for name, config in group.runs.items()}
    different = {
        fact for fact in ("examples", "optimizer", "seeds") if len({each[fact] for each in facts.values()}) > 1
    }
    sizes = [int(str(each["parameters"])) for each in facts.values()]
    different |= {"parameters"} if max(sizes) > PARAMETERS * min(sizes) else set()
    for fact in sorted(different ^ set(group.unequal)):
        yield f"{fact} differ, and the group does not say why" if fact in different else f"{fact} do not differ"
    seconds = max(included_run(config).card.seconds / config.replicas for config in group.runs.values())
    fewest = MANY_SEEDS if seconds < SHORT else FEWEST_SEEDS
    for name, config in group.runs.items():
        search = read_search(name)
        if len(search) < FEWEST_RATES or set(search) != set(group.rates):
            yield f"{name} was searched at {len(search)} rates of {len(group.rates)}"
        elif config.optimiser.learning_rate != best_rate(search):
            yield f"{name} has the rate {config.optimiser.learning_rate:g}, and {best_rate(search):g} is the best"
        if set(config.seeds) & set(SEEDS):
            yield f"{name} has seeds of the search"
        if config.replicas < fewest:
            yield f"{name} has {config.replicas} seeds, fewer than {fewest}"


def main() -> None:
    """Print a table and the problems. Exit with 1 if there is one."""
    print("| group | run | rates | best | examples | parameters | optimizer | seeds |\n" + "| --- " * 8 + "|")
    problems, included = [], set(shipped_configs().values())
    for name, group in compared_groups().items():
        for run, config in group.runs.items():
            facts = facts_of(config)
            cells = (name, run, len(read_search(run)), f"{config.optimiser.learning_rate:g}", *facts.values())
            print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |")
            problems += [] if config in included else [f"{name}: {run} is not included"]
        problems += [f"{name}: {problem}" for problem in problems_of(group)]
    print()
    for name, group in compared_groups().items():
        reasons = " ".join(f"Unequal {fact}: {why}." for fact, why in group.unequal.items())
        print(f"{name} ({group.shown}): rates chosen by {group.criterion} on {group.validation}. {reasons}")
    print(f"{len(problems)} problems in {len(compared_groups())} groups", *problems, sep="\n")
    if problems:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
