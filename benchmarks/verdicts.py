"""How often equal models are called different, with and without the correction for many comparisons.

    python -m benchmarks.verdicts [--draws 10000]

Every draw compares equal models as a page does: the best of them with each of the others. Counted are the draws in
which at least one model is called worse. The values are normal with the same mean and spread, or whole-or-nothing with
the same chance; `alike` draws share half of their variance between models that have the same seed.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from explorer.inspection.verdicts import LEVEL, compare_with_best


def share_called_worse(
    models: int,
    seeds: int,
    paired: bool,
    solved: bool,
    draws: int,
    shared_variance: float = 0.0,
    corrected: bool = True,
) -> float:
    """Return the share of draws in which at least one of equal models is called worse than the best.

    models, seeds: how many are compared, and the values of each.
    paired: whether the test compares pairs of seeds.
    solved: whether a value is whole-or-nothing (with a chance of 1/2) instead of normal.
    draws: how many comparisons are simulated.
    shared_variance: share of the variance that models have in common for the same seed.
    corrected: whether p values are corrected for the number of comparisons.
    """
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(draws):
        own, common = rng.normal(size=(models, seeds)), rng.normal(size=seeds)
        values = np.sqrt(1 - shared_variance) * own + np.sqrt(shared_variance) * common
        found = compare_with_best({str(i): row > 0 if solved else row for i, row in enumerate(values)}, paired)
        if found:
            p_values = [each.p if corrected else each.difference.p for each in found.others.values()]
            count += min(p_values) <= LEVEL
    return count / draws


def main(draws: Annotated[int, typer.Option(help="Comparisons in each row.")] = 10_000) -> None:
    """Print a row for each kind of comparison."""
    print(f"{'models':>6} {'seeds':>6} {'values':16} {'test':20} {'corrected':>9} {'uncorrected':>11}")
    for models, seeds in ((2, 8), (5, 8), (7, 8), (5, 24)):
        for solved in (False, True):
            for paired, shared in ((False, 0.0), *(() if solved else ((True, 0.0), (True, 0.5)))):
                rates = [
                    share_called_worse(models, seeds, paired, solved, draws, shared, corrected)
                    for corrected in (True, False)
                ]
                test = ("pairs, alike" if shared else "pairs") if paired else "groups"
                kind = "whole-or-nothing" if solved else "normal"
                print(f"{models:6} {seeds:6} {kind:16} {test:20} {rates[0]:9.1%} {rates[1]:11.1%}")


if __name__ == "__main__":
    typer.run(main)
