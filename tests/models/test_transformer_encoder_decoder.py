from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy import ndarray
from torch import nn

from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.models.taps import record
from explorer.models.transformer_encoder_decoder import Attention, TransformerEncoderDecoder
from tests.models.translators import KINDS, PADDING, SOURCES, TARGETS, sources, targets, translator

CONFIG = TransformerEncoderDecoderConfig(width=8, heads=2)


def test_attention_is_that_of_pytorch() -> None:
    ours = Attention(CONFIG, torch.Generator().manual_seed(1))
    theirs = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    theirs.in_proj_weight.data = torch.cat((ours.query.weight, ours.key.weight, ours.value.weight)).detach()
    theirs.out_proj.weight.data = ours.output.weight.detach()
    drawn = torch.Generator().manual_seed(2)
    x, offered = torch.randn(3, 4, 8, generator=drawn), torch.randn(3, 5, 8, generator=drawn)
    hidden = torch.arange(5) >= torch.tensor([[5], [2], [3]])
    with record(ours) as trace:
        found = ours(x, offered, ~hidden[:, None])
    wanted, weights = theirs(x, offered, offered, key_padding_mask=hidden, average_attn_weights=False)
    torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(trace["weights"], weights, atol=1e-6, rtol=1e-5)


def softmax(x: ndarray) -> ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference(model: TransformerEncoderDecoder, source: list[int], target: list[int]) -> ndarray:
    """Section 3 of Vaswani et al. (2017) with plain numpy, head by head."""
    m = {name: parameter.detach().double().numpy() for name, parameter in model.named_parameters()}
    config = model.config

    def attend(place: str, x: ndarray, offered: ndarray, causal: bool = False) -> ndarray:
        size, heads = config.width // config.heads, []
        for head in range(config.heads):
            rows = slice(head * size, (head + 1) * size)
            q, k, v = (
                given @ m[f"{place}.{part}.weight"][rows].T
                for given, part in ((x, "query"), (offered, "key"), (offered, "value"))
            )
            scores = q @ k.T / math.sqrt(size)
            if causal:
                scores[np.triu_indices(len(x), 1)] = -np.inf
            heads.append(softmax(scores) @ v)
        return np.concatenate(heads, axis=1) @ m[f"{place}.output.weight"].T

    def norm(place: str, x: ndarray) -> ndarray:
        normal = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return normal * m[f"{place}.weight"] + m[f"{place}.bias"]

    def feedforward(place: str, x: ndarray) -> ndarray:
        inner = np.maximum(x @ m[f"{place}.expand.weight"].T + m[f"{place}.expand.bias"], 0)
        return inner @ m[f"{place}.contract.weight"].T + m[f"{place}.contract.bias"]

    def block(place: str, x: ndarray, read: ndarray | None = None) -> ndarray:
        parts = [("attention_norm", lambda h: attend(f"{place}.attention", h, h, causal=read is not None))]
        if read is not None:
            parts.append(("cross_norm", lambda h: attend(f"{place}.cross", h, read)))
        parts.append(("feedforward_norm", lambda h: feedforward(place, h)))
        for name, part in parts:
            if config.norm_place == "pre":
                x = x + part(norm(f"{place}.{name}", x))
            else:
                x = norm(f"{place}.{name}", x + part(x))
        return x

    def placed(side: str, ids: list[int]) -> ndarray:
        if config.positions == "learned":
            places = m[f"position.{side}.weight"]
        else:
            at = np.arange(30)[:, None] / 10_000 ** (np.arange(0, config.width, 2) / config.width)
            places = np.stack((np.sin(at), np.cos(at)), axis=-1).reshape(30, -1)
        return m[f"embedding.{side}.weight"][ids] + places[: len(ids)]

    x, y = placed("source", source), placed("target", target)
    for i in range(config.layers):
        x = block(f"encoder.{i}", x)
    if config.norm_place == "pre":
        x = norm("encoder_norm", x)
    for i in range(config.layers):
        y = block(f"decoder.{i}", y, x)
    if config.norm_place == "pre":
        y = norm("decoder_norm", y)
    return y @ m["readout.weight"].T + m["readout.bias"]


@pytest.mark.parametrize("kind", KINDS[2:])
def test_equals_the_equations_of_the_paper(kind: str) -> None:
    model, source, target = translator(kind), sources(4), targets(4)
    assert isinstance(model, TransformerEncoderDecoder)
    found = model(source, target).detach().numpy()
    for row in range(4):
        ids = [i for i in source[row].tolist() if i != PADDING]
        np.testing.assert_allclose(found[row], reference(model, ids, target[row].tolist()), atol=1e-4)


def test_without_positions_the_source_is_a_bag() -> None:
    model, target = translator("pre", positions="none"), targets(1)
    source = torch.tensor([[0, 2, 5, 3]])
    torch.testing.assert_close(model(source, target), model(source.flip(-1), target), atol=1e-5, rtol=1e-5)


def test_more_tokens_than_places_are_refused() -> None:
    model = translator("pre", places=4)
    model(sources(1, longest=4), targets(1))
    with pytest.raises(ValueError, match="5 tokens, but only 4 learned positions"):
        model(sources(1, longest=5), targets(1))


def test_from_a_start_at_zero_every_token_is_equally_likely() -> None:
    made = torch.Generator().manual_seed(1)
    config = TransformerEncoderDecoderConfig(width=8, heads=2, start="zero")
    model = TransformerEncoderDecoder(config, SOURCES, TARGETS, PADDING, made)
    assert not model(sources(2), targets(2)).any()


def test_heads_have_to_divide_the_width() -> None:
    with pytest.raises(ValueError, match="heads = 3 does not divide width = 64"):
        TransformerEncoderDecoderConfig(heads=3)
