from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
import pickle
import re
import shlex
import stat
import struct
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from explorer.errors import DamagedRun, StoreError
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive import read, write, zip_reader
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run

CONFIG = with_settings(
    default_config("negation", "rnn"), {"epochs": 2, "train_size": 40, "test_size": 10, "replicas": 2, "snapshots": 4}
)
NOTE = (
    "# Not a heading\n\n<script>alert(1)</script>\n- [x](javascript:alert(1)) www.example.org\r\n```\nend\u2028# of it"
)
END = f"snapshots/{CONFIG.steps:08d}.safetensors"
END_OPTIMISER = f"optimiser/{CONFIG.steps:08d}.safetensors"


@cache
def record() -> Record:
    return record_run(CONFIG)


@cache
def good() -> bytes:
    """The zip of a small run of which people have said something."""
    with tempfile.TemporaryDirectory() as folder:
        run = store.save_run(record(), Path(folder) / "run", owner="somebody")
        return write.pack(
            store.update_card(run, name="a *small* run", tags=("one", "<b>two</b>"), note=NOTE, pinned=True)
        )


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    return store.load(read.unpack(good(), tmp_path / "good", "somebody", limits.check))


Files = dict[str, bytes]


def contents(content: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def with_entry(name: str, content: bytes = b"x", mode: int = 0) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO(good())
        with zipfile.ZipFile(out, "a") as archive:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
        return out.getvalue()

    return make


def edited(change: Callable[[Files], object]) -> Callable[[], bytes]:
    def make() -> bytes:
        files = contents(good())
        change(files)
        return zipped(files)

    return make


def replaced(name: str, content: bytes) -> Callable[[], bytes]:
    return edited(lambda files: files.update({name: content}))


def without(name: str) -> Callable[[], bytes]:
    return edited(lambda files: files.pop(name))


def json_edited(name: str, change: Callable[[dict], object]) -> Callable[[], bytes]:
    def edit(files: Files) -> None:
        data = json.loads(files[name])
        change(data)
        files[name] = json.dumps(data).encode()

    return edited(edit)


def card(**words: object) -> Callable[[], bytes]:
    return json_edited("card.json", lambda data: data.update(words))


def weights(change: Callable[[dict], object], name: str = END) -> Callable[[], bytes]:
    def edit(files: Files) -> None:
        tensors = {n: v.copy() for n, v in safetensors.numpy.load(files[name]).items()}
        change(tensors)
        files[name] = safetensors.numpy.save(tensors)

    return edited(edit)


def events(change: Callable[[pa.Table], pa.Table]) -> Callable[[], bytes]:
    def edit(files: Files) -> None:
        out = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(files["events.parquet"]))), out)
        files["events.parquet"] = out.getvalue()

    return edited(edit)


def cell(name: str, row: int, value: object) -> Callable[[], bytes]:
    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[row] = value
        return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))

    return events(change)


