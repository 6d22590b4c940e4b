from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.inspection import depth
from explorer.inspection.depth import COMBINATIONS, SHARES, Combination, Depths, drawn, expected, measure, tower

HEADS, LAYERS, SEEDS = 4, 5, 2
AT = {combination: i for i, combination in enumerate(COMBINATIONS)}


@pytest.fixture(scope="module")
def usual() -> Depths:
    return measure(HEADS, "usual", LAYERS, SEEDS)


def test_every_combination_is_there_once() -> None:
    assert len(AT) == 10
    assert {(c.residual, c.norm) for c in AT} == {(r, n) for r in (True, False) for n in ("none", "post", "pre")}
    assert {c.kind for c in AT if c.norm == "none"} == {"layer"}


@pytest.mark.parametrize("combination", [Combination(True, "pre", "rms"), Combination(False, "post")], ids=str)
def test_the_gradients_are_those_of_a_plain_backward_through_the_whole_stack(
    usual: Depths, combination: Combination
) -> None:
    height, seed = 3, 1
    shared = drawn(HEADS, "usual", LAYERS, SEEDS)
    model = tower(combination, HEADS, LAYERS, shared)
    x = model.embedding(shared.read)
    streams = [x.retain_grad() or x]
    for block in model.blocks[:height]:
        x = block(x, None)
        x.retain_grad()
        streams.append(x)
    logits = model.readout(model.final_norm(x))
    F.cross_entropy(logits[seed].flatten(0, -2), shared.asked[seed].flatten()).backward()
    here = AT[combination]
    for layer, stream in enumerate(streams):
        assert stream.grad is not None
        assert usual.stream[here, height - 1, layer, seed] == pytest.approx(float(stream.grad[seed].norm()), rel=1e-4)
        assert usual.size[here, layer, seed] == pytest.approx(float(stream[seed].detach().square().mean()), rel=1e-5)
    for layer in range(1, height + 1):
        slopes = [p.grad[seed] for p in model.blocks[layer - 1].parameters() if p.dim() == 3 and p.grad is not None]
        assert len(slopes) == 4
        whole = float(torch.cat([slope.flatten() for slope in slopes]).norm())
        assert usual.weights[here, height - 1, layer, seed] == pytest.approx(whole, rel=1e-4)


def test_what_is_not_in_a_stack_has_no_gradient(usual: Depths) -> None:
    for height in range(1, LAYERS + 1):
        inside = np.arange(LAYERS + 1) <= height
        assert np.isnan(usual.stream[:, height - 1, ~inside]).all()
        assert np.isfinite(usual.stream[:, height - 1, inside]).all()
        assert np.isnan(usual.weights[:, height - 1, 0]).all()
        assert np.isfinite(usual.weights[:, height - 1, 1 : height + 1]).all()


def test_a_low_stack_is_the_beginning_of_a_high_one(usual: Depths) -> None:
    low = measure(HEADS, "usual", 2, SEEDS, [Combination(True, "pre")])
    here = AT[Combination(True, "pre")]
    assert low.size[0] == pytest.approx(usual.size[here, :3])
    assert low.stream[0] == pytest.approx(usual.stream[here, :2, :3], rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("start", ["usual", "kept"])
def test_the_mean_square_lies_where_the_formula_expects_it(start: depth.Start) -> None:
    some = [
        Combination(True, "none"),
        Combination(True, "pre"),
        Combination(True, "pre", "rms"),
        Combination(True, "post"),
    ]
    found = measure(HEADS, start, LAYERS, 4, some)
    for i, combination in enumerate(some):
        lines = expected(combination, start, LAYERS)
        assert lines is not None
        low, high = lines
        middle = np.median(found.size[i], axis=-1)
        assert (middle[1:] > 0.85 * low[1:]).all() and (middle < 1.15 * high).all(), combination


def test_the_formula_by_hand() -> None:
    part = SHARES["usual"] ** 2
    before, none, after = (expected(Combination(True, norm), "usual", 2) for norm in ("pre", "none", "post"))
    assert before == pytest.approx(np.array([[1, 1 + part / 2, 1 + part], [1, 1 + 1.5 * part, 1 + 3 * part]]))
    factor = (1 + part / 2) * (1 + part)
    assert none == pytest.approx(np.array([[1, 1 + part / 2, (1 + part / 2) ** 2], [1, factor, factor**2]]))
    assert after == pytest.approx(np.ones((2, 3)))
    assert expected(Combination(False, "pre"), "usual") is None


def test_without_residual_and_norm_everything_fades_and_the_tokens_become_one(usual: Depths) -> None:
    bare, whole = AT[Combination(False, "none")], AT[Combination(True, "pre")]
    assert (usual.size[bare, -1] < 1e-9).all() and (usual.size[bare, -1] > 0).all()
    assert (usual.likeness[bare, -1] > 0.999).all()
    assert (usual.likeness[whole, -1] < 0.5).all()


def test_what_leaves_single_precision_is_still_measured() -> None:
    found = measure(HEADS, "usual", 24, 1, [Combination(False, "none")])
    assert 0 < found.size[0, -1, 0] < 1e-45
    assert np.isfinite(found.likeness[0]).all()


def test_a_block_that_starts_at_zero_hands_on_what_it_gets() -> None:
    some = [Combination(True, "none"), Combination(False, "none")]
    found = measure(HEADS, "zero", 3, 2, some)
    assert found.size[0] == pytest.approx(np.broadcast_to(found.size[0][:1], (4, 2)))
    assert found.stream[0, -1] == pytest.approx(np.broadcast_to(found.stream[0, -1][:1], (4, 2)))
    assert (found.size[1, 1:] == 0).all() and np.isnan(found.likeness[1, 1:]).all()


def test_what_is_handed_out_cannot_be_changed(usual: Depths) -> None:
    with pytest.raises(ValueError):
        usual.size[:] = 0


def test_a_block_without_residual_hands_on_only_what_it_makes() -> None:
    shared = drawn(HEADS, "usual", 1, 1)
    model = tower(Combination(False, "pre"), HEADS, 1, shared)
    block, x = model.blocks[0], model.embedding(shared.read)
    between = block.attention(block.attention_norm(x), None)
    assert torch.equal(block(x, None), block.feedforward(block.feedforward_norm(between)))
    after = replace(Combination(False, "pre"), norm="post")
    model = tower(after, HEADS, 1, shared)
    assert float(model.blocks[0](x, None).detach().square().mean()) == pytest.approx(1, abs=1e-3)
