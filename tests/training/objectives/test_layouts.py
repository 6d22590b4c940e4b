from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import TASKS, models_of
from explorer.training.config import default_config
from explorer.training.objective import objective_class


@pytest.mark.parametrize("task", TASKS)
def test_the_layout_of_a_record(task: str, snapshot: SnapshotAssertion) -> None:
    configs = [default_config(task, model) for model in (models_of(task)[0], models_of(task)[-1])]
    assert snapshot == [str(objective_class(config.task).layout(config)) for config in configs]
