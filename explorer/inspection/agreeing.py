"""Where the heads of a model look when it has to agree with the subject, and what each head is worth there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.taps import intervene, record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.agreement import AgreementConfig
from explorer.tasks.agreement_rows import asked_at, fresh, right_at, rows_of
from explorer.tasks.labelled import asked

ASKED = {"verb": "misleading", "pronoun": "confusing"}  # what is asked for, and in which sentences


@dataclass(frozen=True, eq=False)
class Heads:
    """What every head of every seed does at the place that answers, on sentences that mislead who goes by the
    nearest noun."""

    subject: Float[ndarray, "replicas layers heads"]  # mean weight on the subject
    nearest: Float[ndarray, "replicas layers heads"]  # and on the noun before the verb, which is another one
    whole: Float[ndarray, " replicas"]  # share of right answers
    without: Float[ndarray, "replicas layers heads"]  # the same with this head saying nothing


def heads(opened: OpenedModel, what: str) -> Heads:
    """Look at the answers for the "verb" or the "pronoun"; see Michel et al. 2019 for heads that are switched off."""
    task, model, replicas = opened.config.on(AgreementConfig), opened.stack, opened.config.replicas
    said = fresh(ASKED[what])
    ids = rows_of(task, said).ids
    row = torch.arange(len(said))
    asking = torch.tensor([asked_at(each, what) for each in said])

    def right() -> Float[Tensor, " replicas"]:
        return right_at(task, asked(model, ids, replicas), said, what).float().mean(dim=-1)

    with torch.inference_mode():
        with record(model) as trace:
            whole = right()
        layers = _layers(model)
        weights = torch.stack([trace[f"blocks.{i}.attention.weights"] for i in range(layers)], dim=-4)
        looks = weights.view(replicas, len(said), layers, *weights.shape[-3:])[:, row, :, :, asking]
        on = [looks[row, :, :, :, torch.tensor([each.nouns[n] for each in said])].mean(dim=0) for n in (0, -1)]
        without = []
        for layer in range(layers):
            for head in range(weights.shape[-3]):
                with intervene(model, {f"blocks.{layer}.attention.mixed": silent(head)}):
                    without.append(right())
    found = torch.stack(without, dim=-1).view(replicas, layers, -1)
    return Heads(to_array(on[0]), to_array(on[1]), to_array(whole), to_array(found))


def silent(head: int) -> Callable[[Tensor, int], Tensor]:
    """Takes a head's answer out of what heads have mixed."""

    def taken(mixed: Tensor, _: int) -> Tensor:
        kept = torch.ones(mixed.shape[-3], 1, 1)
        kept[head] = 0
        return mixed * kept

    return taken


def _layers(model: nn.Module) -> int:
    assert isinstance(model, TransformerTagger)
    return model.config.layers