def swapped(one: str, other: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        names = [{one: other, other: one}.get(name, name) for name in table.column_names]
        return table.select(names)

    return change


def patched(kind: bytes, at: int, value: bytes, name: str = "events.parquet") -> Callable[[], bytes]:
    """A header of the zip changed in place; `kind` is its signature."""

    def make() -> bytes:
        content, place = bytearray(good()), 0
        length, start = (28, 46) if kind == b"PK\1\2" else (26, 30)
        while (place := content.index(kind, place)) >= 0:
            (size,) = struct.unpack_from("<H", content, place + length)
            if content[place + start : place + start + size] == name.encode():
                content[place + at : place + at + len(value)] = value
                return bytes(content)
            place += 4
        raise AssertionError

    return make


def encrypted() -> bytes:
    return patched(b"PK\1\2", 8, b"\1\0")()


def torch_saved(files: Files) -> None:
    out = io.BytesIO()
    torch.save({"readout.weight": torch.zeros(2)}, out)
    files[END] = out.getvalue()


def duplicated() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return with_entry("card.json", contents(good())["card.json"])()


def in_bzip2() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in contents(good()).items():
            archive.writestr(name, content)
    return out.getvalue()


def foreign_version(data: dict) -> None:
    data["model"]["version"] = 1


def metric_value(value: object) -> Callable[[], bytes]:
    return json_edited("card.json", lambda data: data["metrics"]["test_loss"].update(values=[0.5, value]))


def grown(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 2)])


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty file": (lambda: b"", "the file is not a zip file"),
    "text": (lambda: b"Dear sir or madam,\n" * 50, "the file is not a zip file"),
    "half a zip": (lambda: good()[: len(good()) // 2], "the file is not a zip file"),
    "empty zip": (lambda: zipped({}), "the zip has no config.json"),
    "path traversal": (with_entry("../evil.txt"), "“../evil.txt” in the zip points outside"),
    "inner traversal": (with_entry("snapshots/../../evil"), "points outside"),
    "traversal of a Mac": (with_entry("__MACOSX/../../evil"), "points outside"),
    "absolute": (with_entry("/etc/cron.d/evil"), "points outside"),
    "backslashes": (with_entry("..\\evil"), "points outside"),
    "drive": (with_entry("C:evil"), "points outside"),
    "symlink": (with_entry("metrics.txt", b"/etc/passwd", stat.S_IFLNK | 0o777), "is a link"),
    "symlink to a folder": (with_entry("snapshots/", b"/etc", stat.S_IFLNK | 0o777), "is a link"),
    "duplicate": (duplicated, "contains “card.json” twice"),
    "foreign file": (with_entry("run.py"), "contains “run.py”, which is not a file of a run"),
    "foreign folder": (with_entry("other/"), "contains “other/”, which is"),
    "file without a step": (with_entry("snapshots/last.safetensors"), "not a file of a run"),
    "short step": (with_entry("snapshots/2.safetensors"), "not a file of a run"),
    "arabic digits": (with_entry("snapshots/٠٠٠٠٠٠٠٢.safetensors"), "not a file of a run"),
    "long name": (with_entry("a" * 5_000), "not a file of a run"),
    "too many entries": (
        edited(lambda files: files.update({f"snapshots/{i:08d}.safetensors": b"" for i in range(400)})),
        "entries; a run has at most 400",
    ),
    "encrypted": (encrypted, "the zip is encrypted"),
    "bzip2": (in_bzip2, "uses an unsupported compression"),
    "lying size, less": (patched(b"PK\1\2", 24, struct.pack("<I", 9)), "“events.parquet” in the zip is damaged"),
    "lying size, more": (patched(b"PK\1\2", 24, struct.pack("<I", 90_000)), "“events.parquet” in the zip is damaged"),
    "lying checksum": (patched(b"PK\1\2", 16, b"\1\2\3\4"), "“events.parquet” in the zip is damaged"),
    "lying place": (patched(b"PK\1\2", 42, struct.pack("<I", 2**31)), "“events.parquet” in the zip is damaged"),
    "large config": (replaced("config.json", b" " * 1_000_001), "config.json is too large"),
    "no config": (without("config.json"), "has no config.json"),
    "no card": (without("card.json"), "has no card.json"),
    "no events": (without("events.parquet"), "has no events.parquet"),
    "config is no text": (replaced("config.json", b"\xff\xfe\x00"), "config.json cannot be read"),
    "config is deep": (replaced("config.json", b"[" * 100_000), "config.json cannot be read"),
    "config is a list": (replaced("config.json", b"[]"), "not a run's configuration"),
    "huge number": (replaced("config.json", b"9" * 10_000), "config.json cannot be read"),
    "foreign version": (json_edited("config.json", foreign_version), "made with version 1 of “rnn”.*Train it again"),
    "unknown setting": (json_edited("config.json", lambda d: d.update(evil=1)), "There is no setting “evil”"),
    "too many steps": (
        json_edited("config.json", lambda d: d.update(epochs=2_000, batch_size=1)),
        "this server allows",
    ),
    "other config": (json_edited("config.json", lambda d: d.update(seed=7)), "its card is that of run"),
    "other key": (card(key="aaaaaaaaaaaa"), "its card is that of run aaaaaaaaaaaa"),
    "card is no card": (replaced("card.json", b"{}"), "card.json cannot be read"),
    "card is deep": (replaced("card.json", b"[" * 100_000), "card.json cannot be read"),
    "card from the future": (card(format=3), "it has format 3; this program reads format 2"),
    "card of old": (card(format=1), "it has format 1"),
    "unknown state": (card(state="perfect"), "card.json cannot be read"),
    "step of the card": (card(step=99), "finished at step 99 of 2"),
    "not at its end": (card(step=1), "finished at step 1 of 2"),
    "negative step": (card(step=-1), "at step -1"),
    "seconds that are none": (card(seconds=math.nan), "impossible numbers"),
    "negative seconds": (card(seconds=-1), "impossible numbers"),
    "no date": (card(created="yesterday"), "no valid creation date"),
    "no zone": (card(created="2026-01-01"), "no valid creation date"),
    "version of torch": (card(torch="<b>2</b>"), "no valid torch version"),
    "long name of a run": (card(name="a" * 81), "a name of 81 characters; 80 are possible"),
    "name on two lines": (card(name="a\nb"), "the name on its card contains"),
    "many tags": (card(tags=["a"] * 13), "13 tags; 12 are possible"),
    "long tag": (card(tags=["a" * 31]), "a tag of 31 characters"),
    "long note": (card(note="a" * 2_001), "a note of 2,001 characters; 2,000 are possible"),
    "note with a zero": (card(note="a\0b"), "the note on its card contains"),
    "long problem": (card(problem="a" * 2_001), "a problem of 2,001 characters"),
    "parameters": (card(parameters=7), "counts 7 parameters; its model has 954"),
    "metric missing": (json_edited("card.json", lambda d: d["metrics"].pop("test_loss")), "the metrics on its card"),
    "metric unknown": (
        json_edited("card.json", lambda d: d["metrics"].update(evil=d["metrics"]["test_loss"])),
        "the metrics on its card",
    ),
    "metric of other seeds": (
        json_edited("card.json", lambda d: d["metrics"]["test_loss"].update(values=[0.5])),
        "the metrics on its card",
    ),
    "metric that is invented": (metric_value(0.0), "the test_loss on its card differs from its events"),
    "metric that is none": (metric_value(None), "the test_loss on its card"),
    "metric that is no number": (metric_value(math.nan), "impossible numbers"),
    "mean that is invented": (
        json_edited("card.json", lambda d: d["metrics"]["test_loss"].update(mean=0.0)),
        "the test_loss on its card",
    ),
    "truncated events": (
        edited(lambda f: f.update({"events.parquet": f["events.parquet"][:-97]})),
        "events.parquet cannot be read",
    ),
    "events are text": (replaced("events.parquet", b"step,replica\n"), "events.parquet cannot be read"),
    "no events at all": (replaced("events.parquet", b""), "events.parquet cannot be read"),
    "extra rows": (events(grown), "its events have 8 rows, more than"),
    "rows missing": (events(lambda table: table.slice(0, 4)), "do not reach step 2"),
    "half a step": (events(lambda table: table.slice(0, 5)), "one row for each step and seed"),
    "no rows": (events(lambda table: table.slice(0, 0)), "events.parquet cannot be read"),
    "column missing": (events(lambda table: table.drop_columns(["metric.test_loss"])), "the columns of its events"),
    "column unknown": (
        events(lambda table: table.append_column("metric.evil", table["metric.test_loss"])),
        "the columns of its events",
    ),
    "column twice": (
        events(lambda table: table.append_column("metric.test_loss", table["metric.test_loss"])),
        "the columns of its events",
    ),
    "sentence missing": (events(lambda table: table.drop_columns(["sustain.5"])), "the columns of its events"),
    "sentence too many": (
        events(lambda table: table.append_column("sustain.6", table["sustain.5"])),
        "the columns of its events",
    ),
    "sentences in another order": (events(swapped("sustain.0", "sustain.5")), "the columns of its events"),
    "text for numbers": (
        events(lambda table: table.set_column(2, "loss", table["loss"].cast(pa.string()))),
        "the columns of its events",
    ),
    "null": (cell("step", 3, None), "one row for each step and seed"),
    "steps not in order": (events(lambda table: table.take([0, 1, 4, 5, 2, 3])), "not consecutive"),
    "steps from one on": (
        events(lambda table: table.set_column(0, "step", pa.array([1, 1, 2, 2, 3, 3], pa.int32()))),
        "not consecutive",
    ),
    "seeds not in order": (cell("replica", 1, 0), "not consecutive"),
    "tokens that are none": (
        events(lambda t: t.set_column(3, "tokens", pa.array([0.0, 0.0, math.inf, math.inf, math.inf, math.inf]))),
        "the tokens of its events do not increase",
    ),
    "negative tokens": (
        events(lambda t: t.set_column(3, "tokens", pa.array([-1.0] * 6))),
        "the tokens of its events do not increase",
    ),
    "seconds that are no number": (cell("seconds", 4, math.nan), "the seconds of its events differ"),
    "seconds that shrink": (
        events(lambda t: t.set_column(4, "seconds", pa.array([0.0, 0.0, 2.0, 2.0, 1.0, 1.0]))),
        "the seconds of its events do not increase",
    ),
    "half evaluated": (cell("evaluated", 5, False), "the evaluated of its events differ"),
    "never evaluated": (
        events(lambda t: t.set_column(5, "evaluated", pa.array([False] * 6))),
        "its events contain no evaluation",
    ),
    "loss that is none": (cell("loss", 3, math.inf), "losses that are not finite"),
    "metric of an evaluation": (cell("metric.test_loss", 0, math.inf), "metrics that are not finite"),
    "probability above one": (cell("sustain.0", 0, 1.5), "contain impossible probabilities"),
    "no number for a probability": (cell("sustain.0", 0, math.nan), "contain impossible probabilities"),
    "pickle": (replaced(END, pickle.dumps({"readout.weight": [1.0]})), f"“{END}” is not a safetensors file"),
    "torch.save": (edited(torch_saved), f"“{END}” is not a safetensors file"),
    "no weights": (replaced(END, b""), f"“{END}” is not a safetensors file"),
    "cut weights": (edited(lambda f: f.update({END: f[END][:-5]})), f"“{END}” is not a safetensors file"),
    "header that is too long": (
        edited(lambda f: f.update({END: b"\xff" * 8 + f[END][8:]})),
        "is not a safetensors file",
    ),
    "unknown number format": (
        edited(lambda f: f.update({END: f[END].replace(b'"F32"', b'"F99"', 1)})),
        "is not a safetensors file",
    ),
    "wrong shape": (
        weights(lambda t: t.update({"readout.weight": t["readout.weight"][:, :, :-1].copy()})),
        "readout.weight is float32",
    ),
    "no replica axis": (
        weights(lambda t: t.update({n: v[0].copy() for n, v in t.items()})),
        r"float32 \[.*\], not float32 \[2, ",
    ),
    "wrong type": (
        weights(lambda t: t.update({"readout.bias": t["readout.bias"].astype(np.float64)})),
        r"readout.bias is float64 \[2, 2\], not float32 \[2, 2\]",
    ),
    "missing weight": (weights(lambda t: t.pop("readout.bias")), "readout.bias is missing"),
    "extra weight": (weights(lambda t: t.update(evil=np.zeros(3))), "evil is unknown"),
    "weights that are no numbers": (weights(lambda t: t["readout.bias"].fill(math.nan)), "not finite"),
    "infinite weights": (weights(lambda t: t["readout.bias"].fill(math.inf)), "not finite"),
    "last weights missing": (
        edited(lambda f: (f.pop(END), f.pop(END_OPTIMISER))),
        f"has no {END}, the weights of its last step",
    ),
    "weights of a later step": (
        edited(lambda f: f.update({"snapshots/00000003.safetensors": f[END]})),
        "has weights of step 3; the run went from 0 to 2",
    ),
    "averages without weights": (
        without("snapshots/00000001.safetensors"),
        "has optimiser/00000001.safetensors, but no weights",
    ),
    "short averages": (weights(lambda t: t.update(mean=t["mean"][:-1].copy()), END_OPTIMISER), "mean is float32"),
    "one average": (weights(lambda t: t.pop("square"), END_OPTIMISER), "square is missing"),
    "third average": (weights(lambda t: t.update(cube=t["mean"]), END_OPTIMISER), "cube is unknown"),
    "averages of another type": (
        weights(lambda t: t.update(mean=t["mean"].astype(np.float16)), END_OPTIMISER),
        "mean is float16",
    ),
    "averages that are no numbers": (weights(lambda t: t["mean"].fill(math.nan), END_OPTIMISER), "not finite"),
}


def left(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name != "home"]


@pytest.mark.parametrize("make, sentence", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_zip_is_refused_in_one_sentence(make: Callable[[], bytes], sentence: str, tmp_path: Path) -> None:
    content = make()
    with pytest.raises(DamagedRun, match=sentence) as raised:
        read.unpack(content, tmp_path / "place", "me", limits.check)
    text = str(raised.value)
    assert text.startswith("Nothing was imported: ") and text.endswith(".")
    assert "\n" not in text and len(text) < 300
    assert not left(tmp_path)


@pytest.mark.parametrize("change", [lambda files: None, lambda files: files.pop("metrics.csv")])
def test_a_zip_that_was_only_written_anew_is_not_refused(change: Callable[[Files], object], tmp_path: Path) -> None:
    read.unpack(edited(change)(), tmp_path / "place", "me", limits.check)
    assert left(tmp_path) == ["place"]


def same_curves(one: StoredRun, other: StoredRun) -> None:
    for name in ("first", "losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(one.curves, name), getattr(other.curves, name))
    for part in ("metrics", "answers", "signals"):
        mine, theirs = getattr(one.curves, part), getattr(other.curves, part)
        assert mine.keys() == theirs.keys()
        for name, values in mine.items():
            np.testing.assert_array_equal(theirs[name], values)


@pytest.mark.parametrize("model", ["rnn", "transformer", "bag_of_words"])
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("world", [{}, {"p_not": 0.0}, {"held_out": "destroy", "max_nots": 2}], ids=str)
def test_a_run_comes_back_as_it_was_packed(model: str, replicas: int, world: dict[str, object], tmp_path: Path) -> None:
    base = default_config("negation", model)
    config = with_settings(
        base, {"epochs": 2, "train_size": 40, "test_size": 10, "snapshots": 4, "replicas": replicas, **world}
    )
    before = store.save_run(record_run(config), tmp_path / "before", owner="somebody")
    before = store.update_card(before, name="näme", tags=("a", "b"), note=NOTE, pinned=True)
    place = read.unpack(write.pack(before), tmp_path / "after", "me", limits.check)
    after = store.load(place)
    assert place == tmp_path / "after"
    assert after.config == config
    assert after.card == before.card.model_copy(update={"owner": "me", "pinned": False, "imported": True})
    same_curves(before, after)
    assert after.snapshot_steps() == before.snapshot_steps() == list(config.snapshot_steps)
    assert after.checkpoint_steps() == before.checkpoint_steps() == list(config.snapshot_steps)
    for step in before.snapshot_steps():
        for one, other in (
            (before.weights(step), after.weights(step)),
            (before.checkpoint(step).optimiser, after.checkpoint(step).optimiser),
        ):
            assert one is not None and other is not None and one.keys() == other.keys()
            for name, value in one.items():
                np.testing.assert_array_equal(other[name], value)
    assert sorted(left(tmp_path)) == ["after", "before"]


def test_a_run_that_was_stopped_comes_back_without_what_lay_beyond_its_card(run: StoredRun, tmp_path: Path) -> None:
    (run.folder / "card.json").write_text(
        (run.folder / "card.json").read_text().replace('"finished"', '"running"').replace('"step": 2', '"step": 1')
    )
    stopped = store.load(run.folder)
    values = {name: value[-1] for name, value in stopped.curves.metrics.items()}
    stopped = store.update_card(stopped, metrics=store.summarize_metrics(values))
    after = store.load(read.unpack(write.pack(stopped), tmp_path / "after", "me", limits.check))
    assert (after.card.state, after.card.step) == ("stopped", 1)
    assert after.snapshot_steps() == after.checkpoint_steps() == [0, 1]
    same_curves(stopped, after)


def test_only_a_diverged_run_may_hold_weights_that_are_no_numbers(tmp_path: Path) -> None:
    nan = weights(lambda t: t["readout.bias"].fill(math.nan))()
    files = contents(nan)
    files["card.json"] = files["card.json"].replace(b'"finished"', b'"diverged"')
    after = store.load(read.unpack(zipped(files), tmp_path / "after", "me", limits.check))
    assert np.isnan(after.weights()["readout.bias"]).all()


def test_runs_without_averages_come_back(tmp_path: Path) -> None:
    files = {name: value for name, value in contents(good()).items() if not name.startswith("optimiser/")}
    after = store.load(read.unpack(zipped(files), tmp_path / "after", "me", limits.check))
    assert after.checkpoint_steps() == [] and after.snapshot_steps() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["bytes", "path", "file"])
def test_a_zip_is_taken_from_memory_from_a_path_or_an_open_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(good())
    with (tmp_path / "run.zip").open("rb") as file:
        content = {"bytes": good(), "path": tmp_path / "run.zip", "file": file}[kind]
        assert store.load(read.unpack(content, tmp_path / "after", "me", limits.check)).config == CONFIG


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DamagedRun, match=r"Nothing was imported: run.zip cannot be read"):
        read.unpack(tmp_path / "run.zip", tmp_path / "after", "me", limits.check)


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "after").mkdir()
    with pytest.raises(FileExistsError):
        read.unpack(good(), tmp_path / "after", "me", limits.check)
    assert left(tmp_path) == ["after"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"Nothing was imported: .*No space left on device"):
        read.unpack(good(), tmp_path / "after", "me", limits.check)
    assert not left(tmp_path)


