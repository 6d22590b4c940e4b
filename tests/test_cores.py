"""How many cores a training may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer import cores


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    cores.physical_cores.cache_clear()
    yield
    cores.physical_cores.cache_clear()


@pytest.mark.parametrize(("given", "expected"), [("3", 3), ("3,2", 3), ("0", 1)])
def test_the_variable_of_openmp_sets_the_number(given: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert cores.physical_cores() == expected


def test_without_the_variable_it_is_the_number_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        cores.physical_cores.cache_clear()
        assert 1 <= cores.physical_cores() <= 1_024


@pytest.mark.parametrize(("others", "expected"), [(0.0, 4), (0.4, 4), (1.0, 3), (2.1, 2), (4.0, 1)])
def test_cores_that_other_processes_use_are_not_idle(
    others: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(cores, "_before", (now, 5.0))
    monkeypatch.setattr("time.monotonic", lambda: now + 2.0)
    monkeypatch.setattr(cores, "_unused_seconds", lambda: 5.0 + 2.0 * (4 - others))
    assert cores.idle_cores() == expected


def test_each_result_for_a_visitor_keeps_a_core_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_before", (float("inf"), 0.0))
    monkeypatch.setattr(cores, "_free", 4)
    with cores.keep_core_free(), cores.keep_core_free():
        assert cores.idle_cores() == 2
        with cores.keep_core_free(), cores.keep_core_free(), cores.keep_core_free():
            assert cores.idle_cores() == 1
    with pytest.raises(ValueError), cores.keep_core_free():
        raise ValueError
    assert cores.idle_cores() == 4
