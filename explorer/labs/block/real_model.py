"""The blocks of a real model beside those of a Transformer that is trained here."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.figures.transformer.structure import attention_detail, diagram_height, feedforward_detail, stack_diagram
from explorer.labs.block import findings
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.structure import ModelStructure
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.result_section import result_section
from explorer.ui.training.compared_structures import ComparedStructures, structure_requests

_OWN_COLOUR = "--m-transformer"
_HEIGHT = 900


def real_model_blocks(model: RealModel) -> None:
    """Draw the diagrams of both models and the finding above them."""
    result_section("block-real", structure_requests(model), _draw, f"{model.title} is being loaded …", _HEIGHT)


def _draw(document: Document, results: Mapping[str, ComparedStructures]) -> None:
    compared = results["structures"]
    real, own = compared.real, compared.own
    document.finding(findings.size_finding(compared.title, real, own))
    document.text(findings.design_finding(compared.title, real, own))
    shown = [(compared.title, COLOUR, real)]
    if len(real.stacks) == 1:  # an encoder and a decoder fill the row
        shown.append(("Trained here", _OWN_COLOUR, own))
    height = max(diagram_height(structure, stack) for *_, structure in shown for stack in structure.stacks)
    panels = [
        _panel(title, colour, structure, index, height)
        for title, colour, structure in shown
        for index in range(len(structure.stacks))
    ]
    add_plot_frame(document, panels, key="block-real-figure", height=height, columns=2)
    document.caption(
        "From the bottom to the top. The line on the left is the residual stream; + adds the output of a part to it."
    )


def _panel(title: str, colour: str, model: ModelStructure, index: int, height: int) -> Panel:
    stack = model.stacks[index]
    name = f"{title}: {stack.name}" if len(model.stacks) > 1 else title
    return Panel(
        f"block-{title}-{stack.name}",
        stack_diagram(model, stack, colour, height),
        f"Diagram of {name}, {stack.layers} blocks: {attention_detail(model, stack)}; feedforward part "
        f"{feedforward_detail(model, stack)}; {stack.norm} {stack.norm_place} each part.",
        title=name,
        colour=colour,
    )
