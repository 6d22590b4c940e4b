"""Numbers of bytes are tested exactly; seconds depend on the machine, so no test asserts on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from explorer.inspection.compare import growth_exponent
from explorer.inspection.language.context_cost import saved_bytes
from explorer.inspection.transformer import cost_formulas
from explorer.inspection.transformer.cost_formulas import LayerSize, crossover, multiplications
from explorer.inspection.transformer.cost_measurement import MAX_WEIGHT_BYTES, _LayerStack, _TimingBench, measure_costs

SIZES = (LayerSize(48, 32, 1, 4), LayerSize(64, 48, 2, 2))
X = np.array([32, 64, 128, 256])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["attention", "fused", "feedforward", "rnn", "gru"])
def test_the_formula_gives_the_bytes_that_autograd_saves(part: str, size: LayerSize) -> None:
    assert _TimingBench(part, size).saved == cost_formulas.expected_saved_bytes(part, size)
    assert _TimingBench("lstm", size).saved > cost_formulas.expected_saved_bytes("lstm", size), "PyTorch's needs more"


class Counting(TorchFunctionMode):
    """Counts the multiplications of every matrix product inside the block."""

    found = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        left = {"linear": 0, "matmul": 0, "__matmul__": 0, "addmm": 1}.get(getattr(function, "__name__", ""))
        if left is not None:
            self.found += result.numel() * args[left].shape[-1]
        return result


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["attention", "feedforward", "rnn"])
def test_the_formula_gives_the_multiplications_that_pytorch_performs(part: str, size: LayerSize) -> None:
    stand = _TimingBench(part, size)
    with torch.no_grad(), Counting() as counting:
        stand.part(stand.x)
    if part == "rnn":  # nothing is multiplied with the zeros before the first step
        counting.found += size.layers * size.width**2
    assert counting.found == multiplications(part, size)


def test_gates_and_the_fused_kernel() -> None:
    found = {part: multiplications(part, SIZES[0]) / multiplications("rnn", SIZES[0]) for part in ("gru", "lstm")}
    assert found == {"gru": 3, "lstm": 4}
    size = SIZES[0]
    explicit, fused = _LayerStack("attention", size), _LayerStack("fused", size)
    x = torch.randn(1, size.length, size.width, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(explicit(x), fused(x), atol=1e-6)
    assert saved_bytes(fused, lambda: fused(x)) < saved_bytes(explicit, lambda: explicit(x))


def test_every_part_is_measured_except_at_sizes_that_need_too_much_memory() -> None:
    longest = int((MAX_WEIGHT_BYTES / 4 / 8) ** 0.5)
    costs = measure_costs("attention", (LayerSize(32, 16, 1, 8), LayerSize(longest + 1, 16, 1, 8)), 0.0)
    assert np.isfinite(costs.saved_bytes).tolist() == [True, False]
    for part in cost_formulas.PARTS:
        costs = measure_costs(part, SIZES, 0.0)
        assert np.isfinite([costs.forward, costs.forward_backward]).all()
        assert costs.saved_bytes.tolist() == [_TimingBench(part, size).saved for size in SIZES]


def test_growth_scale_and_crossover_by_hand() -> None:
    y = 3.0 * X.astype(float) ** 1.7
    assert growth_exponent(X, y, 32) == pytest.approx(1.7)
    y[0] = 1e9
    assert growth_exponent(X, y, 64) == pytest.approx(1.7)
    assert np.isnan(growth_exponent(X, np.array([1.0, np.nan, np.nan, np.nan]), 32))
    formula = X.astype(float)
    scaled = cost_formulas.scale_to_median(formula, np.array([9.0, 2.0, 1.0, np.nan]) * formula)
    assert scaled == pytest.approx(2 * formula)
    assert np.isnan(cost_formulas.scale_to_median(formula, np.full(4, np.nan))).all()
    flat = np.full(4, 100.0)
    assert crossover(X, X.astype(float), flat) == pytest.approx(100)
    assert crossover(X, flat * 2, flat) == 0
    assert crossover(X, flat, X * 10.0) == float("inf")
    falls_below_once = np.array([200, 50, 200, 200.0])
    assert crossover(X, falls_below_once, flat) == pytest.approx(64 * 2**0.5)
    assert crossover(X, np.array([200, 50, 200, np.nan]), flat) == pytest.approx(64 * 2**0.5)
    assert crossover(X, np.array([50, 200, 50, 200.0]), flat) == pytest.approx(128 * 2**0.5)  # where it stays above
