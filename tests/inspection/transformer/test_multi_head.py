from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import pytest
import torch

from explorer.inspection.transformer.multi_head import HEAD_COUNTS, attention_evenness, head_divergence, split_heads
from explorer.models.configs import TransformerTextConfig
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder

Positions: TypeAlias = Literal["rotary", "learned"]
IDS = tuple(int(i) for i in torch.randint(20, (18,), generator=torch.Generator().manual_seed(3)))


def decoder(positions: Positions = "rotary") -> TransformerDecoder:
    config = TransformerTextConfig(width=64, heads=4, layers=2, positions=positions, start="usual")
    return TransformerDecoder(config, 20, 32, torch.Generator().manual_seed(1)).requires_grad_(False)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_the_own_number_of_heads_gives_the_models_attention(positions: Positions) -> None:
    model = decoder(positions)
    with record(model) as trace:
        model.features(torch.tensor([IDS]))
    for layer in range(2):
        by_heads = split_heads(model, IDS, layer)
        assert by_heads[4].weights == pytest.approx(trace[f"blocks.{layer}.attention.weights"][0].numpy(), abs=1e-6)
    assert model.blocks[0].attention.heads == 4


def test_the_rank_is_that_of_the_head_width_and_the_parameters_stay_the_same() -> None:
    by_heads = split_heads(decoder(), IDS, 0)
    assert tuple(by_heads) == HEAD_COUNTS
    assert {split.parameters for split in by_heads.values()} == {4 * 64**2}
    for heads, split in by_heads.items():
        assert split.weights.shape == (heads, len(IDS), len(IDS))
        assert split.weights.sum(axis=-1) == pytest.approx(np.ones((heads, len(IDS))))
        assert np.triu(split.weights, 1).max() == 0
        assert split.rank.tolist() == [min(64 // heads, len(IDS))] * heads


def test_divergence_is_zero_for_equal_and_one_bit_for_disjoint_heads() -> None:
    look = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    assert head_divergence(np.stack([look, look])) == pytest.approx(0)
    first, own = np.zeros((2, 3, 3))
    first[:, 0], own[np.arange(3), np.arange(3)] = 1, 1
    assert head_divergence(np.stack([first, own])) == pytest.approx(1)
    assert head_divergence(np.stack([first, own, own])) == pytest.approx(2 / 3)
    assert math.isnan(head_divergence(look[None]))
    half = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    one = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    by_hand = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)) - 0.5
    assert head_divergence(np.stack([half, one])) == pytest.approx(by_hand)


def test_evenness_is_one_for_uniform_and_zero_for_one_hot_attention() -> None:
    look = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    assert attention_evenness(look[None]) == pytest.approx(1)
    assert attention_evenness(np.eye(4)[None]) == pytest.approx(0)
    assert attention_evenness(np.stack([look, np.eye(4)])) == pytest.approx(0.5)
