"""The objective of recall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.experiments.recall import VARIANTS
from explorer.inspection.load_model import load_model
from explorer.tasks.recall import RecallConfig, evaluation_lengths, evaluation_sequences, fixed_sequences
from explorer.training.config import RunConfig
from explorer.training.objectives.recall import EVALUATION_SEQUENCES
from explorer.training.recorder import record_run


def short(name: str = "gru-chrono", **changes: Any) -> RunConfig:
    loop = {"iterations": 8, "replicas": 2, "batch_size": 16, "evaluate_every": 4, "snapshots": 3}
    return VARIANTS[name].config(**{"length": 6, **loop, **changes})


@pytest.mark.parametrize("name", ["gru-chrono", "transformer-learned"])
def test_accuracy_by_length_equals_that_of_each_length_alone(name: str) -> None:
    record = record_run(short(name))
    model, by_length, lengths = load_model(record).stack, record.curves.answers["by_length"], evaluation_lengths(6)
    assert np.isnan(by_length[0]).all() and EVALUATION_SEQUENCES == 256
    for length in (lengths[0], 6, lengths[-1]):
        # Recurrent networks are evaluated on prefixes of the longest sequences, the Transformer on separate ones.
        drawn = length if "former" in name else max(lengths)
        ids = evaluation_sequences(RecallConfig(6), drawn, 256)[:, :length]
        with torch.inference_mode():
            correct = model(ids.expand(2, *ids.shape)).argmax(-1) == ids[:, 0]
        np.testing.assert_allclose(by_length[-1][:, lengths.index(length)], correct.float().mean(-1), atol=1e-6)


def test_training_sequences_have_an_accuracy_of_their_own() -> None:
    config = short("lstm-usual", sequences=8, iterations=2, replicas=1)
    record = record_run(config)
    model, ids = load_model(record).stack, fixed_sequences(config.task_as(RecallConfig), 0)
    right = (model(ids).argmax(-1) == ids[:, 0]).float().mean()
    assert float(record.curves.last("train_accuracy")[0]) == pytest.approx(float(right))
