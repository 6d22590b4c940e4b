"""The effect of gradient clipping: a vanilla RNN with plain gradient descent, with and without it.

If the recurrent matrix is too small, the gradient vanishes in backpropagation through time; if it is too large, the
gradient explodes, and a step of gradient descent ruins the weights (Pascanu, Mikolov and Bengio 2013, who clip its
norm). Needs no torch.
"""

from __future__ import annotations

from explorer.experiments.model_variant import NamedSettings
from explorer.training.config import RunConfig, default_config, with_settings

LENGTH = 25
CLIP = 1.0  # highest gradient norm
GAINS = tuple(round(0.5 + 0.1 * i, 1) for i in range(26))  # spectral radii that the slider offers
_SHARED: dict[str, object] = {
    "replicas": 8,
    "length": LENGTH,
    "iterations": 300,
    "evaluate_every": 20,
    "method": "sgd",
    "snapshots": 2,
}


class ClippingCell(NamedSettings):
    """A spectral radius at initialization and a learning rate, with which both runs are trained."""

    def configs(self) -> dict[str, RunConfig]:
        """Return the runs without and with clipping."""
        base = with_settings(default_config("recall", "rnn"), {**_SHARED, **self.settings})
        return {"none": with_settings(base, {"clip": 0.0}), "clip": with_settings(base, {"clip": CLIP})}


CLIPPING_CELLS = (
    ClippingCell("small", "Radius 0.7, learning rate 0.3", "at a radius of 0.7", {"gain": 0.7, "learning_rate": 0.3}),
    ClippingCell("large", "Radius 2, learning rate 0.3", "at a radius of 2", {"gain": 2.0, "learning_rate": 0.3}),
    ClippingCell(
        "fast",
        "Radius 2, learning rate 1",
        "at a radius of 2 and a learning rate of 1",
        {"gain": 2.0, "learning_rate": 1.0},
    ),
)


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    return {
        f"recall-exploding-{cell.name}-{which}": config
        for cell in CLIPPING_CELLS
        for which, config in cell.configs().items()
    }
