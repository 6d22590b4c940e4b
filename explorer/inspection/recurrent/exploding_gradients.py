"""Gradient norms along the sequence of a plain recurrent network, by the spectral radius of its recurrent matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.load_model import LoadedModel
from explorer.inspection.recurrent.input_gradients import input_gradient_norms
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

SEEDS = 8


def gradient_norms_by_gain(gains: Sequence[float], length: int) -> Float[ndarray, "gains replicas time"]:
    """Return |dL/dx_t| of untrained networks whose recurrent matrices are scaled to these spectral radii."""
    norms = []
    for gain in gains:
        config = with_settings(default_config("recall", "rnn"), {"replicas": SEEDS, "length": length, "gain": gain})
        norms.append(input_gradient_norms(LoadedModel(config, build_model(config).requires_grad_(False), None)))
    stacked = np.stack(norms)
    stacked.flags.writeable = False
    return stacked


def linear_reference(
    norms: Float[ndarray, "gains replicas time"], gains: Sequence[float]
) -> Float[ndarray, "gains 1 time"]:
    """Return the norms of a linear network with the same last value: they scale as radius^(T - t)."""
    time = norms.shape[-1]
    growth = np.array(gains)[:, None, None] ** np.arange(time - 1, -1, -1)
    return np.median(norms, axis=1, keepdims=True)[..., -1:] * growth
