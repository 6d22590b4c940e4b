"""What every recurrent classifier shares: read a sentence word by word, answer from the last state.

A cell is one step (`rnn.py`, `lstm.py`, `gru.py`); this file is the loop over time around it.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.layers import Embedding, Linear
from explorer.models.taps import watched

State: TypeAlias = tuple[Tensor, ...]  # the hidden state first; an LSTM adds its memory cell


@runtime_checkable
class Cell(Protocol):
    """One step of a recurrent network, and all steps at once."""

    def start(self, x: Tensor) -> State:
        """The state before the first step: zeros."""

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch gates"]:
        """What the inputs bring to the gates: one product for all steps at once."""

    def step(self, projected: Tensor, state: State) -> State:
        """One step in time, spelled out as in the paper."""

    def fused(self, x: Tensor) -> Tensor | None:
        """All steps in the quickest way, for models that nobody watches; None where there is none for a stack."""


def unroll(cell: Cell, x: Float[Tensor, "*replicas batch time width"]) -> Float[Tensor, "*replicas batch time hidden"]:
    """The hidden state after each step."""
    if not watched() and (fused := cell.fused(x)) is not None:
        return fused
    state = cell.start(x)
    states = []
    for projected in cell.project(x).unbind(-2):
        state = cell.step(projected, state)
        states.append(state[0])
    return torch.stack(states, dim=-2)


class RecurrentClassifier(nn.Module):
    """Embedding, a cell looped over time, and a readout of the state after the last real token."""

    cell: Cell

    def __init__(
        self,
        cell: nn.Module,
        width: int,
        hidden: int,
        vocabulary: int,
        classes: int,
        padding: int,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.padding = padding
        self.embedding = Embedding(vocabulary, width, generator)
        self.cell = cell  # type: ignore[assignment]  # a module that is a Cell
        self.readout = Linear(hidden, classes, generator)

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        states = unroll(self.cell, self.embedding(ids))
        # Padding stands at the end, so whatever the cell does there comes after the state we read.
        last = (ids != self.padding).sum(-1) - 1
        index = last[..., None, None].expand(*last.shape, 1, states.shape[-1])
        return self.readout(states.gather(-2, index).squeeze(-2))
