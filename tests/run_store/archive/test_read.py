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
import subprocess
import sys
import tempfile
import tracemalloc
import unicodedata
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
from explorer.run_store.archive.parquet_process import decode_parquet
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig, branch_from, default_config, key, to_json, with_settings
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


Files = dict[str, bytes]


def read_files(content: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def make_zip(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def zip_with_entry(name: str, content: bytes = b"x", mode: int = 0) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO(valid_zip())
        with zipfile.ZipFile(out, "a") as archive:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
        return out.getvalue()

    return make


def zip_with_changed_files(change: Callable[[Files], object]) -> Callable[[], bytes]:
    def make() -> bytes:
        files = read_files(valid_zip())
        change(files)
        return make_zip(files)

    return make


def zip_with_replaced_file(name: str, content: bytes) -> Callable[[], bytes]:
    return zip_with_changed_files(lambda files: files.update({name: content}))


def zip_without(name: str) -> Callable[[], bytes]:
    return zip_with_changed_files(lambda files: files.pop(name))


def zip_with_changed_json(name: str, change: Callable[[dict], object]) -> Callable[[], bytes]:
    def edit(files: Files) -> None:
        data = json.loads(files[name])
        change(data)
        files[name] = json.dumps(data).encode()

    return zip_with_changed_files(edit)


def zip_with_changed_card(**words: object) -> Callable[[], bytes]:
    return zip_with_changed_json("card.json", lambda data: data.update(words))


def zip_with_changed_weights(change: Callable[[dict], object], name: str = END) -> Callable[[], bytes]:
    def edit(files: Files) -> None:
        tensors = {n: v.copy() for n, v in safetensors.numpy.load(files[name]).items()}
        change(tensors)
        files[name] = safetensors.numpy.save(tensors)

    return zip_with_changed_files(edit)


@cache
def old_zip() -> bytes:
    """Return the same run as an earlier version exported it: its curves are in events.parquet only."""
    return zip_without("curves.safetensors")()


def zip_with_parquet(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """Return an archive of an earlier version with another events.parquet."""

    def make() -> bytes:
        files = read_files(old_zip())
        return make_zip(files | {"events.parquet": change(files["events.parquet"])})

    return make


def zip_with_changed_events(change: Callable[[pa.Table], pa.Table]) -> Callable[[], bytes]:
    """Return an archive of an earlier version with other events."""

    def edit(content: bytes) -> bytes:
        out = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(content))), out)
        return out.getvalue()

    return zip_with_parquet(edit)


def zip_with_changed_cell(name: str, row: int, value: object) -> Callable[[], bytes]:
    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[row] = value
        return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))

    return zip_with_changed_events(change)


def swap_columns(one: str, other: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        names = [{one: other, other: one}.get(name, name) for name in table.column_names]
        return table.select(names)

    return change


def zip_with_patched_header(
    signature: bytes, field_offset: int, value: bytes, name: str = "curves.safetensors"
) -> Callable[[], bytes]:
    """Overwrite bytes in the header of an entry; `signature` selects the kind of header."""

    def make() -> bytes:
        content, offset = bytearray(valid_zip()), 0
        length, start = (28, 46) if signature == b"PK\1\2" else (26, 30)
        while (offset := content.index(signature, offset)) >= 0:
            (size,) = struct.unpack_from("<H", content, offset + length)
            if content[offset + start : offset + start + size] == name.encode():
                content[offset + field_offset : offset + field_offset + len(value)] = value
                return bytes(content)
            offset += 4
        raise AssertionError

    return make


def encrypted_zip() -> bytes:
    return zip_with_patched_header(b"PK\1\2", 8, b"\1\0")()


def put_torch_file(files: Files) -> None:
    out = io.BytesIO()
    torch.save({"readout.weight": torch.zeros(2)}, out)
    files[END] = out.getvalue()


def zip_with_duplicate() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return zip_with_entry("card.json", read_files(valid_zip())["card.json"])()


def bzip2_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in read_files(valid_zip()).items():
            archive.writestr(name, content)
    return out.getvalue()


def set_foreign_version(data: dict) -> None:
    data["model"]["version"] = 1


def zip_with_metric_value(value: object) -> Callable[[], bytes]:
    return zip_with_changed_json("card.json", lambda data: data["metrics"]["test_loss"].update(values=[0.5, value]))


def zip_with_changed_curves(change: Callable[[dict], object]) -> Callable[[], bytes]:
    return zip_with_changed_weights(change, "curves.safetensors")


STEP_CURVES = {"losses", "tokens", "seconds"}


def repeat_steps(tensors: dict) -> None:
    for name, values in tensors.items():
        if name in STEP_CURVES or name.startswith("signal."):
            tensors[name] = np.concatenate([values, values[-1:], values[-1:]])


def remove_last_step(tensors: dict) -> None:
    for name, values in tensors.items():
        tensors[name] = values[:-1].copy()


def remove_evaluations(tensors: dict) -> None:
    for name, values in tensors.items():
        if not (name in STEP_CURVES or name.startswith("signal.")):
            tensors[name] = values[:0].copy()


def repeat_rows(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 2)])


