"""What residuals and norms do to a stack of blocks before anything is learned: measured on real stacks.

A stack is embeddings, up to 24 blocks of `models/transformer_decoder.py` with their own starts, and a readout. It reads
random symbols and is asked for random ones; the loss is the cross-entropy, a mean over the tokens. With x_l the stream
after block l, over all its tokens:

    v_l = mean of x_l^2                     how large the stream is; 1 at its beginning
    c_l = mean cosine of x_l at neighbouring tokens      1: all tokens have become alike (Dong et al. 2021)
    g_l = |dL/dx_l|,   w_l = |dL/dW_l|      what comes back to the stream, and to all weights of block l

What may be expected of v (Xiong et al. 2020, lemmas 2 and 3): of a mean square of 1 a matrix leaves s, which is 1 in
their start and a third in ours, drawn evenly within 1/sqrt(fan-in). So the attention adds at most s^2, less where it
averages over tokens that differ, and the feedforward layer adds s^2 / 2, as ReLU takes half:

    norm before:  1 + l s^2/2 <= v_l <= 1 + l (s^2 + s^2/2)              it grows as a line
    no norm:      (1 + s^2/2)^l <= v_l <= ((1 + s^2/2) (1 + s^2))^l      it grows as a power
    norm after:   v_l = 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Float64, Int
from numpy import ndarray
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import Embedding, Linear, stack
from explorer.models.transformer_decoder import Block, made_norm

LAYERS, WIDTH, HIDDEN, TOKENS, SYMBOLS, SEEDS = 24, 64, 128, 16, 32, 8
Norm: TypeAlias = Literal["none", "post", "pre"]
Kind: TypeAlias = Literal["layer", "rms"]
Start: TypeAlias = Literal["usual", "kept", "zero"]
SHARES: dict[Start, float] = {"usual": 1 / 3, "kept": 1.0, "zero": 0.0}  # of the mean square that a matrix hands on


KINDS: tuple[Kind, Kind] = ("layer", "rms")


@dataclass(frozen=True)
class Combination:
    """How the parts of a block are put together."""

    residual: bool
    norm: Norm
    kind: Kind = "layer"  # of the norm, where there is one


COMBINATIONS = tuple(
    Combination(residual, norm, kind)
    for residual in (True, False)
    for norm in ("none", "post", "pre")
    for kind in KINDS[: 1 if norm == "none" else 2]
)


class WithoutResidual(Block):
    """A block whose parts hand on only what they make: x <- Attention(x), x <- FFN(x), with the same norms."""

    def forward(
        self, x: Float[Tensor, "*batch time width"], turn: Complex[Tensor, "time 1 pairs"] | None
    ) -> Float[Tensor, "*batch time width"]:
        if self.norm_first:
            x = self.attention(self.attention_norm(x), turn)
            x = self.feedforward(self.feedforward_norm(x))
        else:
            x = self.attention_norm(self.attention(x, turn))
            x = self.feedforward_norm(self.feedforward(x))
        return self.output(x)


@dataclass(frozen=True, eq=False)
class Step:
    """One block at work."""

    before: Float[Tensor, "*replicas batch time width"]
    after: Float[Tensor, "*replicas batch time width"]


class Tower(nn.Module):
    """Embeddings, blocks, and a readout. The first blocks of a high one are those of a lower one of the same seed."""

    def __init__(self, combination: Combination, heads: int, start: Start, layers: int, generator: Generator) -> None:
        super().__init__()
        config = TransformerTextConfig(
            width=WIDTH,
            heads=heads,
            hidden=HIDDEN,
            positions="none",
            norm="none" if combination.norm == "none" else combination.kind,
            norm_place="post" if combination.norm == "post" else "pre",
            activation="relu",
            start="zero" if start == "zero" else "usual",
        )
        self.embedding = Embedding(SYMBOLS, WIDTH, generator)
        self.readout = Linear(WIDTH, SYMBOLS, generator, bias=False)
        kind = Block if combination.residual else WithoutResidual
        self.blocks = nn.ModuleList(kind(config, generator) for _ in range(layers))
        self.final_norm = made_norm(config) if combination.norm == "pre" else nn.Identity()
        if start == "kept":  # drawn evenly within sqrt(3 / fan-in), a matrix keeps the mean square
            with torch.no_grad():
                for layer in self.blocks.modules():
                    if isinstance(layer, Linear):
                        layer.weight.mul_(math.sqrt(3))

    def steps(self, ids: Int[Tensor, "*replicas batch time"]) -> Iterator[Step]:
        """What goes into each block and what comes out of it, each block with a graph of its own."""
        x = self.embedding(ids)
        for block in self.blocks:
            before = x.detach().requires_grad_()
            x = block(before, None)
            yield Step(before, x)


@dataclass(frozen=True, eq=False)
class Depths:
    """Of each combination and each seed, see the module: the index of a layer is l, that of a height how many blocks
    the stack has. NaN is above the stack, and at weights there is no layer 0."""

    size: Float64[ndarray, "combinations layers seeds"]
    likeness: Float64[ndarray, "combinations layers seeds"]
    stream: Float64[ndarray, "combinations heights layers seeds"]  # heights 1 to the last
    weights: Float64[ndarray, "combinations heights layers seeds"]


def measure(
    heads: int,
    start: Start,
    layers: int = LAYERS,
    seeds: int = SEEDS,
    combinations: Sequence[Combination] = COMBINATIONS,
) -> Depths:
    """Every combination at every height, over random starts that read random symbols of their own."""
    shared = drawn(heads, start, layers, seeds)
    found = [_measured(combination, heads, layers, shared) for combination in combinations]
    return Depths(*(_whole([parts[i] for parts in found]) for i in range(4)))


def _whole(parts: Sequence[ndarray]) -> ndarray:
    """One read-only array: a cache hands it to everybody."""
    whole = np.stack([part.astype(np.float64) for part in parts])
    whole.flags.writeable = False
    return whole


@dataclass(frozen=True, eq=False)
class Drawn:
    """What all combinations share: the matrices of every seed, what each of them reads, and what it is asked for."""

    matrices: Mapping[str, Tensor]
    read: Int[Tensor, "seeds 1 time"]
    asked: Int[Tensor, "seeds 1 time"]


def drawn(heads: int, start: Start, layers: int, seeds: int) -> Drawn:
    """Each seed draws its symbols first, then its matrices."""
    generators = [Generator().manual_seed(seed) for seed in range(seeds)]
    symbols = torch.stack([torch.randint(SYMBOLS, (2, 1, TOKENS), generator=generator) for generator in generators])
    plain = Combination(True, "none")  # norms start at 1 and draw nothing
    towers = stack([Tower(plain, heads, start, layers, generator) for generator in generators])
    return Drawn(towers.state_dict(), symbols[:, 0], symbols[:, 1])


def tower(combination: Combination, heads: int, layers: int, shared: Drawn) -> Tower:
    """All seeds as one stack."""
    found = Tower(combination, heads, "usual", layers, Generator())
    for name, matrix in shared.matrices.items():
        place, _, last = name.rpartition(".")
        setattr(found.get_submodule(place), last, nn.Parameter(matrix))
    if combination.norm == "none":  # what vanishes or explodes unchecked leaves the range of single precision
        found.double()
    return found


def _measured(combination: Combination, heads: int, layers: int, shared: Drawn) -> tuple[ndarray, ...]:
    towers = tower(combination, heads, layers, shared)
    with torch.enable_grad():
        steps = list(towers.steps(shared.read))
        stream, weights = _slopes(towers, steps, shared.asked)
    seen = torch.stack([steps[0].before, *(step.after for step in steps)]).detach()
    size = seen.square().mean(dim=(-1, -2, -3))
    along = seen / seen.norm(dim=-1, keepdim=True)  # NaN where nothing is left, which has no direction
    likeness = (along[..., 1:, :] * along[..., :-1, :]).sum(dim=-1).mean(dim=(-1, -2))
    return size.numpy(), likeness.numpy(), stream.numpy(), weights.numpy()


def _slopes(
    towers: Tower, steps: Sequence[Step], asked: Int[Tensor, "seeds batch time"]
) -> tuple[Float[Tensor, "heights layers seeds"], Float[Tensor, "heights layers seeds"]]:
    """The norms of the gradient at each layer and of each block's matrices, for a stack of 1 block, of 2, of all.

    From the top down; a block hands back the gradients of all stacks that reach above it at once.
    """
    count, seeds = len(steps), len(asked)
    stream, weights = (steps[0].before.new_full((count, count + 1, seeds), math.nan) for _ in range(2))
    back: Float[Tensor, "heights seeds batch time width"] = torch.stack(
        [_loss_slope(towers, s.after, asked) for s in steps]
    )
    for layer in range(count, 0, -1):  # back[h] is the gradient at this layer of a stack of layer + h blocks
        step, block = steps[layer - 1], towers.blocks[layer - 1]
        above = back[layer - 1 :]
        stream[layer - 1 :, layer] = _norms(above)
        own = [p for p in block.parameters() if p.dim() == 3]  # matrices, not the scales of the norms
        below, *slopes = torch.autograd.grad(step.after, [step.before, *own], above, is_grads_batched=True)
        weights[layer - 1 :, layer] = torch.stack([_norms(slope) for slope in slopes]).norm(dim=0)
        back = torch.cat([back[: layer - 1], below])
    stream[:, 0] = _norms(back)
    return stream, weights


def _loss_slope(
    towers: Tower, x: Float[Tensor, "seeds batch time width"], asked: Int[Tensor, "seeds batch time"]
) -> Float[Tensor, "seeds batch time width"]:
    """dL/dx where the stack ends here."""
    end = x.detach().requires_grad_()
    logits = towers.readout(towers.final_norm(end))
    loss = F.cross_entropy(logits.flatten(0, -2), asked.flatten()) * len(asked)  # each seed's own mean
    return torch.autograd.grad(loss, end)[0]


def _norms(slopes: Float[Tensor, "heights seeds *shape"]) -> Float[Tensor, "heights seeds"]:
    norms: Tensor = slopes.flatten(2).norm(dim=2)
    return norms


def expected(combination: Combination, start: Start, layers: int = LAYERS) -> Float[ndarray, "2 layers"] | None:
    """Between which two lines the mean square may be expected, see the module; None where it says nothing."""
    part, l = SHARES[start] ** 2, np.arange(layers + 1)
    if not combination.residual:
        return None
    ways: dict[Norm, Callable[[float], ndarray]] = {
        "pre": lambda attention: 1 + l * (part / 2 + attention),
        "none": lambda attention: ((1 + part / 2) * (1 + attention)) ** l,
        "post": lambda attention: np.ones(layers + 1),
    }
    return np.stack([ways[combination.norm](attention) for attention in (0.0, part)])
