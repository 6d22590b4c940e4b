"""At which depth of a real language model the answer appears: the logit lens over many prompts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer import charts, ui
from explorer.inspection.pretrained import answer_depth, opened_model
from explorer.labs.depth import findings
from explorer.labs.depth.state import DepthState


def answer_depth_section(session: ui.PageSession[DepthState]) -> None:
    """Draw the choice of an opened language model, and its answers by depth."""
    ui.explanation(
        "“The capital of France is” has a short answer. The logit lens applies the final norm and the output layer "
        "after each layer, as if the model ended there. Only prompts that the model answers are counted; the control "
        "is the answer to another prompt of the same kind, such as another capital."
    )
    if card := ui.choose_real_model(session, "language model"):
        call = ui.Call(opened_model.depth_of_answers, card)
        waiting = "The answers to many prompts are read off at every depth …"
        ui.show("answer-depth", call, answers_view, waiting=waiting, height=420, pool="patient")


def answers_view(document: ui.Document, found: answer_depth.AnswersByDepth) -> None:
    """Write from which depth on the answers are there, one example, and their probabilities and ranks by depth."""
    document.finding(findings.answer_depth_finding(found.median_settled_depth(), found.median_rise(), found.layers))
    first = found.prompts[0]
    document.text(
        findings.single_answer_text(
            first.text, first.answer, found.ranks[:, 0].tolist(), float(found.probabilities[-1, 0])
        )
    )
    ranks = [_line("answer", found.ranks), _line("other answers", found.other_ranks)]
    _, highest = charts.span_of([line.values for line in ranks], 0.0)
    shares, places = charts.Axis("probability", (0, 1.04)), charts.Axis("rank", (10**-0.1, 10**0.2 * highest), log=True)
    panels = [
        _panel("probability", "Probability of the answer", [_line("answer", found.probabilities)], shares),
        _panel("rank", "Rank (1: the most probable token)", ranks, places),
    ]
    document.figures("answer-depth", panels, height=300, columns=2)
    document.caption(
        f"Median over {len(found.prompts)} prompts that the model answers, of {found.single} with one-token answers; "
        "band: the middle half of the prompts. Only the last layer was trained to be read so: at lower depths an "
        "answer can be present in another form (Belrose et al. 2023)."
    )


def _panel(name: str, title: str, lines: list[charts.Line], y: charts.Axis) -> ui.Panel:
    x = charts.Axis("layers that were computed", (-0.2, len(lines[0].x) - 0.7), ticks=8)
    chart = charts.LineChart(f"{title}, by depth", lines, x, y, margin=112, digits=None)
    return ui.Panel(f"answer-{name}", chart, title=title)


def _line(name: str, values: Float[ndarray, "depths prompts"] | Int[ndarray, "depths prompts"]) -> charts.Line:
    """Return the median over the prompts with the middle half of them."""
    colour, dash = ("--m-pretrained", "solid") if name == "answer" else ("--soft", "4px,4px")
    quartiles = np.nanquantile(values, (0.5, 0.25, 0.75), axis=1).T
    edges = ("lower quartile", "upper quartile")
    return charts.Line(name, name, colour, dash, np.arange(len(values)), quartiles, "filled", edges=edges)
