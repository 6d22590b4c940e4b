from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.leaking import Written, beginnings, spelled, written
from explorer.inspection.opening import OpenedModel, open_model
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.tale import LETTERS
from explorer.training import store
from explorer.ui.masks_findings import repeated, share_in_words, texts


def test_a_model_that_learned_to_read_off_repeats_itself_and_one_with_a_mask_does_not() -> None:
    told = {}
    for name in ("noise-causal", "noise-open"):
        opened = open_model(store.find(name))
        task = opened.config.on(NoiseConfig)
        made = written(opened, beginnings(task, 16), task.length)
        assert made.ids.shape == (opened.config.replicas, 16, task.length)
        assert made.surest.shape == (opened.config.replicas, task.length - made.first)
        np.testing.assert_array_equal(made.ids, written(opened, beginnings(task, 16), task.length).ids)
        assert (made.ids[:, :, : made.first] == made.ids[:1, :, : made.first]).all(), "all begin alike"
        told[name] = repeated(made.ids, made.first).mean(), made.surest.mean()
    assert told["noise-causal"][0] < 0.2 < 0.8 < told["noise-open"][0]
    assert told["noise-causal"][1] < 0.2 < 0.8 < told["noise-open"][1]


def tale(name: str, length: int = 90, begin: str = "the old king") -> tuple[OpenedModel, Written]:
    opened = open_model(store.find(name))
    return opened, written(opened, spelled(begin, 3), length)


def test_with_the_mask_a_model_writes_words_and_without_it_none() -> None:
    (_, causal), (_, without) = tale("tale-causal"), tale("tale-open")
    assert share_in_words(causal.ids, causal.first) > 0.8 > 0.3 > share_in_words(without.ids, without.first)
    assert all(text.startswith("the old king") for text in texts(without.ids[0], LETTERS))


def test_it_reads_as_much_as_a_row_has_and_goes_on_from_there() -> None:
    opened, made = tale("tale-causal", length=60)
    last = torch.from_numpy(made.ids[..., -41:-1])  # what was read before the last letter
    with torch.inference_mode():
        p = opened.stack(last)[..., -1, :].softmax(dim=-1)
    np.testing.assert_allclose(made.surest[:, -1], p.amax(dim=-1).mean(dim=-1), atol=1e-6)
    longer = tale("tale-causal", length=62)[1]
    np.testing.assert_array_equal(longer.ids[..., :60], made.ids)


@pytest.mark.parametrize("begin", ["q", "the. ", "x" * 40])
def test_any_beginning_is_gone_on_with(begin: str) -> None:
    made = tale("tale-open", length=len(begin) + 2, begin=begin)[1]
    assert made.ids.shape[-1] == len(begin) + 2 and made.first == len(begin)
