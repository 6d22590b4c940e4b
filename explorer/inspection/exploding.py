"""How the gradient of a plain recurrent network goes back through its sequence, by the size of its recurrent matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.gradients import along_sequence
from explorer.inspection.opening import OpenedModel
from explorer.training.building import build
from explorer.training.config import changed, default

SEEDS = 8


def by_gain(gains: Sequence[float], length: int) -> Float[ndarray, "gains replicas time"]:
    """|dL/dx_t| of untrained nets, every seed with its own matrix scaled to each of these spectral radii."""
    found = []
    for gain in gains:
        config = changed(default("recall", "rnn"), {"replicas": SEEDS, "length": length, "gain": gain})
        found.append(along_sequence(OpenedModel(config, build(config).requires_grad_(False), None)))
    whole = np.stack(found)
    whole.flags.writeable = False
    return whole


def linear(norms: Float[ndarray, "gains replicas time"], gains: Sequence[float]) -> Float[ndarray, "gains 1 time"]:
    """What a linear net would do that ends alike: its gradient grows by the radius at each step, radius^(T - t)."""
    time = norms.shape[-1]
    back = np.array(gains)[:, None, None] ** np.arange(time - 1, -1, -1)
    reference: ndarray = np.median(norms, axis=1, keepdims=True)[..., -1:] * back
    return reference
