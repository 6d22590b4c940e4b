"""Which opened real models an experiment or a lesson can use, and what to do if there is none. Needs no torch."""

from __future__ import annotations

from typing import Literal, TypeAlias

from explorer.hub.card import ModelCard
from explorer.hub.opened import opened_models
from explorer.hub.packages import MISSING, is_installed

Need: TypeAlias = Literal["language model", "encoder"]
_EXAMPLES: dict[Need, str] = {"language model": "smollm2-135m", "encoder": "all-minilm-l6-v2"}


def suitable_models(need: Need) -> list[ModelCard]:
    """Return the opened models of this kind; those that were tried with their real weights come first."""
    kind = "encoder" if need == "encoder" else "decoder"
    fitting = [card for card in opened_models() if card.kind == kind and (need == "encoder" or card.predicts)]
    return sorted(fitting, key=lambda card: (not card.tried, card.name))


def how_to_get(need: Need) -> str:
    """Return a sentence for a visitor who sees that no model of this kind is open."""
    if not is_installed():
        return MISSING
    return (
        f"No real {need} is open on this machine. The operator opens one, for example with "
        f"“lineage open {_EXAMPLES[need]}”."
    )
