from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from explorer.models.taps import StepTap, Tap, intervene, is_observed, record, tap_names


class Doubling(nn.Module):
    """Three steps through a loop, then one more doubling."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.end = StepTap(), Tap()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.step(2 * x)
        return self.end(2 * x)


X = torch.tensor([[1.0, 5.0]])


def test_record_returns_every_tap_with_steps_stacked_over_time() -> None:
    model = Doubling()
    with record(model) as trace:
        model(X)
    assert set(trace) == {"step", "end"}
    assert trace["step"].tolist() == [[[2, 10], [4, 20], [8, 40]]]
    assert trace["end"].tolist() == [[16, 80]]


def test_watched_is_true_only_inside_a_recording() -> None:
    assert not is_observed()
    with record(Doubling()):
        assert is_observed()
    assert not is_observed()


def test_a_forward_after_the_block_is_not_recorded() -> None:
    model = Doubling()
    with record(model) as trace:
        pass
    model(X)
    assert len(trace) == 0


def test_recordings_nest_and_each_sees_the_forwards_inside_it() -> None:
    model = Doubling()
    with record(model) as outer:
        with record(model) as inner:
            model(X)
        assert is_observed()
    assert torch.equal(outer["end"], inner["end"])


def test_a_recording_ignores_other_models() -> None:
    model, record_state = Doubling(), Doubling()
    with record(model) as trace:
        record_state(X)
    assert len(trace) == 0


def test_recording_ends_after_an_exception() -> None:
    model = Doubling()
    with pytest.raises(ZeroDivisionError), record(model):
        raise ZeroDivisionError
    assert not is_observed()
    with pytest.raises(ValueError, match="replacement"), intervene(model, {"end": torch.zeros(3)}):
        model(X)
    assert not is_observed()
    assert model(X).tolist() == [[16, 80]]


def test_a_plain_tap_hit_twice_raises() -> None:
    model = Doubling()
    with record(model), pytest.raises(RuntimeError, match="end was hit twice"):
        model(X)
        model(X)


def test_intervene_replaces_with_a_tensor() -> None:
    model = Doubling()
    with intervene(model, {"end": torch.tensor([[7.0, 3.0]])}):
        assert model(X).tolist() == [[7, 3]]


def test_intervene_replaces_with_a_function_of_value_and_step() -> None:
    model = Doubling()
    steps = []

    def skip_the_second(value: Tensor, step: int) -> Tensor:
        steps.append(step)
        return value / 2 if step == 1 else value

    with intervene(model, {"step": skip_the_second}):
        assert model(X).tolist() == [[8, 40]]
    assert steps == [0, 1, 2]


def test_a_recording_inside_an_intervention_contains_the_replaced_value() -> None:
    model = Doubling()
    with intervene(model, {"step": lambda value, step: 0 * value}), record(model) as trace:
        model(X)
    assert trace["step"].tolist() == [[[0, 0]] * 3]


def test_intervene_rejects_an_unknown_name() -> None:
    with pytest.raises(KeyError, match="no tap named"), intervene(Doubling(), {"stop": X}):
        pass


def test_intervene_rejects_another_shape() -> None:
    model = Doubling()
    with intervene(model, {"end": torch.zeros(1, 3)}), pytest.raises(ValueError, match=r"end has shape \(1, 2\)"):
        model(X)


def test_tap_names_are_module_paths() -> None:
    assert sorted(tap_names(nn.Sequential(Doubling(), Doubling())).values()) == ["0.end", "0.step", "1.end", "1.step"]


def run_in_threads(*functions: Callable[[], None]) -> None:
    """Run each function on a thread of its own; raise the first exception that one of them raises."""
    failures: list[BaseException] = []

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[function]) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_recording_is_invisible_to_another_thread() -> None:
    model = Doubling()
    observed_in_thread = []

    def record_state() -> None:
        observed_in_thread.append(is_observed())
        model(X)

    with record(model) as trace:
        run_in_threads(record_state)
    assert observed_in_thread == [False]
    assert len(trace) == 0


def test_interventions_and_recordings_of_two_threads_are_independent() -> None:
    model = Doubling()
    inside = threading.Barrier(2, timeout=10)

    def intervene_repeatedly(value: float, times: int = 50) -> None:
        x = torch.full((1, 2), value)
        for _ in range(times):
            with intervene(model, {"end": lambda end, step: end + value}), record(model) as trace:
                inside.wait()  # both record now
                answer = model(x)
                inside.wait()  # both have been through the model
            assert trace["end"].tolist() == answer.tolist() == [[17 * value] * 2]
            assert trace["step"].shape == (1, 3, 2)

    run_in_threads(lambda: intervene_repeatedly(3.0), lambda: intervene_repeatedly(5.0))
