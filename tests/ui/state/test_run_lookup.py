from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.jobs.scheduler import service
from explorer.run_store import store
from explorer.training.config import key, with_settings
from explorer.training.recorder import record_run
from explorer.ui.state.run_lookup import find_config
from tests.export.alike import short_config


@pytest.fixture(autouse=True)
def no_jobs_left(home: object) -> Iterator[None]:
    yield
    service.reset()


def test_shipped_and_stored_runs_are_found_by_key() -> None:
    shipped, stored = store.find("negation-half-gru"), short_config()
    assert find_config(shipped.key) == find_config("negation-half-gru") == shipped.config
    store.save_run(record_run(stored), store.run_folder(stored))
    assert find_config(key(stored)) == stored


def test_a_running_training_is_found_before_anything_is_stored() -> None:
    config = with_settings(short_config(), {"epochs": 2_000})
    service.submit(config, "ada")
    assert find_config(key(config)) == config
    service.stop(key(config), "ada")
