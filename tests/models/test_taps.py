from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from explorer.models.taps import StepTap, Tap, intervene, record, tap_names, watched


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


def test_record_keeps_every_tap_and_stacks_steps_on_time() -> None:
    model = Doubling()
    with record(model) as trace:
        model(X)
    assert set(trace) == {"step", "end"}
    assert trace["step"].tolist() == [[[2, 10], [4, 20], [8, 40]]]
    assert trace["end"].tolist() == [[16, 80]]


def test_nobody_watches_outside_of_a_recording() -> None:
    assert not watched()
    with record(Doubling()):
        assert watched()
    assert not watched()


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
        assert watched()
    assert torch.equal(outer["end"], inner["end"])


def test_recording_hears_only_its_own_model() -> None:
    model, other = Doubling(), Doubling()
    with record(model) as trace:
        other(X)
    assert len(trace) == 0


def test_recording_ends_after_an_exception() -> None:
    model = Doubling()
    with pytest.raises(ZeroDivisionError), record(model):
        raise ZeroDivisionError
    assert not watched()
    with pytest.raises(ValueError, match="replacement"), intervene(model, {"end": torch.zeros(3)}):
        model(X)
    assert not watched()
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


def test_a_recording_inside_an_intervention_sees_the_new_value() -> None:
    model = Doubling()
    with intervene(model, {"step": lambda value, step: 0 * value}), record(model) as trace:
        model(X)
    assert trace["step"].tolist() == [[[0, 0]] * 3]


def test_intervene_refuses_an_unknown_name() -> None:
    with pytest.raises(KeyError, match="no tap named"), intervene(Doubling(), {"stop": X}):
        pass


def test_intervene_refuses_another_shape() -> None:
    model = Doubling()
    with intervene(model, {"end": torch.zeros(1, 3)}), pytest.raises(ValueError, match=r"end has shape \(1, 2\)"):
        model(X)


def test_names_are_places() -> None:
    assert sorted(tap_names(nn.Sequential(Doubling(), Doubling())).values()) == ["0.end", "0.step", "1.end", "1.step"]


def side_by_side(*visitors: Callable[[], None]) -> None:
    """Run each on a thread of its own; what one raises, this raises."""
    failures: list[BaseException] = []

    def guarded(visitor: Callable[[], None]) -> None:
        try:
            visitor()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=[visitor]) for visitor in visitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_recording_is_invisible_to_another_thread() -> None:
    model = Doubling()
    seen = []

    def other() -> None:
        seen.append(watched())
        model(X)

    with record(model) as trace:
        side_by_side(other)
    assert seen == [False]
    assert len(trace) == 0


def test_two_visitors_of_one_model_never_meet() -> None:
    model = Doubling()
    inside = threading.Barrier(2, timeout=10)

    def visit(value: float, times: int = 50) -> None:
        x = torch.full((1, 2), value)
        for _ in range(times):
            with intervene(model, {"end": lambda end, step: end + value}), record(model) as trace:
                inside.wait()  # both listen now
                answer = model(x)
                inside.wait()  # both have been through the model
            assert trace["end"].tolist() == answer.tolist() == [[17 * value] * 2]
            assert trace["step"].shape == (1, 3, 2)

    side_by_side(lambda: visit(3.0), lambda: visit(5.0))
