"""Who races on recall: every architecture with every way to start it. And the sweeps over lengths and step sizes.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from explorer.catalogue import MODELS
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
    words: str  # in the middle of a sentence, after the architecture
    label: str  # at the end of a line, beside others of its architecture
    dash: str  # the colour says the architecture, the dash the start
    settings: Mapping[str, object] = field(hash=False)

    @property
    def short(self) -> str:
        """At the end of a line, beside other architectures."""
        return f"{MODELS[self.model].title} {self.label}"

    def config(self, **shared: object) -> RunConfig:
        """Its run with some settings that all have in common. Raises InvalidSetting."""
        return changed(default("recall", self.model), {"replicas": SEEDS, **self.settings, **shared})


# For each start: its name in a title, in the middle of a sentence, at the end of a line, and its dash.
_STARTS = {
    "usual": ("usual start", "with the usual start", "usual", "6px,4px"),
    "orthogonal": ("started as a rotation", "started as a rotation", "rotation", "10px,3px,2px,3px"),
    "forget-1": ("gates at bias 1", "with gates at bias 1", "bias 1", "2px,4px"),
    "forget-3": ("gates at bias 3", "with gates at bias 3", "bias 3", "12px,3px"),
    "chrono": ("gates open (chrono)", "with open gates", "open", "solid"),
}
_POSITIONS = {
    "learned": ("learned positions", "with learned positions", "learned", "solid"),
    "sinusoidal": ("positions as sines", "with positions as sines", "sines", "12px,3px"),
    "none": ("no positions", "without positions", "none", "6px,4px"),
}


def _each(model: str, setting: str, told: Mapping[str, tuple[str, str, str, str]]) -> Iterator[Contestant]:
    for value, (title, words, label, dash) in told.items():
        full = f"{MODELS[model].title}, {title}"
        yield Contestant(f"{model}-{value}", model, full, words, label, dash, {setting: value})


CONTESTANTS = {
    each.name: each
    for each in (
        *_each("rnn", "start", {start: _STARTS[start] for start in ("usual", "orthogonal")}),
        *_each("lstm", "start", _STARTS),
        *_each("gru", "start", _STARTS),
        *_each("transformer", "positions", _POSITIONS),
    )
}


def contestant_of(config: RunConfig) -> Contestant:
    """Who a run on recall is, by its architecture and its start."""
    each = (c for c in CONTESTANTS.values() if c.model == config.model_name)
    return next(c for c in each if all(getattr(config.model, name) == value for name, value in c.settings.items()))


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
