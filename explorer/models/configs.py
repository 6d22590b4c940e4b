"""The settings of each architecture: what a run remembers about its model.

They stand apart from the models because a form, an address and a run's key need them before torch
is loaded. What the task decides (vocabulary, classes) is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting


@dataclass(frozen=True)
class BagOfWordsConfig:
    """Softmax regression on counts has nothing to choose: the vocabulary decides its size."""


@dataclass(frozen=True)
class FeedforwardConfig:
    """Sizes of the embedding + feedforward network."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(32, "Units in the tanh layer.", 1, 512)
    window: int = setting(6, "Tokens it sees; what stands beyond is cut off.", 1, 64)


@dataclass(frozen=True)
class RNNConfig:
    """Sizes of the plain recurrent network."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(24, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class LSTMConfig:
    """Sizes of the long short-term memory."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(24, "Units in the hidden state, and in the memory cell.", 1, 256)


@dataclass(frozen=True)
class GRUConfig:
    """Sizes of the gated recurrent unit."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(24, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class TransformerEncoderConfig:
    """Sizes of the Transformer encoder, and how far from zero its embeddings start."""

    width: int = setting(16, "Numbers in each token's vector.", 1, 128)
    heads: int = setting(1, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(1, "Blocks, one above the other.", 1, 8)
    hidden: int = setting(64, "Units in each block's feedforward layer.", 1, 512)
    window: int = setting(6, "Positions it knows; what stands beyond is cut off.", 1, 64)
    start: float = setting(
        0.1,
        "Standard deviation of the embeddings before training; PyTorch's usual start is 1, "
        "from which about a third of the seeds never learn the negation task.",
        0.001,
        2.0,
    )

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"heads = {self.heads} does not divide width = {self.width}")