INVALID_ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty file": (lambda: b"", "the file is not a zip file"),
    "text": (lambda: b"Dear sir or madam,\n" * 50, "the file is not a zip file"),
    "half a zip": (lambda: valid_zip()[: len(valid_zip()) // 2], "the file is not a zip file"),
    "empty zip": (lambda: make_zip({}), "the zip has no config.json"),
    "path traversal": (zip_with_entry("../evil.txt"), "“../evil.txt” in the zip points outside"),
    "inner traversal": (zip_with_entry("snapshots/../../evil"), "points outside"),
    "traversal of a Mac": (zip_with_entry("__MACOSX/../../evil"), "points outside"),
    "absolute": (zip_with_entry("/etc/cron.d/evil"), "points outside"),
    "backslashes": (zip_with_entry("..\\evil"), "points outside"),
    "drive": (zip_with_entry("C:evil"), "points outside"),
    "symlink": (zip_with_entry("metrics.txt", b"/etc/passwd", stat.S_IFLNK | 0o777), "is a link"),
    "symlink to a folder": (zip_with_entry("snapshots/", b"/etc", stat.S_IFLNK | 0o777), "is a link"),
    "duplicate": (zip_with_duplicate, "contains “card.json” twice"),
    "foreign file": (zip_with_entry("run.py"), "contains “run.py”, which is not a file of a run"),
    "foreign folder": (zip_with_entry("other/"), "contains “other/”, which is"),
    "file without a step": (zip_with_entry("snapshots/last.safetensors"), "not a file of a run"),
    "short step": (zip_with_entry("snapshots/2.safetensors"), "not a file of a run"),
    "arabic digits": (zip_with_entry("snapshots/٠٠٠٠٠٠٠٢.safetensors"), "not a file of a run"),
    "long name": (zip_with_entry("a" * 5_000), "not a file of a run"),
    "too many entries": (
        zip_with_changed_files(lambda files: files.update({f"snapshots/{i:08d}.safetensors": b"" for i in range(400)})),
        "entries; a run has at most 400",
    ),
    "encrypted": (encrypted_zip, "the zip is encrypted"),
    "bzip2": (bzip2_zip, "uses an unsupported compression"),
    "size in header too small": (
        zip_with_patched_header(b"PK\1\2", 24, struct.pack("<I", 9)),
        "“curves.safetensors” in the zip is damaged",
    ),
    "size in header too large": (
        zip_with_patched_header(b"PK\1\2", 24, struct.pack("<I", 90_000)),
        "“curves.safetensors” in the zip is damaged",
    ),
    "wrong checksum": (
        zip_with_patched_header(b"PK\1\2", 16, b"\1\2\3\4"),
        "“curves.safetensors” in the zip is damaged",
    ),
    "wrong offset": (
        zip_with_patched_header(b"PK\1\2", 42, struct.pack("<I", 2**31)),
        "“curves.safetensors” in the zip is damaged",
    ),
    "large config": (zip_with_replaced_file("config.json", b" " * 1_000_001), "config.json is too large"),
    "no config": (zip_without("config.json"), "has no config.json"),
    "no card": (zip_without("card.json"), "has no card.json"),
    "no events": (
        zip_with_changed_files(lambda f: (f.pop("curves.safetensors"), f.pop("events.parquet"))),
        "has no curves.safetensors",
    ),
    "config is no text": (zip_with_replaced_file("config.json", b"\xff\xfe\x00"), "config.json cannot be read"),
    "config is deep": (zip_with_replaced_file("config.json", b"[" * 100_000), "config.json cannot be read"),
    "config is a list": (zip_with_replaced_file("config.json", b"[]"), "not a run's configuration"),
    "huge number": (zip_with_replaced_file("config.json", b"9" * 10_000), "config.json cannot be read"),
    "foreign version": (
        zip_with_changed_json("config.json", set_foreign_version),
        "made with version 1 of “rnn”.*Train it again",
    ),
    "unknown setting": (zip_with_changed_json("config.json", lambda d: d.update(evil=1)), "There is no setting “evil”"),
    "too many steps": (
        zip_with_changed_json("config.json", lambda d: d.update(epochs=2_000, batch_size=1)),
        "this server allows",
    ),
    "other config": (zip_with_changed_json("config.json", lambda d: d.update(seed=7)), "its card is that of run"),
    "other key": (zip_with_changed_card(key="aaaaaaaaaaaa"), "its card is that of run aaaaaaaaaaaa"),
    "card without fields": (zip_with_replaced_file("card.json", b"{}"), "card.json cannot be read"),
    "card is deep": (zip_with_replaced_file("card.json", b"[" * 100_000), "card.json cannot be read"),
    "card from the future": (zip_with_changed_card(format=3), "it has format 3; this program reads format 2"),
    "card of an old format": (zip_with_changed_card(format=1), "it has format 1"),
    "unknown state": (zip_with_changed_card(state="perfect"), "card.json cannot be read"),
    "step of the card": (zip_with_changed_card(step=99), "finished at step 99 of 2"),
    "not at its end": (zip_with_changed_card(step=1), "finished at step 1 of 2"),
    "negative step": (zip_with_changed_card(step=-1), "at step -1"),
    "seconds are nan": (zip_with_changed_card(seconds=math.nan), "impossible numbers"),
    "negative seconds": (zip_with_changed_card(seconds=-1), "impossible numbers"),
    "no date": (zip_with_changed_card(created="yesterday"), "no valid creation date"),
    "no zone": (zip_with_changed_card(created="2026-01-01"), "no valid creation date"),
    "version of torch": (zip_with_changed_card(torch="<b>2</b>"), "no valid torch version"),
    "long name of a run": (zip_with_changed_card(name="a" * 81), "a name of 81 characters; 80 are possible"),
    "name on two lines": (zip_with_changed_card(name="a\nb"), "the name on its card contains"),
    "many tags": (zip_with_changed_card(tags=["a"] * 13), "13 tags; 12 are possible"),
    "many machines": (zip_with_changed_card(machines=["a"] * 33), "33 kinds of machine; 32 are possible"),
    "machine": (zip_with_changed_card(machines=["a\nb"]), "the kind of machine on its card contains control"),
    "long tag": (zip_with_changed_card(tags=["a" * 31]), "a tag of 31 characters"),
    "long note": (zip_with_changed_card(note="a" * 2_001), "a note of 2,001 characters; 2,000 are possible"),
    "note with a zero": (zip_with_changed_card(note="a\0b"), "the note on its card contains"),
    "long problem": (zip_with_changed_card(problem="a" * 2_001), "a problem of 2,001 characters"),
    "parameters": (zip_with_changed_card(parameters=7), "counts 7 parameters; its model has 954"),
    "metric missing": (
        zip_with_changed_json("card.json", lambda d: d["metrics"].pop("test_loss")),
        "the metrics on its card",
    ),
    "metric unknown": (
        zip_with_changed_json("card.json", lambda d: d["metrics"].update(evil=d["metrics"]["test_loss"])),
        "the metrics on its card",
    ),
    "metric of other seeds": (
        zip_with_changed_json("card.json", lambda d: d["metrics"]["test_loss"].update(values=[0.5])),
        "the metrics on its card",
    ),
    "wrong metric": (zip_with_metric_value(0.0), "the test_loss on its card differs from its events"),
    "metric is null": (zip_with_metric_value(None), "the test_loss on its card"),
    "metric is nan": (zip_with_metric_value(math.nan), "impossible numbers"),
    "wrong mean": (
        zip_with_changed_json("card.json", lambda d: d["metrics"]["test_loss"].update(mean=0.0)),
        "the test_loss on its card",
    ),
    "truncated events": (
        zip_with_parquet(lambda content: content[:-97]),
        "events.parquet cannot be read",
    ),
    "events are text": (zip_with_parquet(lambda _: b"step,replica\n"), "events.parquet cannot be read"),
    "no events at all": (zip_with_parquet(lambda _: b""), "events.parquet cannot be read"),
    "extra rows": (zip_with_changed_events(repeat_rows), "its events have 8 rows, more than"),
    "rows missing": (zip_with_changed_events(lambda table: table.slice(0, 4)), "do not reach step 2"),
    "half a step": (zip_with_changed_events(lambda table: table.slice(0, 5)), "one row for each step and seed"),
    "no rows": (zip_with_changed_events(lambda table: table.slice(0, 0)), "events.parquet cannot be read"),
    "column missing": (
        zip_with_changed_events(lambda table: table.drop_columns(["metric.test_loss"])),
        "the columns of its events",
    ),
    "column unknown": (
        zip_with_changed_events(lambda table: table.append_column("metric.evil", table["metric.test_loss"])),
        "the columns of its events",
    ),
    "column twice": (
        zip_with_changed_events(lambda table: table.append_column("metric.test_loss", table["metric.test_loss"])),
        "the columns of its events",
    ),
    "sentence missing": (
        zip_with_changed_events(lambda table: table.drop_columns(["sustain.5"])),
        "the columns of its events",
    ),
    "sentence too many": (
        zip_with_changed_events(lambda table: table.append_column("sustain.6", table["sustain.5"])),
        "the columns of its events",
    ),
    "sentences in another order": (
        zip_with_changed_events(swap_columns("sustain.0", "sustain.5")),
        "the columns of its events",
    ),
    "text for numbers": (
        zip_with_changed_events(lambda table: table.set_column(2, "loss", table["loss"].cast(pa.string()))),
        "the columns of its events",
    ),
    "null": (zip_with_changed_cell("step", 3, None), "one row for each step and seed"),
    "steps not in order": (zip_with_changed_events(lambda table: table.take([0, 1, 4, 5, 2, 3])), "not consecutive"),
    "steps from one on": (
        zip_with_changed_events(lambda table: table.set_column(0, "step", pa.array([1, 1, 2, 2, 3, 3], pa.int32()))),
        "not consecutive",
    ),
    "seeds not in order": (zip_with_changed_cell("replica", 1, 0), "not consecutive"),
    "infinite tokens": (
        zip_with_changed_events(
            lambda t: t.set_column(3, "tokens", pa.array([0.0, 0.0, math.inf, math.inf, math.inf, math.inf]))
        ),
        "the tokens of its events do not increase",
    ),
    "negative tokens": (
        zip_with_changed_events(lambda t: t.set_column(3, "tokens", pa.array([-1.0] * 6))),
        "the tokens of its events do not increase",
    ),
    "seconds of an event are nan": (zip_with_changed_cell("seconds", 4, math.nan), "the seconds of its events differ"),
    "seconds that shrink": (
        zip_with_changed_events(lambda t: t.set_column(4, "seconds", pa.array([0.0, 0.0, 2.0, 2.0, 1.0, 1.0]))),
        "the seconds of its events do not increase",
    ),
    "half evaluated": (zip_with_changed_cell("evaluated", 5, False), "the evaluated of its events differ"),
    "never evaluated": (
        zip_with_changed_events(lambda t: t.set_column(5, "evaluated", pa.array([False] * 6))),
        "its events contain no evaluation",
    ),
    "infinite loss": (zip_with_changed_cell("loss", 3, math.inf), "losses that are not finite"),
    "metric of an evaluation": (zip_with_changed_cell("metric.test_loss", 0, math.inf), "metrics that are not finite"),
    "probability above one": (zip_with_changed_cell("sustain.0", 0, 1.5), "contain impossible probabilities"),
    "probability is nan": (
        zip_with_changed_cell("sustain.0", 0, math.nan),
        "contain impossible probabilities",
    ),
    "curves are text": (zip_with_replaced_file("curves.safetensors", b"step"), "“curves.safetensors” is not a safeten"),
    "curves are cut": (
        zip_with_changed_files(lambda f: f.update({"curves.safetensors": f["curves.safetensors"][:-5]})),
        "“curves.safetensors” is not a safetensors file",
    ),
    "header of the curves too long": (
        zip_with_changed_files(
            lambda f: f.update({"curves.safetensors": struct.pack("<Q", 2**40) + f["curves.safetensors"][8:]})
        ),
        "“curves.safetensors” is not a safetensors file",
    ),
    "no losses": (zip_with_changed_curves(lambda t: t.pop("losses")), "curves.safetensors cannot be read"),
    "losses are one number": (
        zip_with_changed_curves(lambda t: t.update(losses=np.zeros((), np.float32))),
        "curves.safetensors cannot be read",
    ),
    "curve missing": (zip_with_changed_curves(lambda t: t.pop("metric.test_loss")), "metric.test_loss is missing"),
    "curve unknown": (zip_with_changed_curves(lambda t: t.update(evil=t["tokens"])), "evil is unknown"),
    "curve of another type": (
        zip_with_changed_curves(lambda t: t.update(losses=t["losses"].astype(np.float64))),
        r"losses is float64 \[2, 2\], not float32 \[2, 2\]",
    ),
    "curve of one seed": (
        zip_with_changed_curves(lambda t: t.update({"metric.test_loss": t["metric.test_loss"][:, :1].copy()})),
        r"metric.test_loss is float32 \[3, 1\]",
    ),
    "curve of a sentence missing": (
        zip_with_changed_curves(lambda t: t.update({"answer.sustain": t["answer.sustain"][:, :, 1:].copy()})),
        r"answer.sustain is float32 \[3, 2, 5\], not float32 \[3, 2, 6\]",
    ),
    "more steps": (zip_with_changed_curves(repeat_steps), "its events have 4 steps, more than"),
    "fewer steps": (zip_with_changed_curves(remove_last_step), "do not reach step 2"),
    "curves of infinite tokens": (zip_with_changed_curves(lambda t: t["tokens"].fill(math.inf)), "the tokens of its"),
    "curves of negative tokens": (zip_with_changed_curves(lambda t: t["tokens"].fill(-1)), "the tokens of its"),
    "curves of seconds that shrink": (
        zip_with_changed_curves(lambda t: t.update(seconds=np.array([0.0, 2.0, 1.0]))),
        "the seconds of its events do not increase",
    ),
    "evaluations not in order": (
        zip_with_changed_curves(lambda t: t.update(evaluated=t["evaluated"][::-1].copy())),
        "not at increasing steps",
    ),
    "evaluation before the start": (
        zip_with_changed_curves(lambda t: np.put(t["evaluated"], 0, -1)),
        "not at increasing steps",
    ),
    "evaluation after the end": (
        zip_with_changed_curves(lambda t: np.put(t["evaluated"], -1, 3)),
        "not at increasing steps",
    ),
    "no evaluation in the curves": (zip_with_changed_curves(remove_evaluations), "its events contain no evaluation"),
    "infinite loss in the curves": (
        zip_with_changed_curves(lambda t: t["losses"].fill(math.inf)),
        "losses that are not",
    ),
    "infinite metric in the curves": (
        zip_with_changed_curves(lambda t: np.put(t["metric.test_loss"], 0, math.inf)),
        "metrics that are not finite",
    ),
    "other metric in the curves": (
        zip_with_changed_curves(lambda t: np.put(t["metric.test_loss"], -1, 0)),
        "the test_loss on its card differs from its events",
    ),
    "impossible probability in the curves": (
        zip_with_changed_curves(lambda t: np.put(t["answer.sustain"], 0, 1.5)),
        "contain impossible probabilities",
    ),
    "pickle": (
        zip_with_replaced_file(END, pickle.dumps({"readout.weight": [1.0]})),
        f"“{END}” is not a safetensors file",
    ),
    "torch.save": (zip_with_changed_files(put_torch_file), f"“{END}” is not a safetensors file"),
    "no weights": (zip_with_replaced_file(END, b""), f"“{END}” is not a safetensors file"),
    "cut weights": (
        zip_with_changed_files(lambda f: f.update({END: f[END][:-5]})),
        f"“{END}” is not a safetensors file",
    ),
    "header that is too long": (
        zip_with_changed_files(lambda f: f.update({END: b"\xff" * 8 + f[END][8:]})),
        "is not a safetensors file",
    ),
    "unknown number format": (
        zip_with_changed_files(lambda f: f.update({END: f[END].replace(b'"F32"', b'"F99"', 1)})),
        "is not a safetensors file",
    ),
    "wrong shape": (
        zip_with_changed_weights(lambda t: t.update({"readout.weight": t["readout.weight"][:, :, :-1].copy()})),
        "readout.weight is float32",
    ),
    "no replica axis": (
        zip_with_changed_weights(lambda t: t.update({n: v[0].copy() for n, v in t.items()})),
        r"float32 \[.*\], not float32 \[2, ",
    ),
    "wrong type": (
        zip_with_changed_weights(lambda t: t.update({"readout.bias": t["readout.bias"].astype(np.float64)})),
        r"readout.bias is float64 \[2, 2\], not float32 \[2, 2\]",
    ),
    "missing weight": (zip_with_changed_weights(lambda t: t.pop("readout.bias")), "readout.bias is missing"),
    "extra weight": (zip_with_changed_weights(lambda t: t.update(evil=np.zeros(3))), "evil is unknown"),
    "nan weights": (zip_with_changed_weights(lambda t: t["readout.bias"].fill(math.nan)), "not finite"),
    "infinite weights": (zip_with_changed_weights(lambda t: t["readout.bias"].fill(math.inf)), "not finite"),
    "last weights missing": (
        zip_with_changed_files(lambda f: (f.pop(END), f.pop(END_OPTIMISER))),
        f"has no {END}, the weights of its last step",
    ),
    "weights of a later step": (
        zip_with_changed_files(lambda f: f.update({"snapshots/00000003.safetensors": f[END]})),
        "has weights of step 3; the run went from 0 to 2",
    ),
    "averages without weights": (
        zip_without("snapshots/00000001.safetensors"),
        "has optimiser/00000001.safetensors, but no weights",
    ),
    "short averages": (
        zip_with_changed_weights(lambda t: t.update(mean=t["mean"][:-1].copy()), END_OPTIMISER),
        "mean is float32",
    ),
    "one average": (zip_with_changed_weights(lambda t: t.pop("square"), END_OPTIMISER), "square is missing"),
    "third average": (zip_with_changed_weights(lambda t: t.update(cube=t["mean"]), END_OPTIMISER), "cube is unknown"),
    "averages of another type": (
        zip_with_changed_weights(lambda t: t.update(mean=t["mean"].astype(np.float16)), END_OPTIMISER),
        "mean is float16",
    ),
    "nan averages": (
        zip_with_changed_weights(lambda t: t["mean"].fill(math.nan), END_OPTIMISER),
        "not finite",
    ),
}


def remaining_files(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name != "home"]


@pytest.mark.parametrize("make, sentence", INVALID_ZIPS.values(), ids=INVALID_ZIPS)
def test_an_invalid_zip_is_rejected_with_one_sentence(make: Callable[[], bytes], sentence: str, tmp_path: Path) -> None:
    content = make()
    with pytest.raises(DamagedRun, match=sentence) as raised:
        read.unpack(content, tmp_path / "place", "me", limits.check)
    text = str(raised.value)
    assert text.startswith("Nothing was imported: ") and text.endswith(".")
    assert "\n" not in text and len(text) < 300
    assert not remaining_files(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda files: None,
        lambda files: files.pop("metrics.csv"),
        lambda files: files.pop("events.parquet"),
        lambda files: files.update({"events.parquet": b"ignored"}),
    ],
)
def test_a_rewritten_zip_is_accepted(change: Callable[[Files], object], tmp_path: Path) -> None:
    read.unpack(zip_with_changed_files(change)(), tmp_path / "place", "me", limits.check)
    assert remaining_files(tmp_path) == ["place"]


