"""Small Transformers of every kind, with random parameters, for the tests of attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt16
from numpy import ndarray
from torch import Generator, nn

from explorer.inspection.attention.attend import FULL_SCALE
from explorer.models.configs import TransformerEncoderConfig, TransformerTaggerConfig, TransformerTextConfig
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_tagger import TransformerTagger

LAYERS, HEADS, WIDTH, WORDS = 3, 3, 12, 13
SIZES: dict[str, Any] = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "hidden": 11}
POSITIONS = ("learned", "sinusoidal", "rotary", "none")


def decoder(**settings: Any) -> TransformerDecoder:
    config = TransformerTextConfig(**{**SIZES, "start": "usual", "norm_place": "pre", **settings})
    return TransformerDecoder(config, WORDS, 70, Generator().manual_seed(1)).eval().requires_grad_(False)


def tagger(**settings: Any) -> TransformerTagger:
    config = TransformerTaggerConfig(**{**SIZES, **settings})
    return TransformerTagger(config, WORDS, 5, 21, Generator().manual_seed(1)).eval().requires_grad_(False)


def encoder() -> TransformerEncoder:
    """Return a classifier of three classes; its last word is the padding."""
    config = TransformerEncoderConfig(**SIZES, window=9, start=1.0)
    return TransformerEncoder(config, WORDS, 3, WORDS - 1, Generator().manual_seed(1)).eval().requires_grad_(False)


def shuffled(model: nn.Module, scale: float = 2.0) -> nn.Module:
    """Return the model with random norms and biases too, and with weights so large that a token changes the answer."""
    generator = Generator().manual_seed(5)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter *= scale
        else:
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    return model


def unpack_weights(
    packed: UInt16[ndarray, "*which cells"], queries: int, causal: bool
) -> Float32[ndarray, "*which query key"]:
    """Return the weights packed by `pack_weights`; NaN above the diagonal if `causal`."""
    values = packed.astype(np.float32) / np.float32(FULL_SCALE)
    if not causal:
        return values.reshape(*packed.shape[:-1], queries, -1)
    weights = np.full((*packed.shape[:-1], queries, queries), np.nan, np.float32)
    weights[..., *np.tril_indices(queries)] = values
    return weights
