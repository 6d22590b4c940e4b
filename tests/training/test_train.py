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

from explorer.catalogue import models_of
from explorer.errors import Diverged, InvalidSetting
from explorer.tasks.ceiling import linear_readout_ceiling
from explorer.tasks.negation import Negation
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.machine import machine_kind
from explorer.training.record import Record, Snapshot
from explorer.training.recorder import as_checkpoint, record_run
from explorer.training.train import train
from tests.export.alike import STEPS, checkpoints, comparable_events, full_training, short_config, to_bytes

MODELS = models_of("negation")

SHORT: dict[str, object] = {"epochs": 3, "train_size": 211, "test_size": 53}  # four batches an epoch, the last of 19


def run(model: str, **changes: object) -> RunConfig:
    return with_settings(default_config("negation", model), changes)


def losses(config: RunConfig) -> np.ndarray:
    return torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).numpy()


@cache
def default_record(model: str) -> Record:
    """The released configuration, eight seeds side by side."""
    return record_run(run(model, replicas=8))


@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_every_network_learns_negation_in_every_seed(model: str) -> None:
    assert default_record(model).curves.last("exact_accuracy").tolist() == [1.0] * 8


def test_bag_of_words_ends_at_its_ceiling_in_every_seed() -> None:
    record = default_record("bag_of_words")
    best = linear_readout_ceiling(Negation(record.config.task).sentences)
    np.testing.assert_allclose(record.curves.last("exact_accuracy"), best)
    # The test holds 200 drawn sentences: two standard deviations of the mean over eight seeds are 0.016.
    assert record.curves.last("test_accuracy").mean() == pytest.approx(best, abs=0.016)


@pytest.mark.parametrize("padding", ["pad", "eos"])
@pytest.mark.parametrize("model", ["bag_of_words", "lstm", "transformer"])
def test_replica_of_a_run_equals_the_solo_run_of_its_seed(model: str, padding: str) -> None:
    stacked_losses = losses(run(model, **SHORT, padding=padding, seed=5, replicas=3))
    for r in range(3):
        single_losses = losses(run(model, **SHORT, padding=padding, seed=5 + r))
        np.testing.assert_allclose(stacked_losses[:, r], single_losses[:, 0], atol=1e-4, rtol=0)


def test_seeds_differ() -> None:
    initial_losses = losses(run("rnn", **SHORT, replicas=3))[0]
    assert len(set(initial_losses.tolist())) == 3


@pytest.mark.parametrize("model", ["bag_of_words", "lstm", "transformer"])
def test_the_same_configuration_gives_the_same_curve_bit_for_bit(model: str) -> None:
    config = run(model, **SHORT, replicas=3)
    np.testing.assert_array_equal(losses(config), losses(config))


