"""Properties of every translation model."""

from __future__ import annotations

import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from explorer.models.layers import replica, stack
from explorer.models.taps import record, tap_names
from explorer.models.translation import Translator
from tests.models.stacks import assert_recording_changes_nothing, assert_stack_equals_single_models
from tests.models.translators import KINDS, sources, targets, translator

REPLICAS, BATCH = 3, 5


def build_models(kind: str) -> list[Translator]:
    return [translator(kind, seed) for seed in range(REPLICAS)]


@pytest.mark.parametrize("kind", KINDS)
def test_recording_a_stack_gives_the_same_logits_and_gradients(kind: str) -> None:
    assert_recording_changes_nothing(build_models(kind), sources(REPLICAS, BATCH), targets(REPLICAS, BATCH))


@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_of_a_stack_equals_the_single_model(kind: str) -> None:
    models = build_models(kind)
    assert_stack_equals_single_models(models, sources(REPLICAS, BATCH), targets(REPLICAS, BATCH))
    stacked_model = stack(models)
    assert stacked_model.replicas == (REPLICAS,) and replica(stacked_model, 0).replicas == ()


@pytest.mark.parametrize("use_stack", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", KINDS)
def test_decoding_token_by_token_equals_one_forward_pass(kind: str, use_stack: bool) -> None:
    model = stack(build_models(kind)) if use_stack else translator(kind)
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
