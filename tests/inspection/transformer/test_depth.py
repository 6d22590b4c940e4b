from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.inspection.transformer import depth
from explorer.inspection.transformer.depth import (
    COMBINATIONS,
    MEAN_SQUARE_GAIN,
    Combination,
    StackMeasurements,
    build_stack,
    draw_shared,
    expected_mean_squares,
    measure_stacks,
)

HEADS, LAYERS, SEEDS = 4, 5, 2
AT = {combination: i for i, combination in enumerate(COMBINATIONS)}


@pytest.fixture(scope="module")
def measurements() -> StackMeasurements:
    return measure_stacks(HEADS, "usual", LAYERS, SEEDS)


def test_every_combination_is_listed_once() -> None:
    assert len(AT) == 10
    assert {(c.residual, c.norm) for c in AT} == {(r, n) for r in (True, False) for n in ("none", "post", "pre")}
    assert {c.kind for c in AT if c.norm == "none"} == {"layer"}


@pytest.mark.parametrize("combination", [Combination(True, "pre", "rms"), Combination(False, "post")], ids=str)
def test_gradient_norms_equal_those_of_a_plain_backward_pass(
    measurements: StackMeasurements, combination: Combination
) -> None:
    height, seed = 3, 1
    shared = draw_shared(HEADS, "usual", LAYERS, SEEDS)
    model = build_stack(combination, HEADS, LAYERS, shared)
    x = model.embedding(shared.inputs)
    streams = [x.retain_grad() or x]
    for block in model.blocks[:height]:
        x = block(x, None)
        x.retain_grad()
        streams.append(x)
    logits = model.readout(model.final_norm(x))
    F.cross_entropy(logits[seed].flatten(0, -2), shared.targets[seed].flatten()).backward()
    index = AT[combination]
    for layer, stream in enumerate(streams):
        assert stream.grad is not None
        assert measurements.stream[index, height - 1, layer, seed] == pytest.approx(
            float(stream.grad[seed].norm()), rel=1e-4
        )
        assert measurements.size[index, layer, seed] == pytest.approx(
            float(stream[seed].detach().square().mean()), rel=1e-5
        )
    for layer in range(1, height + 1):
        slopes = [p.grad[seed] for p in model.blocks[layer - 1].parameters() if p.dim() == 3 and p.grad is not None]
        assert len(slopes) == 4
        norm = float(torch.cat([slope.flatten() for slope in slopes]).norm())
        assert measurements.weights[index, height - 1, layer, seed] == pytest.approx(norm, rel=1e-4)


def test_layers_above_a_stack_have_no_gradient(measurements: StackMeasurements) -> None:
    for height in range(1, LAYERS + 1):
        inside = np.arange(LAYERS + 1) <= height
        assert np.isnan(measurements.stream[:, height - 1, ~inside]).all()
        assert np.isfinite(measurements.stream[:, height - 1, inside]).all()
        assert np.isnan(measurements.weights[:, height - 1, 0]).all()
        assert np.isfinite(measurements.weights[:, height - 1, 1 : height + 1]).all()


def test_a_shallow_stack_is_the_beginning_of_a_deeper_one(measurements: StackMeasurements) -> None:
    low = measure_stacks(HEADS, "usual", 2, SEEDS, [Combination(True, "pre")])
    index = AT[Combination(True, "pre")]
    assert low.size[0] == pytest.approx(measurements.size[index, :3])
    assert low.stream[0] == pytest.approx(measurements.stream[index, :2, :3], rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("start", ["usual", "kept"])
def test_the_mean_square_lies_within_the_expected_bounds(start: depth.Initialization) -> None:
    combinations = [
        Combination(True, "none"),
        Combination(True, "pre"),
        Combination(True, "pre", "rms"),
        Combination(True, "post"),
    ]
    measured = measure_stacks(HEADS, start, LAYERS, 4, combinations)
    for i, combination in enumerate(combinations):
        lines = expected_mean_squares(combination, start, LAYERS)
        assert lines is not None
        low, high = lines
        middle = np.median(measured.size[i], axis=-1)
        assert (middle[1:] > 0.85 * low[1:]).all() and (middle < 1.15 * high).all(), combination


def test_the_expected_mean_square_by_hand() -> None:
    part = MEAN_SQUARE_GAIN["usual"] ** 2
    before, none, after = (
        expected_mean_squares(Combination(True, norm), "usual", 2) for norm in ("pre", "none", "post")
    )
    assert before == pytest.approx(np.array([[1, 1 + part / 2, 1 + part], [1, 1 + 1.5 * part, 1 + 3 * part]]))
    factor = (1 + part / 2) * (1 + part)
    assert none == pytest.approx(np.array([[1, 1 + part / 2, (1 + part / 2) ** 2], [1, factor, factor**2]]))
    assert after == pytest.approx(np.ones((2, 3)))
    assert expected_mean_squares(Combination(False, "pre"), "usual") is None


def test_without_residual_and_norm_activations_vanish_and_tokens_collapse(measurements: StackMeasurements) -> None:
    bare, standard = AT[Combination(False, "none")], AT[Combination(True, "pre")]
    assert (measurements.size[bare, -1] < 1e-9).all() and (measurements.size[bare, -1] > 0).all()
    assert (measurements.cosine_similarity[bare, -1] > 0.999).all()
    assert (measurements.cosine_similarity[standard, -1] < 0.5).all()


def test_values_beyond_single_precision_are_measured() -> None:
    measured = measure_stacks(HEADS, "usual", 24, 1, [Combination(False, "none")])
    assert 0 < measured.size[0, -1, 0] < 1e-45
    assert np.isfinite(measured.cosine_similarity[0]).all()


def test_a_zero_initialized_block_is_the_identity() -> None:
    combinations = [Combination(True, "none"), Combination(False, "none")]
    measured = measure_stacks(HEADS, "zero", 3, 2, combinations)
    assert measured.size[0] == pytest.approx(np.broadcast_to(measured.size[0][:1], (4, 2)))
    assert measured.stream[0, -1] == pytest.approx(np.broadcast_to(measured.stream[0, -1][:1], (4, 2)))
    assert (measured.size[1, 1:] == 0).all() and np.isnan(measured.cosine_similarity[1, 1:]).all()


def test_measurements_are_read_only(measurements: StackMeasurements) -> None:
    with pytest.raises(ValueError):
        measurements.size[:] = 0


def test_a_block_without_residual_returns_only_its_own_output() -> None:
    shared = draw_shared(HEADS, "usual", 1, 1)
    model = build_stack(Combination(False, "pre"), HEADS, 1, shared)
    block, x = model.blocks[0], model.embedding(shared.inputs)
    between = block.attention(block.attention_norm(x), None)
    assert torch.equal(block(x, None), block.feedforward(block.feedforward_norm(between)))
    after = replace(Combination(False, "pre"), norm="post")
    model = build_stack(after, HEADS, 1, shared)
    assert float(model.blocks[0](x, None).detach().square().mean()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("combination", [Combination(True, "pre"), Combination(False, "none")])
def test_the_gradient_of_one_stack_is_that_of_all_heights(combination: Combination) -> None:
    whole = depth.measure_stacks(2, "usual", layers=3, seeds=2, combinations=[combination]).stream[0, 2]
    assert depth.stream_gradient_ratios(combination, 2, "usual", 3, seeds=2) == pytest.approx(whole[0] / whole[3])