def assert_same_curves(actual: StoredRun, expected: StoredRun) -> None:
    for name in ("first", "losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(actual.curves, name), getattr(expected.curves, name))
    for part in ("metrics", "answers", "signals"):
        actual_values, expected_values = getattr(actual.curves, part), getattr(expected.curves, part)
        assert actual_values.keys() == expected_values.keys()
        for name, values in actual_values.items():
            np.testing.assert_array_equal(expected_values[name], values)


def test_an_archive_of_an_earlier_version_unpacks_to_the_same_run(run: StoredRun, tmp_path: Path) -> None:
    old = store.load(read.unpack(old_zip(), tmp_path / "old", "somebody", limits.check))
    assert_same_curves(old, run)
    assert write.pack(old) == valid_zip()


def test_an_archive_of_an_earlier_version_is_rejected_where_memory_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(DamagedRun, match="only a server on Linux can import"):
        read.unpack(old_zip(), tmp_path / "place", "me", limits.check)
    assert not remaining_files(tmp_path)
    read.unpack(valid_zip(), tmp_path / "place", "me", limits.check)


@pytest.mark.parametrize("model", ["rnn", "transformer", "bag_of_words"])
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("task_settings", [{}, {"p_not": 0.0}, {"held_out": "destroy", "max_nots": 2}], ids=str)
def test_packing_and_unpacking_returns_the_same_run(
    model: str, replicas: int, task_settings: dict[str, object], tmp_path: Path
) -> None:
    base = default_config("negation", model)
    config = with_settings(
        base, {"epochs": 2, "train_size": 40, "test_size": 10, "snapshots": 4, "replicas": replicas, **task_settings}
    )
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
        for one, other in (
            (before.weights(step), after.weights(step)),
            (before.checkpoint(step).optimiser, after.checkpoint(step).optimiser),
        ):
            assert one is not None and other is not None and one.keys() == other.keys()
            for name, value in one.items():
                np.testing.assert_array_equal(other[name], value)
    assert sorted(remaining_files(tmp_path)) == ["after", "before"]


def test_a_stopped_run_is_packed_up_to_the_step_on_its_card(run: StoredRun, tmp_path: Path) -> None:
    (run.folder / "card.json").write_text(
        (run.folder / "card.json").read_text().replace('"finished"', '"running"').replace('"step": 2', '"step": 1')
    )
    stopped = store.load(run.folder)
    values = {name: value[-1] for name, value in stopped.curves.metrics.items()}
    stopped = store.update_card(stopped, metrics=store.summarize_metrics(values))
    after = store.load(read.unpack(write.pack(stopped), tmp_path / "after", "me", limits.check))
    assert (after.card.state, after.card.step) == ("stopped", 1)
    assert after.snapshot_steps() == after.checkpoint_steps() == [0, 1]
    assert_same_curves(stopped, after)


def test_only_a_diverged_run_may_contain_nan_weights(tmp_path: Path) -> None:
    invalid_weights = zip_with_changed_weights(lambda t: t["readout.bias"].fill(math.nan))()
    files = read_files(invalid_weights)
    files["card.json"] = files["card.json"].replace(b'"finished"', b'"diverged"')
    after = store.load(read.unpack(make_zip(files), tmp_path / "after", "me", limits.check))
    assert np.isnan(after.weights()["readout.bias"]).all()


def test_a_run_without_optimizer_state_can_be_imported(tmp_path: Path) -> None:
    files = {name: value for name, value in read_files(valid_zip()).items() if not name.startswith("optimiser/")}
    after = store.load(read.unpack(make_zip(files), tmp_path / "after", "me", limits.check))
    assert after.checkpoint_steps() == [] and after.snapshot_steps() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["bytes", "path", "file"])
