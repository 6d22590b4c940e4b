"""Bytes are exact and are held; seconds are only there: no test asserts on time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from explorer.inspection.cost import PARTS, Size, bytes_kept, crossing, multiplications, scaled, slope
from explorer.inspection.cost_measuring import MOST_BYTES, _Part, _Stand, measured
from explorer.inspection.prices import saved_bytes

SIZES = (Size(48, 32, 1, 4), Size(64, 48, 2, 2))
X = np.array([32, 64, 128, 256])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["attention", "fused", "feedforward", "rnn", "gru"])
def test_the_bytes_of_the_formula_are_those_that_autograd_keeps(part: str, size: Size) -> None:
    assert _Stand(part, size).kept == bytes_kept(part, size)


def test_pytorchs_lstm_keeps_more_than_its_equations_need() -> None:
    for size in SIZES:
        assert _Stand("lstm", size).kept > bytes_kept("lstm", size)


class Counting(TorchFunctionMode):
    """The multiplications of every matrix product that is done inside."""

    found = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        left = {"linear": 0, "matmul": 0, "__matmul__": 0, "addmm": 1}.get(getattr(function, "__name__", ""))
        if left is not None:
            self.found += result.numel() * args[left].shape[-1]
        return result


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["attention", "feedforward", "rnn"])
def test_the_multiplications_are_those_that_pytorch_counts(part: str, size: Size) -> None:
    stand = _Stand(part, size)
    with torch.no_grad(), Counting() as counting:
        stand.part(stand.x)
    if part == "rnn":  # nothing is multiplied with the zeros before the first step
        counting.found += size.layers * size.width**2
    assert counting.found == multiplications(part, size)


def test_a_gate_costs_a_plain_cell() -> None:
    size = SIZES[0]
    ratios = {part: multiplications(part, size) / multiplications("rnn", size) for part in ("gru", "lstm")}
    assert ratios == {"gru": 3, "lstm": 4}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_measured_at_every_size(part: str) -> None:
    found = measured(part, SIZES, 0.0)
    assert np.isfinite([found.forward, found.both, found.kept]).all()
    assert (found.kept > 0).all()


def test_what_would_take_too_much_memory_is_left_out() -> None:
    longest = int((MOST_BYTES / 4 / 8) ** 0.5)
    found = measured("attention", (Size(32, 16, 1, 8), Size(longest + 1, 16, 1, 8)), 0.0)
    assert np.isfinite(found.kept).tolist() == [True, False]


def test_a_fused_kernel_answers_as_the_explicit_path_does_and_keeps_less() -> None:
    size = SIZES[0]
    explicit, fused = _Part("attention", size), _Part("fused", size)
    x = torch.randn(1, size.length, size.width, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(explicit(x), fused(x), atol=1e-6)
    assert saved_bytes(fused, lambda: fused(x)) < saved_bytes(explicit, lambda: explicit(x))


def test_a_slope_is_the_power() -> None:
    y = 3.0 * X.astype(float) ** 1.7
    assert slope(X, y, 32) == pytest.approx(1.7)
    y[0] = 1e9
    assert slope(X, y, 64) == pytest.approx(1.7)
    assert np.isnan(slope(X, np.array([1.0, np.nan, np.nan, np.nan]), 32))


def test_a_formula_is_moved_through_the_middle_point() -> None:
    formula = X.astype(float)
    found = scaled(formula, np.array([9.0, 2.0, 1.0, np.nan]) * formula)
    assert found == pytest.approx(2 * formula)
    assert np.isnan(scaled(formula, np.full(4, np.nan))).all()


def test_lines_cross_where_they_do() -> None:
    flat = np.full(4, 100.0)
    assert crossing(X, X.astype(float), flat) == pytest.approx(100)
    assert crossing(X, flat * 2, flat) == 0
    assert crossing(X, flat, X * 10.0) == float("inf")
    assert crossing(X, np.array([200, 50, 200, 200.0]), flat) == pytest.approx(64 * 2**0.5)  # not where it dips under
    assert crossing(X, np.array([200, 50, 200, np.nan]), flat) == pytest.approx(64 * 2**0.5)
    assert crossing(X, np.array([50, 200, 50, 200.0]), flat) == pytest.approx(128 * 2**0.5)  # where it stays above