@pytest.mark.parametrize("error", [DamagedRun("The run in after cannot be read."), KeyboardInterrupt()])
def test_what_fails_after_writing_leaves_nothing(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        assert (tmp_path / "after" / "card.json").is_file()
        raise error

    monkeypatch.setattr(read, "_check_written", fail)
    match = "Nothing was imported: The run in after" if isinstance(error, DamagedRun) else None
    with pytest.raises(type(error), match=match):
        read.unpack(good(), tmp_path / "after", "me", limits.check)
    assert not left(tmp_path)


def test_what_a_mac_adds_and_one_folder_around_everything_are_no_harm(tmp_path: Path) -> None:
    files = {"my run/": b"", "my run/snapshots/": b"", "__MACOSX/my run/._card.json": b"?", "my run/.DS_Store": b"?"}
    files |= {f"my run/{name}": content for name, content in contents(good()).items()}
    after = store.load(read.unpack(zipped(files), tmp_path / "after", "me", limits.check))
    assert after.config == CONFIG
    assert sorted(file.name for file in after.folder.iterdir()) == [
        "card.json",
        "config.json",
        "events.parquet",
        "optimiser",
        "snapshots",
    ]


def test_unzipped_by_hand_it_is_a_run(tmp_path: Path, run: StoredRun) -> None:
    with zipfile.ZipFile(io.BytesIO(good())) as archive:
        archive.extractall(tmp_path / "byhand")
    by_hand = store.load(tmp_path / "byhand")
    same_curves(run, by_hand)
    assert by_hand.card.owner == "" and not by_hand.card.pinned


def test_packing_gives_the_same_bytes_every_time(run: StoredRun, tmp_path: Path) -> None:
    assert write.pack(run) == write.pack(run) == good()
    other = store.load(read.unpack(good(), tmp_path / "other", "somebody else", limits.check))
    assert write.pack(other) == good()


def test_a_run_whose_files_are_gone_cannot_be_packed(run: StoredRun) -> None:
    (run.folder / "events.parquet").unlink()
    with pytest.raises(DamagedRun, match="cannot be exported"):
        write.pack(run)


# ---- what the limits of this server refuse


def test_limits_of_this_server_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = good()
    monkeypatch.setenv("LINEAGE_MOST_WIDTH", "4")
    with pytest.raises(DamagedRun, match=r"Nothing was imported: .*LINEAGE_MOST_WIDTH"):
        read.unpack(content, tmp_path / "place", "me", limits.check)
    assert not left(tmp_path)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A good zip whose last weights unpack to 200 MB of zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents(good()).items():
            if name != END:
                archive.writestr(name, content)
        with archive.open(END, "w") as file:
            for _ in range(200):
                file.write(bytes(1_000_000))
    return out.getvalue()


@pytest.mark.parametrize("lies", [False, True], ids=["honest", "lying"])
def test_a_bomb_takes_no_memory(bomb: bytes, lies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "300000")
    content = bomb
    if lies:  # all headers say that it is small
        content = content.replace(struct.pack("<I", 200_000_000), struct.pack("<I", 1_000))
        assert content != bomb
    tracemalloc.start()
    with pytest.raises(DamagedRun, match="is damaged" if lies else "more than 300,000 bytes .LINEAGE_MOST_UPLOAD"):
        read.unpack(content, tmp_path / "place", "me", limits.check)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000
    assert not left(tmp_path)


def test_what_is_read_is_counted_whatever_was_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = good()
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "20000")
    monkeypatch.setattr(zip_reader, "sum", lambda sizes: 0, raising=False)  # as if every header lied
    with pytest.raises(DamagedRun, match="more than 20,000 bytes"):
        read.unpack(content, tmp_path / "place", "me", limits.check)


