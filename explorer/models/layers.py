"""The few layers that all models are made of. Each trains one model, or many side by side.

Parameters may carry a leading replica axis: then replica r of the input meets replica r of the
weights, and one matrix product does the work of all. A model built from these layers reads as if
there were one. Random numbers come from a generator that is passed in, never from torch's own; each
layer takes one number from it to seed its own. So two models of one seed start alike wherever their
layers have the same shapes, however wide the layers before them are.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn


def own(generator: Generator) -> Generator:
    """A layer's own generator: whatever it draws, the next layer finds the given one just one number further."""
    return Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))


def uniform(*shape: int, bound: float, generator: Generator) -> nn.Parameter:
    """A parameter drawn evenly from -bound to bound."""
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))


class Linear(nn.Module):
    """y = W x + b, started as `torch.nn.Linear` is: evenly within 1/sqrt(fan-in), or a given bound."""

    __call__: Callable[..., Tensor]  # for type checkers: nn.Module promises no type

    def __init__(
        self, inputs: int, outputs: int, generator: Generator, bias: bool = True, bound: float | None = None
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs) if bound is None else bound
        generator = own(generator)
        self.weight = uniform(outputs, inputs, bound=bound, generator=generator)
        self.bias = uniform(outputs, bound=bound, generator=generator) if bias else None

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        if self.weight.dim() == 2:
            return F.linear(x, self.weight, self.bias)
        rows = x.flatten(1, -2)  # (replicas, everything, inputs)
        if self.bias is None:
            y = torch.bmm(rows, self.weight.mT)
        else:
            y = torch.baddbmm(self.bias[:, None], rows, self.weight.mT)
        return y.view(*x.shape[:-1], -1)

    def plus_bias(self, y: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        """y + b, for a product whose bias can be added once, ahead of a loop."""
        if self.bias is None or self.bias.dim() == 1:
            return y if self.bias is None else y + self.bias
        return y + self.bias.view(self.bias.shape[0], *[1] * (y.dim() - 2), -1)

    def added_to(
        self, y: Float[Tensor, "*replicas batch outputs"], x: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch outputs"]:
        """y + W x in one operation, without the bias."""
        multiply = torch.addmm if self.weight.dim() == 2 else torch.baddbmm
        return multiply(y, x, self.weight.mT)


class Embedding(nn.Module):
    """One vector for each token, drawn from a normal distribution (standard deviation `start`)."""

    def __init__(self, tokens: int, width: int, generator: Generator, start: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tokens, width).normal_(0, start, generator=own(generator)))

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        if self.weight.dim() == 2:
            return F.embedding(ids, self.weight)
        replicas, tokens, _ = self.weight.shape
        first_row = torch.arange(0, replicas * tokens, tokens).view(-1, *[1] * (ids.dim() - 1))
        return F.embedding(ids + first_row, self.weight.flatten(0, 1))


class LayerNorm(nn.Module):
    """Subtract the mean over the width, divide by the standard deviation (Ba et al. 2016)."""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        if self.weight.dim() == 1:
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias)
        shape = (self.weight.shape[0], *[1] * (x.dim() - 2), x.shape[-1])
        normal, weight = F.layer_norm(x, x.shape[-1:]), self.weight.view(shape)
        return normal * weight if self.bias is None else torch.addcmul(self.bias.view(shape), normal, weight)


class RMSNorm(nn.Module):
    """Divide by the root of the mean square over the width (Zhang & Sennrich 2019, eq. 4)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        scaled = x * (x.square().mean(dim=-1, keepdim=True) + 1e-5).rsqrt()
        if self.weight.dim() == 1:
            return scaled * self.weight
        return scaled * self.weight.view(self.weight.shape[0], *[1] * (x.dim() - 2), -1)


_learning: ContextVar[tuple[Generator, ...]] = ContextVar("learning", default=())


@contextmanager
def learning(generators: Sequence[Generator]) -> Iterator[None]:
    """Inside, models behave as in a training step: dropout draws from these generators, one a replica, and batch
    norm takes the batch's statistics. Who learns is kept in a context variable, never on the module: one model
    serves every visitor while a copy of it may be trained."""
    token = _learning.set(tuple(generators))
    try:
        yield
    finally:
        _learning.reset(token)


class Dropout(nn.Module):
    """Leaves out a share of the features (Srivastava et al. 2014), in training steps only.

    One mask for each row of a batch, the same at every time (Gal & Ghahramani 2016): a fifteenth of the draws,
    and what is left out of a hidden state stays out.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        generators = _learning.get()
        if not self.share or not generators:
            return x
        rows = (*x.shape[:-2], 1, x.shape[-1])
        if len(generators) == 1:
            drawn = torch.rand(rows, generator=generators[0])
        else:
            drawn = torch.stack([torch.rand(rows[1:], generator=own) for own in generators])
        return x * ((drawn >= self.share) / (1 - self.share))


class BatchNorm(nn.Module):
    """Subtract each feature's mean over the batch, divide by its standard deviation (Ioffe & Szegedy 2015, alg. 1).

    In training steps the statistics are the batch's own, and running averages of them (a tenth new each step)
    are kept for every other forward.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        replicas = self.weight.dim() - 1
        over = tuple(range(replicas, x.dim() - 1))
        if _learning.get():
            variance, mean = torch.var_mean(x, dim=over, correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, 0.1)
                self.variance.lerp_(variance, 0.1)
        else:
            mean, variance = self.mean, self.variance
        shape = (*self.weight.shape[:replicas], *[1] * len(over), x.shape[-1])
        scale = self.weight * (variance + 1e-5).rsqrt()
        return torch.addcmul((self.bias - mean * scale).view(shape), x, scale.view(shape))


Model = TypeVar("Model", bound=nn.Module)


def stack(models: Sequence[Model]) -> Model:
    """One model whose parameters and buffers are those of all, with a leading replica axis."""
    stacked = copy.deepcopy(models[0])
    parts = [model.state_dict() for model in models]
    for name, value in models[0].state_dict(keep_vars=True).items():
        _put(stacked, name, torch.stack([part[name] for part in parts]), isinstance(value, nn.Parameter))
    return stacked


def replica(model: Model, index: int) -> Model:
    """One of the models in a stack, as a model of its own."""
    alone = copy.deepcopy(model)
    for name, value in model.state_dict(keep_vars=True).items():
        _put(alone, name, value[index].detach().clone(), isinstance(value, nn.Parameter))
    return alone


def _put(model: nn.Module, name: str, value: Tensor, learned: bool) -> None:
    place, _, last = name.rpartition(".")
    setattr(model.get_submodule(place), last, nn.Parameter(value) if learned else value)
