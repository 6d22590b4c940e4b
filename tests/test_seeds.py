"""Random streams: another one for each seed and purpose, the same in every release."""

from __future__ import annotations

import torch

from explorer.seeds import generator


def test_streams_differ_by_seed_and_purpose_and_do_not_change_between_releases() -> None:
    streams = [generator(seed, use) for seed in range(3) for use in ("start", "order", "order/1")]
    assert len({tuple(torch.rand(5, generator=stream).tolist()) for stream in streams}) == 9
    assert generator(0, "start").initial_seed() == 5459176258991312506
    assert torch.equal(torch.rand(5, generator=generator(7, "x")), torch.rand(5, generator=generator(7, "x")))
