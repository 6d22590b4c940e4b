"""What ours is measured against: the assignment's loop and a public small recipe, as plain PyTorch would have them.

Nothing of explorer/models is used, so that a mistake there cannot make the comparison easy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AssignmentBlock(nn.Module):
    """One head, no norm; attention weights are kept for a picture, whether anybody looks or not."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        time = x.shape[1]
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / x.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.tril(torch.ones(time, time)) == 0, float("-inf"))
        weights = torch.nan_to_num(F.softmax(scores, dim=-1), 0.0)
        x = x + weights @ self.v(x)
        return x + self.second(F.relu(self.first(x))), weights


class AssignmentModel(nn.Module):
    """The assignment's Transformer: two blocks of width 128."""

    def __init__(self, vocabulary: int, width: int = 128, layers: int = 2, hidden: int = 256, most: int = 15) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(1, most, width))
        self.blocks = nn.ModuleList(AssignmentBlock(width, hidden) for _ in range(layers))
        self.answer = nn.Linear(width, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        x = self.tokens(x) + self.places[:, : x.shape[1]]
        for block in self.blocks:
            x, _ = block(x)
        logits: Tensor = self.answer(x)
        return logits


def assignment_steps(prefixes: Tensor, targets: Tensor, padding: int, vocabulary: int) -> Iterator[float]:
    """The assignment's training: one prefix a row, the answer read at the last, padded place; a loss each step."""
    model = AssignmentModel(vocabulary)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    judge = nn.CrossEntropyLoss(ignore_index=padding)
    rows = torch.utils.data.TensorDataset(prefixes, targets)
    loader = torch.utils.data.DataLoader(rows, batch_size=64, shuffle=True)
    while True:
        for x, y in loader:
            optimiser.zero_grad()
            loss = judge(model(x)[:, -1, :], y)
            loss.backward()
            optimiser.step()
            yield loss.item()


class PlainBlock(nn.Module):
    """A pre-norm block as the public small recipe has it: fused attention, GELU, no biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.first, self.second = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2) for part in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, time, width))
        return x + self.second(F.gelu(self.first(self.norm_2(x))))


class PlainModel(nn.Module):
    """4 layers, 4 heads, width 128, context 64; the embedding is the readout."""

    def __init__(self, vocabulary: int, width: int = 128, heads: int = 4, layers: int = 4, context: int = 64) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(PlainBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        self.answer = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._start)
        for name, p in self.named_parameters():
            if name.endswith(("out.weight", "second.weight")):
                nn.init.normal_(p, 0.0, 0.02 / math.sqrt(2 * layers))
        self.tokens.weight = self.answer.weight

    @staticmethod
    def _start(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, 0.0, 0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.tokens(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.answer(self.norm(x))
        return logits


def recipe_steps(text: Tensor, vocabulary: int, steps: int = 2_000) -> Iterator[PlainModel]:
    """The public recipe for a processor: batch 12 x 64, AdamW 1e-3, 100 steps of warm-up, cosine to 1e-4, clip 1.
    Gives the model after each step."""
    model = PlainModel(vocabulary)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    for step in range(steps):
        rate = 1e-3 * (step + 1) / 101 if step < 100 else None
        if rate is None:
            rate = 1e-4 + 0.5 * (1 + math.cos(math.pi * (step - 100) / (steps - 100))) * 9e-4
        for group in optimiser.param_groups:
            group["lr"] = rate
        starts = torch.randint(len(text) - 64, (12,))
        x = torch.stack([text[i : i + 64] for i in starts])
        y = torch.stack([text[i + 1 : i + 65] for i in starts])
        loss = F.cross_entropy(model(x).view(-1, vocabulary), y.view(-1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        loss.item()
        yield model


@torch.no_grad()
def cold_loss(model: nn.Module, text: Tensor, context: int = 64) -> float:
    """Nats a token over the whole text, in blocks that each start cold."""
    rows = (len(text) - 1) // context
    x = text[: rows * context].view(rows, context)
    y = text[1 : rows * context + 1].view(rows, context)
    total = sum(
        float(F.cross_entropy(model(a).flatten(0, 1), b.flatten(), reduction="sum"))
        for a, b in zip(x.split(256), y.split(256), strict=True)
    )
    return total / (rows * context)


def timed(steps: Iterator[object], count: int = 300, warm: int = 20) -> list[float]:
    """Seconds of each of so many steps, after a few that do not count."""
    for _ in range(warm):
        next(steps)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        next(steps)
        times.append(time.perf_counter() - start)
    return times
