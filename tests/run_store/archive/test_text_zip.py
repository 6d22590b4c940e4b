"""Language models in a zip are imported completely, or rejected with one sentence."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from explorer.errors import DamagedRun
from explorer.inspection.load_model import load_model
from explorer.jobs import limits
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.run_store import store
from explorer.run_store.archive import read, write
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.rows import drop_text_data
from explorer.training.config import RunConfig
from explorer.training.recorder import record_run
from tests.training.objectives.test_text import recorded, short

Files = dict[str, bytes]


def pack_zip(run: StoredRun, change: Callable[[Files], object] = lambda files: None) -> bytes:
    with zipfile.ZipFile(io.BytesIO(write.pack(run))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("model", "tokenizer"), [("ngram", "bpe"), ("feedforward", "char"), ("lstm", "bpe"), ("transformer", "char")]
)
def test_packing_and_unpacking_returns_the_same_language_model(model: str, tokenizer: str, tmp_path: Path) -> None:
    config = short(model, tokenizer=tokenizer, vocabulary=40)
    run = store.save_run(recorded(config), tmp_path / "run")
    imported = store.load(read.unpack(pack_zip(run), tmp_path / "again", "me", limits.check))
    assert (imported.config, imported.tokenizer) == (run.config, run.tokenizer)
    assert imported.curves.samples == run.curves.samples
    for name, values in run.weights().items():
        np.testing.assert_array_equal(imported.weights()[name], values)
    for name, values in run.curves.signals.items():
        np.testing.assert_array_equal(imported.curves.signals[name], values)


def test_an_imported_ngram_has_its_smoothing_and_its_cache(tmp_path: Path) -> None:
    settings = {"n": 8, "smoothing": "stupid_backoff", "cache": 0.9}
    run = store.save_run(recorded(short("ngram", **settings)), tmp_path / "run")
    imported = store.load(read.unpack(pack_zip(run), tmp_path / "again", "me", limits.check))
    assert (imported.config, imported.card.key) == (run.config, run.card.key)
    assert imported.config.model == NgramTextConfig(**settings)  # type: ignore[arg-type]
    first, second = (load_model(each).single_replica(0) for each in (run, imported))
    assert isinstance(first, Ngram) and isinstance(second, Ngram)
    ids = torch.randint(first.vocabulary, (2, 20), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(second(ids), first(ids), rtol=0, atol=0)
    plain = replace(run.config, model=NgramTextConfig(second.order))
    assert not torch.equal(second(ids), load_model(recorded(plain)).single_replica(0)(ids)), (
        "the settings have an effect"
    )


def test_a_run_with_early_stopping_can_be_imported(tmp_path: Path) -> None:
    run = store.save_run(recorded(short("gru", stop_at=2.5, iterations=400, learning_rate=0.05)), tmp_path / "run")
    assert run.card.finished and run.card.step < 400
    assert store.load(read.unpack(pack_zip(run), tmp_path / "again", "me", limits.check)).card.step == run.card.step


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("gru", {"batches": "contiguous", "replicas": 2, "layers": 2}),
        ("transformer", {"batches": "contiguous"}),
        ("rnn", {"patience": 3, "stop_at": 2.5, "batches": "contiguous"}),
    ],
)
def test_an_imported_run_has_everything_needed_to_resume(
    model: str, changes: dict[str, object], tmp_path: Path
) -> None:
    run = store.save_run(recorded(short(model, **changes)), tmp_path / "run")
    imported = store.load(read.unpack(pack_zip(run), tmp_path / "again", "me", limits.check))
    assert imported.checkpoint_steps() == run.checkpoint_steps()
    for step in run.checkpoint_steps():
        expected_state, imported_state = run.checkpoint(step).optimiser or {}, imported.checkpoint(step).optimiser or {}
        assert imported_state.keys() == expected_state.keys()
        assert all(np.array_equal(imported_state[name], expected_state[name]) for name in expected_state)
    names_in_checkpoints = {name for step in run.checkpoint_steps() for name in run.checkpoint(step).optimiser or {}}
    assert ("carried.0" in names_in_checkpoints) == ("batches" in changes and model != "transformer")
    assert ("ending" in names_in_checkpoints) == ("patience" in changes)


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


NO_CURVES = r"its curves\.safetensors cannot be read"
INVALID: dict[str, tuple[RunConfig, Callable[[Files], object], str]] = {
    "no tokenizer": (short("gru"), lambda files: files.pop("tokenizer.json"), "has no tokenizer.json"),
    "tokenizer of noise": (
        short("gru"),
        lambda files: files.update({"tokenizer.json": b"\xff{"}),
        "tokenizer.json cannot",
    ),
    "one token more": (short("gru"), add_character, "its card counts"),
    "other counts": (short("ngram"), increase_counts, "does not contain the counts of its text"),
    "counts of other tokens": (short("ngram"), add_character, "not the tokenizer of its text"),
    "half of a state": (short("lstm", batches="contiguous"), remove_half_of_the_state, r"carried\.1 is missing"),
    "a text before its bytes": (short("gru", sample=20), end_texts_outside(-1), NO_CURVES),
    "a text after its bytes": (short("gru", sample=20), end_texts_outside(10**9), NO_CURVES),
    "too long n-grams": (short("ngram"), edit_model(n=9), "n = 9"),
    "unknown smoothing": (short("ngram"), edit_model(smoothing="witten_bell"), "smoothing"),
    "too much cache": (short("ngram"), edit_model(cache=0.95), "cache = 0.95"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_inconsistent_zip_is_rejected_with_one_sentence(case: str, tmp_path: Path) -> None:
    config, change, message = INVALID[case]
    run = store.save_run(recorded(config), tmp_path / "run")
    with pytest.raises(DamagedRun, match=message) as raised:
        read.unpack(pack_zip(run, change), tmp_path / "again", "me", limits.check)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "again").exists()


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
    run = store.save_run(recorded(short("gru", replicas=2, sample=20)), tmp_path / "run")
    (other,) = {"curves.safetensors", "events.parquet"} - {file}
    content = pack_zip(run, lambda files: files.pop(other))
    imported = store.load(read.unpack(content, tmp_path / "again", "me", limits.check))
    assert imported.curves.samples == run.curves.samples and any(run.curves.samples[-1])
