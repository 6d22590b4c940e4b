"""What every recurrent network shares: read word by word, answer from the last state or from each.

A cell is one step (`rnn.py`, `lstm.py`, `gru.py`); this file is the loop over time around it, and the two
models around the loop: a classifier and a language model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import RecurrentStringConfig, RecurrentTextConfig
from explorer.models.language import LanguageModel, State
from explorer.models.layers import Dropout, Embedding, Linear, own
from explorer.models.taps import Tap, watched


@runtime_checkable
class Cell(Protocol):
    """One step of a recurrent network, and all steps at once. Its state is the hidden state; an LSTM adds its memory.

    One token at a time (generating), PyTorch's `torch.lstm_cell` and `torch.gru_cell` take these same weights.
    """

    recurrent: Linear

    def start(self, x: Tensor) -> State:
        """The state before the first step: zeros."""

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch gates"]:
        """What the inputs bring to the gates: one product for all steps at once."""

    def step(self, projected: Tensor, state: State) -> State:
        """One step in time, spelled out as in the paper."""

    def fused(self, x: Tensor, state: State) -> tuple[Tensor, State] | None:
        """All steps in the quickest way, for models that nobody watches; None where there is none for a stack.

        `()` is the state before the first step.
        """


def unroll(
    cell: Cell, x: Float[Tensor, "*replicas batch time width"], state: State = ()
) -> tuple[Float[Tensor, "*replicas batch time hidden"], State]:
    """The hidden state after each step, and the whole state after the last; `()` starts from zeros."""
    if not watched() and (fused := cell.fused(x, state)) is not None:
        return fused
    state = state or cell.start(x)
    states = []
    for projected in cell.project(x).unbind(-2):
        state = cell.step(projected, state)
        states.append(state[0])
    return torch.stack(states, dim=-2), state


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
        self.embedded = Tap()

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        states, _ = unroll(self.cell, self.embedded(self.embedding(ids)))
        # Padding stands at the end, so whatever the cell does there comes after the state we read.
        last = (ids != self.padding).sum(-1) - 1
        index = last[..., None, None].expand(*last.shape, 1, states.shape[-1])
        return self.readout(states.gather(-2, index).squeeze(-2))

    def after_each(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time classes"]:
        """What it would answer if the sequence ended after each token: every length for the price of the longest."""
        return self.readout(unroll(self.cell, self.embedded(self.embedding(ids)))[0])


class RecurrentLanguageModel(LanguageModel):
    """Embedding, cells one above the other, each looped over time, and a readout of the last one's every state.

    It carries its state on: text read in pieces, each from where the one before ended, is text read at once.
    So it has no longest text, and a `context` changes nothing.
    """

    cells: Sequence[Cell]

    def __init__(
        self,
        cell: Callable[[int, int, Generator], nn.Module],
        config: RecurrentTextConfig,
        vocabulary: int,
        generator: Generator,
    ) -> None:
        """`cell` makes one cell, from the widths of its input and of its state, and a generator."""
        super().__init__()
        widths = [config.width, *[config.hidden] * (config.layers - 1)]
        self.embedding = Embedding(vocabulary, config.width, generator)
        # Before the cells: so the readout starts alike under any number of them.
        self.readout = Linear(config.hidden, vocabulary, generator)
        self.cells = nn.ModuleList(cell(width, config.hidden, generator) for width in widths)  # type: ignore[assignment]  # modules that are Cells
        self.dropout = Dropout(config.dropout)
        self.embedded = Tap()
        if config.start != "uniform":  # at the end, so that everything else starts as it does under "uniform"
            for layer in self.cells:
                restart(layer.recurrent.weight, config.start, own(generator))

    def features(
        self, ids: Int[Tensor, "*replicas batch time"], state: State = ()
    ) -> tuple[Float[Tensor, "*replicas batch time hidden"], State]:
        """The last cell's states, and the state of every cell after the last token, from the first cell to the last.

        Gradients run back into a `state` that still hangs on its graph; detach it where they should end.
        """
        x = self.embedded(self.embedding(ids))
        each = len(state) // len(self.cells)  # tensors in the state of one cell
        last: State = ()
        for i, cell in enumerate(self.cells):
            x, after = unroll(cell, x, state[i * each : (i + 1) * each])
            x = self.dropout(x)
            last += after
        return x, last


class RecurrentStringModel(RecurrentLanguageModel):
    """A language model of one layer, whose state need not be fed back: then it sees one character and no more."""

    def __init__(
        self,
        cell: Callable[[int, int, Generator], nn.Module],
        config: RecurrentStringConfig,
        vocabulary: int,
        generator: Generator,
    ) -> None:
        super().__init__(cell, RecurrentTextConfig(config.width, config.hidden), vocabulary, generator)
        self.recurrent = config.recurrent

    def features(
        self, ids: Int[Tensor, "*replicas batch time"], state: State = ()
    ) -> tuple[Float[Tensor, "*replicas batch time hidden"], State]:
        if self.recurrent:
            return super().features(ids, state)
        # Time becomes a part of the batch: every character is a sequence of its own, read from the zero state.
        apart, _ = super().features(ids.flatten(-2)[..., None])
        return apart.view(*ids.shape, -1), ()


def open_gates(recurrent: Linear, given: Linear, gate: int, bias: Float[Tensor, " hidden"]) -> None:
    """Give one gate of a cell this bias. A cell has two for each gate, one with its state and one with what it is
    given: the second becomes zero."""
    rows = slice(gate * len(bias), (gate + 1) * len(bias))
    assert recurrent.bias is not None and given.bias is not None
    with torch.no_grad():
        recurrent.bias[rows] = bias
        given.bias[rows] = 0.0


def kept_open(start: str, length: int, hidden: int, generator: Generator) -> Float[Tensor, " hidden"]:
    """The bias of a gate that keeps, so that it starts open.

    "forget-1": 1 for every unit, "forget-3": 3. "chrono": log U(1, T - 1), for units that keep what they hold for
    about 1 to T - 1 steps (Tallec & Ollivier 2018, eq. 16).
    """
    if start == "chrono":
        return torch.empty(hidden).uniform_(1, max(length - 1, 1), generator=generator).log()
    return torch.full((hidden,), float(start.removeprefix("forget-")))


def restart(weight: Float[Tensor, "gates_hidden hidden"], start: str, generator: Generator) -> None:
    """Draw a recurrent matrix again, gate by gate.

    "xavier": evenly within sqrt(6 / (fan-in + fan-out)) (Glorot & Bengio 2010, eq. 16). "orthogonal": a rotation
    (or one with a reflection), which neither stretches nor shrinks what runs through it (Saxe et al. 2013, section 3).
    """
    draw = {"xavier": nn.init.xavier_uniform_, "orthogonal": nn.init.orthogonal_}[start]
    for gate in weight.detach().chunk(len(weight) // weight.shape[-1]):
        draw(gate, generator=generator)