def test_two_trainings_at_once_are_bit_equal_to_each_alone() -> None:
    configs = [run("transformer", **SHORT, replicas=3), run("gru", **SHORT, replicas=2, seed=7)]
    expected = [losses(config) for config in configs]
    barrier = threading.Barrier(2, timeout=60)
    together: dict[int, list[np.ndarray]] = {0: [], 1: []}

    def work(index: int) -> None:
        for _ in range(5):
            barrier.wait()
            together[index].append(losses(configs[index]))

    threads = [threading.Thread(target=work, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(2):
        assert len(together[index]) == 5
        for curve in together[index]:
            np.testing.assert_array_equal(curve, expected[index])


LEAVES_ALONE = """
import random, numpy, torch
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

def states():
    return torch.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1].tolist()

before = states()
for model in ("bag_of_words", "gru", "transformer"):
    record_run(with_settings(default_config("negation", model), {"epochs": 2, "replicas": 2}))
    assert states() == before, model
"""


def test_a_training_leaves_the_global_generators_alone() -> None:
    # In a process of its own: the type checker of these tests draws from Python's generator.
    subprocess.run([sys.executable, "-c", LEAVES_ALONE], cwd=Path(__file__).parents[2], check=True)


def test_global_generators_do_not_change_a_training() -> None:
    config = run("feedforward", **SHORT)
    expected = losses(config)
    state = torch.get_rng_state()
    torch.manual_seed(123)
    random.seed(5)
    np.testing.assert_array_equal(losses(config), expected)
    torch.set_rng_state(state)


def test_between_two_events_gradients_are_enabled() -> None:
    for _ in train(run("rnn", **SHORT)):  # trainings share a thread: none may pause with gradients off
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_closing_the_generator_stops_the_training() -> None:
    events = train(run("rnn", epochs=2_000))
    received_events = [next(events) for _ in range(8)]
    events.close()
    assert [type(event) for event in received_events] == [Started, *[Evaluation, Checkpoint, Step] * 2, Step]
    with pytest.raises(StopIteration):
        next(events)


@pytest.mark.parametrize("replicas", [1, 3])
def test_events_of_a_whole_training(replicas: int) -> None:
    config = run("bag_of_words", **SHORT, replicas=replicas, snapshots=2)
    events = list(train(config))
    assert events[0] == Started(parameters=24, machine=machine_kind())  # 11 tokens and a bias, for two classes
    assert [e.step for e in events if isinstance(e, Step)] == list(range(1, 13))
    assert [e.step for e in events if isinstance(e, Evaluation)] == [0, 4, 8, 12]
    assert [(e.step, e.is_snapshot) for e in events if isinstance(e, Checkpoint)] == [
        (0, True),
        (10, False),
        (12, True),
    ]
    last = events[-1]
    assert isinstance(last, Checkpoint)
    assert {name: tuple(value.shape) for name, value in last.weights.items()} == {
        "readout.weight": (replicas, 2, 11),
        "readout.bias": (replicas, 2),
    }
    assert {name: tuple(value.shape) for name, value in last.optimiser.items()} == {
        "mean": (24 * replicas,),
        "square": (24 * replicas,),
    }
    assert all(e.answers["logits"].shape == (replicas, 6, 2) for e in events if isinstance(e, Evaluation))


def test_tokens_are_those_that_were_read() -> None:
    config = run("bag_of_words", **SHORT, padding="eos", batch_size=211)  # one batch an epoch: every sentence
    task = Negation(config.task)
    sentences = [task.sentences[i] for i in task.sample("train", 0)]
    # The longest sentence with <BOS> and <EOS>; shorter ones are padded with <EOS>.
    lengths = {s.text: max(len(s.text.split()) for s in sentences) + 2 for s in sentences}
    assert {e.tokens for e in train(config) if isinstance(e, Step)} == {sum(lengths[s.text] for s in sentences)}


def test_every_snapshot_step_is_evaluated() -> None:
    config = short_config()
    snapshot_steps = [e.step for e in full_training(config) if isinstance(e, Checkpoint) and e.is_snapshot]
    assert tuple(snapshot_steps) == config.snapshot_steps == (0, 1, 3, 10, 32)
    assert {*snapshot_steps} <= {e.step for e in full_training(config) if isinstance(e, Evaluation)}


def test_metrics_equal_those_computed_from_the_samples() -> None:
    record = record_run(run("rnn", **SHORT, held_out="destroy", replicas=2))
    curves, task = record.curves, Negation(record.config.task)
    labels = np.array(task.labels)
    for r, seed in enumerate(record.config.seeds):
        probabilities = curves.answers["sustain"][-1, r]
        correct = (probabilities > 0.5) == labels
        test_indices = np.array(task.sample("test", seed))
        negated = np.array([task.sentences[i].nots > 0 for i in test_indices])
        assert curves.last("test_accuracy")[r] == pytest.approx(correct[test_indices].mean())
        assert curves.last("test_accuracy_negated")[r] == pytest.approx(correct[test_indices][negated].mean())
        assert curves.last("test_accuracy_plain")[r] == pytest.approx(correct[test_indices][~negated].mean())
        sentence_losses = -np.log(np.where(labels == 1, probabilities, 1 - probabilities))
        train_indices = np.array(task.sample("train", seed))
        assert curves.last("train_loss")[r] == pytest.approx(sentence_losses[train_indices].mean(), rel=1e-5)
        sentence_probabilities = np.array([s.probability for s in task.sentences])
        assert curves.last("exact_accuracy")[r] == pytest.approx((correct * sentence_probabilities).sum())
        held_out_index = [s.text for s in task.sentences].index("human not destroy nature")
        assert curves.last("exact_accuracy_held_out")[r] == correct[held_out_index]


def test_a_kind_of_sentence_that_never_occurs_has_no_accuracy() -> None:
    curves = record_run(run("bag_of_words", p_not=0.0)).curves
    assert np.isnan(curves.last("test_accuracy_negated")).all()
    assert curves.last("exact_accuracy").tolist() == [1.0]


# ---- interrupted and resumed trainings


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("model", ["bag_of_words", "lstm", "transformer"])
def test_resuming_from_any_checkpoint_gives_the_same_events_bit_for_bit(model: str, replicas: int) -> None:
    config = short_config(model, replicas=replicas)
    stored_checkpoints = checkpoints(full_training(config))
    assert tuple(stored_checkpoints) == STEPS
    for step, checkpoint in stored_checkpoints.items():
        assert comparable_events(train(config, checkpoint)) == comparable_events(full_training(config), after=step), (
            step
        )


@pytest.mark.parametrize("replicas", [1, 3])
def test_resuming_twice_gives_the_same_events_bit_for_bit(replicas: int) -> None:
    config = short_config("transformer", replicas=replicas)
    resumed_once = list(train(config, checkpoints(full_training(config))[3]))
    resumed_twice = list(train(config, checkpoints(resumed_once)[20]))
    assert comparable_events(resumed_twice) == comparable_events(full_training(config), after=20)


def test_resuming_at_the_last_step_gives_no_new_event() -> None:
    config = short_config()
    assert list(train(config, checkpoints(full_training(config))[32])) == [full_training(config)[0]]


def test_a_checkpoint_is_not_changed_by_resuming_from_it() -> None:
    config = short_config()
    checkpoint = checkpoints(full_training(config))[10]
    expected = comparable_events([checkpoint])
    list(train(config, checkpoint))
    assert comparable_events([checkpoint]) == expected


@pytest.mark.parametrize(
    "other_config",
    [short_config("gru"), short_config(hidden=7), short_config(replicas=3), short_config("bag_of_words")],
    ids=["another model", "another width", "more replicas", "fewer layers"],
)
def test_a_checkpoint_of_another_model_is_rejected(other_config: RunConfig) -> None:
    checkpoint = checkpoints(full_training(other_config))[10]
    with pytest.raises(InvalidSetting, match=r"checkpoint of step 10 does not fit this run's model. Train it from its"):
        list(train(short_config(), checkpoint))


@pytest.mark.parametrize("name", ["readout.weight", "readout.mass"])
def test_a_checkpoint_with_another_parameter_name_or_shape_is_rejected(name: str) -> None:
    checkpoint = checkpoints(full_training(short_config()))[10]
    weights = dict(checkpoint.weights)
    weights[name] = weights.pop("readout.weight").mT
    with pytest.raises(InvalidSetting, match="does not fit"):
        list(train(short_config(), Checkpoint(10, weights, checkpoint.optimiser, is_snapshot=True)))


def test_weights_without_the_moments_of_adam_are_rejected() -> None:
    weights = {name: value.numpy() for name, value in checkpoints(full_training(short_config()))[10].weights.items()}
    with pytest.raises(InvalidSetting, match="does not fit"):
        list(train(short_config(), as_checkpoint(10, Snapshot(weights, None))))


# ---- branches


def from_parent(parent: RunConfig, step: int, **changes: object) -> list[Event]:
    return list(train(branch_from(parent, step, changes), checkpoints(full_training(parent))[step]))


def steps_of(events: list[Event]) -> list[object]:
    return comparable_events(event for event in events if isinstance(event, Step))


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("model", ["bag_of_words", "lstm", "transformer"])
def test_a_branch_that_changes_nothing_equals_its_parent_bit_for_bit(model: str, replicas: int) -> None:
    parent = short_config(model, replicas=replicas)
    parent_events = list(full_training(parent))
    parent_evaluations = {
        event.step: comparable_events([event]) for event in parent_events if isinstance(event, Evaluation)
    }
    for step in (0, 3, 20):
        events = from_parent(parent, step)
        assert steps_of(events) == [e for e in steps_of(parent_events) if e[1] > step]
        assert isinstance(events[1], Evaluation) and events[1].step == step
        branch_evaluations = {
            event.step: comparable_events([event]) for event in events if isinstance(event, Evaluation)
        }
        assert all(
            branch_evaluations[s] == parent_evaluations[s]
            for s in branch_evaluations.keys() & parent_evaluations.keys()
        )
        assert comparable_events([checkpoints(events)[32]]) == comparable_events([checkpoints(parent_events)[32]])


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.01},
        {"schedule": "linear"},
        {"schedule": "cosine"},
        {"warmup": 100},
        {"order": 1},
        {"epochs": 16, "schedule": "linear"},
    ],
    ids=str,
)
def test_a_branch_with_another_setting_differs_after_its_step_and_only_after(changes: dict[str, object]) -> None:
    parent = short_config(replicas=2)
    events, parent_events = from_parent(parent, 10, **changes), list(full_training(parent))
    parent_evaluations = {e.step: comparable_events([e]) for e in parent_events if isinstance(e, Evaluation)}
    assert comparable_events([events[1]]) == parent_evaluations[10]
    assert to_bytes(checkpoints(events)[10].weights) == to_bytes(checkpoints(parent_events)[10].weights)
    branch_steps, parent_steps = steps_of(events), [e for e in steps_of(parent_events) if e[1] > 10]
    same_batches = "order" not in changes
    assert (branch_steps[0] == parent_steps[0]) == same_batches  # the loss of a batch is taken before its step
    assert all(
        branch_step != parent_step for branch_step, parent_step in zip(branch_steps[1:], parent_steps[1:], strict=False)
    )


