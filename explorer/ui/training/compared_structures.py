"""A real model beside a Transformer of the same kind that is trained here: what both are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from explorer.hub.architectures import Kind
from explorer.inspection.transformer import structure
from explorer.model.real_model import RealModel
from explorer.model.run_model import RunModel
from explorer.models.structure import ModelStructure
from explorer.ui.result_section import Request
from explorer.ui.training import stored_models

OWN_RUNS: Mapping[Kind, str] = {  # included runs, by the kind of the real model
    "decoder": "text-transformer",
    "encoder": "negation-single-transformer",
    "encoder-decoder": "dates-transformer",
}


@dataclass(frozen=True)
class ComparedStructures:
    """What a real model and an own one are made of."""

    title: str
    real: ModelStructure
    own: ModelStructure
    context: int  # tokens that the real model reads at most; 0: no limit


def structure_requests(model: RealModel) -> dict[str, Request[ComparedStructures]]:
    """Return the request for the structures of a real model and of ours. Raises LineageError if ours is not here."""
    own = stored_models.find_run(OWN_RUNS[model.card.kind])
    return {"structures": (("structures", *model.cache_key, *own.cache_key), partial(_compare, model, own))}


def _compare(model: RealModel, own: RunModel) -> ComparedStructures:
    return ComparedStructures(
        model.title,
        structure.model_structure(model.module()),
        structure.model_structure(own.module(0)),
        model.card.context,
    )