def test_events_that_unpack_to_more_than_their_footer_says_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, rows, true = contents(good()), 3_000_017, 6

    def varint(number: int, width: int = 0) -> bytes:
        number, out = 2 * number, []
        while number > 127 or len(out) < width - 1:
            out.append(number % 128 | 128)
            number //= 128
        return bytes([*out, number])

    schema = pq.read_schema(io.BytesIO(files["events.parquet"]))
    zeros = pa.table([pa.array(np.zeros(rows, np.int8)).cast(field.type) for field in schema], schema=schema)
    out = io.BytesIO()
    one_page = {"data_page_size": 2**30, "row_group_size": rows, "max_rows_per_page": rows, "use_dictionary": False}
    pq.write_table(zeros, out, compression="zstd", write_statistics=False, **one_page)
    content = out.getvalue()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    said = varint(rows)
    content = content[:footer] + content[footer:].replace(said, varint(true, len(said)))
    assert len(content) < 20_000
    assert pq.read_metadata(io.BytesIO(content)).num_rows == true
    monkeypatch.setattr(pq.ParquetFile, "read", pytest.fail)
    with pytest.raises(DamagedRun, match="unpacks to more than 50,000,000 bytes"):
        read.unpack(zipped(files | {"events.parquet": content}), tmp_path / "place", "me", limits.check)
    assert not left(tmp_path)


