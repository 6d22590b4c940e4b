"""What clipping does: a plain recurrent network under plain gradient descent, with and without it.

Where the recurrent matrix is too small, the gradient vanishes on its way back; where it is too large, it explodes, and
a step of gradient descent, which is as long as its gradient, throws the weights away (Pascanu, Mikolov and Bengio
2013, who shorten it). Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.training.config import RunConfig, changed, default

LENGTH = 25
CLIP = 1.0  # longest gradient
GAINS = tuple(round(0.5 + 0.1 * i, 1) for i in range(26))  # spectral radii that one may drag through
_SHARED: dict[str, object] = {
    "replicas": 8,
    "length": LENGTH,
    "iterations": 300,
    "evaluate_every": 20,
    "method": "sgd",
    "snapshots": 2,
}


@dataclass(frozen=True)
class Ground:
    """A spectral radius at the start and a step size, at which both are trained."""

    name: str
    title: str
    words: str  # in the middle of a sentence
    settings: Mapping[str, object] = field(hash=False)

    def runs(self) -> dict[str, RunConfig]:
        """Without and with clipping."""
        usual = changed(default("recall", "rnn"), {**_SHARED, **self.settings})
        return {"none": changed(usual, {"clip": 0.0}), "clip": changed(usual, {"clip": CLIP})}


GROUNDS = (
    Ground("small", "Radius 0.7, rate 0.3", "at a radius of 0.7", {"gain": 0.7, "learning_rate": 0.3}),
    Ground("large", "Radius 2, rate 0.3", "at a radius of 2", {"gain": 2.0, "learning_rate": 0.3}),
    Ground("fast", "Radius 2, rate 1", "at a radius of 2 and a step size of 1", {"gain": 2.0, "learning_rate": 1.0}),
)


def recipes() -> dict[str, RunConfig]:
    """Every run by its name."""
    return {
        f"recall-exploding-{ground.name}-{which}": config
        for ground in GROUNDS
        for which, config in ground.runs().items()
    }
