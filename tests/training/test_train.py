from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
import torch

from explorer import cores
from explorer.catalogue import TASKS, models_of
from explorer.errors import Diverged, InvalidSetting
from explorer.tasks.negation import Negation
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.machine import machine_kind
from explorer.training.record import Snapshot
from explorer.training.recorder import as_checkpoint, record_run
from explorer.training.train import train
from tests.export.alike import STEPS, checkpoints, comparable_events, full_training, short_config, to_bytes

SHORT: dict[str, object] = {"epochs": 3, "train_size": 211, "test_size": 53}  # four batches an epoch, the last of 19


def run(model: str, **changes: object) -> RunConfig:
    return with_settings(default_config("negation", model), changes)


def losses(config: RunConfig) -> np.ndarray:
    return torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).numpy()


@pytest.mark.parametrize(("model", "padding"), [("bag_of_words", "pad"), ("lstm", "eos"), ("transformer", "pad")])
def test_replica_of_a_run_equals_the_solo_run_of_its_seed(model: str, padding: str) -> None:
    stacked_losses = losses(run(model, **SHORT, padding=padding, seed=5, replicas=3))
    for r in range(3):
        single_losses = losses(run(model, **SHORT, padding=padding, seed=5 + r))
        np.testing.assert_allclose(stacked_losses[:, r], single_losses[:, 0], atol=1e-4, rtol=0)


def test_two_trainings_at_once_are_bit_equal_to_each_alone() -> None:
    configs = [run("transformer", **SHORT, replicas=3), run("gru", **SHORT, replicas=2, seed=7)]
    expected = [losses(config) for config in configs]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(losses, configs * 2))
    for curve, alone in zip(together, expected * 2, strict=True):
        np.testing.assert_array_equal(curve, alone)


def test_only_a_training_with_large_steps_uses_the_idle_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "idle_cores", lambda: 2)
    monkeypatch.setattr("explorer.training.train._LARGE_STEP", 1e5)
    large = run("gru", **SHORT, replicas=2)
    small = run("gru", **SHORT, width=2, hidden=2)
    for config, expected in ((small, [1, 1, 1]), (large, [1, 2, 2]), (run("gru", threads=2), [2, 2, 2])):
        steps = (event for event in train(config) if isinstance(event, Step))
        assert [torch.get_num_threads() for _ in islice(steps, 3)] == expected


@pytest.mark.parametrize("task", [name for name in TASKS if name not in ("sentiment", "agreement")])  # with much data
def test_products_in_bfloat16_change_the_losses_a_little(task: str) -> None:
    for model in [name for name in models_of(task) if name != "ngram"][-2:]:
        corpus = {"corpus": "toy"} if task == "text" else {}
        settings = {"evaluate_every": 1, "replicas": 1 + (model == "gru"), **corpus}
        config = with_settings(default_config(task, model), settings)
        full, half = (
            list(islice((e for e in train(each) if isinstance(e, Step | Evaluation)), 4))
            for each in (config, with_settings(config, {"precision": "bfloat16"}))
        )
        for exact, rounded in zip(full, half, strict=True):
            if isinstance(exact, Step) and isinstance(rounded, Step):
                torch.testing.assert_close(rounded.losses, exact.losses, rtol=0.05, atol=0.05)
            elif isinstance(rounded, Evaluation):
                assert all(value.dtype != torch.bfloat16 for value in rounded.answers.values())
    assert not torch.is_autocast_enabled("cpu")


def test_a_training_neither_uses_nor_changes_the_global_generators() -> None:
    config, state = run("feedforward", **SHORT), torch.get_rng_state()
    expected = losses(config)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(123)
    random.seed(5)
    np.testing.assert_array_equal(losses(config), expected)
    torch.set_rng_state(state)


def test_between_two_events_gradients_are_enabled() -> None:
    for _ in train(run("rnn", **SHORT)):  # trainings share a thread: none may pause with gradients off
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("replicas", [1, 3])
def test_events_of_a_whole_training(replicas: int) -> None:
    config = run("bag_of_words", **SHORT, replicas=replicas, snapshots=2)
    events = list(train(config))
    assert isinstance(started := events[0], Started)
    assert (started.parameters, started.machine) == (24, machine_kind())  # 11 tokens and a bias, for two classes
    assert [e.step for e in events if isinstance(e, Step)] == list(range(1, 13))
    assert [e.step for e in events if isinstance(e, Evaluation)] == [0, 4, 8, 12]
    saved = [(e.step, e.is_snapshot) for e in events if isinstance(e, Checkpoint)]
    assert saved == [(0, True), (10, False), (12, True)]
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
    curves = record_run(run("bag_of_words", **SHORT, p_not=0.0)).curves
    assert np.isnan(curves.last("test_accuracy_negated")).all()
    assert np.isfinite(curves.last("test_accuracy_plain")).all()


