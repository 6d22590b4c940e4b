"""A real model beside a Transformer of the same kind that is trained here: what both are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from explorer.hub.architectures import Kind
from explorer.models.structure import ModelStructure
from explorer.ui.result_section import Request
from explorer.ui.training import stored_models
from explorer.ui.training.pretrained_models import PretrainedModel
from explorer.ui.training.stored_model import StoredModel

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


def structure_requests(model: PretrainedModel) -> dict[str, Request[ComparedStructures]]:
    """Return the request for the structures of a real model and of ours. Raises LineageError if ours is not here."""
    own = stored_models.find_run(OWN_RUNS[model.card.kind])
    return {"structures": (("structures", *model.cache_key, *own.cache_key), partial(_compare, model, own))}


def _compare(model: PretrainedModel, own: StoredModel) -> ComparedStructures:
    from explorer.inspection.transformer.structure import model_structure

    return ComparedStructures(
        model.title, model_structure(model.model()), model_structure(own.model(0)), model.card.context
    )