def test_a_list_of_a_million_entries_is_not_read(tmp_path: Path) -> None:
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", *(0,) * 18)
    count = 200_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFF, 0xFFF, count * len(entry), 0, 0)
    content = entry * count + end
    tracemalloc.start()
    with pytest.raises(DamagedRun, match="Nothing was imported"):
        read.unpack(content, tmp_path / "place", "me", limits.check)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000 + 2 * len(content)


# ---- what is for people


def test_metrics_csv_holds_the_curves_to_the_last_digit(run: StoredRun) -> None:
    rows = list(csv.DictReader(io.StringIO(contents(good())["metrics.csv"].decode(), newline="")))
    curves = run.curves
    assert len(rows) == len(curves.evaluated) * CONFIG.replicas
    assert list(rows[0]) == ["step", "epoch", "tokens", "seconds", "seed", *curves.metrics]
    for number, row in enumerate(rows):
        evaluation, replica = divmod(number, CONFIG.replicas)
        step = int(curves.evaluated[evaluation])
        assert int(row["step"]) == step
        assert int(row["seed"]) == CONFIG.seeds[replica]
        assert float(row["epoch"]) == step / CONFIG.steps_per_epoch
        assert float(row["tokens"]) == curves.tokens[step]
        assert float(row["seconds"]) == curves.seconds[step]
        for name, values in curves.metrics.items():
            assert np.float32(row[name]) == values[evaluation, replica]