def test_a_branch_with_more_epochs_continues_where_its_parent_ended() -> None:
    parent = short_config(replicas=2)
    longer = from_parent(parent, 10, epochs=12)
    assert steps_of(longer)[:22] == [e for e in steps_of(list(full_training(parent))) if e[1] > 10]
    assert steps_of(longer)[-1][1] == 48
    assert steps_of(from_parent(parent, 32, epochs=12)) == steps_of(longer)[22:]
    assert steps_of(longer) == [
        e for e in steps_of(list(full_training(short_config(replicas=2, epochs=12)))) if e[1] > 10
    ]


def test_a_branch_of_a_branch_equals_the_first_parent() -> None:
    parent = short_config(replicas=2)
    child = branch_from(parent, 3, {})
    child_events = list(train(child, checkpoints(full_training(parent))[3]))
    grandchild = branch_from(child, 13, {})
    assert (grandchild.branch.parent, grandchild.branch.step) == (key(child), 13)
    events = list(train(grandchild, checkpoints(child_events)[13]))
    assert steps_of(events) == [e for e in steps_of(list(full_training(parent))) if e[1] > 13]


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_branch_is_resumed_like_any_run(replicas: int) -> None:
    parent = short_config("gru", replicas=replicas)
    branch = branch_from(parent, 10, {"order": 3, "learning_rate": 0.01})
    events = list(train(branch, checkpoints(full_training(parent))[10]))
    later = [step for step in checkpoints(events) if step > 10]
    assert later
    for step in later:
        assert comparable_events(train(branch, checkpoints(events)[step])) == comparable_events(events, after=step)


