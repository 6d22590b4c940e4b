from __future__ import annotations

import numpy as np
import pytest

from explorer.inspection.exploding import by_gain, linear


def test_a_small_matrix_lets_the_gradient_vanish_and_a_large_one_lets_it_explode() -> None:
    norms = by_gain((0.5, 3.0), 12)
    assert norms.shape == (2, 8, 12)
    small, large = np.median(norms, axis=1)
    assert small[0] < 1e-3 * small[-1]
    assert large[0] > small[0] * 1e3


def test_a_linear_net_grows_by_its_radius_at_each_step() -> None:
    norms = np.full((2, 3, 4), 0.2)
    assert linear(norms, (0.5, 2.0))[:, 0] == pytest.approx(np.array([[0.025, 0.05, 0.1, 0.2], [1.6, 0.8, 0.4, 0.2]]))