def test_a_zip_is_read_from_bytes_a_path_or_an_open_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(valid_zip())
    with (tmp_path / "run.zip").open("rb") as file:
        content = {"bytes": valid_zip(), "path": tmp_path / "run.zip", "file": file}[kind]
        assert store.load(read.unpack(content, tmp_path / "after", "me", limits.check)).config == CONFIG


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DamagedRun, match=r"Nothing was imported: run.zip cannot be read"):
        read.unpack(tmp_path / "run.zip", tmp_path / "after", "me", limits.check)


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "after").mkdir()
    with pytest.raises(FileExistsError):
        read.unpack(valid_zip(), tmp_path / "after", "me", limits.check)
    assert remaining_files(tmp_path) == ["after"]


def test_a_full_disk_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(StoreError, match=r"Nothing was imported: .*No space left on device"):
        read.unpack(valid_zip(), tmp_path / "after", "me", limits.check)
    assert not remaining_files(tmp_path)


@pytest.mark.parametrize("error", [DamagedRun("The run in after cannot be read."), KeyboardInterrupt()])
def test_a_failure_after_writing_leaves_no_files(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        assert (tmp_path / "after" / "card.json").is_file()
        raise error

    monkeypatch.setattr(read, "_check_written", fail)
    match = "Nothing was imported: The run in after" if isinstance(error, DamagedRun) else None
    with pytest.raises(type(error), match=match):
        read.unpack(valid_zip(), tmp_path / "after", "me", limits.check)
    assert not remaining_files(tmp_path)


def test_files_added_by_macos_and_an_enclosing_folder_are_ignored(tmp_path: Path) -> None:
    files = {"my run/": b"", "my run/snapshots/": b"", "__MACOSX/my run/._card.json": b"?", "my run/.DS_Store": b"?"}
    files |= {f"my run/{name}": content for name, content in read_files(valid_zip()).items()}
    after = store.load(read.unpack(make_zip(files), tmp_path / "after", "me", limits.check))
    assert after.config == CONFIG
    assert sorted(file.name for file in after.folder.iterdir()) == [
        "card.json",
        "config.json",
        "events.parquet",
        "optimiser",
        "snapshots",
    ]


def test_an_extracted_zip_is_a_run_folder(tmp_path: Path, run: StoredRun) -> None:
    with zipfile.ZipFile(io.BytesIO(valid_zip())) as archive:
        archive.extractall(tmp_path / "byhand")
    extracted = store.load(tmp_path / "byhand")
    assert_same_curves(run, extracted)
    assert extracted.card.owner == "" and not extracted.card.pinned


def test_packing_is_deterministic(run: StoredRun, tmp_path: Path) -> None:
    assert write.pack(run) == write.pack(run) == valid_zip()
    other = store.load(read.unpack(valid_zip(), tmp_path / "other", "somebody else", limits.check))
    assert write.pack(other) == valid_zip()


def test_a_run_with_missing_files_cannot_be_packed(run: StoredRun) -> None:
    (run.folder / "events.parquet").unlink()
    with pytest.raises(DamagedRun, match="cannot be exported"):
        write.pack(run)


# ---- limits of the server


def test_an_exceeded_limit_of_the_server_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = valid_zip()
    monkeypatch.setenv("LINEAGE_MOST_WIDTH", "4")
    with pytest.raises(DamagedRun, match=r"Nothing was imported: .*LINEAGE_MOST_WIDTH"):
        read.unpack(content, tmp_path / "place", "me", limits.check)
    assert not remaining_files(tmp_path)


@pytest.fixture(scope="module")
def zip_bomb() -> bytes:
    """Return a zip whose last weights unpack to 200 MB of zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in read_files(valid_zip()).items():
            if name != END:
                archive.writestr(name, content)
        with archive.open(END, "w") as file:
            for _ in range(200):
                file.write(bytes(1_000_000))
    return out.getvalue()


@pytest.mark.parametrize("wrong_headers", [False, True], ids=["honest", "lying"])
def test_a_zip_bomb_is_rejected_without_using_memory(
    zip_bomb: bytes, wrong_headers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "300000")
    content = zip_bomb
    if wrong_headers:  # all headers state a small size
        content = content.replace(struct.pack("<I", 200_000_000), struct.pack("<I", 1_000))
        assert content != zip_bomb
    tracemalloc.start()
    with pytest.raises(
        DamagedRun, match="is damaged" if wrong_headers else "more than 300,000 bytes .LINEAGE_MOST_UPLOAD"
    ):
        read.unpack(content, tmp_path / "place", "me", limits.check)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000
    assert not remaining_files(tmp_path)


def test_the_unpacked_size_is_measured_and_not_taken_from_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = valid_zip()
    monkeypatch.setenv("LINEAGE_MOST_UPLOAD", "20000")
    monkeypatch.setattr(zip_reader, "sum", lambda sizes: 0, raising=False)  # as if every header stated size zero
    with pytest.raises(DamagedRun, match="more than 20,000 bytes"):
        read.unpack(content, tmp_path / "place", "me", limits.check)


def huge_zip(**card: object) -> bytes:
    """Return a small zip whose configuration describes eight models of 100 MB each."""
    sizes = {"model.width": 512, "model.hidden": 2048, "model.layers": 8, "replicas": 8}
    config = with_settings(default_config("reverse", "transformer_encoder_decoder"), sizes)
    files = read_files(valid_zip())
    files["config.json"] = json.dumps(to_json(config)).encode()
    about = {"key": key(config), "step": config.steps, **card}
    files["card.json"] = json.dumps(json.loads(files["card.json"]) | about).encode()
    files[f"snapshots/{config.steps:08d}.safetensors"] = files.pop(END)
    return make_zip({name: content for name, content in files.items() if not name.startswith("optimiser/")})


def test_nothing_is_allocated_for_the_model_that_an_archive_describes(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such measure.")
    kilobyte = 1_024 if sys.platform == "darwin" else 1  # macOS counts bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedRun, match=r"counts 1 parameters; its model has \d\d,"):
        read.unpack(huge_zip(parameters=1), tmp_path / "place", "me", lambda config: config)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000 * kilobyte


def test_an_error_that_no_check_foresaw_is_one_sentence(tmp_path: Path) -> None:
    def check_limits(config: RunConfig) -> None:
        raise AssertionError("unforeseen")

    with pytest.raises(DamagedRun, match="its files cannot be read"):
        read.unpack(valid_zip(), tmp_path / "place", "me", check_limits)


@pytest.mark.parametrize("number", ["1e308", "NaN", "-1", "1" + "0" * 4000, "[" * 100_000, '"x"', "null", "{}"])
@pytest.mark.parametrize("field", ["parameters", "seconds", "step"])
def test_hostile_numbers_on_a_card_are_rejected_with_one_sentence(field: str, number: str, tmp_path: Path) -> None:
    def edit(files: Files) -> None:
        card = json.loads(files["card.json"])
        text = json.dumps(card | {field: "HERE"})
        files["card.json"] = text.replace('"HERE"', number).encode()

    with pytest.raises(DamagedRun) as raised:
        read.unpack(zip_with_changed_files(edit)(), tmp_path / "place", "me", limits.check)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("number", ["1e308", "NaN", "1" + "0" * 4000, "[" * 100_000, '"x"', "null", "{}", "1e3"])
@pytest.mark.parametrize("field", ["replicas", "batch_size", "seed", "epochs"])
def test_hostile_numbers_in_a_configuration_are_rejected_with_one_sentence(
    field: str, number: str, tmp_path: Path
) -> None:
    def edit(files: Files) -> None:
        config = json.loads(files["config.json"])
        files["config.json"] = json.dumps(config | {field: "HERE"}).replace('"HERE"', number).encode()

    with pytest.raises(DamagedRun) as raised:
        read.unpack(zip_with_changed_files(edit)(), tmp_path / "place", "me", limits.check)
    assert len(str(raised.value)) < 400


def zigzag_varint(number: int, width: int = 0) -> bytes:
    number, out = 2 * number, list[int]()
    while number > 127 or len(out) < width - 1:
        out.append(number % 128 | 128)
        number //= 128
    return bytes([*out, number])


@pytest.mark.slow
@pytest.mark.parametrize("footer", ["honest", "other rows", "other rows and sizes"])
def test_a_large_table_is_rejected_without_using_memory(
    footer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, rows = read_files(old_zip()), 6_000_017
    schema = pq.read_schema(io.BytesIO(files["events.parquet"]))
    zeros = pa.array(np.zeros(rows, np.int8))
    out = io.BytesIO()
    one_page = {"data_page_size": 2**30, "row_group_size": rows, "max_rows_per_page": rows, "use_dictionary": False}
    table = pa.table([zeros.cast(field.type) for field in schema], schema=schema)
    pq.write_table(table, out, compression="zstd", write_statistics=False, **one_page)
    content, metadata = out.getvalue(), pq.read_metadata(out)
    stated = {} if footer == "honest" else {rows: 6}
    if footer == "other rows and sizes":
        group = metadata.row_group(0)
        sizes = {group.total_byte_size, *(group.column(i).total_uncompressed_size for i in range(group.num_columns))}
        stated |= dict.fromkeys((size for size in sizes if size > 100_000), 100)
    start = len(content) - 8 - metadata.serialized_size
    end = content[start:]
    for true, wrong in stated.items():
        assert zigzag_varint(true) in end
        end = end.replace(zigzag_varint(true), zigzag_varint(wrong, len(zigzag_varint(true))))
    content = content[:start] + end
    assert len(content) < 200_000
    stated_group = pq.read_metadata(io.BytesIO(content)).row_group(0)
    assert stated_group.num_rows == stated.get(rows, rows)
    assert (stated_group.total_byte_size < 10_000) == (footer == "other rows and sizes")
    del zeros, table
    # It is refused for its size only: with enough memory it can be decoded.
    assert len(decode_parquet(content, 3_000_000_000)) == stated.get(rows, rows)
    limits_of_memory: list[int] = []

    def decode(content: bytes, memory: int) -> pa.Table:
        limits_of_memory.append(memory)
        return decode_parquet(content, memory)

    monkeypatch.setattr(read, "decode_parquet", decode)
    tracemalloc.start()
    pool_before = pa.total_allocated_bytes()
    with pytest.raises(DamagedRun, match="unpacks to more than 50,000,000 bytes"):
        read.unpack(make_zip(files | {"events.parquet": content}), tmp_path / "place", "me", limits.check)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert limits_of_memory[0] < 210_000_000
    assert peak < 5_000_000 and pa.total_allocated_bytes() == pool_before
    assert not remaining_files(tmp_path)


def test_a_huge_list_of_entries_is_rejected_without_using_memory(tmp_path: Path) -> None:
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


# ---- metrics.csv and MODEL_CARD.md


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
    rows = list(csv.DictReader(io.StringIO(write.metrics_csv(run))))
    assert {row["test_accuracy_negated"] for row in rows} == {""}


def test_the_model_card_shows_markup_of_visitors_as_text() -> None:
    model_card = read_files(valid_zip())["MODEL_CARD.md"].decode()
    tokens = MarkdownIt("commonmark").enable("table").parse(model_card)
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
        "Name, tags and notes",
        "What it was trained on",
        "Results",
        "Limits",
        "Train it again",
        "The model",
        "Versions",
    ]


def test_an_export_shows_characters_that_reorder_or_hide_text_and_an_import_removes_them(tmp_path: Path) -> None:
    text = "ab\u202e\u2066'$(id)`\\"
    config = with_settings(default_config("string", "rnn"), {"text": text, "iterations": 2})
    run = store.save_run(record_run(config), tmp_path / "run")
    run = store.update_card(
        run, name="a\u202eb\u200b", tags=("t\u2066",), machines=("m\u2066",), note="one\n\ttwo\u061c"
    )
    content = write.pack(run)
    files = read_files(content)
    for name in ("config.json", "card.json", "MODEL_CARD.md"):
        assert not [c for c in files[name].decode() if c != "\n" and unicodedata.category(c)[0] in "CZ" and c != " "]
    assert "\n    name: a\\u202eb\\u200b\n" in files["MODEL_CARD.md"].decode()
    command = write.train_command(config).split(" --set ")
    words = [
        subprocess.run(["bash", "-c", f"printf %s {each}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}).stdout
        for each in command
    ]
    assert f"task.text={text}".encode() in words
    imported = store.load(read.unpack(content, tmp_path / "again", "me", limits.check))
    assert imported.config == config
    assert (imported.card.name, imported.card.tags, imported.card.note) == ("ab", ("t",), "one\n\ttwo")
    assert imported.card.machines == ("m",)


def test_the_model_card_contains_configuration_sources_and_results(run: StoredRun) -> None:
    model_card = write.model_card(run)
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
        assert words in model_card


def test_an_included_run_is_exported_like_any_other(tmp_path: Path) -> None:
    included = store.find("recall-10-gru-usual")
    content = write.pack(included)
    files = read_files(content)
    assert {"metrics.csv", "events.parquet", f"snapshots/{included.curves.step:08d}.safetensors"} < files.keys()
    assert "`metrics.csv`" in files["MODEL_CARD.md"].decode()
    imported = store.load(read.unpack(content, tmp_path / "place", "me", limits.check))
    for name, value in included.weights().items():
        np.testing.assert_array_equal(imported.weights()[name], value)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"p_not": 0.5, "seed": 3, "replicas": 4, "learning_rate": 1e-5, "model.hidden": 7, "fresh_data": False},
        {"padding": "eos", "epochs": 3, "schedule": "cosine", "order": 2, "snapshots": 3},
    ],
    ids=str,
)
def test_the_command_in_the_model_card_gives_the_same_configuration(changes: dict[str, object]) -> None:
    config = with_settings(default_config("negation", "rnn"), changes)
    words = shlex.split(write.train_command(config))
    assert words[:4] == ["python", "-m", "explorer", "train"]
    options = list(zip(words[4::2], words[5::2], strict=True))
    options_by_name = dict(options)
    encoded_count = dict(value.split("=", 1) for name, value in options if name == "--set")
    encoded_count |= {
        name: options_by_name[f"--{name}"] for name in ("seed", "replicas") if f"--{name}" in options_by_name
    }
    assert with_settings(default_config(options_by_name["--task"], options_by_name["--model"]), encoded_count) == config


def test_the_model_card_of_a_branch_names_its_parent(run: StoredRun) -> None:
    branch: RunConfig = branch_from(CONFIG, 1, {"learning_rate": 0.01})
    model_card = write.model_card(dataclasses.replace(run, config=branch))
    assert f"step 1 of run `{key(CONFIG)}`" in model_card
    assert "explorer train" not in model_card


# ---- random changes


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_zip_with_random_changes_is_rejected_or_unpacks_to_the_same_run(data: st.DataObject) -> None:
    content = bytearray(valid_zip())
    headers = [match.start() for match in re.finditer(rb"PK[\1\3\5]", content)]
    offsets = st.integers(0, len(content) - 1) | st.builds(
        lambda header, distance: min(header + distance, len(content) - 1), st.sampled_from(headers), st.integers(0, 60)
    )
    for offset, value in data.draw(st.lists(st.tuples(offsets, st.integers(0, 255)), max_size=6)):
        content[offset] = value
    start, end = data.draw(st.tuples(st.just(0), st.just(len(content))) | st.tuples(offsets, offsets))
    with tempfile.TemporaryDirectory() as folder:
        offset = Path(folder) / "place"
        try:
            read.unpack(bytes(content[start:end]), offset, "me", limits.check)
        except DamagedRun:
            assert not list(Path(folder).iterdir())
        else:
            imported = store.load(offset)
            assert imported.key == key(CONFIG)
            for step, snapshot in record().snapshots.items():
                for name, value in snapshot.weights.items():
                    np.testing.assert_array_equal(imported.weights(step)[name], value)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(["config.json", "card.json", "curves.safetensors", "events.parquet", END, END_OPTIMISER]),
    edits=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
    keep=st.just(1.0) | st.floats(0, 1),
)
def test_random_changes_with_a_valid_checksum_raise_only_damaged_run(
    name: str, edits: list[tuple[float, int]], keep: float
) -> None:
    files = read_files(old_zip() if name == "events.parquet" else valid_zip())
    content = bytearray(files[name])
    for offset, value in edits:
        content[int(offset * len(content))] = value
    files[name] = bytes(content[: round(keep * len(content))])
    with tempfile.TemporaryDirectory() as folder:
        offset = Path(folder) / "place"
        try:
            read.unpack(make_zip(files), offset, "me", limits.check)
        except DamagedRun as error:
            assert str(error).startswith("Nothing was imported: ")
            assert not list(Path(folder).iterdir())
        else:
            assert store.load(offset).config == CONFIG


def test_importing_a_stored_run_is_rejected(home: Path) -> None:
    content = valid_zip()
    imported = read.import_zip(content, "ada", limits.check)
    assert (imported.folder, imported.card.owner, imported.card.imported) == (home / "runs" / imported.key, "ada", True)
    with pytest.raises(StoreError, match="is already stored"):
        read.import_zip(content, "eve", limits.check)
    included = write.pack(store.find("negation-single-bag_of_words"))
    with pytest.raises(StoreError, match="is already stored"):
        read.import_zip(included, "eve", limits.check)
    assert sorted(path.name for path in home.iterdir() if path.name.startswith(".importing")) == []


def test_an_imported_run_is_found_by_configuration_only_for_its_importer(home: Path) -> None:
    imported = read.import_zip(valid_zip(), "ada", limits.check)
    assert store.find_by_config(imported.config, visitor="ada") is not None
    assert store.find_by_config(imported.config, visitor="eve") is None
    assert store.find(imported.key).key == imported.key  # everyone can open it by its key
