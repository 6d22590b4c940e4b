from __future__ import annotations

import io
import json
import pickle
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.errors import DamagedRun, RunError, UnknownRun
from explorer.inspection.evaluating import evaluate
from explorer.inspection.opening import open_model
from explorer.training import store
from explorer.training.config import changed, default, key
from explorer.training.pretraining import recipes
from explorer.training.record import Record
from explorer.training.recorder import record_run

CONFIG = changed(default("negation", "rnn"), {"epochs": 3, "train_size": 211, "test_size": 53, "replicas": 2})


@cache
def record() -> Record:
    return record_run(CONFIG)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store.save(record(), tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("world", [{}, {"p_not": 0.0}, {"held_out": "destroy", "max_nots": 2}], ids=str)
def test_a_run_comes_back_as_it_was_written(world: dict[str, object], replicas: int, tmp_path: Path) -> None:
    changes = {"epochs": 3, "train_size": 211, "test_size": 53, "replicas": replicas, **world}
    record = record_run(changed(default("negation", "gru"), changes))
    saved = store.save(record, tmp_path / "run")
    store._open.cache_clear()
    run = store.load(tmp_path / "run")
    assert run.config == record.config
    assert run.card == saved.card
    assert run.key == key(record.config)
    assert run.card.parameters == record.parameters
    np.testing.assert_array_equal(run.curves.losses, record.curves.losses)
    np.testing.assert_array_equal(run.curves.epochs, record.curves.epochs)
    np.testing.assert_array_equal(run.curves.sustain, record.curves.sustain)
    assert run.curves.metrics.keys() == record.curves.metrics.keys()
    for name, values in record.curves.metrics.items():
        np.testing.assert_array_equal(run.curves.metrics[name], values.astype(np.float32))
    assert run.snapshot_steps() == list(record.snapshots)
    for step, weights in record.snapshots.items():
        assert run.weights(step).keys() == weights.keys()
        for name, value in weights.items():
            np.testing.assert_array_equal(run.weights(step)[name], value)


def test_a_run_folder_holds_four_kinds_of_files_and_nothing_that_can_run(folder: Path) -> None:
    files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    assert files == ["card.json", "config.json", "events.parquet", "snapshots/00000012.safetensors"]
    json.loads((folder / "card.json").read_text(), parse_constant=pytest.fail)  # NaN and Infinity are no JSON


def test_nothing_is_left_beside_a_saved_run(folder: Path) -> None:
    store.save(record(), folder)
    assert [file.name for file in folder.parent.iterdir() if file.name != "home"] == ["run"]


def test_saving_again_replaces_the_run(folder: Path) -> None:
    (folder / "note.txt").write_text("old")
    store.load(folder)
    other = record_run(changed(CONFIG, {"epochs": 2}))
    store.save(other, folder)
    assert store.load(folder).config == other.config
    assert not (folder / "note.txt").exists()


def test_summary_knows_no_nan() -> None:
    metric = store.summary({"a": np.array([0.5, np.nan, 1.0]), "b": np.array([np.nan])})
    assert metric["a"] == store.Metric(mean=0.75, values=[0.5, None, 1.0])
    assert metric["b"] == store.Metric(mean=None, values=[None])


def edited(name: str, change: Callable[[dict], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        data = json.loads((folder / name).read_text())
        change(data)
        (folder / name).write_text(json.dumps(data))

    return edit


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:97])


def pickled(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(pickle.dumps({"readout.weight": [1.0]}))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "no card": lambda folder: (folder / "card.json").unlink(),
    "no events": lambda folder: (folder / "events.parquet").unlink(),
    "cut config": cut("config.json"),
    "cut card": cut("card.json"),
    "cut events": cut("events.parquet"),
    "empty events": lambda folder: (folder / "events.parquet").write_bytes(b""),
    "events are a folder": lambda folder: ((folder / "events.parquet").unlink(), (folder / "events.parquet").mkdir()),
    "config is no text": lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe\x00"),
    "config is a list": lambda folder: (folder / "config.json").write_text("[]"),
    "config is deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "another key": edited("card.json", lambda card: card.update(key="aaaaaaaaaaaa")),
    "another config": edited("config.json", lambda config: config.update(epochs=4)),
    "another number of replicas": lambda folder: [
        edited("config.json", lambda config: config.update(replicas=5))(folder),
        edited("card.json", lambda card: card.update(key=key(changed(CONFIG, {"replicas": 5}))))(folder),
    ],
    "another version": edited("config.json", lambda config: config["model"].update(version=2)),
    "unknown setting": edited("config.json", lambda config: config["model"].update(depth=2)),
    "impossible setting": edited("config.json", lambda config: config["task"].update(p_not=7)),
    "card without metrics": edited("card.json", lambda card: card.pop("metrics")),
    "pickled events": pickled("events.parquet"),
    "pickled config": pickled("config.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_said_in_one_sentence(damage: str, folder: Path) -> None:
    DAMAGES[damage](folder)
    store._open.cache_clear()
    with pytest.raises(DamagedRun) as raised:
        store.load(folder)
    assert "run cannot be read" in str(raised.value)
    assert "\n" not in str(raised.value)


SNAPSHOT = "snapshots/00000012.safetensors"


def reshaped(folder: Path) -> None:
    weights = store.load(folder).weights()
    weights["readout.weight"] = weights["readout.weight"][:, :, 1:]
    store.save_file(weights, folder / SNAPSHOT)


def renamed(folder: Path) -> None:
    weights = store.load(folder).weights()
    weights["readout.mass"] = weights.pop("readout.weight")
    store.save_file(weights, folder / SNAPSHOT)


def torch_pickled(folder: Path) -> None:
    buffer = io.BytesIO()
    torch.save({"readout.weight": torch.zeros(2)}, buffer)
    (folder / SNAPSHOT).write_bytes(buffer.getvalue())


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: shutil.rmtree(folder / "snapshots"),
        cut(SNAPSHOT),
        pickled(SNAPSHOT),
        torch_pickled,
        reshaped,
        renamed,
        lambda folder: (folder / SNAPSHOT).rename(folder / "snapshots/last.safetensors"),
    ],
    ids=["missing", "cut", "pickled", "torch.save", "another shape", "another name", "file without a step"],
)
def test_damaged_weights_are_said_in_one_sentence(damage: Callable[[Path], object], folder: Path) -> None:
    damage(folder)
    with pytest.raises(DamagedRun) as raised:
        open_model(store.load(folder))
    assert "weights" in str(raised.value)
    assert "Train it again." in str(raised.value)
    assert "\n" not in str(raised.value)


def test_weights_of_a_step_that_was_not_kept_are_missing(folder: Path) -> None:
    with pytest.raises(DamagedRun, match="has no weights of step 7"):
        store.load(folder).weights(7)


@pytest.mark.parametrize(
    "name", ["nonsense", "", ".", "..", "../run", "/etc/passwd", "/", "a" * 5_000, "x\0y", "négation"]
)
def test_a_foreign_name_is_an_unknown_run(name: str) -> None:
    with pytest.raises(UnknownRun) as raised:
        store.find(name)
    assert len(str(raised.value)) < 200


def test_a_folder_without_a_run_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match="There is no run in"):
        store.load(tmp_path)


