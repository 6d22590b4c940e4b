"""Measured time and memory of a network part on this machine; the formulas are in `cost_formulas.py`.

The parts are those of our models with random weights. Seconds are CPU time of this thread, so other work on the
machine does not count.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.inspection.language.context_cost import saved_bytes
from explorer.inspection.transformer import cost_formulas
from explorer.models.configs import TransformerTextConfig
from explorer.models.gru import GRUCell
from explorer.models.lstm import LSTMCell
from explorer.models.recurrence import Cell, unroll
from explorer.models.rnn import RNNCell
from explorer.models.taps import intervene
from explorer.models.transformer_decoder import Attention, Block
from explorer.seeds import generator

MAX_WEIGHT_BYTES: Final = 80_000_000  # of attention weights per layer; longer sequences are not measured
REPEATS: Final = 7  # while there is time; the fastest counts, because disturbances only add time


def measure_costs(name: str, sizes: tuple[cost_formulas.LayerSize, ...], seconds: float) -> cost_formulas.MeasuredCosts:
    """Measure time and memory of one part at each of these sizes, in about `seconds` seconds."""
    started = time.perf_counter()
    benches = {
        i: _TimingBench(name, size)
        for i, size in enumerate(sizes)
        if cost_formulas.attention_weight_bytes(name, size) <= MAX_WEIGHT_BYTES
    }
    next(iter(benches.values())).run_once()  # warm-up
    for repeat in range(REPEATS):
        for bench in benches.values():
            if repeat and time.perf_counter() - started > seconds:
                break
            bench.run_once()
    costs = np.full((3, len(sizes)), np.nan)
    for i, bench in benches.items():
        costs[:, i] = min(bench.forward), min(bench.forward_backward), bench.saved
    return cost_formulas.MeasuredCosts(*costs)


class _LayerStack(nn.Module):
    """Several layers of one part."""

    def __init__(self, name: str, size: cost_formulas.LayerSize) -> None:
        super().__init__()
        rng = generator(0, "cost")
        self.name = name
        self.layers = nn.ModuleList(_build_layer(name, size, rng) for _ in range(size.layers))

    def forward(self, x: Float[Tensor, "1 time width"]) -> Float[Tensor, "1 time width"]:
        # An active intervention makes attention store its weights, see `models/taps.py`.
        with intervene(self, {}) if self.name == "attention" else nullcontext():
            for layer in self.layers:
                if isinstance(layer, Cell):
                    x, _ = unroll(layer, x)
                else:
                    x = layer(x, None) if isinstance(layer, Attention) else layer(x)
        return x


def _build_layer(name: str, size: cost_formulas.LayerSize, rng: torch.Generator) -> nn.Module:
    cells = {"rnn": RNNCell, "gru": GRUCell, "lstm": LSTMCell}
    if name in cells:
        return cells[name](size.width, size.width, rng)
    hidden = cost_formulas.FEEDFORWARD_FACTOR * size.width
    config = TransformerTextConfig(size.width, size.heads, hidden=hidden, positions="none", norm="none", start="usual")
    if name != "feedforward":
        return Attention(config, rng)
    block = Block(config, rng)
    return nn.Sequential(block.expand, nn.ReLU(), block.contract)


class _TimingBench:
    """One part at one size, measured repeatedly."""

    def __init__(self, name: str, size: cost_formulas.LayerSize) -> None:
        self.part = _LayerStack(name, size)
        self.x = torch.randn(1, size.length, size.width, generator=generator(0, "cost-input")).requires_grad_()
        self.differentiated = [self.x, *self.part.parameters()]
        self.saved = float(saved_bytes(self.part, lambda: self.part(self.x)))
        self.forward: list[float] = []
        self.forward_backward: list[float] = []

    def run_once(self) -> None:
        """Time a forward pass, and a forward with a backward pass."""
        started = time.thread_time()
        with torch.no_grad():
            self.part(self.x)
        forward_done = time.thread_time()
        torch.autograd.grad(self.part(self.x).sum(), self.differentiated)
        self.forward.append(forward_done - started)
        self.forward_backward.append(time.thread_time() - forward_done)
