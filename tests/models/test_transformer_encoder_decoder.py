from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy import ndarray

from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder
from tests.models.translators import KINDS, PADDING, SOURCES, TARGETS, sources, targets, translator


def softmax(x: ndarray) -> ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference(model: TransformerEncoderDecoder, source: list[int], target: list[int]) -> ndarray:
    """Compute section 3 of Vaswani et al. (2017) with plain numpy, head by head."""
    m = {name: parameter.detach().double().numpy() for name, parameter in model.named_parameters()}
    config = model.config

    def attend(prefix: str, x: ndarray, memory: ndarray, causal: bool = False) -> ndarray:
        size, heads = config.width // config.heads, []
        for head in range(config.heads):
            rows = slice(head * size, (head + 1) * size)
            q, k, v = (
                inputs @ m[f"{prefix}.{part}.weight"][rows].T
                for inputs, part in ((x, "query"), (memory, "key"), (memory, "value"))
            )
            scores = q @ k.T / math.sqrt(size)
            if causal:
                scores[np.triu_indices(len(x), 1)] = -np.inf
            heads.append(softmax(scores) @ v)
        return np.concatenate(heads, axis=1) @ m[f"{prefix}.output.weight"].T

    def norm(prefix: str, x: ndarray) -> ndarray:
        normal = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return normal * m[f"{prefix}.weight"] + m[f"{prefix}.bias"]

    def feedforward(prefix: str, x: ndarray) -> ndarray:
        inner = np.maximum(x @ m[f"{prefix}.expand.weight"].T + m[f"{prefix}.expand.bias"], 0)
        return inner @ m[f"{prefix}.contract.weight"].T + m[f"{prefix}.contract.bias"]

    def block(prefix: str, x: ndarray, encoder_output: ndarray | None = None) -> ndarray:
        parts = [("attention_norm", lambda h: attend(f"{prefix}.attention", h, h, causal=encoder_output is not None))]
        if encoder_output is not None:
            parts.append(("cross_norm", lambda h: attend(f"{prefix}.cross", h, encoder_output)))
        parts.append(("feedforward_norm", lambda h: feedforward(prefix, h)))
        for name, part in parts:
            if config.norm_place == "pre":
                x = x + part(norm(f"{prefix}.{name}", x))
            else:
                x = norm(f"{prefix}.{name}", x + part(x))
        return x

    def embed(side: str, ids: list[int]) -> ndarray:
        if config.positions == "learned":
            table = m[f"position.{side}.weight"]
        else:
            angles = np.arange(30)[:, None] / 10_000 ** (np.arange(0, config.width, 2) / config.width)
            table = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(30, -1)
        return m[f"embedding.{side}.weight"][ids] + table[: len(ids)]

    x, y = embed("source", source), embed("target", target)
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
    logits = model(source, target).detach().numpy()
    for row in range(4):
        ids = [i for i in source[row].tolist() if i != PADDING]
        np.testing.assert_allclose(logits[row], reference(model, ids, target[row].tolist()), atol=1e-4)


def test_more_tokens_than_learned_positions_raise_value_error() -> None:
    model = translator("pre", places=4)
    model(sources(1, longest=4), targets(1))
    with pytest.raises(ValueError, match="5 tokens, but only 4 learned positions"):
        model(sources(1, longest=5), targets(1))


def test_with_zero_initialization_every_token_is_equally_likely() -> None:
    generator = torch.Generator().manual_seed(1)
    config = TransformerEncoderDecoderConfig(width=8, heads=2, start="zero")
    model = TransformerEncoderDecoder(config, SOURCES, TARGETS, PADDING, generator)
    assert not model(sources(2), targets(2)).any()