def test_metrics_csv_leaves_empty_what_a_sample_does_not_hold(tmp_path: Path) -> None:
    config = with_settings(CONFIG, {"p_not": 0.0})
    run = store.save_run(record_run(config), tmp_path / "run")
    rows = list(csv.DictReader(io.StringIO(write.metrics_csv(run))))
    assert {row["test_accuracy_negated"] for row in rows} == {""}


def test_the_model_card_shows_hostile_words_as_text() -> None:
    card = contents(good())["MODEL_CARD.md"].decode()
    tokens = MarkdownIt("commonmark").enable("table").parse(card)
    code = "\n".join(token.content for token in tokens if token.type == "code_block")
    other = "\n".join(token.content for token in tokens if token.type != "code_block")
    for words in (
        "# Not a heading",
        "<script>alert(1)</script>",
        "- [x](javascript:alert(1))",
        "# of it",
        "```",
        "<b>two",
    ):
        assert words in code
        assert words not in other
    assert "a *small* run" in code
    assert not {token.type for token in tokens} & {"html_block", "fence", "bullet_list_open"}
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings == [
        "RNN on Negation",
        "What people say of it",
        "What it was trained on",
        "What came out",
        "What it cannot do",
        "Train it again",
        "The model",
        "Versions",
    ]


