"""The baseline of `benchmarks/negation.py`: the notebook's way of training its four models.

One seed at a time, sentences padded anew for every batch, word counts in a Python loop, PyTorch's own
layers. It is measured on the very sentences that ours learns from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VOCABULARY = 10
END = 1
LENGTH = 6
Sample = Sequence[tuple[list[int], int]]


def pad_batch(sentences: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(len(s) for s in sentences)
    ids = [s + [END] * (longest - len(s)) for s in sentences]
    mask = [[1] * len(s) + [0] * (longest - len(s)) for s in sentences]
    return torch.tensor(ids), torch.tensor(mask)


def batches(sample: Sample, size: int, shuffle: random.Random | None) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    order = list(range(len(sample)))
    if shuffle:
        shuffle.shuffle(order)
    for start in range(0, len(order), size):
        chosen = [sample[i] for i in order[start : start + size]]
        ids, mask = pad_batch([ids for ids, _ in chosen])
        yield ids, mask, torch.tensor([label for _, label in chosen])


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(VOCABULARY, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        counts = torch.zeros(len(ids), VOCABULARY)
        for row in range(ids.shape[0]):
            for place in range(ids.shape[1]):
                counts[row, ids[row, place]] += 1
        return self.linear(counts)


def to_length(ids: Tensor) -> Tensor:
    return F.pad(ids[:, :LENGTH], (0, max(0, LENGTH - ids.shape[1])), value=END)


class Window(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 8)
        self.inner = nn.Linear(LENGTH * 8, 32)
        self.readout = nn.Linear(32, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.inner(self.embedding(to_length(ids)).flatten(1))))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 8)
        self.rnn = nn.RNN(8, 24, batch_first=True)
        self.readout = nn.Linear(24, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.readout(self.rnn(self.embedding(ids))[1][0])


class Mini(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(LENGTH, width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.feedforward = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.readout = nn.Linear(width, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        ids = to_length(ids)
        mask = F.pad(mask[:, :LENGTH], (0, LENGTH - mask[:, :LENGTH].shape[1]))
        x = self.embedding(ids) + self.position(torch.arange(LENGTH).repeat(len(ids), 1))
        scores = self.query(x) @ self.key(x).mT / math.sqrt(x.shape[-1])
        weights = scores.masked_fill(mask[:, None] == 0, -1e9).softmax(-1)
        x = self.norm1(x + self.out(weights @ self.value(x)))
        return self.readout(self.norm2(x + self.feedforward(x))[:, 0])


MODELS: dict[str, tuple[type[nn.Module], int, float]] = {
    "bag_of_words": (Counts, 20, 1e-2),
    "feedforward": (Window, 25, 3e-3),
    "rnn": (Recurrent, 25, 3e-3),
    "transformer": (Mini, 30, 3e-3),
}


def accuracy(model: nn.Module, sample: Sample) -> float:
    right = 0
    for ids, mask, labels in batches(sample, 128, None):
        with torch.no_grad():
            right += int((model(ids, mask).argmax(1) == labels).sum())
    return right / len(sample)


def train(name: str, train_sample: Sample, test_sample: Sample, seed: int) -> float:
    """Train one model of the notebook and return its test accuracy; evaluates at six epochs, as it does."""
    kind, epochs, learning_rate = MODELS[name]
    torch.manual_seed(seed)
    model, shuffle = kind(), random.Random(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    last = 0.0
    for epoch in range(1, epochs + 1):
        for ids, mask, labels in batches(train_sample, 64, shuffle):
            loss = F.cross_entropy(model(ids, mask), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            loss.item()
        if epoch in (1, 2, 5, 10, 20, epochs):
            accuracy(model, train_sample)
            last = accuracy(model, test_sample)
    return last
