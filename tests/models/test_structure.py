from __future__ import annotations

import dataclasses

import pytest

from explorer.models.context_window import window_start
from explorer.models.structure import AttentionLayout, ModelStructure, StackStructure

DECODER = StackStructure(
    "decoder", 2, 3, 1, 4, 5, "RMSNorm", "before", "gelu", False, False, causal=True, cross=False, windows=(0, 8)
)


def test_costs_worked_by_hand() -> None:
    # Of 10 tokens the layers see 10 and 8. The queries have 3 * 4 numbers, the keys 1 * 4, each of 4 bytes.
    assert [DECODER.pair_multiplications(tokens) for tokens in (10, 5)] == [2 * 12 * 18, 2 * 12 * 10]
    assert [DECODER.cache_bytes(tokens) for tokens in (10, 5)] == [2 * 4 * 18 * 4, 2 * 4 * 10 * 4]
    cross = dataclasses.replace(DECODER, cross=True)  # also 10 tokens of the source in each of 2 layers
    assert (cross.pair_multiplications(10), cross.cache_bytes(10)) == (2 * 12 * 38, 2 * 4 * 38 * 4)
    encoder = dataclasses.replace(DECODER, causal=False)
    assert encoder.cache_bytes(10) == 0
    whole = ModelStructure(12, 7, "none", (encoder, cross), 7, False, {"embedding": 84, "output": 91}, multiplied=1000)
    assert (whole.total, whole.multiplications(10), whole.cache_bytes(10)) == (175, 1000 + 24 * 18 + 24 * 38, 1216)
    assert AttentionLayout(1, 2, True, True).size == "1 layer × 2 heads"
    assert AttentionLayout(2, 1, True, True).size == "2 layers × 1 head"


@pytest.mark.parametrize(
    ("context", "starts"), [(4, [0, 0, 0, 0, 2, 2, 4, 4, 6]), (5, [0, 0, 0, 0, 0, 3, 3, 3, 6]), (1, range(9))]
)
def test_a_full_window_drops_its_older_half(context: int, starts: list[int]) -> None:
    assert [window_start(read, context) for read in range(1, 10)] == list(starts)
