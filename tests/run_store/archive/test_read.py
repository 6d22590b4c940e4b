from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import pickle
import re
import shlex
import stat
import struct
import subprocess
import sys
import tempfile
import tracemalloc
import unicodedata
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from explorer.database.engine import close_database
from explorer.errors import DamagedRun, StoreError
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive import read, write, zip_reader
from explorer.run_store.archive.parquet_process import decode_parquet
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig, branch_from, default_config, key, to_json, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run
from tests.run_store import small_runs
from tests.run_store.small_runs import bytes_of

CONFIG = with_settings(
    default_config("negation", "rnn"), {"epochs": 2, "train_size": 40, "test_size": 10, "replicas": 2, "snapshots": 4}
)
NOTE = (
    "# Not a heading\n\n<script>alert(1)</script>\n- [x](javascript:alert(1)) www.example.org\r\n```\nend\u2028# of it"
)
END = f"snapshots/{CONFIG.steps:08d}.safetensors"
CURVES = "curves.safetensors"
END_OPTIMISER = f"optimiser/{CONFIG.steps:08d}.safetensors"


@cache
def record() -> Record:
    return record_run(CONFIG)


@cache
def valid_zip() -> bytes:
    """Return the zip of a small run with a name, tags and a note."""
    with tempfile.TemporaryDirectory() as folder:
        run = store.save_run(record(), Path(folder) / "run", owner="somebody")
        return write.pack(
            store.update_card(run, name="a *small* run", tags=("one", "<b>two</b>"), note=NOTE, pinned=True)
        )


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    return store.load(read.unpack(valid_zip(), tmp_path / "good", "somebody", limits.check))


Patch = pytest.MonkeyPatch
Files = dict[str, bytes]


def read_files(content: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def make_zip(files: Files, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def with_entry(name: str, content: bytes = b"x", mode: int = 0) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO(valid_zip())
        with zipfile.ZipFile(out, "a") as archive:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
        return out.getvalue()

    return make


def changed(change: Callable[[Files], object]) -> Callable[[], bytes]:
    """Return an archive with other files."""

    def make() -> bytes:
        files = read_files(valid_zip())
        change(files)
        return make_zip(files)

    return make


def replaced(name: str, change: Callable[[bytes], bytes] | bytes) -> Callable[[], bytes]:
    return changed(lambda files: files.update({name: change if isinstance(change, bytes) else change(files[name])}))


def without(*names: str) -> Callable[[], bytes]:
    return changed(lambda files: [files.pop(name) for name in names])


def edit_json(name: str, change: Callable[[dict], object]) -> Callable[[], bytes]:
    def edit(content: bytes) -> bytes:
        data = json.loads(content)
        change(data)
        return json.dumps(data).encode()

    return replaced(name, edit)


def card(**words: object) -> Callable[[], bytes]:
    return edit_json("card.json", lambda data: data.update(words))


def metric(**values: object) -> Callable[[], bytes]:
    return edit_json("card.json", lambda data: data["metrics"]["test_loss"].update(values))


def weights(change: Callable[[dict], object], name: str = END) -> Callable[[], bytes]:
    """Return an archive with other tensors."""

    def edit(content: bytes) -> bytes:
        tensors = {name: value.copy() for name, value in safetensors.numpy.load(content).items()}
        change(tensors)
        return safetensors.numpy.save(tensors)

    return replaced(name, edit)


def curves(change: Callable[[dict], object]) -> Callable[[], bytes]:
    return weights(change, CURVES)


@cache
def old_zip() -> bytes:
    """Return the same run as an earlier version exported it: its curves are in events.parquet only."""
    return without(CURVES)()


def parquet(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """Return an archive of an earlier version with another events.parquet."""

    def make() -> bytes:
        files = read_files(old_zip())
        return make_zip(files | {"events.parquet": change(files["events.parquet"])})

    return make


def events(change: Callable[[pa.Table], pa.Table]) -> Callable[[], bytes]:
    """Return an archive of an earlier version with other events."""

    def edit(content: bytes) -> bytes:
        out = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(content))), out)
        return out.getvalue()

    return parquet(edit)


