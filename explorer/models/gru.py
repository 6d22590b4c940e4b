"""The gated recurrent unit (GRU): two gates and no separate memory.

    r = sigmoid(W_r x + b_r + U_r h + c_r)            reset gate
    z = sigmoid(W_z x + b_z + U_z h + c_z)            update gate
    n = tanh(W_n x + b_n + r * (U_n h + c_n))         candidate
    h' = (1 - z) * n + z * h

Cho et al. 2014 (eq. 5-8) reset the state before the product, U_n (r * h); we, like `torch.nn.GRU`,
reset after it, which allows one product for all three gates.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import GRURecallConfig
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

UPDATE = 1  # index of the update gate in the order r, z, n


class GRUCell(nn.Module):
    """The GRU cell. The rows of its weights hold the gates in the order r, z, n, as in `torch.nn.GRU`."""

    def __init__(self, width: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.hidden = hidden
        self.input = Linear(width, 3 * hidden, generator, bound=bound)
        self.recurrent = Linear(hidden, 3 * hidden, generator, bound=bound)
        self.reset_gate, self.update_gate = StepTap(), StepTap()
        self.candidate, self.state = StepTap(), StepTap()

    def initial_state(self, x: Vectors) -> State:
        return (x.new_zeros(*x.shape[:-2], self.hidden),)

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch gates"]:
        return self.input(x)

    def step(self, projected: Float[Tensor, "*batch gates"], state: State) -> State:
        (h,) = state
        x_r, x_z, x_n = projected.chunk(3, dim=-1)
        h_r, h_z, h_n = self.recurrent(h).chunk(3, dim=-1)
        r = self.reset_gate(torch.sigmoid(x_r + h_r))
        z = self.update_gate(torch.sigmoid(x_z + h_z))
        n = self.candidate(torch.tanh(x_n + r * h_n))
        return (self.state(torch.lerp(n.type_as(h), h, z.type_as(h))),)  # (1 - z) n + z h

    def run_fused(self, x: Vectors, state: State) -> tuple[Float[Tensor, "*batch time hidden"], State] | None:
        if x.dim() > 3:
            return None
        weights = (self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias)
        (h,) = state or self.initial_state(x)
        trains = x.device.type != "cpu"  # without dropout this changes nothing, but GPUs compute gradients only with it
        states, last = torch.gru(x, h[None], weights, True, 1, 0.0, trains, False, True)  # type: ignore[arg-type]  # has biases
        return states, (last[0],)


class GRU(RecurrentClassifier):
    """A classifier with a GRU cell."""

    cell_class = GRUCell


class GRURecall(GRU):
    """A GRU that reads a sequence and predicts its first symbol."""

    def __init__(self, config: GRURecallConfig, symbols: int, length: int, generator: Generator) -> None:
        super().__init__(config, symbols, symbols, -1, generator)
        if config.start == "orthogonal":
            reinit_recurrent(self.cell.recurrent.weight, config.start, child_generator(generator))
        elif config.start != "usual":
            bias = gate_bias_init(config.start, length, config.hidden, child_generator(generator))
            set_gate_bias(self.cell.recurrent, self.cell.input, UPDATE, bias)


class GRULanguageModel(RecurrentLanguageModel):
    """A language model with GRU cells."""

    cell_class = GRUCell


class GRUString(RecurrentStringModel):
    """A character model of one string, with a GRU cell."""

    cell_class = GRUCell
