"""Models that are loaded from runs: frozen, evaluated again from their weights, and how fast they learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.errors import DamagedRun
from explorer.inspection.evaluate import evaluate
from explorer.inspection.load_model import load_model, to_array
from explorer.inspection.steps_to_solve import LossCurves
from explorer.run_store import store
from explorer.training.config import default_config, with_settings
from explorer.training.record import Snapshot
from explorer.training.recorder import record_run


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_loaded_model_is_frozen_and_has_the_weights_and_metrics_of_its_run(replicas: int) -> None:
    record = record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": replicas}))
    loaded = load_model(record)
    for index in range(replicas):
        single = loaded.single_replica(index)
        for name, value in single.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), record.weights()[name][index])
        assert not single.training and not any(p.requires_grad for p in single.parameters())
    assert not loaded.stack.training and not any(p.requires_grad for p in loaded.stack.parameters())
    assert loaded.vocabulary_size is None and not to_array(next(loaded.stack.parameters())).flags.writeable
    for name, metric in evaluate(record).items():
        assert metric.values == pytest.approx(record.curves.last(name).tolist(), abs=1e-5, nan_ok=True)
    wrong = {name: value[..., :1] for name, value in record.weights().items()}
    with pytest.raises(DamagedRun, match=r"The weights of run .* do not fit its configuration\. Train it again\."):
        load_model(replace(record, snapshots={record.curves.step: Snapshot(wrong, None)}))


def test_the_vocabulary_of_a_text_and_the_first_evaluated_step_with_a_small_loss() -> None:
    assert load_model(store.find("text-rnn")).vocabulary_size == 65
    loss = np.array([[0.5, 0.05, 0.2], [0.1, 0.5, 0.3], [0.09, 0.05, 0.2]])
    assert LossCurves(np.array([0.0, 10, 20]), loss).steps_to_solve.tolist() == [20, 0, np.inf]
