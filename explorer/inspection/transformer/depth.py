"""Effect of residuals and norms on untrained stacks of blocks: activations and gradients by depth.

A stack consists of embeddings, up to 24 blocks of `models/transformer_decoder.py` and a readout. Inputs and targets are
random symbols; the loss is the mean cross-entropy over the tokens. With x_l the residual stream after block l:

    v_l = mean of x_l^2                     mean square of the stream; 1 at its beginning
    c_l = mean cosine of x_l at neighbouring tokens      1: all tokens have collapsed (Dong et al. 2021)
    g_l = |dL/dx_l|,   w_l = |dL/dW_l|      gradient norms of the stream and of all weights of block l

Expected v (Xiong et al. 2020, lemmas 2 and 3): a matrix scales a mean square of 1 to s, which is 1 in their
initialization and 1/3 in ours (uniform within 1/sqrt(fan-in)). So attention adds at most s^2, less where it averages
over different tokens, and the feedforward layer adds s^2 / 2, since ReLU removes half:

    norm before:  1 + l s^2/2 <= v_l <= 1 + l (s^2 + s^2/2)              linear growth
    no norm:      (1 + s^2/2)^l <= v_l <= ((1 + s^2/2) (1 + s^2))^l      exponential growth
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
from explorer.models.transformer_decoder import Block, build_norm

_STACKS_AT_ONCE = 6  # in a backward pass: the gradients of the weights of more would take 200 MB
LAYERS, WIDTH, HIDDEN, TOKENS, SYMBOLS, SEEDS = 24, 64, 128, 16, 32, 8
Norm: TypeAlias = Literal["none", "post", "pre"]
Kind: TypeAlias = Literal["layer", "rms"]
Initialization: TypeAlias = Literal["usual", "kept", "zero"]
# The factor by which a matrix scales the mean square.
MEAN_SQUARE_GAIN: dict[Initialization, float] = {"usual": 1 / 3, "kept": 1.0, "zero": 0.0}
NORM_KINDS: tuple[Kind, Kind] = ("layer", "rms")


@dataclass(frozen=True)
class Combination:
    """A combination of residual connections and norms in a block."""

    residual: bool
    norm: Norm
    kind: Kind = "layer"  # of the norm, if there is one


COMBINATIONS = tuple(
    Combination(residual, norm, kind)
    for residual in (True, False)
    for norm in ("none", "post", "pre")
    for kind in NORM_KINDS[: 1 if norm == "none" else 2]
)


class BlockWithoutResidual(Block):
    """A block without residual connections: x <- Attention(x), x <- FFN(x), with the same norms."""

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
class BlockStep:
    """Input and output of one block."""

    before: Float[Tensor, "*replicas batch time width"]
    after: Float[Tensor, "*replicas batch time width"]


class BlockStack(nn.Module):
    """Embeddings, blocks and a readout. A shallower stack of the same seed has the first blocks of a deeper one."""

    def __init__(
        self, combination: Combination, heads: int, start: Initialization, layers: int, generator: Generator
    ) -> None:
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
        kind = Block if combination.residual else BlockWithoutResidual
        self.blocks = nn.ModuleList(kind(config, generator) for _ in range(layers))
        self.final_norm = build_norm(config) if combination.norm == "pre" else nn.Identity()
        if start == "kept":  # uniform within sqrt(3 / fan-in): a matrix preserves the mean square
            with torch.no_grad():
                for layer in self.blocks.modules():
                    if isinstance(layer, Linear):
                        layer.weight.mul_(math.sqrt(3))

    def block_steps(self, ids: Int[Tensor, "*replicas batch time"]) -> Iterator[BlockStep]:
        """Yield input and output of each block, each with a separate autograd graph."""
        x = self.embedding(ids)
        for block in self.blocks:
            before = x.detach().requires_grad_()
            x = block(before, None)
            yield BlockStep(before, x)


@dataclass(frozen=True, eq=False)
class StackMeasurements:
    """Measurements per combination and seed, defined in the module docstring.

    `layers` is the index l, `heights` the number of blocks of the stack. NaN above the stack, and for the weights of
    layer 0.
    """

    size: Float64[ndarray, "combinations layers seeds"]
    cosine_similarity: Float64[ndarray, "combinations layers seeds"]
    stream: Float64[ndarray, "combinations heights layers seeds"]  # heights 1 to the last
    weights: Float64[ndarray, "combinations heights layers seeds"]


def measure_stacks(
    heads: int,
    start: Initialization,
    layers: int = LAYERS,
    seeds: int = SEEDS,
    combinations: Sequence[Combination] = COMBINATIONS,
) -> StackMeasurements:
    """Measure every combination at every height, over seeds with their own initialization and random symbols."""
    shared = draw_shared(heads, start, layers, seeds)
    measurements = [_measure_combination(combination, heads, layers, shared) for combination in combinations]
    return StackMeasurements(*(_stack_read_only([parts[i] for parts in measurements]) for i in range(4)))


def stream_gradient_ratios(
    combination: Combination, heads: int, start: Initialization, layers: int, seeds: int = SEEDS
) -> Float64[ndarray, " seeds"]:
    """Return |dL/dx_0| / |dL/dx_l| of one stack for each seed, as `measure_stacks` measures it at every height."""
    shared = draw_shared(heads, start, layers, seeds)
    model = build_stack(combination, heads, layers, shared)
    with torch.enable_grad():
        steps = list(model.block_steps(shared.inputs))
        top = gradient = _loss_gradient(model, steps[-1].after, shared.targets)
        for step in reversed(steps):
            (gradient,) = torch.autograd.grad(step.after, step.before, gradient)
    return (_norms(gradient[None]) / _norms(top[None]))[0].double().numpy()


def _stack_read_only(parts: Sequence[ndarray]) -> ndarray:
    """Stack arrays into one read-only array, which is shared by a cache."""
    whole = np.stack([part.astype(np.float64) for part in parts])
    whole.flags.writeable = False
    return whole


@dataclass(frozen=True, eq=False)
class SharedDraws:
    """What all combinations share: the matrices, inputs and targets of every seed."""

    matrices: Mapping[str, Tensor]
    inputs: Int[Tensor, "seeds 1 time"]
    targets: Int[Tensor, "seeds 1 time"]


def draw_shared(heads: int, start: Initialization, layers: int, seeds: int) -> SharedDraws:
    """Draw the symbols, then the matrices of each seed."""
    generators = [Generator().manual_seed(seed) for seed in range(seeds)]
    symbols = torch.stack([torch.randint(SYMBOLS, (2, 1, TOKENS), generator=generator) for generator in generators])
    plain = Combination(True, "none")  # norms start at 1 and draw nothing
    stacks = stack([BlockStack(plain, heads, start, layers, generator) for generator in generators])
    return SharedDraws(stacks.state_dict(), symbols[:, 0], symbols[:, 1])


def build_stack(combination: Combination, heads: int, layers: int, shared: SharedDraws) -> BlockStack:
    """Build one combination with the shared matrices, all seeds as replicas."""
    stack_model = BlockStack(combination, heads, "usual", layers, Generator())
    for name, matrix in shared.matrices.items():
        module_path, _, parameter = name.rpartition(".")
        setattr(stack_model.get_submodule(module_path), parameter, nn.Parameter(matrix))
    if combination.norm == "none":  # without norms, values leave the range of single precision
        stack_model.double()
    return stack_model


def _measure_combination(combination: Combination, heads: int, layers: int, shared: SharedDraws) -> tuple[ndarray, ...]:
    model = build_stack(combination, heads, layers, shared)
    with torch.enable_grad():
        steps = list(model.block_steps(shared.inputs))
        stream, weights = _gradient_norms(model, steps, shared.targets)
    stream_values = torch.stack([steps[0].before, *(step.after for step in steps)]).detach()
    size = stream_values.square().mean(dim=(-1, -2, -3))
    # NaN where nothing is left, which has no direction.
    directions = stream_values / stream_values.norm(dim=-1, keepdim=True)
    similarity = (directions[..., 1:, :] * directions[..., :-1, :]).sum(dim=-1).mean(dim=(-1, -2))
    return size.numpy(), similarity.numpy(), stream.numpy(), weights.numpy()


def _gradient_norms(
    model: BlockStack, steps: Sequence[BlockStep], targets: Int[Tensor, "seeds batch time"]
) -> tuple[Float[Tensor, "heights layers seeds"], Float[Tensor, "heights layers seeds"]]:
    """Return the gradient norms of each layer and block, for stacks of 1, 2, … all blocks, from the top down."""
    count, seeds = len(steps), len(targets)
    stream, weights = (steps[0].before.new_full((count, count + 1, seeds), math.nan) for _ in range(2))
    gradients: Float[Tensor, "heights seeds batch time width"] = torch.stack(
        [_loss_gradient(model, s.after, targets) for s in steps]
    )
    for layer in range(count, 0, -1):  # back[h] is the gradient at this layer of a stack of layer + h blocks
        step, block = steps[layer - 1], model.blocks[layer - 1]
        above = gradients[layer - 1 :]
        stream[layer - 1 :, layer] = _norms(above)
        matrices = [p for p in block.parameters() if p.dim() == 3]  # matrices, not the scales of the norms
        below = [gradients[: layer - 1]]
        norms = torch.split(weights[layer - 1 :, layer], _STACKS_AT_ONCE)
        for stacks, found in zip(torch.split(above, _STACKS_AT_ONCE), norms, strict=True):
            gradient, *of_matrices = torch.autograd.grad(
                step.after, [step.before, *matrices], stacks, is_grads_batched=True, retain_graph=True
            )
            found.copy_(torch.stack([_norms(each) for each in of_matrices]).norm(dim=0))
            below.append(gradient)
        gradients = torch.cat(below)
    stream[:, 0] = _norms(gradients)
    return stream, weights


def _loss_gradient(
    model: BlockStack, x: Float[Tensor, "seeds batch time width"], targets: Int[Tensor, "seeds batch time"]
) -> Float[Tensor, "seeds batch time width"]:
    """Return dL/dx of a stack that ends at x."""
    output = x.detach().requires_grad_()
    logits = model.readout(model.final_norm(output))
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten()) * len(targets)  # each seed's own mean
    return torch.autograd.grad(loss, output)[0]


def _norms(gradients: Float[Tensor, "heights seeds *shape"]) -> Float[Tensor, "heights seeds"]:
    return gradients.flatten(2).norm(dim=2)


def expected_mean_squares(
    combination: Combination, start: Initialization, layers: int = LAYERS
) -> Float[ndarray, "2 layers"] | None:
    """Return lower and upper bound of the expected mean square (module docstring); None without residuals."""
    gain, layer = MEAN_SQUARE_GAIN[start] ** 2, np.arange(layers + 1)
    if not combination.residual:
        return None
    formulas: dict[Norm, Callable[[float], ndarray]] = {
        "pre": lambda attention: 1 + layer * (gain / 2 + attention),
        "none": lambda attention: ((1 + gain / 2) * (1 + attention)) ** layer,
        "post": lambda attention: np.ones(layers + 1),
    }
    return np.stack([formulas[combination.norm](attention) for attention in (0.0, gain)])


def log10_values(values: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
    """As powers of ten: single precision holds no 1e-54. Nothing is minus infinity."""
    with np.errstate(divide="ignore"):
        found: ndarray = np.log10(values).astype(np.float32)
    return found
