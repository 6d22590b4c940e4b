"""The blocks of a real model beside those of a Transformer that is trained here."""

from __future__ import annotations

from explorer import ui
from explorer.labs.block import findings
from explorer.labs.block.stack_diagram import diagram_height, stack_diagram
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.structure import ModelStructure
from explorer.ui.training.compared_structures import ComparedStructures, structures_call


def real_model_blocks(model: RealModel) -> None:
    """Draw the diagrams of both models and the finding above them."""
    ui.show("block-real", structures_call(model), blocks_view, waiting=f"{model.title} is being loaded …", height=900)


def blocks_view(document: ui.Document, compared: ComparedStructures) -> None:
    """Write how the real model differs in size and design, and the diagrams of its stacks and of ours."""
    real, own = compared.real, compared.own
    document.finding(findings.size_finding(compared.title, real, own))
    document.text(findings.design_finding(compared.title, real, own))
    shown = [(compared.title, COLOUR, real)]
    if len(real.stacks) == 1:  # an encoder and a decoder fill the row
        shown.append(("Trained here", "--m-transformer", own))
    height = max(diagram_height(structure, stack) for *_, structure in shown for stack in structure.stacks)
    panels = [
        _panel(title, colour, structure, index, height)
        for title, colour, structure in shown
        for index in range(len(structure.stacks))
    ]
    document.figures("block-real-figure", panels, height=height, columns=2)
    document.caption(
        "From the bottom to the top. The line on the left is the residual stream; + adds the output of a part to it."
    )


def _panel(title: str, colour: str, model: ModelStructure, index: int, height: int) -> ui.Panel:
    stack = model.stacks[index]
    name = f"{title}: {stack.name}" if len(model.stacks) > 1 else title
    diagram = stack_diagram(name, model, stack, colour, height)
    return ui.Panel(f"block-{title}-{stack.name}", diagram, title=name, colour=colour)
