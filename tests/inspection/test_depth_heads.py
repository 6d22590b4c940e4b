from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import pytest
import torch

from explorer.inspection.depth_heads import CUTS, cuts, difference, evenness
from explorer.models.configs import TransformerTextConfig
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder

Positions: TypeAlias = Literal["rotary", "learned"]
IDS = tuple(int(i) for i in torch.randint(20, (18,), generator=torch.Generator().manual_seed(3)))


def decoder(positions: Positions = "rotary") -> TransformerDecoder:
    config = TransformerTextConfig(width=64, heads=4, layers=2, positions=positions, start="usual")
    return TransformerDecoder(config, 20, 32, torch.Generator().manual_seed(1)).requires_grad_(False)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_cut_as_it_is_it_is_the_model_itself(positions: Positions) -> None:
    model = decoder(positions)
    with record(model) as trace:
        model.features(torch.tensor([IDS]))
    for layer in range(2):
        found = cuts(model, IDS, layer)
        assert found[4].weights == pytest.approx(trace[f"blocks.{layer}.attention.weights"][0].numpy(), abs=1e-6)
    assert model.blocks[0].attention.heads == 4


def test_a_head_has_the_rank_of_its_width_and_the_parameters_stay() -> None:
    found = cuts(decoder(), IDS, 0)
    assert tuple(found) == CUTS
    assert {cut.parameters for cut in found.values()} == {4 * 64**2}
    for heads, cut in found.items():
        assert cut.weights.shape == (heads, len(IDS), len(IDS))
        assert cut.weights.sum(axis=-1) == pytest.approx(np.ones((heads, len(IDS))))
        assert np.triu(cut.weights, 1).max() == 0
        assert cut.rank.tolist() == [min(64 // heads, len(IDS))] * heads


def test_heads_that_look_alike_are_zero_apart_and_those_with_nothing_in_common_one_bit() -> None:
    look = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    assert difference(np.stack([look, look])) == pytest.approx(0)
    first, own = np.zeros((2, 3, 3))
    first[:, 0], own[np.arange(3), np.arange(3)] = 1, 1
    assert difference(np.stack([first, own])) == pytest.approx(1)
    assert difference(np.stack([first, own, own])) == pytest.approx(2 / 3)
    assert math.isnan(difference(look[None]))
    half = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    one = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    by_hand = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)) - 0.5
    assert difference(np.stack([half, one])) == pytest.approx(by_hand)


def test_evenness_is_one_where_all_get_the_same_and_zero_where_one_gets_all() -> None:
    look = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    assert evenness(look[None]) == pytest.approx(1)
    assert evenness(np.eye(4)[None]) == pytest.approx(0)
    assert evenness(np.stack([look, np.eye(4)])) == pytest.approx(0.5)
