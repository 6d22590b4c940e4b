"""Who races on recall: every architecture with every way to start it. And the sweeps over lengths and step sizes.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from explorer.training.config import RunConfig, changed, default

SEEDS = 8
SOLVED = 0.95  # accuracy on fresh sequences from which on a seed counts as having solved it
LENGTHS = (10, 25, 50, 100, 200)  # of the sweep
RATES = (1e-3, 3e-3, 1e-2, 3e-2)


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

# ---- the sweeps: which of them solve it at which length

OFTEN = ("rnn-usual", "rnn-orthogonal")  # asked at every step size: where they end is a matter of luck and of the rate


def swept(names: Iterable[str], **shared: object) -> dict[tuple[str, int], RunConfig]:
    """Each of these at every length of the sweep, with settings in common. Raises InvalidSetting."""
    return {
        (name, length): CONTESTANTS[name].config(**{**shared, "length": length}) for name in names for length in LENGTHS
    }


def at_rates(names: Iterable[str], **shared: object) -> dict[tuple[str, float, int], RunConfig]:
    """Each of these at every step size and every length of the sweep. Raises InvalidSetting."""
    names = tuple(names)
    return {
        (name, rate, length): config
        for rate in RATES
        for (name, length), config in swept(names, **{**shared, "learning_rate": rate}).items()
    }


# ---- the notebook's own protocol

TRAPPED = ("rnn", "lstm")
NOTEBOOK_STEPS = 30  # where the notebook stops and scores


def trap() -> dict[str, RunConfig]:
    """256 sequences, all of them in every step, and nothing clipped: as in the notebook, for ten times as long."""
    protocol = {"sequences": 256, "batch_size": 256, "clip": 0.0, "iterations": 300, "evaluate_every": 10}
    return {model: CONTESTANTS[f"{model}-usual"].config(**protocol) for model in TRAPPED}


def recipes() -> dict[str, RunConfig]:
    """Every run that ships, by name."""
    runs = {f"recall-{length}-{name}": config for (name, length), config in swept(CONTESTANTS).items()}
    for (name, rate, length), config in at_rates(OFTEN).items():
        if config not in runs.values():
            runs[f"recall-{length}-{name}-{rate:g}"] = config
    return runs | {f"recall-trap-{model}": config for model, config in trap().items()}
