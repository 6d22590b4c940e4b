from __future__ import annotations

import numpy as np
import pytest

from explorer.inspection.recurrent.exploding_gradients import gradient_norms_by_gain, linear_reference


def test_gradients_vanish_for_small_and_explode_for_large_spectral_radii() -> None:
    norms = gradient_norms_by_gain((0.5, 3.0), 12)
    assert norms.shape == (2, 8, 12)
    small, large = np.median(norms, axis=1)
    assert small[0] < 1e-3 * small[-1]
    assert large[0] > small[0] * 1e3


def test_the_linear_reference_grows_by_the_radius_per_step() -> None:
    norms = np.full((2, 3, 4), 0.2)
    assert linear_reference(norms, (0.5, 2.0))[:, 0] == pytest.approx(
        np.array([[0.025, 0.05, 0.1, 0.2], [1.6, 0.8, 0.4, 0.2]])
    )
