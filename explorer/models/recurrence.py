"""The parts that all recurrent networks share: the loop over time, a classifier and a language model around it, and
initializations of recurrent weights.

A cell computes one step; the cells are in `rnn.py`, `lstm.py` and `gru.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import RecurrentStringConfig, RecurrentTextConfig
from explorer.models.language import LanguageModel, State
from explorer.models.layers import Dropout, Embedding, Linear, child_generator
from explorer.models.shapes import ClassLogits, Features, Ids, Vectors
from explorer.models.taps import Tap, is_observed


@runtime_checkable
class Cell(Protocol):
    """A recurrent cell: it computes one step, or all steps at once.

    The state is (hidden state,), or (hidden state, memory) for an LSTM, each of shape (*batch, hidden).

    The weights have the layout of `torch.lstm_cell` and `torch.gru_cell`, which generation uses for single tokens.
    """

    input: Linear
    recurrent: Linear

    def initial_state(self, x: Tensor) -> State:
        """Return the state before the first step, which is zero. `x`: (*batch, time, width)."""

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch gates"]:
        """Return the contribution of the inputs to the gates, for all steps in one product."""

    def step(self, projected: Tensor, state: State) -> State:
        """Return the state after one time step, computed as in the paper. `projected`: a time step of `project`."""

    def run_fused(self, x: Tensor, state: State) -> tuple[Tensor, State] | None:
        """Return all hidden states and the last state without taps; None if it cannot take a stack of replicas."""


def unroll(cell: Cell, x: Vectors, state: State = ()) -> tuple[Float[Tensor, "*replicas batch time hidden"], State]:
    """Return the hidden state after each step, and the last whole state. `state`: the first one; `()`: zeros."""
    if not is_observed() and (fused := cell.run_fused(x, state)) is not None:
        return fused
    state = state or cell.initial_state(x)
    states = []
    for projected in cell.project(x).unbind(-2):
        state = cell.step(projected, state)
        states.append(state[0])
    return torch.stack(states, dim=-2), state


class RecurrentClassifier(nn.Module):
    """A recurrent classifier: embedding, a cell applied over time, and a readout after the last real token."""

    cell_class: type[nn.Module]  # its constructor takes the width of the input, that of the state, and a generator
    cell: Cell

    def __init__(self, config: Any, vocabulary: int, classes: int, padding: int, generator: Generator) -> None:
        super().__init__()
        is_english = hasattr(config, "dropout")
        cell = self.cell_class(config.width, config.hidden, generator)  # first, as in every released run
        self.padding = padding
        self.dropout = Dropout(config.dropout if is_english else 0.0)
        self.embedding = Embedding(vocabulary, config.width, generator, config.start if is_english else 1.0)
        self.cell = cell  # type: ignore[assignment]  # a module that is a Cell
        self.readout = Linear(config.hidden, classes, generator)
        self.embedded = Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        states, _ = unroll(self.cell, self.dropout(self.embedded(self.embedding(ids))))
        # Padding is at the end, so it cannot change the state that is read.
        last = (ids != self.padding).sum(-1) - 1
        index = last[..., None, None].expand(*last.shape, 1, states.shape[-1])
        return self.readout(self.dropout(states.gather(-2, index)).squeeze(-2))

    def prefix_logits(self, ids: Ids) -> Float[Tensor, "*replicas batch time classes"]:
        """Return the logits for every prefix of each sequence, in one pass. Padding is not treated specially."""
        return self.readout(unroll(self.cell, self.embedded(self.embedding(ids)))[0])


class RecurrentLanguageModel(LanguageModel):
    """A recurrent language model: embedding, layers of cells applied over time, and a readout at every position.

    It carries its state between calls: reading a text in consecutive pieces equals reading it at once. It therefore
    has no maximum length, and the task's `context` has no effect.
    """

    cell_class: type[nn.Module]  # see `RecurrentClassifier`
    cells: Sequence[Cell]

    def __init__(self, config: RecurrentTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        super().__init__()
        widths = [config.width, *[config.hidden] * (config.layers - 1)]
        self.embedding = Embedding(vocabulary, config.width, generator)
        # Drawn before the cells, so that its initial weights do not depend on the number of layers.
        self.readout = Linear(config.hidden, vocabulary, generator)
        self.cells = nn.ModuleList(self.cell_class(width, config.hidden, generator) for width in widths)  # type: ignore[assignment]  # modules that are Cells
        self.dropout = Dropout(config.dropout)
        self.embedded = Tap()
        if config.start != "uniform":  # last, so that all other initial weights equal those of "uniform"
            for layer in self.cells:
                reinit_recurrent(layer.recurrent.weight, config.start, child_generator(generator))

    def features(self, ids: Ids, state: State = ()) -> tuple[Features, State]:
        """Return the hidden states of the last layer, and the final states of all cells, first cell first.

        Gradients flow back into `state` unless the caller detaches it (truncated backpropagation through time).
        """
        x = self.embedded(self.embedding(ids))
        size = len(state) // len(self.cells)  # tensors in the state of one cell
        last: State = ()
        for i, cell in enumerate(self.cells):
            x, after = unroll(cell, x, state[i * size : (i + 1) * size])
            x = self.dropout(x)
            last += after
        return x, last


class RecurrentStringModel(RecurrentLanguageModel):
    """A recurrent language model of one layer. If `config.recurrent` is false, it sees only the current character."""

    def __init__(self, config: RecurrentStringConfig, vocabulary: int, generator: Generator) -> None:
        super().__init__(RecurrentTextConfig(config.width, config.hidden), vocabulary, 0, generator)
        self.recurrent = config.recurrent

    def features(self, ids: Ids, state: State = ()) -> tuple[Features, State]:
        if self.recurrent:
            return super().features(ids, state)
        # Time becomes part of the batch: every character is a sequence of length 1, read from the zero state.
        states, _ = super().features(ids.flatten(-2)[..., None])
        return states.view(*ids.shape, -1), ()


def set_gate_bias(recurrent: Linear, input: Linear, gate: int, bias: Float[Tensor, " hidden"]) -> None:
    """Set the bias of one gate of a cell, in place.

    A cell has two biases per gate, one in each of its layers: the recurrent one is set, that of the input to zero.
    `gate` is the index of the gate in the cell's order of gates.
    """
    rows = slice(gate * len(bias), (gate + 1) * len(bias))
    assert recurrent.bias is not None and input.bias is not None
    with torch.no_grad():
        recurrent.bias[rows] = bias
        input.bias[rows] = 0.0


def gate_bias_init(init: str, length: int, hidden: int, generator: Generator) -> Float[Tensor, " hidden"]:
    """Return the initial bias of the gate that keeps the state (forget gate of an LSTM, update gate of a GRU).

    "forget-1": 1 for every unit. "forget-3": 3. "chrono": log U(1, T - 1) with T = `length`, so that the time
    constants of the units are about 1 to T - 1 steps (Tallec & Ollivier 2018, eq. 16).
    """
    if init == "chrono":
        drawn = torch.empty(hidden, device="cpu")  # the meta device would import torch's compiler: 40 MB
        return drawn.uniform_(1, max(length - 1, 1), generator=generator).log()
    return torch.full((hidden,), float(init.removeprefix("forget-")))


def reinit_recurrent(weight: Float[Tensor, "gates_hidden hidden"], init: str, generator: Generator) -> None:
    """Reinitialize a recurrent matrix in place, each gate by itself.

    "xavier": uniformly within sqrt(6 / (fan-in + fan-out)) (Glorot & Bengio 2010, eq. 16). "orthogonal": a random
    orthogonal matrix, which preserves the norm of the state (Saxe et al. 2013, section 3).
    """
    initialize = {"xavier": nn.init.xavier_uniform_, "orthogonal": nn.init.orthogonal_}[init]
    for gate in weight.detach().chunk(len(weight) // weight.shape[-1]):
        initialize(gate, generator=generator)