def test_the_model_card_says_what_is_to_be_known(run: StoredRun) -> None:
    card = write.model_card(run)
    for words in (
        key(CONFIG),
        "954 parameters, 2 seed(s)",
        "task.p_not = 0.35",
        "epochs = 2",
        "Elman 1990",
        "https://doi.org/10.1207/s15516709cog1402_1",
        f"python -m explorer import {key(CONFIG)}.zip",
        f"torch {torch.__version__}",
        f"| test loss | {run.card.metrics['test_loss'].mean:.4f} |",
    ):
        assert words in card


def test_a_card_names_what_lies_beside_it() -> None:
    shipped = store.find("text-gru")
    own = write.model_card(shipped)
    assert "`events.parquet`" in own and "python -m explorer pretrain text-gru" in own
    assert "metrics.csv" not in own and ".zip" not in own
    with zipfile.ZipFile(io.BytesIO(write.pack(shipped))) as archive:
        packed = archive.read("MODEL_CARD.md").decode()
        assert "metrics.csv" in archive.namelist()
    assert "`metrics.csv`" in packed and f"import {shipped.key}.zip" in packed and "pretrain" not in packed


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"p_not": 0.5, "seed": 3, "replicas": 4, "learning_rate": 1e-5, "model.hidden": 7, "fresh_data": False},
        {"padding": "eos", "epochs": 3, "schedule": "cosine", "order": 2, "snapshots": 3},
    ],
    ids=str,
)
def test_the_command_in_the_model_card_names_the_same_run(changes: dict[str, object]) -> None:
    config = with_settings(default_config("negation", "rnn"), changes)
    words = shlex.split(write.train_command(config))
    assert words[:4] == ["python", "-m", "explorer", "train"]
    options = list(zip(words[4::2], words[5::2], strict=True))
    named = dict(options)
    said = dict(value.split("=", 1) for name, value in options if name == "--set")
    said |= {name: named[f"--{name}"] for name in ("seed", "replicas") if f"--{name}" in named}
    assert with_settings(default_config(named["--task"], named["--model"]), said) == config


