"""At which depth of a real language model the answer appears: the logit lens over many prompts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.figures.transformer.pretrained import DepthLine, by_depth
from explorer.inspection.pretrained import answer_depth, opened_model
from explorer.labs.depth import findings
from explorer.labs.depth.state import DepthState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.real_model_choice import card_key, choose_real_model

_MODEL, _CONTROL = "--m-pretrained", "--soft"


def answer_depth_section(session: PageSession[DepthState]) -> None:
    """Draw the choice of an opened language model, and its answers by depth."""
    explanation(
        "“The capital of France is” has a short answer. The logit lens applies the final norm and the output layer "
        "after each layer, as if the model ended there. Only prompts that the model answers are counted; the control "
        "is the answer to another prompt of the same kind, such as another capital."
    )
    card = choose_real_model(session, "language model")
    if card is None:
        return
    requests: dict[str, Request[answer_depth.AnswersByDepth]] = {
        "answers": (("real-answer-depth", *card_key(card)), lambda: opened_model.depth_of_answers(card))
    }
    result_section(
        "answer-depth",
        requests,
        _draw,
        "The answers to many prompts are read off at every depth …",
        420,
        pool="patient",
    )


def _draw(document: Document, results: Mapping[str, answer_depth.AnswersByDepth]) -> None:
    found = results["answers"]
    document.finding(findings.answer_depth_finding(found.median_settled_depth(), found.median_rise(), found.layers))
    first = found.prompts[0]
    document.text(
        findings.single_answer_text(
            first.text, first.answer, found.ranks[:, 0].tolist(), float(found.probabilities[-1, 0])
        )
    )
    ranks = [
        _line("answer", _MODEL, "solid", np.log10(found.ranks)),
        _line("other answers", _CONTROL, "4px,4px", np.log10(found.other_ranks)),
    ]
    top = 0.2 + max(max(line.high) for line in ranks)
    panels = [
        Panel(
            "answer-probability",
            by_depth([_line("answer", _MODEL, "solid", found.probabilities)], "probability", (0, 1.04)),
            alt=f"Probability of the answer by depth: {_describe(np.median(found.probabilities, axis=1), 3)}.",
            title="Probability of the answer",
        ),
        Panel(
            "answer-rank",
            by_depth(ranks, "rank", (-0.1, top), powers=True),
            alt=f"Rank of the answer by depth: {_describe(np.median(found.ranks, axis=1), 0)}.",
            title="Rank (1: the most probable token)",
        ),
    ]
    add_plot_frame(document, panels, key="answer-depth", height=300, columns=2)
    document.caption(
        f"Median over {len(found.prompts)} prompts that the model answers, of {found.single} with one-token answers; "
        "band: the middle half of the prompts. Only the last layer was trained to be read so: at lower depths an "
        "answer can be present in another form (Belrose et al. 2023)."
    )


def _line(name: str, colour: str, dash: str, values: np.ndarray) -> DepthLine:
    low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75), axis=1)
    return DepthLine(name, colour, dash, middle.tolist(), low.tolist(), high.tolist())


def _describe(values: np.ndarray, digits: int) -> str:
    shown = sorted({*range(0, len(values), max(1, len(values) // 5)), len(values) - 1})
    return ", ".join(f"{values[depth]:,.{digits}f} at {depth}" for depth in shown)