def column(name: str, values: list[object]) -> Callable[[], bytes]:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))

    return events(change)


def patched_header(signature: bytes, field_offset: int, value: bytes) -> Callable[[], bytes]:
    """Overwrite bytes in the header of an entry; `signature` selects the kind of header."""

    def make() -> bytes:
        content, offset = bytearray(valid_zip()), 0
        length, start = (28, 46) if signature == b"PK\1\2" else (26, 30)
        while (offset := content.index(signature, offset)) >= 0:
            (size,) = struct.unpack_from("<H", content, offset + length)
            if content[offset + start : offset + start + size] == CURVES.encode():
                content[offset + field_offset : offset + field_offset + len(value)] = value
                return bytes(content)
            offset += 4
        raise AssertionError

    return make


def duplicate() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return with_entry("card.json", read_files(valid_zip())["card.json"])()


def edit_steps(edit: Callable[[np.ndarray], np.ndarray], of_steps: bool) -> Callable[[dict], object]:
    """Return a change of all curves that have a value for each step, or of the others."""

    def change(tensors: dict) -> None:
        for name, values in tensors.items():
            if (name in ("losses", "tokens", "seconds") or name.startswith("signal.")) == of_steps:
                tensors[name] = edit(values).copy()

    return change


SNAPSHOT = "snapshots/{}.safetensors"
CARDS: list[dict[str, object]] = [
    *({"key": "aaaaaaaaaaaa"}, {"format": 3}, {"state": "perfect"}, {"step": 99}, {"step": 1}, {"step": -1}),
    *({"seconds": math.nan}, {"seconds": -1}, {"seconds": 1.1e10}, {"created": "yesterday"}),
    *({"created": "2026-01-01"}, {"torch": "<b>2</b>"}, {"name": "a" * 81}, {"name": "a\nb"}, {"tags": ["a"] * 13}),
    *({"machines": ["a"] * 33}, {"machines": ["a\nb"]}, {"machines": ["a" * 301]}, {"tags": ["a" * 31]}),
    *({"note": "a" * 2_001}, {"note": "a\0b"}, {"problem": "a" * 2_001}, {"parameters": 7}),
]
ENTRIES: list[tuple[Any, ...]] = [
    *(("../evil.txt",), ("snapshots/../../evil",), ("__MACOSX/../../evil",), ("/etc/cron.d/evil",), ("..\\evil",)),
    *(("C:evil",), ("metrics.txt", b"/etc/passwd", stat.S_IFLNK | 0o777)),
    *(("snapshots/", b"/etc", stat.S_IFLNK | 0o777), ("run.py",), ("other/",), (SNAPSHOT.format("last"),)),
    *((SNAPSHOT.format("2"),), (SNAPSHOT.format("٠٠٠٠٠٠٠٢"),), ("a" * 5_000,)),
]
INVALID_ZIPS: dict[str, Callable[[], bytes]] = {
    **{f"card with {str(words)[:60]}": card(**words) for words in CARDS},
    **{f"zip with {str(entry)[:60]}": with_entry(*entry) for entry in ENTRIES},
    "empty file": lambda: b"",
    "half a zip": lambda: valid_zip()[: len(valid_zip()) // 2],
    "empty zip": lambda: make_zip({}),
    "duplicate": duplicate,
    "too many entries": changed(lambda files: files.update({SNAPSHOT.format(f"{i:08d}"): b"" for i in range(400)})),
    "encrypted": patched_header(b"PK\1\2", 8, b"\1\0"),
    "bzip2": lambda: make_zip(read_files(valid_zip()), zipfile.ZIP_BZIP2),
    "size in header too small": patched_header(b"PK\1\2", 24, struct.pack("<I", 9)),
    "size in header too large": patched_header(b"PK\1\2", 24, struct.pack("<I", 90_000)),
    "wrong offset": patched_header(b"PK\1\2", 42, struct.pack("<I", 2**31)),
    "large config": replaced("config.json", b" " * 1_000_001),
    "no card": without("card.json"),
    "no events": without(CURVES, "events.parquet"),
    "config is a list": replaced("config.json", b"[]"),
    "huge number": replaced("config.json", b"9" * 10_000),
    "foreign version": edit_json("config.json", lambda d: d["model"].update(version=1)),
    "unknown setting": edit_json("config.json", lambda d: d.update(evil=1)),
    "too many steps": edit_json("config.json", lambda d: d.update(epochs=2_000, batch_size=1)),
    "other config": edit_json("config.json", lambda d: d.update(seed=7)),
    "card without fields": replaced("card.json", b"{}"),
    "metric missing": edit_json("card.json", lambda d: d["metrics"].pop("test_loss")),
    "metric unknown": edit_json("card.json", lambda d: d["metrics"].update(evil=d["metrics"]["test_loss"])),
    "metric of other seeds": metric(values=[0.5]),
    "wrong metric": metric(values=[0.5, 0.0]),
    "metric is null": metric(values=[0.5, None]),
    "metric is nan": metric(values=[0.5, math.nan]),
    "wrong mean": metric(mean=0.0),
    "no mean": metric(mean=None),
    "truncated events": parquet(lambda content: content[:-97]),
    "extra rows": events(lambda t: pa.concat_tables([t, t.slice(0, 2)])),
    "half a step": events(lambda t: t.slice(0, 5)),
    "no rows": events(lambda t: t.slice(0, 0)),
    "column missing": events(lambda t: t.drop_columns(["metric.test_loss"])),
    "column twice": events(lambda t: t.append_column("metric.test_loss", t["metric.test_accuracy"])),
    "sentences in another order": events(lambda t: t.select([*reversed(t.column_names)])),
    "text for numbers": events(lambda t: t.set_column(2, "loss", t["loss"].cast(pa.string()))),
    "null": column("step", [0, 0, 1, None, 2, 2]),
    "steps from one on": column("step", [1, 1, 2, 2, 3, 3]),
    "seeds not in order": column("replica", [0, 0, 0, 1, 0, 1]),
    "half evaluated": column("evaluated", [True] * 5 + [False]),
    "no losses": curves(lambda t: t.pop("losses")),
    "losses are one number": curves(lambda t: t.update(losses=np.zeros((), np.float32))),
    "curve missing": curves(lambda t: t.pop("metric.test_loss")),
    "curve of a sentence missing": curves(lambda t: t.update({"answer.sustain": t["answer.sustain"][:, :, 1:].copy()})),
    "more steps": curves(edit_steps(lambda v: np.concatenate([v, v[-1:], v[-1:]]), True)),
    "fewer steps": curves(lambda t: t.update({name: values[:-1].copy() for name, values in t.items()})),
    "curves of infinite tokens": curves(lambda t: t["tokens"].fill(math.inf)),
    "curves of negative tokens": curves(lambda t: t["tokens"].fill(-1)),
    "curves of seconds that shrink": curves(lambda t: t.update(seconds=np.array([0.0, 2.0, 1.0]))),
    "evaluations not in order": curves(lambda t: t.update(evaluated=t["evaluated"][::-1].copy())),
    "evaluation before the start": curves(lambda t: np.put(t["evaluated"], 0, -1)),
    "evaluation after the end": curves(lambda t: np.put(t["evaluated"], -1, 3)),
    "no evaluation in the curves": curves(edit_steps(lambda v: v[:0], False)),
    "infinite loss in the curves": curves(lambda t: t["losses"].fill(math.inf)),
    "infinite metric": curves(lambda t: np.put(t["metric.test_loss"], 0, math.inf)),
    "impossible probability": curves(lambda t: np.put(t["answer.sustain"], 0, 1.5)),
    "probability below zero": curves(lambda t: np.put(t["answer.sustain"], 0, -0.1)),
    "undefined probability": curves(lambda t: np.put(t["answer.sustain"], 0, math.nan)),
    "pickle": replaced(END, pickle.dumps({"readout.weight": [1.0]})),
    "cut weights": replaced(END, lambda content: content[:-5]),
    "header that is too long": replaced(END, lambda content: b"\xff" * 8 + content[8:]),
    "unknown number format": replaced(END, lambda content: content.replace(b'"F32"', b'"F99"', 1)),
    "wrong shape": weights(lambda t: t.update({"readout.weight": t["readout.weight"][:, :, :-1].copy()})),
    "wrong type": weights(lambda t: t.update({"readout.bias": t["readout.bias"].astype(np.float64)})),
    "missing weight": weights(lambda t: t.pop("readout.bias")),
    "extra weight": weights(lambda t: t.update(evil=np.zeros(3))),
    "nan weights": weights(lambda t: t["readout.bias"].fill(math.nan)),
    "last weights missing": without(END, END_OPTIMISER),
    "weights of a later step": changed(lambda f: f.update({SNAPSHOT.format("00000003"): f[END]})),
    "averages without weights": without(SNAPSHOT.format("00000001")),
    "short averages": weights(lambda t: t.update(mean=t["mean"][:-1].copy()), END_OPTIMISER),
}


def remaining_files(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name != "home"]


def reject(content: bytes, folder: Path) -> str:
    """Return the sentence with which a zip is rejected; nothing remains of it in this folder."""
    with pytest.raises(DamagedRun) as raised:
        read.unpack(content, folder / "place", "me", limits.check)
    text = str(raised.value)
    assert text.startswith("Nothing was imported: ") and text.endswith(".")
    assert "\n" not in text and len(text) < 300
    assert not remaining_files(folder)
    return text


def test_an_invalid_zip_is_rejected(tmp_path: Path, monkeypatch: Patch, snapshot: SnapshotAssertion) -> None:
    # A process for each table would take long.
    monkeypatch.setattr(read, "decode_parquet", lambda content, memory: pq.ParquetFile(io.BytesIO(content)).read())
    assert {case: reject(make(), tmp_path) for case, make in INVALID_ZIPS.items()} == snapshot


def test_hostile_numbers_are_rejected_with_one_sentence(tmp_path: Path) -> None:
    fields = [("card.json", name) for name in ("parameters", "seconds", "step")]
    for file, name in (*fields, ("config.json", "replicas"), ("config.json", "batch_size"), ("config.json", "seed")):
        for number in ("1e308", "NaN", "1" + "0" * 4000, "[" * 100_000, '"x"', "null", "{}"):
            text = json.dumps(json.loads(read_files(valid_zip())[file]) | {name: "HERE"})
            reject(replaced(file, text.replace('"HERE"', number).encode())(), tmp_path)


def assert_same_curves(actual: StoredRun, expected: StoredRun) -> None:
    for name in ("first", "losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(actual.curves, name), getattr(expected.curves, name))
    for part in ("metrics", "answers", "signals"):
        assert bytes_of(getattr(actual.curves, part)) == bytes_of(getattr(expected.curves, part))


def test_an_archive_of_an_earlier_version_is_read(run: StoredRun, tmp_path: Path, monkeypatch: Patch) -> None:
    old = store.load(read.unpack(old_zip(), tmp_path / "old", "somebody", limits.check))
    assert_same_curves(old, run)
    assert write.pack(old) == valid_zip()
    monkeypatch.setattr(sys, "platform", "darwin")  # where memory cannot be limited
    with pytest.raises(DamagedRun, match="only a server on Linux can import"):
        read.unpack(old_zip(), tmp_path / "place", "me", limits.check)
    read.unpack(valid_zip(), tmp_path / "place", "me", limits.check)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("rnn", {"replicas": 1}),
        ("transformer", {"p_not": 0.0}),
        ("bag_of_words", {"held_out": "destroy", "max_nots": 2}),
    ],
)
def test_packing_and_unpacking_returns_the_same_run(model: str, changes: dict[str, object], tmp_path: Path) -> None:
    sizes = {"epochs": 2, "train_size": 40, "test_size": 10, "snapshots": 4, "replicas": 2}
    config = with_settings(default_config("negation", model), sizes | changes)
    before = store.save_run(record_run(config), tmp_path / "before", owner="somebody")
    before = store.update_card(before, name="näme", tags=("a", "b"), note=NOTE, pinned=True)
    folder = read.unpack(write.pack(before), tmp_path / "after", "me", limits.check)
    after = store.load(folder)
    assert folder == tmp_path / "after"
    assert after.config == config
    assert after.card == before.card.model_copy(update={"owner": "me", "pinned": False, "imported": True})
    assert_same_curves(before, after)
    assert after.snapshot_steps() == before.snapshot_steps() == list(config.snapshot_steps)
    assert after.checkpoint_steps() == before.checkpoint_steps() == list(config.snapshot_steps)
    for step in before.snapshot_steps():
        assert bytes_of(after.weights(step)) == bytes_of(before.weights(step))
        assert bytes_of(after.checkpoint(step).optimiser) == bytes_of(before.checkpoint(step).optimiser)
    assert sorted(remaining_files(tmp_path)) == ["after", "before"]