def test_the_model_card_of_a_branch_names_its_parent(run: StoredRun) -> None:
    branch: RunConfig = branch_from(CONFIG, 1, {"learning_rate": 0.01})
    card = write.model_card(dataclasses.replace(run, config=branch))
    assert f"step 1 of run `{key(CONFIG)}`" in card
    assert "explorer train" not in card


# ---- chance


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_noise_is_refused_or_harmless(data: st.DataObject) -> None:
    content = bytearray(good())
    headers = [match.start() for match in re.finditer(rb"PK[\1\3\5]", content)]
    places = st.integers(0, len(content) - 1) | st.builds(
        lambda at, by: min(at + by, len(content) - 1), st.sampled_from(headers), st.integers(0, 60)
    )
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=6)):
        content[place] = value
    start, end = data.draw(st.tuples(st.just(0), st.just(len(content))) | st.tuples(places, places))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        try:
            read.unpack(bytes(content[start:end]), place, "me", limits.check)
        except DamagedRun:
            assert not list(Path(folder).iterdir())
        else:
            same = store.load(place)
            assert same.key == key(CONFIG)
            for step, kept in record().snapshots.items():
                for name, value in kept.weights.items():
                    np.testing.assert_array_equal(same.weights(step)[name], value)


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(["config.json", "card.json", "events.parquet", END, END_OPTIMISER]),
    edits=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
    keep=st.just(1.0) | st.floats(0, 1),
)
def test_noise_under_a_true_checksum_raises_nothing_else(
    name: str, edits: list[tuple[float, int]], keep: float
) -> None:
    files = contents(good())
    content = bytearray(files[name])
    for place, value in edits:
        content[int(place * len(content))] = value
    files[name] = bytes(content[: round(keep * len(content))])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        try:
            read.unpack(zipped(files), place, "me", limits.check)
        except DamagedRun as error:
            assert str(error).startswith("Nothing was imported: ")
            assert not list(Path(folder).iterdir())
        else:
            assert store.load(place).config == CONFIG


def test_a_zip_never_takes_the_place_of_a_run_that_is_here(home: Path) -> None:
    content = good()
    kept = read.import_zip(content, "ada", limits.check)
    assert (kept.folder, kept.card.owner, kept.card.imported) == (home / "runs" / kept.key, "ada", True)
    with pytest.raises(StoreError, match="is already stored"):
        read.import_zip(content, "eve", limits.check)
    shipped = write.pack(store.find("negation-single-bag_of_words"))
    with pytest.raises(StoreError, match="is already stored"):
        read.import_zip(shipped, "eve", limits.check)
    assert sorted(path.name for path in home.iterdir() if path.name.startswith(".importing")) == []


def test_an_imported_run_answers_only_whoever_brought_it(home: Path) -> None:
    kept = read.import_zip(good(), "ada", limits.check)
    assert store.find_by_config(kept.config, visitor="ada") is not None
    assert store.find_by_config(kept.config, visitor="eve") is None
    assert store.find(kept.key).key == kept.key  # by its key it can be looked at
