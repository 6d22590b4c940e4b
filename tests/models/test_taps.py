from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from explorer.models.taps import StepTap, Tap, intervene, is_observed, record


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


def test_recordings_nest_and_each_sees_the_forwards_of_its_model_inside_it() -> None:
    model = Doubling()
    with record(model) as outer:
        Doubling()(X)
        with record(model) as inner:
            assert len(inner) == len(outer) == 0
            model(X)
        assert is_observed()
    assert not is_observed()
    assert torch.equal(outer["end"], inner["end"])


def test_recording_ends_after_an_exception() -> None:
    model = Doubling()
    with pytest.raises(ZeroDivisionError), record(model):
        raise ZeroDivisionError
    assert not is_observed()
    with pytest.raises(ValueError, match="replacement"), intervene(model, {"end": torch.zeros(3)}):
        model(X)
    assert not is_observed()
    assert model(X).tolist() == [[16, 80]]


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


def test_mistakes_raise() -> None:
    model = Doubling()
    with intervene(model, {"end": torch.zeros(1, 3)}), pytest.raises(ValueError, match=r"end has shape \(1, 2\)"):
        model(X)
    with pytest.raises(KeyError, match="no tap named"), intervene(model, {"stop": X}):
        pass
    with record(model), pytest.raises(RuntimeError, match="end was hit twice"):
        model(X)
        model(X)


def test_recording_is_invisible_to_another_thread() -> None:
    model = Doubling()
    with record(model) as trace, ThreadPoolExecutor(1) as thread:
        assert thread.submit(is_observed).result() is False
        thread.submit(model, X).result()
    assert len(trace) == 0