def test_a_stopped_run_is_packed_up_to_the_step_on_its_card(run: StoredRun, tmp_path: Path) -> None:
    small_runs.edit_card(run.folder, state="running", step=1)
    stopped = store.load(run.folder)
    values = {name: value[-1] for name, value in stopped.curves.metrics.items()}
    stopped = store.update_card(stopped, metrics=store.summarize_metrics(values))
    after = store.load(read.unpack(write.pack(stopped), tmp_path / "after", "me", limits.check))
    assert (after.card.state, after.card.step) == ("stopped", 1)
    assert after.snapshot_steps() == after.checkpoint_steps() == [0, 1]
    assert_same_curves(stopped, after)


def test_a_diverged_run_may_contain_nan_weights_and_a_run_no_optimizer_state(tmp_path: Path) -> None:
    files = read_files(weights(lambda t: t["readout.bias"].fill(math.nan))())
    files["card.json"] = files["card.json"].replace(b'"finished"', b'"diverged"')
    after = store.load(read.unpack(make_zip(files), tmp_path / "after", "me", limits.check))
    assert np.isnan(after.weights()["readout.bias"]).all()
    files = {name: value for name, value in read_files(valid_zip()).items() if not name.startswith("optimiser/")}
    after = store.load(read.unpack(make_zip(files), tmp_path / "without", "me", limits.check))
    assert after.checkpoint_steps() == [] and after.snapshot_steps() == [0, 1, 2]