@pytest.mark.parametrize(("model", "replicas"), [("bag_of_words", 3), ("lstm", 1), ("transformer", 3)])
def test_resuming_from_any_checkpoint_gives_the_same_events_bit_for_bit(model: str, replicas: int) -> None:
    config = short_config(model, replicas=replicas)
    stored_checkpoints = checkpoints(full_training(config))
    assert tuple(stored_checkpoints) == STEPS
    for step, checkpoint in stored_checkpoints.items():
        assert comparable_events(train(config, checkpoint)) == comparable_events(full_training(config), after=step), (
            step
        )


def test_resuming_at_the_last_step_gives_no_new_event() -> None:
    config = short_config()
    assert list(train(config, checkpoints(full_training(config))[32])) == [full_training(config)[0]]


def test_a_checkpoint_that_does_not_fit_is_rejected() -> None:
    checkpoint = checkpoints(full_training(short_config()))[10]
    renamed = dict(checkpoint.weights)
    renamed["readout.mass"] = renamed.pop("readout.weight")
    weights = {name: value.numpy() for name, value in checkpoint.weights.items()}
    for damaged in (
        *(checkpoints(full_training(short_config(**change)))[10] for change in ({"hidden": 7}, {"replicas": 3})),
        Checkpoint(10, renamed, checkpoint.optimiser, is_snapshot=True),
        as_checkpoint(10, Snapshot(weights, None)),
    ):
        with pytest.raises(InvalidSetting, match=r"checkpoint of step 10 does not fit this run's model\. Train it"):
            list(train(short_config(), damaged))


def from_parent(parent: RunConfig, step: int, **changes: object) -> list[Event]:
    return list(train(branch_from(parent, step, changes), checkpoints(full_training(parent))[step]))


def steps_of(events: list[Event]) -> list[object]:
    return comparable_events(event for event in events if isinstance(event, Step))


@pytest.mark.parametrize(("model", "replicas"), [("bag_of_words", 3), ("transformer", 1)])
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
    [{"learning_rate": 0.01}, {"schedule": "cosine"}, {"warmup": 100}, {"order": 1}],
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


def test_a_branch_without_its_parents_checkpoint_is_rejected() -> None:
    parent = short_config()
    with pytest.raises(InvalidSetting) as raised:
        list(train(branch_from(parent, 10, {})))
    assert str(raised.value) == f"This branch needs step 10 of run {key(parent)}. Train that run first."


def diverging_training(config: RunConfig, step: int) -> Checkpoint:
    checkpoint = checkpoints(full_training(config))[step]
    weights = {name: value.clone() for name, value in checkpoint.weights.items()}
    weights["readout.weight"][-1, 0, 0] = torch.inf  # one number of the last replica
    return Checkpoint(step, weights, checkpoint.optimiser, is_snapshot=True)


@pytest.mark.parametrize("model", ["bag_of_words", "transformer"])
def test_divergence_is_noticed_at_the_next_checkpoint(model: str) -> None:
    config = short_config(model, replicas=2, learning_rate=default_config("negation", model).optimiser.learning_rate)
    with pytest.raises(Diverged) as raised:
        list(train(config, diverging_training(config, 10)))
    assert str(raised.value) == (
        "The training diverged by step 12: its logits are no numbers any more. The likely cause is weights that grew "
        "without bound. Take a smaller learning rate, or another seed."
    )


@pytest.mark.parametrize(
    ("rate", "cause"),
    [(0.3, "the learning rate of 0.3 is 100 times the usual 0.003. Take"), (0.009, "weights that")],
)
def test_a_large_learning_rate_is_named_as_the_cause(rate: float, cause: str) -> None:
    config = short_config(learning_rate=rate)
    with pytest.raises(Diverged, match=f"step 12: .* {cause}"):
        list(train(config, diverging_training(config, 10)))
