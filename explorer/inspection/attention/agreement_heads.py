"""Attention heads on subject-verb agreement: where each head attends, and the accuracy without it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.inspection.attention.attend import Ablation, interventions
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.load_model import LoadedModel, load_model, to_array
from explorer.models.taps import intervene, record
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.agreement import (
    AgreementConfig,
    answer_position,
    build_rows,
    evaluation_clauses,
    is_correct,
)
from explorer.tasks.sequence_labelling.rows import logits_per_replica
from explorer.training.record import Record

SENTENCE_KINDS = {"verb": "misleading", "pronoun": "confusing"}  # the sentences used for each target


@dataclass(frozen=True, eq=False)
class AgreementHeads:
    """Per head and seed: attention at the predicted position, on sentences whose nearest noun disagrees with the
    subject (attractors)."""

    subject_attention: Float[ndarray, "replicas layers heads"]  # mean attention weight
    nearest_noun_attention: Float[ndarray, "replicas layers heads"]  # on the noun before the verb, the attractor
    accuracy: Float[ndarray, " replicas"]  # of the unchanged model
    ablated_accuracy: Float[ndarray, "replicas layers heads"]  # with this head zeroed


def measure_heads(run: StoredRun | Record, target: str) -> AgreementHeads:
    """Measure every head of a run, see `measure_agreement_heads`. Raises DamagedRun."""
    return measure_agreement_heads(load_model(run), target)


def measure_agreement_heads(loaded: LoadedModel, target: str) -> AgreementHeads:
    """Measure every head on the prediction of the "verb" or the "pronoun".

    The ablation zeroes one head at a time (Michel et al. 2019, section 3.2).
    """
    task, model, replicas = loaded.config.task_as(AgreementConfig), loaded.stack, loaded.config.replicas
    sentences = evaluation_clauses(SENTENCE_KINDS[target])
    ids = build_rows(task, sentences).ids
    row = torch.arange(len(sentences))
    positions = torch.tensor([answer_position(each, target) for each in sentences])

    def right() -> Float[Tensor, " replicas"]:
        return is_correct(task, logits_per_replica(model, ids, replicas), sentences, target).float().mean(dim=-1)

    with torch.inference_mode():
        with record(model) as trace:
            accuracy = right()
        transformer = attention_model(model)
        layers = transformer.layout.layers
        weights = torch.stack([trace[transformer.tap(layer, "weights")] for layer in range(layers)], dim=-4)
        attention = weights.view(replicas, len(sentences), layers, *weights.shape[-3:])[:, row, :, :, positions]
        nouns_attention = [
            attention[row, :, :, :, torch.tensor([each.noun_positions[n] for each in sentences])].mean(dim=0)
            for n in (0, -1)
        ]
        ablated = []
        for layer in range(layers):
            for head in range(weights.shape[-3]):
                with intervene(model, interventions(transformer, Ablation(frozenset({(layer, head)})))):
                    ablated.append(right())
    ablated_accuracy = torch.stack(ablated, dim=-1).view(replicas, layers, -1)
    return AgreementHeads(
        to_array(nouns_attention[0]), to_array(nouns_attention[1]), to_array(accuracy), to_array(ablated_accuracy)
    )
