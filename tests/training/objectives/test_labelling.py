"""The objective of sequence labelling."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.load_model import load_model
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig, evaluation_lengths, evaluation_rows
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run


def test_exact_match_by_length_is_that_of_greedy_decoding() -> None:
    size = {
        "model.width": 8,
        "hidden": 8,
        "heads": 2,
        "longest": 3,
        "symbols": 3,
        "causal": True,
        "positions": "rotary",
    }
    loop = {"iterations": 30, "learning_rate": 2e-2, "batch_size": 32, "evaluate_every": 4, "positions": "rotary"}
    config = with_settings(default_config("echo", "transformer"), {**size, **loop})
    record = record_run(config)
    by_length = record.curves.answers["by_length"][-1]
    assert np.isnan(record.curves.answers["by_length"][0]).all() and 0 < by_length[0, :3].mean() < 1, by_length
    task, model = config.task_as(DelayedCopyConfig), load_model(record).single_replica(0)
    rows = evaluation_rows(task, evaluation_lengths(task), 100)
    for n in (1, 2, 3):
        part = rows.ids[100 * (n - 1) : 100 * n, : n + 1]
        generated = part
        with torch.inference_mode():
            for _ in range(n):
                generated = torch.cat([generated, model(generated)[:, -1:].argmax(dim=-1)], dim=-1)
        expected_accuracy = (generated[:, n + 1 :] == part[:, :n]).all(dim=-1).float().mean()
        assert by_length[0, n - 1] == pytest.approx(float(expected_accuracy), abs=1e-6)
