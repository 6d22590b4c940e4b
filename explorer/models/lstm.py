"""Long short-term memory (LSTM): a memory cell that three gates control.

    i = sigmoid(W_i x + U_i h + b_i)      input gate
    f = sigmoid(W_f x + U_f h + b_f)      forget gate
    g = tanh   (W_g x + U_g h + b_g)      candidate
    o = sigmoid(W_o x + U_o h + b_o)      output gate
    c' = f * c + i * g,   h' = o * tanh(c')

Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000, as `torch.nn.LSTM` has it.
Graves 2013 (eq. 7-11) adds peephole connections from the cell c to the gates; this cell has none.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import LSTMRecallConfig
from explorer.models.language import State
from explorer.models.layers import Linear, child_generator
from explorer.models.recurrence import (
    RecurrentClassifier,
    RecurrentLanguageModel,
    RecurrentStringModel,
    gate_bias_init,
    reinit_recurrent,
    set_gate_bias,
)
from explorer.models.shapes import Vectors
from explorer.models.taps import StepTap

INPUT = 0  # indices of gates in the order i, f, g, o
FORGET = 1


class LSTMCell(nn.Module):
    """The LSTM cell. The rows of its weights hold the gates in the order i, f, g, o, as in `torch.nn.LSTM`."""

    def __init__(self, width: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.hidden = hidden
        self.input = Linear(width, 4 * hidden, generator, bound=bound)
        self.recurrent = Linear(hidden, 4 * hidden, generator, bound=bound)
        self.input_gate, self.forget_gate, self.candidate = StepTap(), StepTap(), StepTap()
        self.output_gate, self.memory, self.state = StepTap(), StepTap(), StepTap()

    def initial_state(self, x: Vectors) -> State:
        zeros = x.new_zeros(*x.shape[:-2], self.hidden)
        return zeros, zeros

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch gates"]:
        return self.recurrent.add_bias(self.input(x))

    def step(self, projected: Float[Tensor, "*batch gates"], state: State) -> State:
        h, c = state
        i, f, g, o = self.recurrent.add_product(projected, h).chunk(4, dim=-1)
        i, f, o = self.input_gate(i.sigmoid()), self.forget_gate(f.sigmoid()), self.output_gate(o.sigmoid())
        g = self.candidate(g.tanh())
        c = self.memory(f * c + i * g)
        return self.state(o * c.tanh()), c

    def run_fused(self, x: Vectors, state: State) -> tuple[Float[Tensor, "*batch time hidden"], State] | None:
        is_rounded = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")  # not every processor has this kernel
        if x.dim() > 3 or is_rounded:
            return None
        weights = (self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias)
        initial = tuple(part[None] for part in state or self.initial_state(x))
        trains = x.device.type != "cpu"  # without dropout this changes nothing, but GPUs compute gradients only with it
        states, h, c = torch.lstm(x, initial, weights, True, 1, 0.0, trains, False, True)  # type: ignore[arg-type]  # has biases
        return states, (h[0], c[0])


class LSTM(RecurrentClassifier):
    """A classifier with an LSTM cell."""

    cell_class = LSTMCell


class LSTMRecall(LSTM):
    """An LSTM that reads a sequence and predicts its first symbol."""

    def __init__(self, config: LSTMRecallConfig, symbols: int, length: int, generator: Generator) -> None:
        super().__init__(config, symbols, symbols, -1, generator)
        if config.start == "orthogonal":
            reinit_recurrent(self.cell.recurrent.weight, config.start, child_generator(generator))
        elif config.start != "usual":
            bias = gate_bias_init(config.start, length, config.hidden, child_generator(generator))
            set_gate_bias(self.cell.recurrent, self.cell.input, FORGET, bias)
            if config.start == "chrono":
                set_gate_bias(self.cell.recurrent, self.cell.input, INPUT, -bias)


class LSTMLanguageModel(RecurrentLanguageModel):
    """A language model with LSTM cells (Graves 2013)."""

    cell_class = LSTMCell


class LSTMString(RecurrentStringModel):
    """A character model of one string, with an LSTM cell."""

    cell_class = LSTMCell
