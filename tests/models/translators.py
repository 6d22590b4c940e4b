"""Small translators for the tests; no parameter has its initial value."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from explorer.models.configs import EncoderDecoderConfig, TransformerEncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder
from explorer.models.translation import Translator

SOURCES, TARGETS, PADDING = 8, 9, 7  # the last of the targets are <BOS> 7 and <EOS> 8
KINDS = ("vector", "additive", "pre", "post", "sinusoidal")


def translator(kind: str, seed: int = 1, **settings: object) -> Translator:
    generator = Generator().manual_seed(seed)
    model: Translator
    if kind in ("vector", "additive"):
        attention = "none" if kind == "vector" else "additive"
        settings_of_kind = {"width": 5, "hidden": 6, "attention": attention, **settings}
        model = EncoderDecoder(EncoderDecoderConfig(**settings_of_kind), SOURCES, TARGETS, PADDING, generator)
    else:
        settings_of_kind = {"post": {}, "pre": {"norm_place": "pre"}, "sinusoidal": {"positions": "sinusoidal"}}[kind]
        small = {"width": 8, "heads": 2, "layers": 2, "hidden": 11, "places": 24}
        config = TransformerEncoderDecoderConfig(**{**small, **settings_of_kind, **settings})
        model = TransformerEncoderDecoder(config, SOURCES, TARGETS, PADDING, generator)
    for name, parameter in model.named_parameters():
        if "norm" in name:  # the initial ones and zeros of a norm would hide a mistake
            parameter.data.uniform_(0.5, 2, generator=generator)
        else:
            parameter.data.mul_(1.5)  # the logits depend more on the input than after initialization
    return model.eval()


def sources(*shape: int, longest: int = 6, seed: int = 7) -> Tensor:
    """Return random rows of different lengths, padded at the end."""
    ids = torch.randint(PADDING, (*shape, longest), generator=Generator().manual_seed(seed))
    lengths = torch.randint(1, longest + 1, shape, generator=Generator().manual_seed(seed + 1))
    return ids.masked_fill(torch.arange(longest) >= lengths[..., None], PADDING)


def targets(*shape: int, longest: int = 4, seed: int = 9) -> Tensor:
    """Return random target rows that begin with <BOS>."""
    ids = torch.randint(TARGETS - 2, (*shape, longest), generator=Generator().manual_seed(seed))
    ids[..., 0] = TARGETS - 2
    return ids
