"""The ceiling of counting in words, as a formula with this world's numbers, and over every probability."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from explorer.figures import counting
from explorer.tasks.ceiling import ceiling, cross_entropy_accuracy
from explorer.tasks.negation import Negation, NegationConfig
from explorer.ui.components import Panel


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


@lru_cache(maxsize=64)
def ceiling_panel(task: NegationConfig, best: float, led: float, reached: tuple[float, ...]) -> Panel:
    """Both marks of counting for every P(not), and where the seeds of a bag of words ended."""
    chances, ceilings, leads = marks_by_chance(task.max_nots, task.held_out)
    return Panel(
        "ceiling",
        counting.ceiling_by_chance(chances, ceilings, leads, task.p_not, list(reached)),
        alt=f"Ceiling of counting and where cross-entropy leads, over the probability of “not”: at "
        f"{task.p_not:g} they are {best:.4f} and {led:.4f}.",
        title="Both marks, for every P(not)",
        caption="Both lines are exact, without any training. Dots: the seeds of this page's bag of words.",
    )


@lru_cache(maxsize=64)
def finish_panel(ends: tuple[tuple[str, str, tuple[float, ...]], ...], best: float, led: float) -> Panel:
    """The exact accuracy of every seed (of title, colour, values) against the ceiling of counting."""
    said = "; ".join(f"{title} {', '.join(f'{value:.3f}' for value in values)}" for title, _, values in ends)
    return Panel(
        "exact-accuracy",
        counting.finish_line([counting.Finisher(*end) for end in ends], best, led),
        alt=f"Exact accuracy of every seed against the ceiling of counting, {best:.4f}: {said}.",
        title="Exact accuracy, every seed",
        caption="Every sentence of the grammar, weighted by its probability: no luck of a sampled test set "
        "in it. A dot a seed.",
    )
