"""Properties of every translation model."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from explorer.models.layers import replica, stack
from explorer.models.taps import record, tap_names
from explorer.models.translation import Translator
from tests.models.translators import KINDS, PADDING, TARGETS, sources, targets, translator

REPLICAS, BATCH = 3, 5


def logits_and_gradients(model: Translator, source: Tensor, target: Tensor) -> list[Tensor]:
    logits = model(source, target)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


def build_stack(kind: str) -> Translator:
    return stack([translator(kind, seed) for seed in range(REPLICAS)])


@pytest.mark.parametrize("use_stack", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", KINDS)
def test_recording_gives_the_same_logits_and_gradients(kind: str, use_stack: bool) -> None:
    model = build_stack(kind) if use_stack else translator(kind)
    shape = (REPLICAS, BATCH) if use_stack else (BATCH,)
    unrecorded = logits_and_gradients(model, sources(*shape), targets(*shape))
    with record(model) as trace:
        recorded = logits_and_gradients(model, sources(*shape), targets(*shape))
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


@pytest.mark.parametrize("kind", KINDS)
def test_source_padding_does_not_change_the_logits(kind: str) -> None:
    model, target = translator(kind), targets(1)
    short = torch.tensor([[0, 2, 5, 3, 1]])
    for more in (1, 3, 6):
        padded = torch.nn.functional.pad(short, (0, more), value=PADDING)
        torch.testing.assert_close(model(padded, target), model(short, target), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_independent_and_later_target_tokens_are_invisible(kind: str) -> None:
    model, source, target = translator(kind), sources(BATCH), targets(BATCH)
    logits = model(source, target)
    torch.testing.assert_close(logits[2:3], model(source[2:3], target[2:3]), atol=1e-5, rtol=1e-5)
    changed_target = target.clone()
    changed_target[:, -1] = (changed_target[:, -1] + 1) % (TARGETS - 2)
    torch.testing.assert_close(model(source, changed_target)[:, :-1], logits[:, :-1], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(model(source, changed_target)[:, -1], logits[:, -1], atol=1e-3)


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


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_token_and_its_position_matter(kind: str) -> None:
    model, target = translator(kind), targets(1)
    source = torch.tensor([[0, 2, 5, 3, 1]])
    expected = model(source, target)
    for position in range(5):
        other = source.clone()
        other[0, position] = 6
        assert not torch.allclose(model(other, target), expected, atol=1e-5), position
    assert not torch.allclose(model(source.flip(-1), target), expected, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_reaches_every_parameter(kind: str) -> None:
    model = translator(kind)
    model(sources(BATCH), targets(BATCH)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        # Keys need no bias, and have none; every other parameter changes the logits.
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_initialization_follows_from_the_seed_and_ignores_the_global_generator(kind: str) -> None:
    before = torch.get_rng_state()
    model, same_seed, other_seed = translator(kind), translator(kind), translator(kind, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    inputs = sources(BATCH), targets(BATCH)
    assert torch.equal(model(*inputs), same_seed(*inputs))
    assert not torch.equal(model(*inputs), other_seed(*inputs))


CELL_TAPS = ("candidate", "reset_gate", "state", "update_gate")
ATTENTION_TAPS = ("keys", "mixed", "queries", "scores", "values", "weights")
TAPS = {
    "vector": [
        "bridge",
        *(f"decoder.{t}" for t in CELL_TAPS),
        "embedded",
        *(f"encoder.{t}" for t in CELL_TAPS),
        "summary.vector",
    ],
    "additive": [
        *(f"attention.{t}" for t in ("annotations", "context", "energies", "weights")),
        *(f"backward_encoder.{t}" for t in CELL_TAPS),
        "bridge",
        *(f"decoder.{t}" for t in CELL_TAPS),
        "embedded",
        *(f"encoder.{t}" for t in CELL_TAPS),
    ],
    "pre": sorted(
        [
            "annotations",
            "embedded_source",
            "embedded_target",
            *(f"{half}.{i}.output" for half in ("encoder", "decoder") for i in range(2)),
            *(f"{half}.{i}.attention.{t}" for half in ("encoder", "decoder") for i in range(2) for t in ATTENTION_TAPS),
            *(f"decoder.{i}.cross.{t}" for i in range(2) for t in ATTENTION_TAPS),
        ]
    ),
}


@pytest.mark.parametrize("kind", TAPS)
def test_tap_names_are_part_of_the_file_format(kind: str) -> None:
    model = translator(kind)
    assert sorted(tap_names(model).values()) == TAPS[kind]
    with record(model) as trace:
        model(sources(BATCH), targets(BATCH))
    assert sorted(trace) == TAPS[kind]


@pytest.mark.parametrize("use_stack", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "vector"])
def test_attention_is_restricted_to_existing_source_tokens(kind: str, use_stack: bool) -> None:
    model = build_stack(kind) if use_stack else translator(kind)
    shape = (REPLICAS, BATCH) if use_stack else (BATCH,)
    source = sources(*shape)
    with record(model) as trace:
        model(source, targets(*shape))
    padding = source == PADDING
    assert padding.any()
    for name in trace:
        if not name.endswith("weights"):
            continue
        weights = trace[name]
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        if name.startswith("decoder") and ".attention." in name:
            assert not weights.triu(1).any(), name  # later target tokens
        else:
            invisible = padding[..., None, :] if name == "attention.weights" else padding[..., None, None, :]
            assert not weights.masked_select(invisible.expand_as(weights)).any(), name
            visible_weights = weights.masked_select(~invisible.expand_as(weights))
            assert (visible_weights > 0).all(), name