def test_a_run_is_found_by_its_key_or_its_configuration(home: Path) -> None:
    saved = store.save(record(), store.runs_folder() / key(CONFIG))
    assert saved.folder.parent == home / "runs"
    assert store.find(saved.key).folder == saved.folder
    found = store.find_config(CONFIG)
    assert found and found.folder == saved.folder
    assert store.find_config(changed(CONFIG, {"seed": 3})) is None


def test_a_run_under_the_key_of_another_is_not_taken_for_it() -> None:
    other = changed(CONFIG, {"seed": 3})
    store.save(record(), store.runs_folder() / key(other))
    assert store.find_config(other) is None


def test_an_evaluation_stands_in_the_rows_of_its_step(folder: Path) -> None:
    rows = store.pq.read_table(folder / "events.parquet").to_pylist()
    assert [(row["step"], row["replica"]) for row in rows[:3]] == [(0, 0), (0, 1), (1, 0)]
    evaluated = [(row["step"], row["epoch"]) for row in rows if row["replica"] == 1 and row["epoch"] is not None]
    assert evaluated == [(0, 0), (4, 1), (8, 2), (12, 3)]


def test_a_run_that_was_deleted_is_unknown(folder: Path) -> None:
    store.load(folder)
    shutil.rmtree(folder)
    with pytest.raises(RunError):
        store.load(folder)


def test_the_shipped_runs_are_those_of_the_recipes() -> None:
    assert set(store.pretrained().values()) == set(recipes())


@pytest.mark.parametrize("name", recipes())
def test_a_shipped_run_has_its_recipe_and_its_weights_give_its_metrics(name: str) -> None:
    run = store.find(name)
    assert run.config == recipes()[name]
    assert run.card.finished
    again = evaluate(run)
    assert again.keys() == run.card.metrics.keys()
    for metric, value in run.card.metrics.items():
        assert again[metric].mean == pytest.approx(value.mean, abs=1e-6)
        assert again[metric].values == pytest.approx(value.values, abs=1e-6)


def test_nothing_of_ours_unpickles() -> None:
    for file in Path(store.__file__).parents[1].rglob("*.py"):
        assert "pickle" not in file.read_text(), file
        assert "torch.load" not in file.read_text(), file