def test_a_zip_is_read_from_bytes_a_path_or_an_open_file_and_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(valid_zip())
    with (tmp_path / "run.zip").open("rb") as file:
        for number, content in enumerate((valid_zip(), tmp_path / "run.zip", file)):
            assert store.load(read.unpack(content, tmp_path / str(number), "me", limits.check)).config == CONFIG
    with pytest.raises(DamagedRun, match=r"Nothing was imported: run.zip cannot be read"):
        read.unpack(tmp_path / "home" / "run.zip", tmp_path / "after", "me", limits.check)
    with pytest.raises(FileExistsError):
        read.unpack(valid_zip(), tmp_path / "0", "me", limits.check)
    assert sorted(remaining_files(tmp_path)) == ["0", "1", "2", "run.zip"]


def test_a_failure_after_writing_leaves_no_files(tmp_path: Path, monkeypatch: Patch) -> None:
    for error, kind, match in (
        (DamagedRun("The run in after cannot be read."), DamagedRun, "Nothing was imported: The run in after"),
        (OSError(28, "No space left on device"), StoreError, r"Nothing was imported: .*No space left on device"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ):
        monkeypatch.setattr(read, "_check_written", Mock(side_effect=error))
        with pytest.raises(kind, match=match):
            read.unpack(valid_zip(), tmp_path / "after", "me", limits.check)
        assert not remaining_files(tmp_path)


def test_files_added_by_macos_and_an_enclosing_folder_are_ignored(tmp_path: Path) -> None:
    files = {"my run/": b"", "my run/snapshots/": b"", "__MACOSX/my run/._card.json": b"?", "my run/.DS_Store": b"?"}
    files |= {f"my run/{name}": content for name, content in read_files(valid_zip()).items()}
    after = store.load(read.unpack(make_zip(files), tmp_path / "after", "me", limits.check))
    assert after.config == CONFIG
    expected = ["card.json", "config.json", "events.parquet", "optimiser", "snapshots"]
    assert sorted(file.name for file in after.folder.iterdir()) == expected
    for name in ("metrics.csv", "events.parquet"):  # whose content is not used
        for number, make in enumerate((without(name), replaced(name, b"ignored"))):
            read.unpack(make(), tmp_path / f"{name}-{number}", "me", limits.check)


def test_a_zip_is_deterministic_needs_all_files_and_can_be_extracted_by_hand(run: StoredRun, tmp_path: Path) -> None:
    other = store.load(read.unpack(valid_zip(), tmp_path / "other", "somebody else", limits.check))
    assert write.pack(run) == write.pack(other) == valid_zip()
    zipfile.ZipFile(io.BytesIO(valid_zip())).extractall(tmp_path / "extracted")
    extracted = store.load(tmp_path / "extracted")
    assert_same_curves(run, extracted)
    assert extracted.card.owner == "" and not extracted.card.pinned
    (run.folder / "events.parquet").unlink()
    with pytest.raises(DamagedRun, match="cannot be exported"):
        write.pack(run)


@pytest.mark.parametrize("lies", [False, True], ids=["honest", "lying"])
def test_a_zip_bomb_is_rejected_without_using_memory(lies: bool, tmp_path: Path, monkeypatch: Patch) -> None:
    size = 20_000_000
    content = replaced(END, bytes(size))()
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "300000")
    if lies:  # all headers state a small size
        assert struct.pack("<I", size) in content
        content = content.replace(struct.pack("<I", size), struct.pack("<I", 1_000))
    tracemalloc.start()
    expected = "is damaged" if lies else "more than 300,000 bytes"
    assert expected in reject(content, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000


def test_the_unpacked_size_is_measured_and_not_taken_from_headers(tmp_path: Path, monkeypatch: Patch) -> None:
    content = valid_zip()
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "20000")
    monkeypatch.setattr(zip_reader, "sum", lambda sizes: 0, raising=False)  # as if every header stated size zero
    assert "more than 20,000 bytes" in reject(content, tmp_path)


