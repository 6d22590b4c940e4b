"""Attention heads on subject-verb agreement: where each head attends, and the accuracy without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.attention.head_ablation import measure_without_heads, single_heads
from explorer.inspection.load_model import LoadedModel, load_model, to_array
from explorer.models.taps import record
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling import agreement
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


@torch.inference_mode()
def measure_agreement_heads(loaded: LoadedModel, target: str) -> AgreementHeads:
    """Measure every head on the "verb" or the "pronoun", zeroing one at a time (Michel et al. 2019, section 3.2)."""
    task, model, replicas = loaded.config.task_as(agreement.AgreementConfig), loaded.stack, loaded.config.replicas
    sentences = agreement.evaluation_clauses(SENTENCE_KINDS[target])
    ids = agreement.build_rows(task, sentences).ids
    row = torch.arange(len(sentences))
    positions = torch.tensor([agreement.answer_position(each, target) for each in sentences])
    with record(model) as trace:
        logits_per_replica(model, ids, replicas)
    names = [name for name in trace if name.endswith(".attention.weights")]
    weights = torch.stack([trace[name] for name in names], dim=-4)
    attention = weights.view(replicas, len(sentences), len(names), *weights.shape[-3:])[:, row, :, :, positions]
    nouns_attention = [
        attention[row, :, :, :, torch.tensor([each.noun_positions[n] for each in sentences])].mean(dim=0)
        for n in (0, -1)
    ]
    accuracy = np.stack([_accuracies(loaded.single_replica(i), task, sentences, target) for i in range(replicas)])
    ablated = accuracy[:, :-1].reshape(replicas, len(names), -1)
    return AgreementHeads(to_array(nouns_attention[0]), to_array(nouns_attention[1]), accuracy[:, -1], ablated)


def _accuracies(
    module: nn.Module, task: agreement.AgreementConfig, sentences: Sequence[agreement.Clause], target: str
) -> Float[ndarray, " heads_and_none"]:
    """Return the accuracy of one seed without each head, and last with all."""
    model = attention_model(module)

    def accuracy(states: Tensor) -> Tensor:
        return agreement.is_correct(task, model.readout(states)[None], sentences, target).float().mean()

    ids = agreement.build_rows(task, sentences).ids
    return measure_without_heads(model, ids, [*single_heads(model.layout), ()], accuracy)
