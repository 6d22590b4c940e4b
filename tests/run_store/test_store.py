from __future__ import annotations

import itertools
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet as pq
import pytest

from explorer.errors import DamagedRun, RunError, UnknownRun
from explorer.inspection.load_model import load_model
from explorer.run_store import storage, store
from explorer.run_store.curves_table import to_table
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.record import Record, RunState
from explorer.training.recorder import Recorder, as_checkpoint, record_run
from explorer.training.train import train
from tests.export.alike import assert_records_equal, interrupt_training, short_config
from tests.run_store.small_runs import bytes_of

CONFIG = with_settings(
    default_config("negation", "rnn"), {"epochs": 3, "train_size": 211, "test_size": 53, "replicas": 2, "snapshots": 4}
)

Patch = pytest.MonkeyPatch
STORED_STEPS = [0, 1, 3, 12]  # its snapshots; step 10 is only a checkpoint


@cache
def record() -> Record:
    return record_run(CONFIG)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store.save_run(record(), tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("changes", [{"p_not": 0.0}, {"held_out": "destroy", "max_nots": 2, "replicas": 2}], ids=str)
def test_loading_returns_the_saved_run(changes: dict[str, object], tmp_path: Path) -> None:
    changes = {"epochs": 3, "train_size": 211, "test_size": 53, **changes}
    record = record_run(with_settings(default_config("negation", "gru"), changes))
    saved = store.save_run(record, tmp_path / "run")
    store._load.cache_clear()
    run = store.load(tmp_path / "run")
    assert run.config == record.config
    assert run.card == saved.card
    assert run.key == key(record.config)
    assert run.card.parameters == record.parameters
    assert run.card.step == record.curves.step == record.config.steps
    for part in ("losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(run.curves, part), getattr(record.curves, part), strict=True)
    assert run.snapshot_steps() == run.checkpoint_steps() == list(record.config.snapshot_steps)
    assert_records_equal(run.record(), record, from_disk=True)
    assert run.record().seconds == pytest.approx(record.seconds, abs=1e-3)
    assert run.weights().keys() == record.snapshots[record.config.steps].weights.keys()


def test_a_run_folder_contains_only_json_parquet_and_safetensors_files(folder: Path) -> None:
    files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    weights = [f"{kind}/{step:08d}.safetensors" for kind in ("optimiser", "snapshots") for step in STORED_STEPS]
    assert files == ["card.json", "config.json", "events.parquet", *weights]
    json.loads((folder / "card.json").read_text(), parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    rows = pq.read_table(folder / EVENTS).to_pylist()
    assert [(row["step"], row["replica"]) for row in rows[:3]] == [(0, 0), (0, 1), (1, 0)]
    assert [row["step"] for row in rows if row["replica"] == 1 and row["evaluated"]] == [0, 1, 3, 4, 8, 12]
    assert all(np.isnan(row["metric.test_loss"]) != row["evaluated"] for row in rows)


def test_saving_again_replaces_the_run(folder: Path) -> None:
    (folder / "note.txt").write_text("old")
    store.load(folder)
    other = record_run(with_settings(CONFIG, {"epochs": 2}))
    store.save_run(other, folder)
    assert store.load(folder).config == other.config
    assert not (folder / "note.txt").exists()
    assert [file.name for file in folder.parent.iterdir() if file.name != "home"] == ["run"]
    shutil.rmtree(folder)
    with pytest.raises(RunError):
        store.load(folder)


def test_a_run_stored_again_from_its_folder_has_an_equal_card(folder: Path, tmp_path: Path) -> None:
    before = store.load(folder)  # as after a crash between the last evaluation and the end
    after = store.save_run(before.record(), tmp_path / "again")
    assert after.card.metrics == before.card.metrics
    for name, values in before.curves.metrics.items():
        assert before.card.metrics[name].values == values[-1].tolist()
    metric = store.summarize_metrics({"a": np.array([0.5, np.nan, 1.0]), "b": np.array([np.nan])})
    assert metric["a"] == store.Metric(mean=0.75, values=[0.5, None, 1.0])
    assert metric["b"] == store.Metric(mean=None, values=[None])


Damage: TypeAlias = Callable[[Path], object]


def edit_json(name: str, change: Callable[[dict], object]) -> Damage:
    def edit(folder: Path) -> None:
        data = json.loads((folder / name).read_text())
        change(data)
        (folder / name).write_text(json.dumps(data))

    return edit


def edit_config(**words: object) -> Damage:
    return edit_json("config.json", lambda config: config.update(words))


def edit_card(**words: object) -> Damage:
    return edit_json("card.json", lambda card: card.update(words))


def write(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def truncate(name: str) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:97])


def edit_table(change: Callable[[store.pa.Table], store.pa.Table]) -> Damage:
    return lambda folder: pq.write_table(change(pq.read_table(folder / EVENTS)), folder / EVENTS)


def events_of_another_run(changes: dict[str, object]) -> Damage:
    return edit_table(lambda _: to_table(record_run(with_settings(CONFIG, changes)).curves))


EVENTS, PACKED, PICKLE = "events.parquet", "weights.parquet", pickle.dumps({"readout.weight": [1.0]})
DAMAGES: dict[str, Damage] = {
    "no card": lambda folder: (folder / "card.json").unlink(),
    "no events": lambda folder: (folder / EVENTS).unlink(),
    "cut config": truncate("config.json"),
    "cut events": truncate(EVENTS),
    "events are a folder": lambda folder: ((folder / EVENTS).unlink(), (folder / EVENTS).mkdir()),
    "config is no text": write("config.json", b"\xff\xfe\x00"),
    "config is deep": write("config.json", b"[" * 100_000),
    "another key": edit_card(key="aaaaaaaaaaaa"),
    "another config": edit_config(epochs=4),
    "another number of replicas": lambda folder: [
        edit_config(replicas=5)(folder),
        edit_card(key=key(with_settings(CONFIG, {"replicas": 5})))(folder),
    ],
    "another version": edit_json("config.json", lambda config: config["model"].update(version=1)),
    "a branch from nowhere": edit_config(branch={"parent": "x", "step": 1}),
    "a branch from a later step": edit_config(branch={"parent": "a" * 12, "step": 5}),
    "card without metrics": edit_json("card.json", lambda card: card.pop("metrics")),
    "a step beyond the curves": edit_card(step=13),
    "a step before the curves": edit_card(step=-1),
    "a step is text": edit_card(step="last"),
    "an unknown state": edit_card(state="resting"),
    "more rows than steps": events_of_another_run({"epochs": 4}),
    "fewer rows than the card says": events_of_another_run({"epochs": 2}),
    "events from a later step on": edit_table(lambda table: table[2:]),
    "events without losses": edit_table(lambda table: table.drop(["loss"])),
    "no events at all": edit_table(lambda table: table[:0]),
}


def test_a_damaged_folder_raises_one_sentence(tmp_path: Path) -> None:
    for name, damage in DAMAGES.items():
        folder = store.save_run(record(), tmp_path / name / "run").folder
        damage(folder)
        store._load.cache_clear()
        with pytest.raises(DamagedRun, match="run cannot be read") as raised:
            store.load(folder)
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 400, name


SNAPSHOT = "snapshots/00000012.safetensors"


def edit_weights(change: Callable[[dict], object]) -> Damage:
    def edit(folder: Path) -> None:
        weights = dict(store.load(folder).weights())
        change(weights)
        (folder / SNAPSHOT).write_bytes(store.save(weights))

    return edit


def test_damaged_weights_raise_one_sentence(tmp_path: Path) -> None:
    for number, damage in enumerate(
        (
            lambda folder: shutil.rmtree(folder / "snapshots"),
            write(SNAPSHOT, PICKLE),
            edit_weights(lambda weights: weights.update({"readout.weight": weights["readout.weight"][:, :, 1:]})),
            edit_weights(lambda weights: weights.update({"readout.mass": weights.pop("readout.weight")})),
            lambda folder: (folder / SNAPSHOT).rename(folder / "snapshots/last.safetensors"),
        )
    ):
        folder = store.save_run(record(), tmp_path / str(number) / "run").folder
        damage(folder)
        with pytest.raises(DamagedRun, match=r"weights.*Train it again\.") as raised:
            load_model(store.load(folder))
        assert "\n" not in str(raised.value)


def test_an_invalid_name_and_a_folder_without_a_run_raise_unknown_run(tmp_path: Path) -> None:
    for name in ("nonsense", "", ".", "..", "../run", "/etc/passwd", "/", "a" * 5_000, "x\0y", "négation"):
        with pytest.raises(UnknownRun) as raised:
            store.find(name)
        assert len(str(raised.value)) < 200
    with pytest.raises(UnknownRun, match="There is no run in"):
        store.load(tmp_path)


def test_a_run_is_found_by_its_key_or_its_configuration(home: Path) -> None:
    saved = store.save_run(record(), store.run_folder(CONFIG))
    assert saved.folder.parent == home / "runs"
    assert store.find(saved.key).folder == saved.folder
    found = store.find_by_config(CONFIG)
    assert found and found.folder == saved.folder
    other = with_settings(CONFIG, {"seed": 3})
    assert store.find_by_config(other) is None
    store.save_run(record(), store.run_folder(other))  # in the folder of another key
    assert store.find_by_config(other) is None


def test_neither_an_empty_folder_nor_a_damaged_run_is_found_by_its_configuration() -> None:
    store.run_folder(CONFIG).mkdir(parents=True)
    for find, name in ((store.load, store.run_folder(CONFIG)), (store.find, key(CONFIG))):
        with pytest.raises(UnknownRun):
            find(name)
    assert store.find_by_config(CONFIG) is None
    saved = store.save_run(record(), store.run_folder(CONFIG))
    assert store.find(key(CONFIG)).config == CONFIG
    assert store.find_by_config(CONFIG, excluded={saved.cache_key}) is None
    (saved.folder / "events.parquet").write_bytes(b"")
    store._load.cache_clear()
    assert store.find_by_config(CONFIG) is None
    store.remove_folder(saved.folder)
    assert not saved.folder.exists()
    assert not list(saved.folder.parent.iterdir())


def record_stopped_at(step: int, config: RunConfig = CONFIG) -> Record:
    return interrupt_training(Recorder(config), train(config), step)


def test_an_unfinished_run_is_found_by_its_configuration_only_on_request() -> None:
    states: tuple[RunState, ...] = ("running", "stopped", "diverged")
    for state in states:
        saved = store.save_run(replace(record_stopped_at(10), state=state, problem="why"), store.run_folder(CONFIG))
        assert (saved.card.state, saved.card.problem, saved.card.step, saved.card.finished) == (state, "why", 10, False)
        assert store.find_by_config(CONFIG) is None
        assert store.find_by_config(CONFIG, unfinished=True) == store.find(key(CONFIG)) == saved


@pytest.mark.parametrize(("model", "replicas"), [("lstm", 1), ("transformer", 3)])
def test_a_training_resumed_twice_equals_an_uninterrupted_one(model: str, replicas: int, tmp_path: Path) -> None:
    config = short_config(model, replicas=replicas)
    store.write_run(record_stopped_at(10, config), tmp_path / "job")
    first = store.load(tmp_path / "job").record()
    events = train(config, as_checkpoint(10, first.snapshots[10]))
    store.write_run(interrupt_training(Recorder(config, first), events, 20), tmp_path / "job")
    assert store.load(tmp_path / "job").checkpoint_steps() == [0, 1, 3, 10, 20]
    store.write_run(record_run(config, before=store.load(tmp_path / "job").record()), tmp_path / "job")
    complete = record_run(config)
    assert_records_equal(store.load(tmp_path / "job").record(), complete, from_disk=True)
    store.write_run(complete, tmp_path / "other")
    assert store.load(tmp_path / "job").card.metrics == store.load(tmp_path / "other").card.metrics


def test_loading_returns_the_saved_branch(tmp_path: Path) -> None:
    parent = record_run(short_config())
    config = branch_from(parent.config, 10, {"order": 1})
    recorder = Recorder(config, origin=(float(parent.curves.tokens[10]), 2.5))
    for event in train(config, as_checkpoint(10, parent.snapshots[10])):
        recorder.add(event)
    run = store.save_run(recorder.record(), tmp_path / "branch")
    store._load.cache_clear()
    run = store.load(run.folder)
    assert (run.config, run.curves.first, run.card.step) == (config, 10, 32)
    assert (run.curves.tokens[0], run.curves.seconds[0]) == (parent.curves.tokens[10], 2.5)
    assert_records_equal(run.record(), recorder.record(), from_disk=True)
    rows = pq.read_table(run.folder / EVENTS)
    assert (rows["step"][0].as_py(), len(rows)) == (10, 23)


def test_a_record_before_its_first_evaluation_can_be_written(tmp_path: Path) -> None:
    store.write_run(Recorder(CONFIG).record("stopped"), tmp_path / "run")
    run = store.load(tmp_path / "run")
    assert (run.card.step, run.card.metrics, run.snapshot_steps()) == (0, {}, [])
    assert run.curves.losses.shape == (0, 2)
    with pytest.raises(DamagedRun, match=r"has no weights of step 0\. Train it again"):
        run.weights()


def test_unchanged_files_stay_and_replaced_checkpoints_are_deleted(tmp_path: Path, monkeypatch: Patch) -> None:
    folder, write_file, written = tmp_path / "job", store.write_file, list[str]()

    def note(file: Path, content: bytes) -> None:
        written.append(str(file.relative_to(folder)))
        write_file(file, content)

    def write(record: Record) -> set[str]:
        written.clear()
        store.write_run(record, folder)
        assert len(written) == len(set(written))
        assert written[-1] == "card.json", "it names the stored step"
        return set(written) - {"events.parquet", "card.json"}

    monkeypatch.setattr(store, "write_file", note)
    files = {n: {f"{kind}/{n:08d}.safetensors" for kind in ("snapshots", "optimiser")} for n in (0, 1, 3, 10, 12)}
    assert write(record_stopped_at(3)) == {"config.json"} | files[0] | files[1] | files[3]
    assert write(record_stopped_at(10)) == files[10]
    assert write(record()) == files[12]
    stored = {str(file.relative_to(folder)) for file in folder.rglob("*.safetensors")}
    assert stored == set().union(*(files[step] for step in STORED_STEPS))
    assert write(record()) == set()


def test_foreign_files_and_weights_of_steps_after_that_of_the_card_are_ignored(tmp_path: Path) -> None:
    store.write_run(record_stopped_at(3), tmp_path / "run")
    (tmp_path / "run" / "snapshots" / "mine.safetensors").write_bytes(b"")
    (tmp_path / "run" / "job.json").write_text("{}")
    store.write_run(record_stopped_at(3), tmp_path / "run")
    assert (tmp_path / "run" / "snapshots" / "mine.safetensors").exists() and (tmp_path / "run" / "job.json").exists()
    for kind in ("snapshots", "optimiser"):
        shutil.copy(tmp_path / "run" / kind / "00000003.safetensors", tmp_path / "run" / kind / "00000010.safetensors")
    run = store.load(tmp_path / "run")
    assert run.snapshot_steps() == run.checkpoint_steps() == [0, 1, 3]
    with pytest.raises(DamagedRun, match="has no weights of step 10"):
        run.weights(10)
    with pytest.raises(DamagedRun, match=r"stores no optimizer state for step 10. Train it on this machine first\."):
        run.checkpoint(10)


class PowerCut(BaseException):
    """A simulated power cut; the tested code does not catch BaseException."""


def read_stored_step(folder: Path, complete: Record) -> tuple[int, str] | None:
    """Return the step and state of the run in a folder, or None; check that its curves and weights are complete."""
    store._load.cache_clear()
    try:
        run = store.load(folder)
    except RunError:
        return None
    np.testing.assert_array_equal(run.curves.losses, complete.curves.losses[: run.card.step])
    snapshots = run.record().snapshots
    assert max(snapshots) == run.curves.step == run.card.step
    for step in snapshots.keys() & complete.snapshots.keys():
        assert bytes_of(snapshots[step].weights) == bytes_of(complete.snapshots[step].weights)
    assert run.weights().keys() == complete.snapshots[0].weights.keys()
    return run.card.step, run.card.state


def test_a_power_cut_leaves_either_the_old_or_the_new_state(tmp_path: Path, monkeypatch: Patch) -> None:
    config = with_settings(CONFIG, {"snapshots": 2})  # snapshots: 0 and 12; checkpoint only: 10
    complete = record_run(config)
    parts = [record_stopped_at(10, config), complete]
    states: list[tuple[int, str] | None] = [None, (10, "stopped"), (12, "finished")]

    def cut_after(operations: Iterator[int], operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            if next(operations, None) is None:
                raise PowerCut
            return operation(*arguments, **options)

        return run

    monkeypatch.setattr(os, "fsync", lambda handle: None)
    for index, part in enumerate(parts):
        observed = set()
        for count in itertools.count():
            work = tmp_path / f"{index}-{count}"
            for before in parts[:index]:
                store.write_run(before, work)
            operations = iter(range(count))
            try:
                with monkeypatch.context() as patched:
                    for name in ("replace", "rename", "unlink", "mkdir", "open"):
                        patched.setattr(Path, name, cut_after(operations, getattr(Path, name)))
                    store.write_run(part, work)
                break
            except PowerCut:
                observed.add(read_stored_step(work, complete))
            store.write_run(part, work)  # the power is back
            assert read_stored_step(work, complete) == states[index + 1]
        assert observed <= {states[index], states[index + 1]} and count > 10
    assert len(observed) == 2
    assert sorted(file.stem for file in work.rglob("*.safetensors")) == ["00000000"] * 2 + ["00000012"] * 2


def test_a_full_disk_does_not_lose_the_old_run(folder: Path, monkeypatch: Patch) -> None:
    rename = Path.rename

    def raise_disk_full(self: Path, target: Path) -> Path:
        if target == folder and self.parent.name.startswith(".writing"):  # the old run has been moved away
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", raise_disk_full)
    with pytest.raises(OSError, match="no space"):
        store.save_run(record_run(with_settings(CONFIG, {"seed": 5})), folder)
    assert store.load(folder).config == CONFIG
    assert [file.name for file in folder.parent.iterdir() if file.name != "home"] == ["run"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: Patch) -> None:
    store.write_file(tmp_path / "file", b"before")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError("no space left on device")))
    with pytest.raises(OSError, match="no space"):
        store.write_file(tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir() if file.name != "home"] == ["file"]


def test_training_again_keeps_name_tags_note_pin_and_owner(tmp_path: Path) -> None:
    words: dict[str, Any] = {"name": "Mine", "tags": ("a", "b"), "note": "“ß”\nsecond line", "pinned": True}
    before = store.save_run(record_stopped_at(3), tmp_path / "run", owner="me")
    first = store.update_card(before, **words)
    store._load.cache_clear()
    assert store.load(first.folder).card == first.card == before.card.model_copy(update=words)
    with pytest.raises(ValueError, match="pinned"):
        store.update_card(first, pinned="perhaps")
    replaced = store.save_run(record(), first.folder, owner="somebody else")
    assert {name: getattr(replaced.card, name) for name in words} == words
    assert (replaced.card.step, replaced.card.state, replaced.card.owner) == (12, "finished", "me")
    assert replaced.cache_key != first.cache_key and replaced.curves.step == 12
    assert store.update_card(replaced, note="").card.note == ""
    assert store.load(first.folder).card.name == "Mine"
    assert store.save_run(record(), tmp_path / "nobodys").card.owner == ""


def test_a_changed_card_is_reloaded_and_a_damaged_one_replaced(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = store.load(folder)
    assert store.load(folder) is before
    file = folder / "card.json"
    data = json.loads(file.read_text()) | {"name": "Other"}
    time = file.stat().st_mtime_ns
    store.write_file(file, store.json_bytes(data))
    os.utime(file, ns=(time, time))
    assert store.load(folder).card.name == "Other"
    size = sum(len(file.read_bytes()) for file in folder.rglob("*") if file.is_file())
    assert store.folder_size(folder) == size > 1_000
    file.write_text("{")
    assert store.save_run(record(), folder).card.finished
    assert "its name, tags and note are lost" in caplog.text


def pack_run(folder: Path, name: str = "run") -> store.StoredRun:
    run = store.load(folder.with_name(name))
    return store.pack_run(run, {step: run.weights(step) for step in (0, 12)})


def test_a_packed_run_has_the_same_weights_and_curves_in_fewer_files(folder: Path) -> None:
    before, run = store.load(folder), pack_run(folder)
    assert {file.name for file in folder.rglob("*")} == {"card.json", "config.json", EVENTS, PACKED}
    assert (run.snapshot_steps(), run.checkpoint_steps(), run.card) == ([0, 12], [], before.card)
    for step in (0, 12):
        assert bytes_of(run.weights(step)) == bytes_of(record().snapshots[step].weights)
    assert bytes_of(run.curves.metrics) == bytes_of(before.curves.metrics)
    np.testing.assert_array_equal(run.curves.losses, before.curves.losses)
    with pytest.raises(DamagedRun, match="has no weights of step 3"):
        run.weights(3)
    content = (folder / "weights.parquet").read_bytes()
    assert (pack_run(folder).folder / "weights.parquet").read_bytes() == content


def test_two_packed_runs_with_equal_weights_share_them(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("again"))
    run, again = pack_run(folder), pack_run(folder, "again")
    assert {file.name for file in again.folder.iterdir()} == {"card.json", "config.json", EVENTS, "weights.json"}
    assert again.snapshot_steps() == [0, 12]
    np.testing.assert_array_equal(again.weights()["readout.weight"], run.weights()["readout.weight"])
    again = store.pack_run(again, {12: run.weights(0)})  # not equal any more
    assert (again.folder / "weights.parquet").is_file() and not (again.folder / "weights.json").exists()


@pytest.mark.parametrize(
    "damage",
    [lambda f: (f / PACKED).unlink(), write(PACKED, PICKLE), lambda f: shutil.copy(f / EVENTS, f / PACKED)],
    ids=["missing", "pickled", "curves"],
)
def test_damaged_packed_weights_raise_one_sentence(damage: Damage, folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("again"))
    pack_run(folder)
    pack_run(folder, "again")
    damage(folder)
    for name in ("run", "again"):
        with pytest.raises(DamagedRun, match=r"weights.*Train it again\.$"):
            store.load(folder.with_name(name)).weights()


def test_an_invalid_reference_to_weights_raises_one_sentence(folder: Path) -> None:
    pack_run(folder).folder.joinpath("weights.parquet").unlink()
    for content in ("", '{"run": "../..", "sha256": "0"}'):
        (folder / "weights.json").write_text(content)
        with pytest.raises(DamagedRun, match=r"cannot be read\. Train it again"):
            store.load(folder).snapshot_steps()


def test_recovery_restores_a_displaced_run_and_keeps_recent_temporary_folders(home: Path) -> None:
    run = store.save_run(record(), store.run_folder(CONFIG))
    old_folder, recent_folder = home / "runs" / ".old-crash", home / "runs" / ".writing-now"
    old_folder.mkdir()
    recent_folder.mkdir()
    run.folder.rename(old_folder / "run")
    os.utime(old_folder, (0, 0))
    storage.current().recover()
    assert store.find(key(CONFIG)).curves.step == CONFIG.steps
    assert (old_folder.exists(), recent_folder.exists()) == (False, True)


def test_no_source_file_uses_pickle() -> None:
    for file in Path(store.__file__).parents[1].rglob("*.py"):  # a docstring may mention pickle
        assert not re.findall(r"(import|from) \w*pickle|pickle\.\w|torch\.load|allow_pickle", file.read_text()), file
