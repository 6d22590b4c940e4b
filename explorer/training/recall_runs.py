"""Who races on recall: every architecture with every way to start it. And the sweeps over lengths and step sizes.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.training.config import RunConfig, changed, default

SEEDS = 8
SOLVED = 0.95  # accuracy on fresh sequences from which on a seed counts as having solved it
LENGTHS = (10, 25, 50, 100, 200)  # of the sweep
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
SCRUBBED = 14  # snapshots of the runs that one may scrub through


@dataclass(frozen=True)
class Contestant:
    """An architecture, and how it starts; or, for the Transformer, how it knows where a symbol stands."""

    name: str  # in an address
    model: str
    title: str
    short: str  # at the end of a line
    dash: str  # the colour says the architecture, the dash the start
    settings: Mapping[str, object] = field(hash=False)

    def config(self, **shared: object) -> RunConfig:
        """Its run with some settings that all have in common. Raises InvalidSetting."""
        return changed(default("recall", self.model), {"replicas": SEEDS, **self.settings, **shared})


def _starts(model: str, title: str, *starts: str) -> list[Contestant]:
    return [
        Contestant(
            f"{model}-{start}",
            model,
            f"{title}, {_STARTS[start]}",
            f"{title} {_SHORT[start]}",
            _DASHES[start],
            {"start": start},
        )
        for start in starts
    ]


_STARTS = {
    "usual": "usual start",
    "orthogonal": "started as a rotation",
    "forget-1": "gates at bias 1",
    "forget-3": "gates at bias 3",
    "chrono": "gates open (chrono)",
}
_SHORT = {"usual": "usual", "orthogonal": "rotation", "forget-1": "bias 1", "forget-3": "bias 3", "chrono": "open"}
_DASHES = {
    "usual": "6px,4px",
    "orthogonal": "10px,3px,2px,3px",
    "forget-1": "2px,4px",
    "forget-3": "12px,3px",
    "chrono": "solid",
    "learned": "solid",
    "sinusoidal": "12px,3px",
    "none": "6px,4px",
}
_PLACES = {"learned": "learned positions", "sinusoidal": "positions as sines", "none": "no positions"}
_PLACED = {"learned": "learned", "sinusoidal": "sines", "none": "no positions"}

CONTESTANTS = {
    each.name: each
    for each in (
        *_starts("rnn", "RNN", "usual", "orthogonal"),
        *_starts("lstm", "LSTM", "usual", "orthogonal", "forget-1", "forget-3", "chrono"),
        *_starts("gru", "GRU", "usual", "orthogonal", "forget-1", "forget-3", "chrono"),
        *(
            Contestant(
                f"transformer-{places}",
                "transformer",
                f"Transformer, {words}",
                f"Transformer, {_PLACED[places]}",
                _DASHES[places],
                {"positions": places},
            )
            for places, words in _PLACES.items()
        ),
    )
}
# What a newcomer sees: each architecture as it usually starts, and what changes the outcome.
USUAL = ("rnn-usual", "lstm-usual", "lstm-chrono", "gru-usual", "gru-chrono", "transformer-learned", "transformer-none")
