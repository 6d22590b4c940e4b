"""Properties of every translation model."""

from __future__ import annotations

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from explorer.models.layers import replica, stack
from explorer.models.taps import record, tap_names
from explorer.models.translation import Translator
from tests.models.translators import KINDS, sources, targets, translator

REPLICAS, BATCH = 3, 5


def logits_and_gradients(model: Translator, source: Tensor, target: Tensor) -> list[Tensor]:
    logits = model(source, target)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


def build_stack(kind: str) -> Translator:
    return stack([translator(kind, seed) for seed in range(REPLICAS)])


@pytest.mark.parametrize("kind", KINDS)
def test_recording_a_stack_gives_the_same_logits_and_gradients(kind: str) -> None:
    model, inputs = build_stack(kind), (sources(REPLICAS, BATCH), targets(REPLICAS, BATCH))
    unrecorded = logits_and_gradients(model, *inputs)
    with record(model) as trace:
        recorded = logits_and_gradients(model, *inputs)
    assert len(trace) > 0
    for expected, actual in zip(unrecorded, recorded, strict=True):
        torch.testing.assert_close(expected, actual, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_of_a_stack_equals_the_single_model(kind: str) -> None:
    stacked_model = build_stack(kind)
    source, target = sources(REPLICAS, BATCH), targets(REPLICAS, BATCH)
    stacked_logits = stacked_model(source, target)
    assert stacked_model.replicas == (REPLICAS,) and replica(stacked_model, 0).replicas == ()
    for r in range(REPLICAS):
        single_model = translator(kind, r)
        torch.testing.assert_close(stacked_logits[r], single_model(source[r], target[r]), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(stacked_model, r)(source[r], target[r]), single_model(source[r], target[r]))


@pytest.mark.parametrize("use_stack", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", KINDS)
def test_decoding_token_by_token_equals_one_forward_pass(kind: str, use_stack: bool) -> None:
    model = build_stack(kind) if use_stack else translator(kind)
    shape = (REPLICAS, BATCH) if use_stack else (BATCH,)
    source, target = sources(*shape), targets(*shape)
    encoded, state, step_logits = model.encode(source), (), []
    for target_part in (target[..., :1], target[..., 1:3], target[..., 3:]):
        logits, state = model.decode(encoded, target_part, state)
        step_logits.append(logits)
    torch.testing.assert_close(torch.cat(step_logits, dim=-2), model(source, target), atol=1e-5, rtol=1e-5)
    rows = len(shape) - 1  # the axis of the rows
    assert {target_part.shape[rows] for target_part in (*encoded, *state)} == {BATCH}


@pytest.mark.parametrize("kind", KINDS[:3])
def test_tap_names_are_part_of_the_file_format(kind: str, snapshot: SnapshotAssertion) -> None:
    model = translator(kind)
    with record(model) as trace:
        model(sources(BATCH), targets(BATCH))
    assert snapshot == sorted(trace)
    assert sorted(tap_names(model).values()) == sorted(trace)
