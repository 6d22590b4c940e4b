from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from explorer.inspection.transformer import softmax_scaling
from explorer.inspection.transformer.softmax_scaling import WIDTHS, entropy, jacobian_norm, measure_softmax, softmax


def jacobian_norm_by_autograd(inputs: np.ndarray) -> float:
    """Return the norm of the Jacobian by automatic differentiation."""
    scores = torch.tensor(inputs, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
    return float(torch.linalg.matrix_norm(jacobian))  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0, 25.0])
def test_the_jacobian_norm_equals_that_of_autograd(spread: float) -> None:
    inputs = spread * np.random.default_rng(3).standard_normal(16)
    weights = softmax(inputs)
    assert weights == pytest.approx(torch.tensor(inputs).softmax(-1).numpy())
    # Once softmax has rounded 1 - a away, differentiating it is wrong in the last digits; the written out form is not.
    assert jacobian_norm(weights[None])[0] == pytest.approx(jacobian_norm_by_autograd(inputs), rel=1e-6, abs=1e-14)


def test_the_jacobian_norm_of_two_weights_by_hand() -> None:
    assert jacobian_norm(np.array([[0.3, 0.7]]))[0] == pytest.approx(2 * 0.3 * 0.7)
    tiny = 1e-12  # nothing cancels
    assert jacobian_norm(np.array([[tiny, 1 - tiny]]))[0] == pytest.approx(2 * tiny, rel=1e-9)


def test_uniform_weights_have_maximal_entropy() -> None:
    assert entropy(np.full((2, 64), 1 / 64)) == pytest.approx(math.log(64))
    assert entropy(np.array([[1.0, 0.0]]))[0] == 0.0


def test_each_width_uses_the_first_dimensions_of_the_same_vectors() -> None:
    drawn_scores = softmax_scaling.draw_scores(np.random.default_rng(5), 2, 3)
    random = np.random.default_rng(5)
    query, keys = (random.standard_normal((2, count, WIDTHS[-1]), dtype=np.float32) for count in (1, 3))
    assert drawn_scores.shape == (len(WIDTHS), 2, 3)
    for width, scores in zip(WIDTHS, drawn_scores, strict=True):
        assert scores == pytest.approx((query[..., :width] * keys[..., :width]).sum(axis=-1), abs=1e-4)


def test_raw_scores_grow_with_the_root_of_the_width_and_saturate_softmax() -> None:
    stats = measure_softmax(seed=1, draws=40)
    assert stats.size.shape == (2, len(WIDTHS), 40) and stats.one.shape == (2, len(WIDTHS), 64)
    spread = np.median(stats.size, axis=-1)
    assert spread[0, -1] == pytest.approx(math.sqrt(1024), rel=0.1) and spread[1, -1] == pytest.approx(1, rel=0.1)
    for name in ("size", "entropy", "largest", "gradient"):
        assert getattr(stats, name)[0, 0] == pytest.approx(getattr(stats, name)[1, 0]), "at a width of 1 they are one"
    middle = {name: stats.percentiles(name) for name in ("entropy", "gradient")}
    assert (np.diff(middle["entropy"][0, ::4, 0]) < 0).all(), "entropy falls all the way"
    raw = middle["gradient"][0, :, 0]
    assert 0 < raw.argmax() < len(WIDTHS) - 1 and raw[-1] < raw.max() / 50, "the gradient rises first, then collapses"
    for values in middle.values():
        assert (values[..., 1] <= values[..., 0]).all() and (values[..., 0] <= values[..., 2]).all()


def test_the_same_seed_gives_the_same_statistics() -> None:
    one, other = measure_softmax(seed=2, draws=3, keys=4), measure_softmax(seed=2, draws=3, keys=4)
    assert np.array_equal(one.gradient, other.gradient)
    assert not np.array_equal(one.gradient, measure_softmax(seed=3, draws=3, keys=4).gradient)
