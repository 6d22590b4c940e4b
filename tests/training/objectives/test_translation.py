from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.catalogue import MODELS, TASKS, model_for_task, models_of
from explorer.errors import InvalidSetting
from explorer.generation.seq2seq_decoding import greedy_decode
from explorer.inspection.evaluate import evaluate
from explorer.inspection.load_model import load_model
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive.read import unpack
from explorer.run_store.archive.write import pack
from explorer.tasks.seq2seq.batches import batch, evaluation_digits
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.tasks.seq2seq.digits import evaluation_lengths
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.events import Evaluation, Started, Step
from explorer.training.model_factory import build_model
from explorer.training.objective import objective_class
from explorer.training.record import Record
from explorer.training.recorder import record_run
from explorer.training.train import train
from tests.export.alike import comparable_events

NAMES = ("reverse", "copy", "dates")
SMALL: dict[str, dict[str, object]] = {
    "encoder_decoder": {"width": 6, "hidden": 7},
    "transformer_encoder_decoder": {"width": 8, "heads": 2, "hidden": 9, "layers": 1},
}
MODELS_OF_TASK = models_of(NAMES[0])
KINDS = [(task, model) for task in NAMES for model in MODELS_OF_TASK]


def short(task: str, model: str, **changes: object) -> RunConfig:
    few = {"iterations": 6, "batch_size": 8, "evaluate_every": 3, "snapshots": 2, **SMALL.get(model, {}), **changes}
    if task != "dates":
        few = {"longest": 4, **few}
    return with_settings(default_config(task, model), few)


@cache
def recorded(task: str, model: str) -> Record:
    return record_run(short(task, model, replicas=2))


@pytest.mark.parametrize("task", NAMES)
def test_models_of_the_translation_tasks(task: str) -> None:
    assert models_of(task) == MODELS_OF_TASK
    assert TASKS[task].page == "translation"
    for name in MODELS_OF_TASK:
        config = default_config(task, name)
        assert config.model_name == name
        # A model configuration has one class and one version, whatever the task.
        kinds = {(row.config, row.class_path, row.version) for row in MODELS[name].by_task.values()}
        assert kinds == {(model_for_task(config.model).config, model_for_task(config.model).class_path, 1)}
        assert Path("explorer", model_for_task(config.model).source_file).is_file()


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_metrics_of_a_run(task: str, model: str) -> None:
    config = short(task, model, replicas=2)
    events = list(train(config))
    assert isinstance(events[0], Started) and events[0].parameters == sum(
        p.numel() for p in build_model(short(task, model)).parameters()
    )
    evaluations = [event for event in events if isinstance(event, Evaluation)]
    name, parts = ("by_way", len(DATE_FORMATS)) if task == "dates" else ("by_length", 4 + 4)
    for event in evaluations:
        assert set(event.answers) == {"exact", "loss", name}
        assert event.answers["exact"].shape == event.answers["loss"].shape == (2,)
        assert event.answers[name].shape == (2, parts)
        assert event.answers[name].isfinite().all() == (event.step == config.steps)
    layout = objective_class(config.task).layout(config)
    assert (layout.metrics, layout.answers, layout.signals) == (("exact", "loss"), {name: parts}, ("gradient_norm",))


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_replica_of_a_run_equals_the_solo_run_of_its_seed(task: str, model: str) -> None:
    def losses(config: RunConfig) -> np.ndarray:
        return torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).numpy()

    stacked_losses = losses(short(task, model, seed=5, replicas=2))
    for r in range(2):
        np.testing.assert_allclose(stacked_losses[:, r], losses(short(task, model, seed=5 + r))[:, 0], atol=1e-4)


def test_the_same_configuration_gives_the_same_events() -> None:
    config = short("reverse", "encoder_decoder", attention="additive", replicas=2)
    assert comparable_events(train(config)) == comparable_events(train(config))


def test_the_loss_is_the_mean_over_the_target_tokens() -> None:
    config = short("reverse", "encoder_decoder")
    model = build_model(config)
    losses, total_tokens = objective_class(config.task)(config, model).losses(3)
    examples = batch(config.task, 0, 0, 3, 8)
    expected, tokens = 0.0, 0
    for row in range(8):
        target = examples.targets[row][examples.mask[row]]
        source = examples.source[row][examples.source[row] != 10]
        log_probabilities = model(source[None], examples.decoder_input[row][None, : len(target)])[0].log_softmax(dim=-1)
        expected -= log_probabilities[torch.arange(len(target)), target].sum().item()
        tokens += len(target)
    assert losses.item() == pytest.approx(expected / tokens, abs=1e-5)
    assert total_tokens == tokens + int((examples.source != 10).sum())


def test_exact_match_equals_that_of_greedy_decoding_at_every_length() -> None:
    config = with_settings(
        default_config("copy", "encoder_decoder"),
        {"longest": 3, "symbols": 2, "attention": "additive", "iterations": 120, "hidden": 16, "width": 8},
    )
    record = record_run(config)
    recorded_accuracies = record.curves.answers["by_length"][-1, 0]
    lengths = evaluation_lengths(config.task)
    examples = evaluation_digits(config.task, lengths, 100)
    model = load_model(record).stack
    generated = greedy_decode(model, examples.source, examples.targets.shape[1]).ids
    generated = torch.nn.functional.pad(generated, (0, examples.targets.shape[1] - generated.shape[1]), value=model.eos)
    expected_accuracies = (
        ((generated == examples.targets) | ~examples.mask).all(dim=-1).view(len(lengths), 100).float().mean(dim=-1)
    )
    np.testing.assert_allclose(recorded_accuracies, expected_accuracies.numpy(), atol=1e-6)
    assert record.curves.last("exact")[0] == pytest.approx(expected_accuracies[:3].mean().item())
    # The model has learned something, but it does not get every length right.
    assert expected_accuracies[:3].mean() > 0.3 and expected_accuracies[-1] < expected_accuracies[0]


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_a_run_survives_storage_packing_and_import_and_evaluates_the_same(
    task: str, model: str, tmp_path: Path
) -> None:
    record = recorded(task, model)
    run = store.save_run(record, tmp_path / "run")
    assert run.config == record.config
    for name, metric in evaluate(run).items():
        assert metric.values == pytest.approx(run.card.metrics[name].values, abs=1e-6)
    imported = store.load(unpack(pack(run), tmp_path / "again", "me", limits.check))
    assert imported.key == run.key
    for name, values in imported.weights().items():
        np.testing.assert_array_equal(values, run.weights()[name])


def test_too_few_positions_are_rejected() -> None:
    with pytest.raises(
        InvalidSetting, match=r"places = 20 is not enough: a target may have 56 tokens\. Give at least 56"
    ):
        build_model(short("reverse", "transformer_encoder_decoder", places=20))
    build_model(short("dates", "transformer_encoder_decoder", places=51))
