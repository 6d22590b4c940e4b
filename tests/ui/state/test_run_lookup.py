from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.errors import UnknownRun
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


def test_a_run_is_known_by_its_key_whether_it_ships_is_kept_or_was_stopped() -> None:
    shipped, kept = store.find("negation-half-gru"), short_config()
    assert find_config(shipped.key) == find_config("negation-half-gru") == shipped.config
    store.save_run(record_run(kept), store.run_folder(kept))
    assert find_config(key(kept)) == kept


def test_a_training_under_way_is_known_before_anything_of_it_is_kept() -> None:
    config = with_settings(short_config(), {"epochs": 2_000})
    service.submit(config, "ada")
    assert find_config(key(config)) == config
    service.stop(key(config), "ada")


@pytest.mark.parametrize("name", ["abcdefghijkl", "../runs", "", "x" * 500])
def test_an_unknown_run_is_answered_with_what_to_do(name: str) -> None:
    with pytest.raises(UnknownRun, match=r"is not on this machine.* Import its zip .*, or train its settings again\."):
        find_config(name)
