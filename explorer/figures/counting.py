"""How far counting can go: the ceiling, where cross-entropy leads, and what training reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.figures.style import INK, PAGE, SOFT, blank, paint


@dataclass(frozen=True)
class Finisher:
    """One model's exact accuracies, a seed each."""

    title: str
    colour: str
    values: Sequence[float]


def finish_line(finishers: Sequence[Finisher], ceiling: float, cross_entropy: float) -> go.Figure:
    """Exact accuracy of every seed of every model, with the two marks that counting has."""
    lowest = min([cross_entropy, *(v for f in finishers for v in f.values)])
    floor = 0.5 if lowest >= 0.52 else max(0.0, lowest - 0.1)
    rows = list(range(len(finishers)))
    figure = blank(
        xaxis={"range": [floor, 1.02], "nticks": 6, "title": {"text": "exact accuracy"}},
        yaxis={
            "tickvals": rows, "ticktext": [f.title for f in finishers], "range": [len(rows) - 0.4, -0.9],
            "gridcolor": paint("--rule", 0.6),
        },
    )  # fmt: skip
    for row, finisher in enumerate(finishers):
        spread = _stacked(finisher.values)
        figure.add_scatter(
            x=[round(v, 4) for v in finisher.values], y=[row + d for d in spread], mode="markers",
            marker={"size": 11, "color": paint(finisher.colour), "line": {"color": PAGE, "width": 1}},
            name=finisher.title, hovertemplate="%{x:.4f}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=ceiling, line={"color": INK, "width": 1.5, "dash": "5px,4px"})
    together = abs(ceiling - cross_entropy) < 5e-4
    text = f"ceiling of counting {ceiling:.4f}"
    _mark(figure, ceiling, f"{text}, and where its training leads" if together else text, "right")
    if not together:
        figure.add_vline(x=cross_entropy, line={"color": SOFT, "width": 1.5, "dash": "1px,3px"})
        _mark(
            figure,
            cross_entropy,
            f"its training leads to {cross_entropy:.4f}",
            "right" if cross_entropy > 0.75 else "left",
            row=-0.55,
        )
    return figure


def ceiling_by_chance(
    chances: Sequence[float],
    ceilings: Sequence[float],
    cross_entropies: Sequence[float],
    here: float,
    reached: Sequence[float],
) -> go.Figure:
    """Both marks over every probability of "not", and what this page's bag of words reached at its own."""
    low = min(0.5, *cross_entropies, *reached)
    figure = blank(
        xaxis={"range": [0, 1], "nticks": 6, "title": {"text": "probability of “not”"}},
        yaxis={"range": [low - 0.08, 1.06], "nticks": 6, "title": {"text": "exact accuracy"}},
    )
    figure.add_scatter(
        x=list(chances), y=[round(v, 4) for v in ceilings], mode="lines", name="ceiling of counting",
        line={"color": INK, "width": 1.5, "dash": "5px,4px"}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=list(chances), y=[round(v, 4) for v in cross_entropies], mode="lines", name="where cross-entropy leads",
        line={"color": paint("--m-counts"), "width": 3}, hoverinfo="skip",
    )  # fmt: skip
    if reached:
        figure.add_scatter(
            x=[here] * len(reached), y=[round(v, 4) for v in reached], mode="markers", name="bag of words, each seed",
            marker={"size": 11, "color": paint("--m-counts"), "line": {"color": PAGE, "width": 1}},
            hovertemplate="%{y:.4f}<extra></extra>",
        )  # fmt: skip
    near = [i for i, chance in enumerate(chances) if 0.28 <= chance <= 0.72]
    middle = len(chances) // 2
    above, below = max(ceilings[i] for i in near) + 0.02, min(cross_entropies[i] for i in near) - 0.02
    for y, at, text, side in (
        (above, ceilings[middle], "ceiling of any counting model", "bottom"),
        (below, cross_entropies[middle], "where its training leads", "top"),
    ):
        # The words keep clear of both lines; a thin stroke leads from them to the one they name.
        figure.add_annotation(
            x=0.5, y=y, text=text, showarrow=False, yanchor=side, font={"size": 14, "color": INK},
        )  # fmt: skip
        if abs(y - at) > 0.03:
            figure.add_shape(type="line", x0=0.5, x1=0.5, y0=y, y1=at, line={"color": SOFT, "width": 1})
    return figure


def _mark(figure: go.Figure, x: float, text: str, anchor: str, row: float = -0.55) -> None:
    figure.add_annotation(
        x=x, y=row, text=text, showarrow=False, xanchor=anchor, xshift=-5 if anchor == "right" else 5,
        font={"size": 14, "color": INK},
    )  # fmt: skip


def _stacked(values: Sequence[float]) -> list[float]:
    """Small steps aside for seeds that would cover each other."""
    seen: dict[float, int] = {}
    aside = []
    for value in values:
        n = seen[round(value, 3)] = seen.get(round(value, 3), -1) + 1
        aside.append(0.075 * ((n + 1) // 2) * (1 if n % 2 else -1))
    return aside
