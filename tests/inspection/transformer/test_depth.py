from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.inspection.transformer import depth
from explorer.inspection.transformer.depth import Combination

HEADS, LAYERS, SEEDS = 4, 3, 2
AT = {combination: i for i, combination in enumerate(depth.COMBINATIONS)}


@pytest.fixture(scope="module")
def measurements() -> depth.StackMeasurements:
    return depth.measure_stacks(HEADS, "usual", LAYERS, SEEDS)


@pytest.mark.parametrize("combination", [Combination(True, "pre", "rms"), Combination(False, "post")], ids=str)
def test_gradient_norms_equal_those_of_a_plain_backward_pass(
    measurements: depth.StackMeasurements, combination: Combination
) -> None:
    height, seed = 2, 1
    shared = depth.draw_shared(HEADS, "usual", LAYERS, SEEDS)
    model = depth.build_stack(combination, HEADS, LAYERS, shared)
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
        norm, size = float(stream.grad[seed].norm()), float(stream[seed].detach().square().mean())
        assert measurements.stream[index, height - 1, layer, seed] == pytest.approx(norm, rel=1e-4)
        assert measurements.size[index, layer, seed] == pytest.approx(size, rel=1e-5)
    directions = F.normalize(streams[1][seed, 0].detach(), dim=-1)
    cosines = (directions[1:] * directions[:-1]).sum(dim=-1)
    assert measurements.cosine_similarity[index, 1, seed] == pytest.approx(float(cosines.mean()), rel=1e-4)
    for layer in range(1, height + 1):
        slopes = [p.grad[seed] for p in model.blocks[layer - 1].parameters() if p.dim() == 3 and p.grad is not None]
        assert len(slopes) == 4
        norm = float(torch.cat([slope.flatten() for slope in slopes]).norm())
        assert measurements.weights[index, height - 1, layer, seed] == pytest.approx(norm, rel=1e-4)


def test_layers_above_a_stack_have_no_gradient(measurements: depth.StackMeasurements) -> None:
    for height in range(1, LAYERS + 1):
        inside = np.arange(LAYERS + 1) <= height
        assert np.isnan(measurements.stream[:, height - 1, ~inside]).all()
        assert np.isfinite(measurements.stream[:, height - 1, inside]).all()
        assert np.isnan(measurements.weights[:, height - 1, 0]).all()
        assert np.isfinite(measurements.weights[:, height - 1, 1 : height + 1]).all()
    assert not measurements.size.flags.writeable and len(AT) == len(measurements.size) == 10


def test_the_expected_mean_square_by_hand() -> None:
    part = depth.MEAN_SQUARE_GAIN["usual"] ** 2
    norms = ("pre", "none", "post")
    before, none, after = (depth.expected_mean_squares(Combination(True, norm), "usual", 2) for norm in norms)
    assert before == pytest.approx(np.array([[1, 1 + part / 2, 1 + part], [1, 1 + 1.5 * part, 1 + 3 * part]]))
    factor = (1 + part / 2) * (1 + part)
    assert none == pytest.approx(np.array([[1, 1 + part / 2, (1 + part / 2) ** 2], [1, factor, factor**2]]))
    assert after == pytest.approx(np.ones((2, 3)))
    assert depth.expected_mean_squares(Combination(False, "pre"), "usual") is None


def test_without_residual_and_norm_activations_vanish_and_tokens_collapse() -> None:
    bare, standard = Combination(False, "none"), Combination(True, "pre")
    measured = depth.measure_stacks(HEADS, "usual", 24, 1, [bare])
    assert 0 < measured.size[0, -1, 0] < 1e-45, "beyond single precision"
    assert (measured.cosine_similarity[0, -1] > 0.999).all()
    assert (depth.measure_stacks(HEADS, "usual", 3, 2, [standard]).cosine_similarity[0, -1] < 0.5).all()
    # Each block is the identity.
    measured = depth.measure_stacks(HEADS, "zero", 3, 2, [Combination(True, "none"), bare])
    assert measured.size[0] == pytest.approx(np.broadcast_to(measured.size[0][:1], (4, 2)))
    assert measured.stream[0, -1] == pytest.approx(np.broadcast_to(measured.stream[0, -1][:1], (4, 2)))
    assert (measured.size[1, 1:] == 0).all() and np.isnan(measured.cosine_similarity[1, 1:]).all()
    assert depth.log10_values(np.array([0, 1e-54, 1000])).tolist() == [-np.inf, -54, 3]


def test_a_block_without_residual_returns_only_its_own_output() -> None:
    shared = depth.draw_shared(HEADS, "usual", 1, 1)
    model = depth.build_stack(Combination(False, "pre"), HEADS, 1, shared)
    block, x = model.blocks[0], model.embedding(shared.inputs)
    between = block.attention(block.attention_norm(x), None)
    assert torch.equal(block(x, None), block.feedforward(block.feedforward_norm(between)))
    after = replace(Combination(False, "pre"), norm="post")
    model = depth.build_stack(after, HEADS, 1, shared)
    assert float(model.blocks[0](x, None).detach().square().mean()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("combination", [Combination(True, "pre"), Combination(False, "none")])
def test_the_gradient_of_one_stack_is_that_of_all_heights(combination: Combination) -> None:
    whole = depth.measure_stacks(2, "usual", layers=3, seeds=2, combinations=[combination]).stream[0, 2]
    assert depth.stream_gradient_ratios(combination, 2, "usual", 3, seeds=2) == pytest.approx(whole[0] / whole[3])