def huge_zip() -> bytes:
    """Return a small zip whose configuration describes eight models of 100 MB each."""
    sizes = {"model.width": 512, "model.hidden": 2048, "model.layers": 8, "replicas": 8}
    config = with_settings(default_config("reverse", "transformer_encoder_decoder"), sizes)
    files = read_files(valid_zip())
    files["config.json"] = json.dumps(to_json(config)).encode()
    about = {"key": key(config), "step": config.steps, "parameters": 1}
    files["card.json"] = json.dumps(json.loads(files["card.json"]) | about).encode()
    files[f"snapshots/{config.steps:08d}.safetensors"] = files.pop(END)
    return make_zip({name: content for name, content in files.items() if not name.startswith("optimiser/")})


def test_nothing_is_allocated_for_the_model_that_an_archive_describes(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such measure.")
    kilobyte = 1_024 if sys.platform == "darwin" else 1  # macOS counts bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedRun, match=r"counts 1 parameters; its model has \d\d,"):
        read.unpack(huge_zip(), tmp_path / "place", "me", lambda config: config)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000 * kilobyte


def test_an_error_that_no_check_foresaw_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DamagedRun, match="its files cannot be read"):
        read.unpack(valid_zip(), tmp_path / "place", "me", Mock(side_effect=AssertionError("unforeseen")))


