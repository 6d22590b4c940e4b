from __future__ import annotations

import torch

from explorer.seeds import generator

USES = ("start", "order", "order/1")


def test_streams_of_another_seed_or_purpose_differ() -> None:
    first = [torch.rand(5, generator=generator(seed, use)).tolist() for seed in range(3) for use in USES]
    assert len({tuple(numbers) for numbers in first}) == 9


def test_a_stream_does_not_change_between_releases() -> None:
    assert generator(0, "start").initial_seed() == 5459176258991312506
    assert torch.equal(torch.rand(5, generator=generator(7, "x")), torch.rand(5, generator=generator(7, "x")))