def test_a_branch_without_its_parents_checkpoint_is_rejected() -> None:
    parent = short_config()
    with pytest.raises(InvalidSetting) as raised:
        list(train(branch_from(parent, 10, {})))
    assert str(raised.value) == f"This branch needs step 10 of run {key(parent)}. Train that run first."


@pytest.mark.parametrize(
    "changes", [{"schedule": "linear"}, {"schedule": "cosine"}, {"warmup": 5}, {"order": 1}], ids=str
)
def test_schedule_warmup_and_order_change_the_curve(changes: dict[str, object]) -> None:
    default_losses, changed_losses = losses(short_config()), losses(short_config(**changes))
    assert not np.array_equal(default_losses, changed_losses)
    np.testing.assert_array_equal(changed_losses, losses(short_config(**changes)))


# ---- divergence


def diverging_training(config: RunConfig, step: int) -> Checkpoint:
    checkpoint = checkpoints(full_training(config))[step]
    weights = {name: value.clone() for name, value in checkpoint.weights.items()}
    weights["readout.weight"][-1, 0, 0] = torch.inf  # one number of the last replica
    return Checkpoint(step, weights, checkpoint.optimiser, is_snapshot=True)


@pytest.mark.parametrize("model", ["bag_of_words", "lstm", "transformer"])
def test_divergence_is_noticed_at_the_next_checkpoint(model: str) -> None:
    config = short_config(model, replicas=2, learning_rate=default_config("negation", model).optimiser.learning_rate)
    with pytest.raises(Diverged) as raised:
        list(train(config, diverging_training(config, 10)))
    assert str(raised.value) == (
        "The training diverged by step 12: its logits are no numbers any more. The likely cause is weights that grew "
        "without bound. Take a smaller learning rate, or another seed."
    )


def test_a_large_learning_rate_is_named_as_the_cause() -> None:
    config = short_config(learning_rate=0.3)
    with pytest.raises(Diverged, match=r"step 12: .* the learning rate of 0.3 is 100 times the usual 0.003. Take a sm"):
        list(train(config, diverging_training(config, 10)))


def test_no_checkpoint_contains_nan() -> None:
    config = short_config(batch_size=7, epochs=1)  # 31 steps in one epoch: nothing is evaluated between 10 and 20
    events = train(config, diverging_training(config, 10))
    received_events: list[Event] = []
    with pytest.raises(Diverged, match="by step 20"):
        received_events.extend(events)
    assert not any(isinstance(event, Checkpoint) for event in received_events)
