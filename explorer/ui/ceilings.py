"""The ceiling of counting in words, as a formula with this world's numbers, and over every probability."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from explorer.tasks.ceiling import ceiling, cross_entropy_accuracy
from explorer.tasks.negation import Negation, NegationConfig


def ceiling_formula(task: NegationConfig, best: float) -> str:
    """The ceiling as a formula with this world's numbers in it."""
    p = task.p_not
    if task.max_nots == 1:
        return rf"1 - \tfrac{{1}}{{3}}\min(p, 1 - p) = 1 - \tfrac{{1}}{{3}}\cdot {min(p, 1 - p):.4g} = {best:.4f}"
    return (
        rf"\max_{{\pm}} \sum_{{\text{{verb}}}} \max_{{t}} P(\text{{verb}},\, k\ \text{{nots}}\colon\ "
        rf"[k \ge t]^{{\pm}} = \text{{truth}}) = {best:.4f}"
    )


def ceiling_words(task: NegationConfig) -> str:
    """What stands in that formula."""
    if task.max_nots == 1:
        return (
            f"“Not” stands in {100 * task.p_not:.3g} of 100 sentences and each verb in a third of them. The cheapest "
            f"to give up is one verb {'with' if task.p_not <= 0.5 else 'without'} its “not”."
        )
    return (
        "With its one weight, “not” can only push all verbs the same way. So each verb says *sustain* from some number "
        "of “not”s on (or up to some number), and each may choose its number t: the best is found by trying all."
    )


@lru_cache(maxsize=64)
def marks_by_chance(max_nots: int, held_out: str) -> tuple[list[float], list[float], list[float]]:
    """The ceiling and the cross-entropy mark for every probability of "not" between 0 and 1."""
    chances = [round(float(p), 4) for p in np.linspace(0.005, 0.995, 199)]
    worlds = [Negation(NegationConfig(p_not=p, max_nots=max_nots, held_out=held_out)).sentences for p in chances]  # type: ignore[arg-type]
    return chances, [ceiling(w) for w in worlds], [cross_entropy_accuracy(w) for w in worlds]
