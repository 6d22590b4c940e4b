from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.catalogue import MODELS, TASKS, models_of, variant
from explorer.errors import InvalidSetting
from explorer.generation.translating import greedy
from explorer.inspection.evaluating import evaluate
from explorer.inspection.opening import open_model
from explorer.tasks.dates import WAYS
from explorer.tasks.digits import asked_lengths
from explorer.tasks.pairs import batch, fresh_digits
from explorer.training import store
from explorer.training.building import build
from explorer.training.config import RunConfig, changed, default
from explorer.training.events import Evaluation, Started, Step
from explorer.training.lesson import lesson
from explorer.training.packing import pack
from explorer.training.record import Record
from explorer.training.recorder import record_run
from explorer.training.train import train
from explorer.training.unpacking import unpack
from tests.training.alike import told

NAMES = ("reverse", "copy", "dates")
SMALL: dict[str, dict[str, object]] = {
    "encoder_decoder": {"width": 6, "hidden": 7},
    "transformer_encoder_decoder": {"width": 8, "heads": 2, "hidden": 9, "layers": 1},
}
KINDS = [(task, model) for task in NAMES for model in SMALL]


def short(task: str, model: str, **changes: object) -> RunConfig:
    few = {"iterations": 6, "batch_size": 8, "evaluate_every": 3, "snapshots": 2, **SMALL[model], **changes}
    if task != "dates":
        few = {"longest": 4, **few}
    return changed(default(task, model), few)


@cache
def recorded(task: str, model: str) -> Record:
    return record_run(short(task, model, replicas=2))


@pytest.mark.parametrize("task", NAMES)
def test_the_catalogue_knows_who_translates(task: str) -> None:
    assert models_of(task) == tuple(SMALL)
    assert TASKS[task].page == "translation"
    for name in SMALL:
        config = default(task, name)
        assert config.model_name == name
        # A configuration of a model names one row: what it is must not depend on the task.
        kinds = {(each.config, each.place, each.version) for each in MODELS[name].variants.values()}
        assert kinds == {(variant(config.model).config, variant(config.model).place, 1)}
        assert Path("explorer", variant(config.model).file).is_file()


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_what_a_run_tells(task: str, model: str) -> None:
    config = short(task, model, replicas=2)
    events = list(train(config))
    assert isinstance(events[0], Started) and events[0].parameters == sum(
        p.numel() for p in build(short(task, model)).parameters()
    )
    evaluations = [event for event in events if isinstance(event, Evaluation)]
    name, parts = ("by_way", len(WAYS)) if task == "dates" else ("by_length", 4 + 4)
    for event in evaluations:
        assert set(event.answers) == {"exact", "loss", name}
        assert event.answers["exact"].shape == event.answers["loss"].shape == (2,)
        assert event.answers[name].shape == (2, parts)
        assert event.answers[name].isfinite().all() == (event.step == config.steps)
    layout = lesson(config.task).layout(config)
    assert (layout.metrics, layout.answers, layout.signals) == (("exact", "loss"), {name: parts}, ("gradient_norm",))


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_replica_of_a_run_equals_the_solo_run_of_its_seed(task: str, model: str) -> None:
    def losses(config: RunConfig) -> np.ndarray:
        return torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).numpy()

    together = losses(short(task, model, seed=5, replicas=2))
    for r in range(2):
        np.testing.assert_allclose(together[:, r], losses(short(task, model, seed=5 + r))[:, 0], atol=1e-4)


def test_the_same_configuration_tells_the_same() -> None:
    config = short("reverse", "encoder_decoder", attention="additive", replicas=2)
    assert told(train(config)) == told(train(config))


def test_the_loss_is_the_mean_over_the_tokens_that_are_wanted() -> None:
    config = short("reverse", "encoder_decoder")
    model = build(config)
    losses, read = lesson(config.task)(config, model).losses(3)
    drawn = batch(config.task, 0, 0, 3, 8)
    expected, tokens = 0.0, 0
    for row in range(8):
        wanted = drawn.wanted[row][drawn.counted[row]]
        source = drawn.source[row][drawn.source[row] != 10]
        said = model(source[None], drawn.given[row][None, : len(wanted)])[0].log_softmax(dim=-1)
        expected -= said[torch.arange(len(wanted)), wanted].sum().item()
        tokens += len(wanted)
    assert losses.item() == pytest.approx(expected / tokens, abs=1e-5)
    assert read == tokens + int((drawn.source != 10).sum())


def test_exact_counts_what_greedy_decoding_writes_at_every_length() -> None:
    config = changed(
        default("copy", "encoder_decoder"),
        {"longest": 3, "symbols": 2, "attention": "additive", "iterations": 120, "hidden": 16, "width": 8},
    )
    record = record_run(config)
    at = record.curves.answers["by_length"][-1, 0]
    lengths = asked_lengths(config.task)
    asked = fresh_digits(config.task, lengths, 100)
    model = open_model(record).stack
    written = greedy(model, asked.source, asked.wanted.shape[1]).ids
    written = torch.nn.functional.pad(written, (0, asked.wanted.shape[1] - written.shape[1]), value=model.eos)
    right = ((written == asked.wanted) | ~asked.counted).all(dim=-1).view(len(lengths), 100).float().mean(dim=-1)
    np.testing.assert_allclose(at, right.numpy(), atol=1e-6)
    assert record.curves.last("exact")[0] == pytest.approx(right[:3].mean().item())
    assert right[:3].mean() > 0.3 and right[-1] < right[0]  # it has learned something, and not everything


@pytest.mark.parametrize(("task", "model"), KINDS)
def test_a_run_is_kept_asked_again_packed_and_taken_in(task: str, model: str, tmp_path: Path) -> None:
    record = recorded(task, model)
    kept = store.save_run(record, tmp_path / "run")
    assert kept.config == record.config
    for name, metric in evaluate(kept).items():
        assert metric.values == pytest.approx(kept.card.metrics[name].values, abs=1e-6)
    again = store.load(unpack(pack(kept), tmp_path / "again", "me"))
    assert again.key == kept.key
    for name, values in again.weights().items():
        np.testing.assert_array_equal(values, kept.weights()[name])


def test_too_few_places_are_refused() -> None:
    with pytest.raises(
        InvalidSetting, match=r"places = 20 is not enough: a target may have 56 tokens\. Give at least 56"
    ):
        build(short("reverse", "transformer_encoder_decoder", places=20))
    build(short("dates", "transformer_encoder_decoder", places=51))
