from __future__ import annotations

import numpy as np

from explorer.inspection.leaking import written
from explorer.inspection.opening import open_model
from explorer.tasks.noise import NoiseConfig
from explorer.training import store
from explorer.ui.masks_findings import repeated


def test_a_model_that_learned_to_read_off_repeats_itself_and_one_with_a_mask_does_not() -> None:
    told = {}
    for name in ("noise-causal", "noise-open"):
        opened = open_model(store.find(name))
        made = written(opened, rows=16)
        length = opened.config.on(NoiseConfig).length
        assert made.ids.shape == (opened.config.replicas, 16, length)
        assert made.surest.shape == (opened.config.replicas, length - made.first)
        np.testing.assert_array_equal(made.ids, written(opened, rows=16).ids)
        assert (made.ids[:, :, : made.first] == made.ids[:1, :, : made.first]).all(), "all begin alike"
        told[name] = repeated(made.ids, made.first).mean(), made.surest.mean()
    assert told["noise-causal"][0] < 0.2 < 0.8 < told["noise-open"][0]
    assert told["noise-causal"][1] < 0.2 < 0.8 < told["noise-open"][1]
