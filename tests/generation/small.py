"""Small language models of every kind, with all parameters random, so that none keeps an initial 0 or 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import (
    FeedforwardTextConfig,
    GRUTextConfig,
    LSTMTextConfig,
    NgramTextConfig,
    RNNTextConfig,
    TransformerTextConfig,
)
from explorer.models.gru import GRULanguageModel
from explorer.models.kneser_ney import Ngram
from explorer.models.lstm import LSTMLanguageModel
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.rnn import RNNLanguageModel
from explorer.models.transformer_decoder import TransformerDecoder

VOCABULARY, CONTEXT = 11, 7


def transformer(**changes: Any) -> TransformerTextConfig:
    return TransformerTextConfig(**{"width": 12, "heads": 3, "layers": 2, "hidden": 17, "start": "usual", **changes})


TRANSFORMERS = {  # each kind of positions, norm, place of the norm and activation, with and without biases
    "transformer learned layer post": transformer(positions="learned", norm="layer", norm_place="post", biases=True),
    "transformer sinusoidal none pre": transformer(positions="sinusoidal", norm="none", activation="relu2"),
    "transformer none rms pre": transformer(positions="none", norm="rms", norm_place="pre", activation="gelu"),
    "transformer rotary none post": transformer(positions="rotary", norm="none", norm_place="post", biases=True),
    "transformer rotary layer pre": transformer(norm="layer", norm_place="pre", activation="relu", biases=True),
    "transformer learned rms post": transformer(
        positions="learned", norm="rms", norm_place="post", activation="relu2", biases=True
    ),
}
OTHERS = {
    "ngram 1": NgramTextConfig(n=1),
    "ngram 4": NgramTextConfig(n=4),
    "feedforward": FeedforwardTextConfig(width=5, hidden=13, window=3, dropout=0.5),
    "feedforward, batch norm": FeedforwardTextConfig(width=5, hidden=13, window=6, batch_norm=True),
    "rnn": RNNTextConfig(width=5, hidden=13),
    "rnn, two layers": RNNTextConfig(width=5, hidden=13, layers=2, dropout=0.5),
    "lstm": LSTMTextConfig(width=5, hidden=13),
    "lstm, three layers": LSTMTextConfig(width=5, hidden=13, layers=3),
    "gru": GRUTextConfig(width=5, hidden=13),
    "gru, two layers": GRUTextConfig(width=5, hidden=13, layers=2),
}
CONFIGS: dict[str, Any] = {**TRANSFORMERS, **OTHERS}
FEW = ("transformer rotary layer pre", "transformer learned rms post", *OTHERS)  # each kind once, and their variants

_CLASSES = {
    NgramTextConfig: Ngram,
    FeedforwardTextConfig: NeuralNgram,
    RNNTextConfig: RNNLanguageModel,
    LSTMTextConfig: LSTMLanguageModel,
    GRUTextConfig: GRULanguageModel,
    TransformerTextConfig: TransformerDecoder,
}


def model(name: str) -> nn.Module:
    config, draws = CONFIGS[name], Generator().manual_seed(3)
    built = _CLASSES[type(config)](config, VOCABULARY, CONTEXT, Generator().manual_seed(2))
    if isinstance(built, Ngram):
        text = torch.randint(VOCABULARY, (5, 40), generator=draws)
        built.fit(text[:, :-1], text[:, 1:])
        return built
    for parameter in built.parameters():
        parameter.data += torch.randn(parameter.shape, generator=draws) * 0.1
    for statistics in built.buffers():
        statistics.data = torch.rand(statistics.shape, generator=draws) + 0.5
    return built


def texts(rows: int, time: int) -> Tensor:
    return torch.randint(VOCABULARY, (rows, time), generator=Generator().manual_seed(5))
