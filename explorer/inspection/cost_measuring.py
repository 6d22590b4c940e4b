"""Seconds and bytes of a part of a network on this machine, see `cost.py`.

The parts are those of our models, freshly started; the numbers they multiply do not matter. Seconds are those in which
a processor worked for this thread, not those on the wall: time in which it worked for others does not count.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.inspection.cost import WIDER, Measured, Size, weights_kept
from explorer.inspection.prices import saved_bytes
from explorer.models.configs import TransformerTextConfig
from explorer.models.gru import GRUCell
from explorer.models.lstm import LSTMCell
from explorer.models.recurrence import Cell, unroll
from explorer.models.rnn import RNNCell
from explorer.models.taps import intervene
from explorer.models.transformer_decoder import Attention, Block
from explorer.seeds import generator

MOST_BYTES: Final = 80_000_000  # of attention weights in one layer; longer sequences are not measured
TURNS: Final = 7  # of the clock, while there is time; the quickest counts, for what disturbs only ever adds


def measured(name: str, sizes: tuple[Size, ...], seconds: float) -> Measured:
    """Time and weigh one kind of part at each of these sizes, in about so many seconds."""
    began = time.perf_counter()
    stands = {i: _Stand(name, size) for i, size in enumerate(sizes) if weights_kept(name, size) <= MOST_BYTES}
    next(iter(stands.values())).turn()  # so that everything is warm
    for turn in range(TURNS):
        for stand in stands.values():
            if turn and time.perf_counter() - began > seconds:
                break
            stand.turn()
    found = np.full((3, len(sizes)), np.nan)
    for i, stand in stands.items():
        found[:, i] = min(stand.forward), min(stand.both), stand.kept
    return Measured(*found)


class _Part(nn.Module):
    """Some layers of one kind."""

    def __init__(self, name: str, size: Size) -> None:
        super().__init__()
        dice = generator(0, "cost")
        self.name = name
        self.layers = nn.ModuleList(_layer(name, size, dice) for _ in range(size.layers))

    def forward(self, x: Float[Tensor, "1 time width"]) -> Float[Tensor, "1 time width"]:
        # Somebody who listens makes attention store its weights, see `models/taps.py`.
        with intervene(self, {}) if self.name == "attention" else nullcontext():
            for layer in self.layers:
                x = _through(layer, x)
        return x


def _layer(name: str, size: Size, dice: torch.Generator) -> nn.Module:
    cells = {"rnn": RNNCell, "gru": GRUCell, "lstm": LSTMCell}
    if name in cells:
        return cells[name](size.width, size.width, dice)
    config = TransformerTextConfig(
        width=size.width,
        heads=size.heads,
        hidden=WIDER * size.width,
        positions="none",
        norm="none",
        activation="relu",
        start="usual",
    )
    return _Feedforward(config, dice) if name == "feedforward" else Attention(config, dice)


class _Feedforward(nn.Module):
    """That part of a block alone."""

    def __init__(self, config: TransformerTextConfig, dice: torch.Generator) -> None:
        super().__init__()
        block = Block(config, dice)
        self.expand, self.contract = block.expand, block.contract
        self._run = block.feedforward

    def forward(self, x: Float[Tensor, "1 time width"]) -> Float[Tensor, "1 time width"]:
        return self._run(x)


def _through(layer: nn.Module, x: Tensor) -> Tensor:
    if isinstance(layer, Attention):
        return layer(x, None)  # type: ignore[no-any-return]  # nn.Module promises no type
    if isinstance(layer, Cell):
        return unroll(layer, x)[0]
    return layer(x)  # type: ignore[no-any-return]


class _Stand:
    """One size of one part, on which is measured again and again."""

    def __init__(self, name: str, size: Size) -> None:
        self.part = _Part(name, size)
        self.x = torch.randn(1, size.length, size.width, generator=generator(0, "cost-input")).requires_grad_()
        self.wanted = [self.x, *self.part.parameters()]
        self.kept = float(saved_bytes(self.part, lambda: self.part(self.x)))
        self.forward: list[float] = []
        self.both: list[float] = []

    def turn(self) -> None:
        """Each way once."""
        began = time.thread_time()
        with torch.no_grad():
            self.part(self.x)
        middle = time.thread_time()
        torch.autograd.grad(self.part(self.x).sum(), self.wanted)
        self.forward.append(middle - began)
        self.both.append(time.thread_time() - middle)
