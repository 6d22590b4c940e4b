"""A language model in a zip: taken in whole, or refused in one sentence."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from explorer.catalogue import models_of
from explorer.errors import DamagedRun
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive import read, write
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.training.recorder import record_run
from tests.training.objectives.test_text import recorded, short

Files = dict[str, bytes]


def packed(run: StoredRun, change: Callable[[Files], object] = lambda files: None) -> bytes:
    with zipfile.ZipFile(io.BytesIO(write.pack(run))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("model", models_of("text"))
@pytest.mark.parametrize("tokenizer", ["char", "bpe"])
def test_a_language_model_comes_back_as_it_was_packed(model: str, tokenizer: str, tmp_path: Path) -> None:
    config = short(model, tokenizer=tokenizer, vocabulary=40)
    run = store.save_run(recorded(config), tmp_path / "run")
    again = store.load(read.unpack(packed(run), tmp_path / "again", "me", limits.check))
    assert (again.config, again.tokenizer) == (run.config, run.tokenizer)
    assert again.curves.samples == run.curves.samples
    for name, values in run.weights().items():
        np.testing.assert_array_equal(again.weights()[name], values)
    for name, values in run.curves.signals.items():
        np.testing.assert_array_equal(again.curves.signals[name], values)


def test_a_run_that_ended_early_comes_back(tmp_path: Path) -> None:
    run = store.save_run(recorded(short("gru", stop_at=2.5, iterations=400, learning_rate=0.05)), tmp_path / "run")
    assert run.card.finished and run.card.step < 400
    assert store.load(read.unpack(packed(run), tmp_path / "again", "me", limits.check)).card.step == run.card.step


GOES_ON: list[tuple[str, dict[str, object]]] = [
    ("lstm", {"batches": "contiguous"}),
    ("gru", {"batches": "contiguous", "replicas": 2, "layers": 2}),
    ("transformer", {"batches": "contiguous"}),
    ("rnn", {"patience": 3}),
    ("rnn", {"patience": 3, "stop_at": 2.5, "batches": "contiguous"}),
]


@pytest.mark.parametrize(("model", "changes"), GOES_ON)
def test_a_run_comes_back_with_all_it_needs_to_go_on(model: str, changes: dict[str, object], tmp_path: Path) -> None:
    run = store.save_run(recorded(short(model, **changes)), tmp_path / "run")
    again = store.load(read.unpack(packed(run), tmp_path / "again", "me", limits.check))
    assert again.checkpoint_steps() == run.checkpoint_steps()
    for step in run.checkpoint_steps():
        there, here = run.checkpoint(step).optimiser or {}, again.checkpoint(step).optimiser or {}
        assert here.keys() == there.keys()
        assert all(np.array_equal(here[name], there[name]) for name in there)
    kept = {name for step in run.checkpoint_steps() for name in run.checkpoint(step).optimiser or {}}
    assert ("carried.0" in kept) == ("batches" in changes and model != "transformer")
    assert ("ending" in kept) == ("patience" in changes)


def half_of_a_state(files: Files) -> None:
    state = load(files["optimiser/00000005.safetensors"])
    del state["carried.1"]
    files["optimiser/00000005.safetensors"] = save(state)


def counted_once_more(files: Files) -> None:
    tables = load(files["snapshots/00000001.safetensors"])
    tables["counts"] = tables["counts"] + 1
    files["snapshots/00000001.safetensors"] = save(tables)


def other_characters(files: Files) -> None:
    said = json.loads(files["tokenizer.json"])
    files["tokenizer.json"] = json.dumps({**said, "characters": said["characters"] + "~"}).encode()


WRONG: dict[str, tuple[str, Callable[[Files], object], str]] = {
    "no tokenizer": ("gru", lambda files: files.pop("tokenizer.json"), "has no tokenizer.json"),
    "tokenizer of noise": ("gru", lambda files: files.update({"tokenizer.json": b"\xff{"}), "tokenizer.json cannot"),
    "one token more": ("gru", other_characters, "its card counts"),
    "other counts": ("ngram", counted_once_more, "does not contain the counts of its text"),
    "counts of other tokens": ("ngram", other_characters, "not the tokenizer of its text"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    model, change, said = WRONG[case]
    run = store.save_run(recorded(short(model)), tmp_path / "run")
    with pytest.raises(DamagedRun, match=said) as raised:
        read.unpack(packed(run, change), tmp_path / "again", "me", limits.check)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "again").exists()


def test_an_n_gram_of_a_text_that_is_not_here_is_refused(tmp_path: Path) -> None:
    own = {"corpus": "own", "text": corpora.store_text("to be or not to be " * 40)}
    config = short("ngram", **{**own, "size": 100_000})
    content = packed(store.save_run(record_run(config), tmp_path / "run"))
    corpora.drop_text(own["text"])
    from explorer.tasks.text.rows import drop_text_data

    drop_text_data(own["text"])
    with pytest.raises(DamagedRun, match="only on a machine that has its text"):
        read.unpack(content, tmp_path / "again", "me", limits.check)


def test_half_of_a_carried_state_is_refused(tmp_path: Path) -> None:
    run = store.save_run(recorded(short("lstm", batches="contiguous")), tmp_path / "run")
    with pytest.raises(DamagedRun, match=r"carried\.1 is missing"):
        read.unpack(packed(run, half_of_a_state), tmp_path / "again", "me", limits.check)