def test_a_large_table_is_rejected_without_using_memory(tmp_path: Path, monkeypatch: Patch) -> None:
    assert "events.parquet cannot be read" in reject(INVALID_ZIPS["truncated events"](), tmp_path)
    files = read_files(old_zip())
    schema, zeros = pq.read_schema(io.BytesIO(files["events.parquet"])), pa.array(np.zeros(1_500_017, np.int8))
    out = io.BytesIO()
    pq.write_table(pa.table([zeros.cast(field.type) for field in schema], schema=schema), out, compression="zstd")
    monkeypatch.setattr(read, "decode_parquet", decode := Mock(side_effect=decode_parquet))
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "10000000")
    tracemalloc.start()
    pool_before = pa.total_allocated_bytes()
    content = make_zip(files | {"events.parquet": out.getvalue()})
    assert "unpacks to more than 10,000,000 bytes" in reject(content, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 40_000_000 < decode.call_args.args[1] < 41_000_000
    assert peak < 5_000_000 and pa.total_allocated_bytes() == pool_before


def test_metrics_csv_contains_the_curves_exactly(run: StoredRun) -> None:
    rows = list(csv.DictReader(io.StringIO(read_files(valid_zip())["metrics.csv"].decode(), newline="")))
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


def test_metrics_csv_has_empty_cells_for_undefined_metrics(tmp_path: Path) -> None:
    config = with_settings(CONFIG, {"p_not": 0.0})
    run = store.save_run(record_run(config), tmp_path / "run")
    rows = list(csv.DictReader(io.StringIO(read_files(write.pack(run))["metrics.csv"].decode())))
    assert {row["test_accuracy_negated"] for row in rows} == {""}


def test_the_model_card_shows_markup_of_visitors_as_text(run: StoredRun, snapshot: SnapshotAssertion) -> None:
    card = run.card.model_copy(update={"torch": "TORCH", "created": "2026-03-02T12:00:00+00:00", "seconds": 1.5})
    card = card.model_copy(update={"machines": ("MACHINE",), "metrics": {}})
    model_card = write.model_card(dataclasses.replace(run, card=card))
    assert model_card == snapshot
    tokens = MarkdownIt("commonmark").enable("table").parse(model_card)
    other = "\n".join(token.content for token in tokens if token.type != "code_block")
    assert not {token.type for token in tokens} & {"html_block", "fence", "bullet_list_open"}
    assert not any(words in other for words in ("# Not a heading", "<script>", "javascript:alert", "# of it", "<b>two"))
    assert f"| test loss | {run.card.metrics['test_loss'].mean:.4f} |" in write.model_card(run)
    branch: RunConfig = branch_from(CONFIG, 1, {"learning_rate": 0.01})
    model_card = write.model_card(dataclasses.replace(run, config=branch))
    assert f"step 1 of run `{key(CONFIG)}`" in model_card
    assert "explorer train" not in model_card


def test_an_export_shows_characters_that_reorder_or_hide_text_and_an_import_removes_them(tmp_path: Path) -> None:
    text = "ab\u202e\u2066'$(id)`\\"
    config = with_settings(default_config("string", "rnn"), {"text": text, "iterations": 2})
    run = store.save_run(record_run(config), tmp_path / "run")
    words = {"name": "a\u202eb\u200b", "tags": ("t\u2066",), "machines": ("m\u2066",), "note": "one\n\ttwo\u061c"}
    content = write.pack(store.update_card(run, **words))
    files = read_files(content)
    for name in ("config.json", "card.json", "MODEL_CARD.md"):
        assert not [c for c in files[name].decode() if c != "\n" and unicodedata.category(c)[0] in "CZ" and c != " "]
    assert "\n    name: a\\u202eb\\u200b\n" in files["MODEL_CARD.md"].decode()
    command = f"printf '%s\n' {write.train_command(config)}"
    printed = subprocess.run(["bash", "-c", command], capture_output=True, env={"LC_ALL": "C.UTF-8"}).stdout
    assert f"text={text}".encode() in printed.splitlines()
    imported = store.load(read.unpack(content, tmp_path / "again", "me", limits.check))
    assert imported.config == config
    assert (imported.card.name, imported.card.tags, imported.card.note) == ("ab", ("t",), "one\n\ttwo")
    assert imported.card.machines == ("m",)


def test_an_included_run_is_exported_like_any_other(tmp_path: Path) -> None:
    included = store.find("recall-10-gru-usual")
    content = write.pack(included)
    files = read_files(content)
    assert {"metrics.csv", "events.parquet", f"snapshots/{included.curves.step:08d}.safetensors"} < files.keys()
    assert "`metrics.csv`" in files["MODEL_CARD.md"].decode()
    imported = store.load(read.unpack(content, tmp_path / "place", "me", limits.check))
    assert bytes_of(imported.weights()) == bytes_of(included.weights())


def test_the_command_in_the_model_card_gives_the_same_configuration() -> None:
    cases: tuple[dict[str, object], ...] = (
        {},
        {"p_not": 0.5, "seed": 3, "replicas": 4, "learning_rate": 1e-5, "model.hidden": 7, "fresh_data": False},
        {"padding": "eos", "epochs": 3, "schedule": "cosine", "order": 2, "snapshots": 3},
    )
    for changes in cases:
        config = with_settings(default_config("negation", "rnn"), changes)
        words = shlex.split(write.train_command(config))
        assert words[:4] == ["python", "-m", "explorer", "train"]
        options = list(zip(words[4::2], words[5::2], strict=True))
        default = default_config(dict(options)["--task"], dict(options)["--model"])
        given = dict(value.split("=", 1) for name, value in options if name == "--set")
        given |= {name[2:]: value for name, value in options if name in ("--seed", "--replicas")}
        assert with_settings(default, given) == config


@settings(max_examples=20)
@given(data=st.data())
def test_random_changes_are_noticed(data: st.DataObject) -> None:
    content = bytearray(valid_zip())
    headers = [match.start() for match in re.finditer(rb"PK[\1\3\5]", content)]
    offsets = st.integers(0, len(content) - 1) | st.builds(
        lambda header, distance: min(header + distance, len(content) - 1), st.sampled_from(headers), st.integers(0, 60)
    )
    for offset, value in data.draw(st.lists(st.tuples(offsets, st.integers(0, 255)), max_size=6)):
        content[offset] = value
    start, end = data.draw(st.tuples(st.just(0), st.just(len(content))) | st.tuples(offsets, offsets))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        try:
            read.unpack(bytes(content[start:end]), place, "me", limits.check)
        except DamagedRun as error:
            assert str(error).startswith("Nothing was imported: ")
            assert not list(Path(folder).iterdir())
        else:
            assert store.load(place).config == CONFIG


def test_an_imported_run_belongs_to_its_importer_and_is_imported_once(home: Path, included_folder: Path) -> None:
    shipped = dataclasses.replace(record(), config=with_settings(CONFIG, {"seed": 9}))
    included = write.pack(store.save_run(shipped, included_folder / "one"))
    content = valid_zip()
    imported = read.import_zip(content, "ada", limits.check)
    assert (imported.folder, imported.card.owner, imported.card.imported) == (home / "runs" / imported.key, "ada", True)
    for again in (content, included):
        with pytest.raises(StoreError, match="is already stored"):
            read.import_zip(again, "eve", limits.check)
    assert not list(home.glob(".importing*"))
    assert store.find_by_config(imported.config, visitor="ada") is not None
    assert store.find_by_config(imported.config, visitor="eve") is None
    assert store.find(imported.key).key == imported.key  # everyone can open it by its key
    close_database()
