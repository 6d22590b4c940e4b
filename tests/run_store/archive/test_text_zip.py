"""Language models in a zip are imported completely, or rejected with one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save
from syrupy.assertion import SnapshotAssertion

from explorer.errors import DamagedRun
from explorer.jobs import limits
from explorer.labs.runs.descriptions import find_score
from explorer.run_store import index, store
from explorer.run_store.archive import read, write
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.rows import drop_text_data
from explorer.training.config import RunConfig
from explorer.training.recorder import record_run
from tests.run_store.archive.test_read import Files, make_zip, read_files
from tests.run_store.small_runs import bytes_of
from tests.training.objectives.test_text import recorded, short


def pack_zip(run: StoredRun, change: Callable[[Files], object] = lambda files: None) -> bytes:
    files = read_files(write.pack(run))
    change(files)
    return make_zip(files)


def pack_and_unpack(config: RunConfig, folder: Path, *change: Callable[[Files], object]) -> tuple[StoredRun, StoredRun]:
    """Return a run of this configuration, and the one that is imported from its zip."""
    run = store.save_run(recorded(config), folder / "run")
    return run, store.load(read.unpack(pack_zip(run, *change), folder / "again", "me", limits.check))


@pytest.mark.parametrize(
    ("model", "tokenizer"), [("ngram", "bpe"), ("feedforward", "char"), ("lstm", "bpe"), ("transformer", "char")]
)
def test_packing_and_unpacking_returns_the_same_language_model(model: str, tokenizer: str, tmp_path: Path) -> None:
    config = short(model, tokenizer=tokenizer, vocabulary=40)
    run, imported = pack_and_unpack(config, tmp_path)
    assert (imported.config, imported.tokenizer) == (run.config, run.tokenizer)
    assert imported.curves.samples == run.curves.samples
    assert bytes_of(imported.weights()) == bytes_of(run.weights())
    assert bytes_of(imported.curves.signals) == bytes_of(run.curves.signals)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("gru", {"batches": "contiguous", "replicas": 2, "layers": 2}),
        ("transformer", {"batches": "contiguous"}),
        ("rnn", {"patience": 3, "stop_at": 2.5, "batches": "contiguous"}),
        ("gru", {"stop_at": 2.5, "iterations": 100, "learning_rate": 0.05}),  # which ends before its last step
    ],
)
def test_an_imported_run_has_everything_needed_to_resume(
    model: str, changes: dict[str, object], tmp_path: Path
) -> None:
    run, imported = pack_and_unpack(short(model, **changes), tmp_path)
    assert imported.checkpoint_steps() == run.checkpoint_steps() and imported.card.step == run.card.step
    for step in run.checkpoint_steps():
        assert bytes_of(imported.checkpoint(step).optimiser) == bytes_of(run.checkpoint(step).optimiser)
    names_in_checkpoints = {name for step in run.checkpoint_steps() for name in run.checkpoint(step).optimiser or {}}
    assert ("carried.0" in names_in_checkpoints) == ("batches" in changes and model != "transformer")
    assert ("ending" in names_in_checkpoints) == ("patience" in changes)


def test_a_run_of_an_earlier_version_has_no_bits_per_byte_and_is_imported_and_listed(tmp_path: Path) -> None:
    record = recorded(short("rnn"))
    metrics = {name: values for name, values in record.curves.metrics.items() if name != "bits_per_byte"}
    earlier = replace(record, curves=replace(record.curves, metrics=metrics), baselines={})
    run = store.save_run(earlier, tmp_path / "run")
    imported = store.load(read.unpack(pack_zip(run), tmp_path / run.key, "me", limits.check))
    assert imported.curves.metrics.keys() == metrics.keys()
    assert bytes_of(imported.curves.metrics) == bytes_of(run.curves.metrics)
    assert imported.card.baselines == {} and "baseline" not in (tmp_path / "run" / "card.json").read_text("utf-8")
    assert find_score(index._read_entry(imported.folder, 0)).text.endswith(" nats a character")


def remove_half_of_the_state(files: Files) -> None:
    state = load(files["optimiser/00000005.safetensors"])
    del state["carried.1"]
    files["optimiser/00000005.safetensors"] = save(state)


def increase_counts(files: Files) -> None:
    tables = load(files["snapshots/00000001.safetensors"])
    tables["counts"] = tables["counts"] + 1
    files["snapshots/00000001.safetensors"] = save(tables)


def add_character(files: Files) -> None:
    tokenizer = json.loads(files["tokenizer.json"])
    files["tokenizer.json"] = json.dumps({**tokenizer, "characters": tokenizer["characters"] + "~"}).encode()


def end_texts_outside(end: int) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        tensors = load(files["curves.safetensors"])
        np.put(tensors["sample_end"], 0, end)
        files["curves.safetensors"] = save(tensors)

    return change


def edit_model(**values: object) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        config = json.loads(files["config.json"])
        config["model"] |= values
        files["config.json"] = json.dumps(config).encode()

    return change


INVALID: dict[str, tuple[RunConfig, Callable[[Files], object]]] = {
    "no tokenizer": (short("gru"), lambda files: files.pop("tokenizer.json")),
    "tokenizer of noise": (short("gru"), lambda files: files.update({"tokenizer.json": b"\xff{"})),
    "one token more": (short("gru"), add_character),
    "other counts": (short("ngram"), increase_counts),
    "counts of other tokens": (short("ngram"), add_character),
    "half of a state": (short("lstm", batches="contiguous"), remove_half_of_the_state),
    "a text before its bytes": (short("gru", sample=20), end_texts_outside(-1)),
    "a text after its bytes": (short("gru", sample=20), end_texts_outside(10**9)),
    "too long n-grams": (short("ngram"), edit_model(n=9)),
    "unknown smoothing": (short("ngram"), edit_model(smoothing="witten_bell")),
    "too much cache": (short("ngram"), edit_model(cache=0.95)),
}


def test_an_inconsistent_zip_is_rejected_with_one_sentence(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    sentences = {}
    for name, (config, change) in INVALID.items():
        run = store.save_run(recorded(config), tmp_path / name / "run")
        with pytest.raises(DamagedRun) as raised:
            read.unpack(pack_zip(run, change), tmp_path / "again", "me", limits.check)
        sentences[name] = str(raised.value)
        assert not (tmp_path / "again").exists()
    assert sentences == snapshot


def test_an_ngram_without_its_text_is_rejected(tmp_path: Path) -> None:
    text_settings = {"corpus": "own", "text": corpora.store_text("to be or not to be " * 40)}
    config = short("ngram", **{**text_settings, "size": 100_000})
    content = pack_zip(store.save_run(record_run(config), tmp_path / "run"))
    corpora.drop_text(text_settings["text"])
    drop_text_data(text_settings["text"])
    with pytest.raises(DamagedRun, match="only on a machine that has its text"):
        read.unpack(content, tmp_path / "again", "me", limits.check)


@pytest.mark.parametrize("file", ["curves.safetensors", "events.parquet"])  # without the first: an earlier version
def test_generated_texts_are_read_from_either_file(file: str, tmp_path: Path) -> None:
    (other,) = {"curves.safetensors", "events.parquet"} - {file}
    run, imported = pack_and_unpack(short("gru", replicas=2, sample=20), tmp_path, lambda files: files.pop(other))
    assert imported.curves.samples == run.curves.samples and any(run.curves.samples[-1])
