"""What a recurrent net does with each symbol of a sequence: its gates, its cell, its state, and how long it holds on.

A unit that keeps the share f of what it holds at every step keeps half of it for T1/2 = ln(1/2) / ln(f) steps. f is the
forget gate of an LSTM, the update gate of a GRU (which says here what stays); over a sequence, its geometric mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting, shortened
from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.tasks.recall import RecallConfig
from explorer.tasks.sequences import fresh

ALPHABET = "abcdefghijklmnopqrstuvwxyz"  # how symbols are written
SEQUENCES = 64  # over which a half-life is measured
_PARTS = {  # by tap, in the order in which they are shown
    "forget_gate": "forget gate",
    "update_gate": "update gate",
    "input_gate": "input gate",
    "reset_gate": "reset gate",
    "output_gate": "output gate",
    "candidate": "candidate",
    "memory": "cell",
    "state": "hidden state",
}
_KEEPS = ("forget_gate", "update_gate")
_SIGNED = ("candidate", "memory", "state")


@dataclass(frozen=True)
class Part:
    """A gate or a state, unit by unit and symbol by symbol."""

    title: str
    signed: bool  # a state around 0; a gate is between 0 and 1
    values: Float[ndarray, "units time"]


@dataclass(frozen=True)
class Reading:
    """One replica reading one sequence."""

    ids: tuple[int, ...]
    parts: tuple[Part, ...]
    half_lives: Float[ndarray, " units"] | None  # in symbols; None where nothing is gated
    answers: Float[ndarray, "time symbols"]  # what it would say, were it asked after each symbol


def typed(text: str, symbols: int) -> tuple[int, ...]:
    """The symbols that somebody wrote; spaces count for nothing. Raises InvalidSetting."""
    known = ALPHABET[:symbols]
    letters = "".join(text.lower().split())
    for letter in letters:
        if letter not in known:
            raise InvalidSetting(
                f"“{shortened(letter)}” is no symbol of this task. It has {symbols}: {', '.join(known)}. "
                "Write a sequence of these."
            )
    return tuple(known.index(letter) for letter in letters)


def drawn(config: RecallConfig) -> str:
    """A fresh sequence of the trained length, as it would be typed."""
    return "".join(ALPHABET[int(i)] for i in fresh(config, config.length, 1)[0])


def gated(found: OpenedModel) -> bool:
    """Whether there is a gate that says how much is kept."""
    return any(hasattr(found.stack.cell, name) for name in _KEEPS)


def reading(found: OpenedModel, ids: tuple[int, ...], replica: int) -> Reading:
    """Let one replica of a recurrent net read a sequence of at least one symbol."""
    model = found.alone(replica)
    assert isinstance(model, RecurrentClassifier)
    with torch.inference_mode(), record(model) as trace:
        answers = model.after_each(torch.tensor([ids])).softmax(dim=-1)[0]
        seen = {name: trace[f"cell.{name}"][0].T for name in _PARTS if f"cell.{name}" in trace}
    parts = tuple(Part(_PARTS[name], name in _SIGNED, to_array(values)) for name, values in seen.items())
    kept = _kept(seen)
    lives = None if kept is None else half_lives(to_array(kept.double().log().mean(dim=-1)))
    return Reading(ids, parts, lives, to_array(answers))


def kept_shares(found: OpenedModel) -> Float[ndarray, "replicas units"]:
    """What share of its content every unit of a gated net keeps at a step: a geometric mean over fresh sequences."""
    task, replicas = found.config.on(RecallConfig), found.config.replicas
    ids = fresh(task, task.length, SEQUENCES)
    model = found.stack
    with torch.inference_mode(), record(model) as trace:
        model(ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
        kept = next(trace[f"cell.{name}"] for name in _KEEPS if f"cell.{name}" in trace)
    shares = kept.double().log().mean(dim=(-3, -2)).exp()
    return to_array(shares.view(replicas, -1))


def half_lives(logs: Float[ndarray, "*units"]) -> Float[ndarray, "*units"]:
    """Steps after which half is left, from the logarithm of the share that one step leaves; infinite at 0."""
    with np.errstate(divide="ignore"):
        lives: ndarray = np.where(logs < 0, math.log(0.5) / np.minimum(logs, 0.0), np.inf)
    return lives


def _kept(seen: Mapping[str, Float[Tensor, "units time"]]) -> Float[Tensor, "units time"] | None:
    return next((seen[name] for name in _KEEPS if name in seen), None)
