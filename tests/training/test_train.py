from __future__ import annotations

import random
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.catalogue import MODELS
from explorer.tasks.ceiling import ceiling
from explorer.tasks.negation import Negation
from explorer.training.config import RunConfig, changed, default
from explorer.training.events import Evaluation, Snapshot, Started, Step
from explorer.training.record import Record
from explorer.training.recorder import record_run
from explorer.training.train import train

SHORT: dict[str, object] = {"epochs": 3, "train_size": 211, "test_size": 53}  # four batches an epoch, the last of 19


def run(model: str, **changes: object) -> RunConfig:
    return changed(default("negation", model), changes)


def losses(config: RunConfig) -> np.ndarray:
    return torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).numpy()


@cache
def default_race(model: str) -> Record:
    """The released configuration, eight seeds side by side."""
    return record_run(run(model, replicas=8))


@pytest.mark.parametrize("model", [name for name in MODELS if name != "bag_of_words"])
def test_every_network_learns_negation_in_every_seed(model: str) -> None:
    assert default_race(model).curves.last("exact_accuracy").tolist() == [1.0] * 8


def test_bag_of_words_ends_at_its_ceiling_in_every_seed() -> None:
    record = default_race("bag_of_words")
    best = ceiling(Negation(record.config.task).sentences)
    np.testing.assert_allclose(record.curves.last("exact_accuracy"), best)
    # The test holds 200 drawn sentences: two standard deviations of the mean over eight seeds are 0.016.
    assert record.curves.last("test_accuracy").mean() == pytest.approx(best, abs=0.016)


def test_bag_of_words_in_an_even_world_ends_below_its_ceiling() -> None:
    record = record_run(run("bag_of_words", replicas=8, p_not=0.5, epochs=100, train_size=9_973, batch_size=997))
    assert ceiling(Negation(record.config.task).sentences) == pytest.approx(5 / 6)
    assert record.curves.last("exact_accuracy").mean() == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize("padding", ["pad", "eos"])
@pytest.mark.parametrize("model", MODELS)
def test_replica_of_a_run_equals_the_solo_run_of_its_seed(model: str, padding: str) -> None:
    together = losses(run(model, **SHORT, padding=padding, seed=5, replicas=3))
    for r in range(3):
        alone = losses(run(model, **SHORT, padding=padding, seed=5 + r))
        np.testing.assert_allclose(together[:, r], alone[:, 0], atol=1e-4, rtol=0)


def test_seeds_differ() -> None:
    first = losses(run("rnn", **SHORT, replicas=3))[0]
    assert len(set(first.tolist())) == 3


@pytest.mark.parametrize("model", MODELS)
def test_the_same_configuration_gives_the_same_curve_bit_for_bit(model: str) -> None:
    config = run(model, **SHORT, replicas=3)
    np.testing.assert_array_equal(losses(config), losses(config))


def test_two_trainings_at_once_are_bit_equal_to_each_alone() -> None:
    configs = [run("transformer", **SHORT, replicas=3), run("gru", **SHORT, replicas=2, seed=7)]
    alone = [losses(config) for config in configs]
    inside = threading.Barrier(2, timeout=60)
    together: dict[int, list[np.ndarray]] = {0: [], 1: []}

    def work(index: int) -> None:
        for _ in range(5):
            inside.wait()
            together[index].append(losses(configs[index]))

    threads = [threading.Thread(target=work, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(2):
        assert len(together[index]) == 5
        for curve in together[index]:
            np.testing.assert_array_equal(curve, alone[index])


LEAVES_ALONE = """
import random, numpy, torch
from explorer.training.config import changed, default
from explorer.training.recorder import record_run

def states():
    return torch.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1].tolist()

before = states()
for model in ("bag_of_words", "gru", "transformer"):
    record_run(changed(default("negation", model), {"epochs": 2, "replicas": 2}))
    assert states() == before, model
"""


def test_a_training_leaves_the_global_generators_alone() -> None:
    # In a process of its own: the type checker of these tests draws from Python's generator.
    subprocess.run([sys.executable, "-c", LEAVES_ALONE], cwd=Path(__file__).parents[2], check=True)


def test_global_generators_do_not_change_a_training() -> None:
    config = run("feedforward", **SHORT)
    before = losses(config)
    state = torch.get_rng_state()
    torch.manual_seed(123)
    random.seed(5)
    np.testing.assert_array_equal(losses(config), before)
    torch.set_rng_state(state)


def test_between_two_events_torch_is_as_it_was() -> None:
    for _ in train(run("rnn", **SHORT)):  # trainings take turns on one thread: nobody may pause with gradients off
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_closing_the_generator_stops_the_training() -> None:
    events = train(run("rnn", epochs=2_000))
    seen = [next(events) for _ in range(7)]
    events.close()
    assert [type(event) for event in seen] == [Started, Evaluation, *[Step] * 5]
    with pytest.raises(StopIteration):
        next(events)


@pytest.mark.parametrize("replicas", [1, 3])
def test_events_tell_the_whole_training(replicas: int) -> None:
    config = run("bag_of_words", **SHORT, replicas=replicas)
    events = list(train(config))
    assert events[0] == Started(parameters=24)  # 11 tokens and a bias, for two classes
    assert [e.step for e in events if isinstance(e, Step)] == list(range(1, 13))
    assert [(e.step, e.epoch) for e in events if isinstance(e, Evaluation)] == [(0, 0), (4, 1), (8, 2), (12, 3)]
    (snapshot,) = (e for e in events if isinstance(e, Snapshot))
    assert snapshot.step == 12
    assert {name: tuple(value.shape) for name, value in snapshot.weights.items()} == {
        "readout.weight": (replicas, 2, 11),
        "readout.bias": (replicas, 2),
    }
    assert all(e.logits.shape == (replicas, 6, 2) for e in events if isinstance(e, Evaluation))


def test_metrics_worked_out_from_the_samples() -> None:
    record = record_run(run("rnn", **SHORT, held_out="destroy", replicas=2))
    curves, task = record.curves, Negation(record.config.task)
    labels = np.array(task.labels)
    for r, seed in enumerate(record.config.seeds):
        says = curves.sustain[-1, r]
        right = (says > 0.5) == labels
        drawn = np.array(task.sample("test", seed))
        negated = np.array([task.sentences[i].nots > 0 for i in drawn])
        assert curves.last("test_accuracy")[r] == pytest.approx(right[drawn].mean())
        assert curves.last("test_accuracy_negated")[r] == pytest.approx(right[drawn][negated].mean())
        assert curves.last("test_accuracy_plain")[r] == pytest.approx(right[drawn][~negated].mean())
        surprise = -np.log(np.where(labels == 1, says, 1 - says))
        trained = np.array(task.sample("train", seed))
        assert curves.last("train_loss")[r] == pytest.approx(surprise[trained].mean(), rel=1e-5)
        chance = np.array([s.probability for s in task.sentences])
        assert curves.last("exact_accuracy")[r] == pytest.approx((right * chance).sum())
        pair = [s.text for s in task.sentences].index("human not destroy nature")
        assert curves.last("exact_accuracy_held_out")[r] == right[pair]


def test_a_kind_of_sentence_that_never_occurs_has_no_accuracy() -> None:
    curves = record_run(run("bag_of_words", p_not=0.0)).curves
    assert np.isnan(curves.last("test_accuracy_negated")).all()
    assert curves.last("exact_accuracy").tolist() == [1.0]
