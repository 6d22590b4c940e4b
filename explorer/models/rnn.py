"""The plain (Elman) recurrent network: one hidden state, updated at every token.

    h_t = tanh(W x_t + b + U h_{t-1} + c)

Elman 1990; as a language model Mikolov et al. 2010 (eq. 1-3), who use the logistic sigmoid instead of tanh. Like
`torch.nn.RNN`, this network has tanh and two biases, although one would be enough.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import RNNRecallConfig
from explorer.models.language import State
from explorer.models.layers import Linear, child_generator
from explorer.models.recurrence import (
    RecurrentClassifier,
    RecurrentLanguageModel,
    RecurrentStringModel,
    reinit_recurrent,
)
from explorer.models.shapes import Vectors
from explorer.models.taps import StepTap


class RNNCell(nn.Module):
    """The cell of the plain recurrent network."""

    def __init__(self, width: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.hidden = hidden
        self.input = Linear(width, hidden, generator, bound=bound)
        self.recurrent = Linear(hidden, hidden, generator, bound=bound)
        self.state = StepTap()

    def initial_state(self, x: Vectors) -> State:
        return (x.new_zeros(*x.shape[:-2], self.hidden),)

    def project(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch hidden"]:
        return self.recurrent.add_bias(self.input(x))

    def step(self, projected: Float[Tensor, "*batch hidden"], state: State) -> State:
        (h,) = state
        return (self.state(torch.tanh(self.recurrent.add_product(projected, h))),)

    def run_fused(self, x: Vectors, state: State) -> tuple[Float[Tensor, "*batch time hidden"], State] | None:
        """Compute the same steps without taps, faster than PyTorch's kernel, also for a stack of replicas."""
        first, *later = self.project(x).unbind(-2)
        u = self.recurrent.weight.mT
        multiply = torch.addmm if u.dim() == 2 else torch.baddbmm
        states = [(multiply(first, state[0], u) if state else first).tanh()]
        for projected in later:
            states.append(multiply(projected, states[-1], u).tanh())
        return torch.stack(states, dim=-2), (states[-1],)


class RNN(RecurrentClassifier):
    """A classifier with a plain recurrent cell."""

    cell_class = RNNCell


class RNNRecall(RNN):
    """A plain RNN that reads a sequence and predicts its first symbol."""

    def __init__(self, config: RNNRecallConfig, symbols: int, length: int, generator: Generator) -> None:
        super().__init__(config, symbols, symbols, -1, generator)
        weight = self.cell.recurrent.weight
        if config.start != "usual":
            reinit_recurrent(weight, config.start, child_generator(generator))
        if config.gain:
            with torch.no_grad():
                weight.mul_(config.gain / torch.linalg.eigvals(weight).abs().max())


class RNNLanguageModel(RecurrentLanguageModel):
    """A language model with plain recurrent cells (Mikolov et al. 2010)."""

    cell_class = RNNCell


class RNNString(RecurrentStringModel):
    """A character model of one string, with a plain recurrent cell."""

    cell_class = RNNCell
