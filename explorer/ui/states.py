"""The state of each page whose address a lesson may name, and what is wrong with such an address."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from explorer.catalogue import page_title
from explorer.ui import address, lab
from explorer.ui.lab import Lab

# By address; a row for each page on which a lesson may stand in a state of its own.
STATES = {
    "negation": "explorer.ui.negation_lab:NegationLab",
    "tokens": "explorer.ui.desk:Desk",
    "text": "explorer.ui.text_lab:TextLab",
    "studio": "explorer.ui.studio:Studio",
    "attention": "explorer.ui.gaze:Gaze",
    "memory": "explorer.ui.memory:Memory",
    "translation": "explorer.ui.translation:Translation",
    "shapes": "explorer.ui.shapes:Shapes",
    "gates": "explorer.ui.cell:Cell",
    "scaled-attention": "explorer.ui.scaled:Scaled",
    "depth": "explorer.ui.depth:Depth",
    "positions": "explorer.ui.positions:Positions",
    "masks": "explorer.ui.masks:Masks",
    "block": "explorer.ui.block:Block",
    "sentences": "explorer.ui.sentences:Sentences",
    "cost": "explorer.ui.cost:Cost",
    "compare": "explorer.ui.comparing:Comparison",
}


def problems(page: str, state: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each part of a page's address that the page could not use."""
    if not state:
        return ()
    if page not in STATES:
        return (f"The page {page_title(page)} cannot be given a state yet: it has no row in explorer/ui/states.py.",)
    module, name = STATES[page].split(":")
    kind: type[Any] = getattr(import_module(module), name)
    return (lab.read if issubclass(kind, Lab) else address.read)(kind, state)[1]
