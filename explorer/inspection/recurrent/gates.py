"""Gates and states of a recurrent network over one sequence, and the half-lives of its units.

A unit that keeps the share f of its content at every step has a half-life of ln(1/2) / ln(f) steps. f is the forget
gate of an LSTM or the update gate of a GRU (here the share that is kept); over a sequence, its geometric mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import InvalidSetting, shorten
from explorer.inspection.load_model import LoadedModel, load_model, to_array
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.run_store.store import StoredRun
from explorer.tasks.recall import RecallConfig, evaluation_sequences
from explorer.tokenization.words import fold_word
from explorer.training.record import Record

ALPHABET = "abcdefghijklmnopqrstuvwxyz"  # the letters that stand for symbols
SEQUENCES = 64  # over which half-lives are averaged
_TITLES = {  # by tap, in display order
    "forget_gate": "forget gate",
    "update_gate": "update gate",
    "input_gate": "input gate",
    "reset_gate": "reset gate",
    "output_gate": "output gate",
    "candidate": "candidate",
    "memory": "cell",
    "state": "hidden state",
}
_KEEP_GATES = ("forget_gate", "update_gate")
_SIGNED = ("candidate", "memory", "state")


@dataclass(frozen=True)
class GateTrace:
    """Values of a gate or a state per unit and step."""

    title: str
    signed: bool  # True for states around 0, False for gates between 0 and 1
    values: Float[ndarray, "units time"]


@dataclass(frozen=True)
class GateReading:
    """Gates, states and predictions of one replica over one sequence."""

    ids: tuple[int, ...]
    traces: tuple[GateTrace, ...]
    half_lives: Float[ndarray, " units"] | None  # in steps; None without gates
    answers: Float[ndarray, "time symbols"]  # probabilities read out after each symbol


@dataclass(frozen=True, eq=False)
class GateActivity:
    """The gates of one seed while it reads a sequence, and the half-lives of the units of all seeds."""

    reading: GateReading
    half_lives: Mapping[str, Float[ndarray, "replicas units"]]  # of each gated run, by its title


def measure_gates(
    runs: Sequence[tuple[str, StoredRun | Record]], step: int, replica: int, letters: str, longest: int
) -> GateActivity:
    """Let one seed of the first run read letters (none: random ones), and compute the half-lives of all runs.

    After the last `step` of the first run, the last one of every run is taken. Raises InvalidSetting and DamagedRun.
    """
    (_, run), task = runs[0], runs[0][1].config.task_as(RecallConfig)
    ids = parse_symbols(letters or random_sequence(task), task.symbols)[:longest]
    reading, lives = read_gates(load_model(run, step), ids, replica), {}
    is_last = step == run.snapshot_steps()[-1]
    for title, each in runs if reading.half_lives is not None else ():
        steps = each.snapshot_steps()
        loaded = load_model(each, steps[-1] if is_last else max(one for one in steps if one <= step))
        if has_keep_gate(loaded):
            lives[title] = half_lives(np.log(mean_keep_rates(loaded)))
    return GateActivity(reading, lives)


def parse_symbols(text: str, symbols: int) -> tuple[int, ...]:
    """Parse letters as symbols, ignoring spaces. Raises InvalidSetting for a letter that is no symbol of the task."""
    alphabet = ALPHABET[:symbols]
    letters = "".join(fold_word(text).split())
    for letter in letters:
        if letter not in alphabet:
            raise InvalidSetting(
                f"“{shorten(letter)}” is no symbol of this task. It has {symbols}: {', '.join(alphabet)}. "
                "Write a sequence of these."
            )
    return tuple(alphabet.index(letter) for letter in letters)


def random_sequence(config: RecallConfig) -> str:
    """Return a fresh sequence of the training length as text."""
    return "".join(ALPHABET[int(i)] for i in evaluation_sequences(config, config.length, 1)[0])


def has_keep_gate(loaded: LoadedModel) -> bool:
    """Return whether the cell has a gate that determines how much is kept."""
    return any(hasattr(loaded.stack.cell, name) for name in _KEEP_GATES)


def read_gates(loaded: LoadedModel, ids: tuple[int, ...], replica: int) -> GateReading:
    """Run one replica of a recurrent network on a sequence of at least one symbol."""
    model = loaded.single_replica(replica)
    assert isinstance(model, RecurrentClassifier)
    with torch.inference_mode(), record(model) as trace:
        answers = model.prefix_logits(torch.tensor([ids])).softmax(dim=-1)[0]
        values_of = {name: trace[f"cell.{name}"][0].T for name in _TITLES if f"cell.{name}" in trace}
    traces = tuple(GateTrace(_TITLES[name], name in _SIGNED, to_array(values)) for name, values in values_of.items())
    keep_gate = next((values_of[name] for name in _KEEP_GATES if name in values_of), None)
    lives = None if keep_gate is None else half_lives(to_array(keep_gate.double().log().mean(dim=-1)))
    return GateReading(ids, traces, lives, to_array(answers))


def mean_keep_rates(loaded: LoadedModel) -> Float[ndarray, "replicas units"]:
    """Return the share that each unit of a gated network keeps per step: a geometric mean over fresh sequences."""
    task, replicas = loaded.config.task_as(RecallConfig), loaded.config.replicas
    ids = evaluation_sequences(task, task.length, SEQUENCES)
    model = loaded.stack
    with torch.inference_mode(), record(model) as trace:
        model(ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
        keep_gate = next(trace[f"cell.{name}"] for name in _KEEP_GATES if f"cell.{name}" in trace)
    rates = keep_gate.double().log().mean(dim=(-3, -2)).exp()
    return to_array(rates.view(replicas, -1))


def half_lives(logs: Float[ndarray, "*units"]) -> Float[ndarray, "*units"]:
    """Return half-lives in steps from the logarithm of the share kept per step; infinite where it is 0."""
    with np.errstate(divide="ignore"):
        lives: ndarray = np.where(logs < 0, math.log(0.5) / np.minimum(logs, 0.0), np.inf)
    return lives
