"""The basic layers of all models. Each layer works for one model, and for several replicas of it stacked in one.

In a stack (see `stack`) every parameter and every input has a leading replica axis. Replica r of the weights is
applied to replica r of the input, in one batched matrix product. For example, with 5 inputs and 3 outputs, and a batch
of 2 rows of 7 tokens:

                        one model     stack of 4 replicas
    Linear.weight       (3, 5)        (4, 3, 5)
    Linear.bias         (3,)          (4, 3)
    input x             (2, 7, 5)     (4, 2, 7, 5)
    output              (2, 7, 3)     (4, 2, 7, 3)

The code of a model is the same in both cases, because every layer tells them apart by the dimensions of its weight.

Random numbers come from a generator that is passed in, never from torch's global one. Each layer draws one number from
it to seed a generator of its own. Two models with the same seed therefore have equal initial weights in all layers of
the same shape, whatever the sizes of the layers before.
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


def child_generator(generator: Generator) -> Generator:
    """Return a generator seeded with one number of the given one, which so advances equally for any layer."""
    return Generator().manual_seed(int(torch.randint(2**62, (), generator=generator, device="cpu")))


def uniform_parameter(*shape: int, bound: float, generator: Generator) -> nn.Parameter:
    """Return a parameter of this shape, drawn from the uniform distribution on [-bound, bound]."""
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))


class Linear(nn.Module):
    """The affine map y = W x + b, initialized uniformly within 1/sqrt(inputs) as in torch.nn, or within `bound`."""

    __call__: Callable[..., Tensor]  # for type checkers: nn.Module promises no type

    def __init__(
        self, inputs: int, outputs: int, generator: Generator, bias: bool = True, bound: float | None = None
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs) if bound is None else bound
        generator = child_generator(generator)
        self.weight = uniform_parameter(outputs, inputs, bound=bound, generator=generator)
        self.bias = uniform_parameter(outputs, bound=bound, generator=generator) if bias else None

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        if self.weight.dim() == 2:
            return F.linear(x, self.weight, self.bias)
        rows = x.flatten(1, -2)  # (replicas, batch * time, inputs)
        if self.bias is None:
            y = torch.bmm(rows, self.weight.mT)
        else:
            y = torch.baddbmm(self.bias[:, None], rows, self.weight.mT)
        return y.view(*x.shape[:-1], -1)

    def add_bias(self, y: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        """Return y + b. A recurrent cell adds the bias for all steps at once, before its loop over time."""
        if self.bias is None or self.bias.dim() == 1:
            return y if self.bias is None else y + self.bias
        return y + self.bias.view(self.bias.shape[0], *[1] * (y.dim() - 2), -1)

    def add_product(
        self, y: Float[Tensor, "*replicas batch outputs"], x: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch outputs"]:
        """Return y + W x, computed in one operation; the bias is not added."""
        multiply = torch.addmm if self.weight.dim() == 2 else torch.baddbmm
        return multiply(y, x, self.weight.mT)


class Embedding(nn.Module):
    """A table with one vector per token, initialized from N(0, std^2)."""

    def __init__(self, tokens: int, width: int, generator: Generator, std: float = 1.0) -> None:
        super().__init__()
        weight = torch.empty(tokens, width)
        if not weight.is_meta:  # only shapes are wanted there, and `normal_` would load torch's compiler for seconds
            weight.normal_(0, std, generator=child_generator(generator))
        self.weight = nn.Parameter(weight)

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        if self.weight.dim() == 2:
            return F.embedding(ids, self.weight)
        replicas, tokens, _ = self.weight.shape
        first_row = torch.arange(0, replicas * tokens, tokens, device=ids.device).view(-1, *[1] * (ids.dim() - 1))
        return F.embedding(ids + first_row, self.weight.flatten(0, 1))


class LayerNorm(nn.Module):
    """Layer normalization: subtract the mean over the width, divide by the standard deviation (Ba et al. 2016)."""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        if self.weight.dim() == 1 and x.numel() < 30_000:
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias)
        # Fused, the gradient of the weight is added up in an order that depends on the number of threads. Small steps
        # have one thread.
        shape = (*self.weight.shape[:-1], *[1] * (x.dim() - self.weight.dim()), x.shape[-1])
        normal, weight = F.layer_norm(x, x.shape[-1:]), self.weight.view(shape)
        return normal * weight if self.bias is None else torch.addcmul(self.bias.view(shape), normal, weight)


class RMSNorm(nn.Module):
    """RMS normalization: divide by the root mean square over the width (Zhang & Sennrich 2019, eq. 4)."""

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
    """Run all models inside the block in training mode.

    Dropout draws from these generators, one per replica, and batch normalization uses the statistics of the batch.
    The mode is a context variable and not an attribute of the module, because threads that share a model may differ.
    """
    token = _learning.set(tuple(generators))
    try:
        yield
    finally:
        _learning.reset(token)


class Dropout(nn.Module):
    """Dropout (Srivastava et al. 2014): set a share of the features to zero, in training steps only (see `learning`).

    Each row of a batch has one mask for all its time steps (variational dropout, Gal & Ghahramani 2016). This needs
    far fewer random numbers, and a unit that is dropped from a hidden state stays dropped.
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
            noise = torch.rand(rows, generator=generators[0])
        else:
            noise = torch.stack([torch.rand(rows[1:], generator=generator) for generator in generators])
        return x * ((noise.to(x.device) >= self.share) / (1 - self.share))


class BatchNorm(nn.Module):
    """Batch normalization (Ioffe & Szegedy 2015, alg. 1): normalize each feature over the rows and times of a batch.

    Training steps use the statistics of the batch and update running averages of them (momentum 0.1). All other
    forward passes use the running averages.
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
        dims = tuple(range(replicas, x.dim() - 1))
        if _learning.get():
            variance, mean = torch.var_mean(x, dim=dims, correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, 0.1)
                self.variance.lerp_(variance, 0.1)
        else:
            mean, variance = self.mean, self.variance
        shape = (*self.weight.shape[:replicas], *[1] * len(dims), x.shape[-1])
        scale = self.weight * (variance + 1e-5).rsqrt()
        return torch.addcmul((self.bias - mean * scale).view(shape), x, scale.view(shape))


Model = TypeVar("Model", bound=nn.Module)


def stack(models: Sequence[Model]) -> Model:
    """Return one model that holds the parameters and buffers of all of them, stacked along a leading replica axis."""
    stacked = copy.deepcopy(models[0])
    parts = [model.state_dict() for model in models]
    for name, value in models[0].state_dict(keep_vars=True).items():
        _set_parameter(stacked, name, torch.stack([part[name] for part in parts]), isinstance(value, nn.Parameter))
    return stacked


def replica(model: Model, index: int) -> Model:
    """Return a copy of one of the models in a stack, without the replica axis."""
    single = copy.deepcopy(model)
    for name, value in model.state_dict(keep_vars=True).items():
        _set_parameter(single, name, value[index].detach().clone(), isinstance(value, nn.Parameter))
    return single


def _set_parameter(model: nn.Module, name: str, value: Tensor, learned: bool) -> None:
    """Replace the parameter (or the buffer, if not `learned`) that has this dotted name."""
    path, _, attribute = name.rpartition(".")
    setattr(model.get_submodule(path), attribute, nn.Parameter(value) if learned else value)
