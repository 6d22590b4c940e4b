"""The basic layers for one model: what an exported file has in place of `models/layers.py`.

They draw the same initial weights from the same generator, and their parameters have the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn


def child_generator(generator: Generator) -> Generator:
    """Return a generator that is seeded with one number drawn from the given one, so that it advances equally."""
    return Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))


class Linear(nn.Linear):
    """y = W x + b, initialized uniformly within 1/sqrt(inputs) or a given bound."""

    __call__: Callable[..., Tensor]

    def __init__(
        self, inputs: int, outputs: int, generator: Generator, bias: bool = True, bound: float | None = None
    ) -> None:
        super().__init__(inputs, outputs, bias)
        bound, generator = 1 / math.sqrt(inputs) if bound is None else bound, child_generator(generator)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def add_bias(self, y: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        return y + self.bias

    def add_product(
        self, y: Float[Tensor, "batch outputs"], x: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch outputs"]:
        """Return y + W x, without the bias."""
        return torch.addmm(y, x, self.weight.mT)


class Embedding(nn.Embedding):
    """A table with one vector per token, initialized from N(0, std^2)."""

    __call__: Callable[..., Tensor]

    def __init__(self, tokens: int, width: int, generator: Generator, std: float = 1.0) -> None:
        super().__init__(tokens, width, _weight=torch.empty(tokens, width))
        nn.init.normal_(self.weight, 0, std, generator=child_generator(generator))


def LayerNorm(width: int, bias: bool = True) -> nn.Module:  # the name of the class that it stands for
    """Return layer normalization (Ba et al. 2016)."""
    return nn.LayerNorm(width, bias=bias)


class RMSNorm(nn.Module):
    """RMS normalization (Zhang & Sennrich 2019, eq. 4)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        return x * (x.square().mean(dim=-1, keepdim=True) + 1e-5).rsqrt() * self.weight


class Dropout(nn.Module):
    """Variational dropout (Gal & Ghahramani 2016): each row of a batch has one mask for all its time steps."""

    generator = Generator()  # the training seeds it at each step

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        if not self.share or not self.training:
            return x
        noise = torch.rand((*x.shape[:-2], 1, x.shape[-1]), generator=Dropout.generator)
        return x * ((noise >= self.share) / (1 - self.share))


class BatchNorm(nn.Module):
    """Batch normalization (Ioffe & Szegedy 2015) over the rows and times of a batch."""

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        variance, mean = self.variance, self.mean
        if self.training:
            variance, mean = torch.var_mean(x, dim=tuple(range(x.dim() - 1)), correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, 0.1)
                self.variance.lerp_(variance, 0.1)
        return (x - mean) * (variance + 1e-5).rsqrt() * self.weight + self.bias


class RecurrentTextConfig(SimpleNamespace):
    """The settings of one layer of cells, for models that consist of it."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width=width, hidden=hidden, layers=1, dropout=0.0, start="uniform")
