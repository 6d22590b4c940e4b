"""Attention of each head on agreement sentences, and the accuracy without it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.attention import agreement_heads
from explorer.inspection.load_model import LoadedModel, load_model
from explorer.run_store import store


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model(store.find("agreement-heads"))


@pytest.mark.slow
@pytest.mark.parametrize("sentences", ["verb", "pronoun"])
def test_every_head_of_every_seed_is_measured(loaded: LoadedModel, sentences: str) -> None:
    heads = agreement_heads.measure_agreement_heads(loaded, sentences)
    assert (
        heads.subject_attention.shape == heads.nearest_noun_attention.shape == heads.ablated_accuracy.shape == (5, 2, 4)
    )
    assert (heads.subject_attention + heads.nearest_noun_attention <= 1 + 1e-6).all() and (
        heads.subject_attention >= 0
    ).all()
    assert (heads.accuracy > 0.9).all(), "the included runs have learned the task"
    assert (heads.subject_attention.max(axis=(1, 2)) > heads.nearest_noun_attention.max(axis=(1, 2))).all(), (
        "they look at whom they agree with"
    )


def test_without_attention_the_accuracy_is_below_chance(loaded: LoadedModel) -> None:
    from explorer.models.taps import intervene
    from explorer.tasks.sequence_labelling.agreement import AgreementConfig
    from explorer.tasks.sequence_labelling.agreement_rows import build_rows, evaluation_clauses, is_correct
    from explorer.tasks.sequence_labelling.rows import logits_per_replica

    clauses = evaluation_clauses("misleading", 64)
    task = loaded.config.task_as(AgreementConfig)
    zeroed_attention = {f"blocks.{i}.attention.mixed": lambda mixed, _: torch.zeros_like(mixed) for i in range(2)}
    with torch.inference_mode(), intervene(loaded.stack, zeroed_attention):
        accuracy = (
            is_correct(task, logits_per_replica(loaded.stack, build_rows(task, clauses).ids, 5), clauses, "verb")
            .float()
            .mean(dim=-1)
        )
    assert (accuracy < 0.5).all(), "only the noun before the verb is left, and it misleads"


def test_zero_head_zeroes_only_that_head() -> None:
    mixed = torch.ones(2, 3, 4, 5, 6)  # replicas, rows, heads, time, width
    output = agreement_heads.zero_head(1)(mixed, 0)
    np.testing.assert_array_equal(output.sum(dim=(0, 1, 3, 4)).numpy(), [180, 0, 180, 180])
