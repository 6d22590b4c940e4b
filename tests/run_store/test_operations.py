from __future__ import annotations

import dataclasses
import errno
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, LineageError, NotAllowed, StoreError, UnknownRun
from explorer.run_store import database as db
from explorer.run_store import index, operations, store
from explorer.run_store.index import Query, search
from explorer.run_store.store import StoredRun
from explorer.training.config import default_config, key, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run

TINY = {"epochs": 1, "train_size": 20, "test_size": 10, "replicas": 2}


@cache
def record() -> Record:
    return record_run(with_settings(default_config("negation", "bag_of_words"), TINY))


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoredRun]:
    """One run ships with the program."""
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    store.reset(shipped=True)
    yield store.save_run(of_seed(99), tmp_path / "pretrained" / "shipped-one")
    store.reset(shipped=True)


def of_seed(seed: int) -> Record:
    return dataclasses.replace(record(), config=with_settings(record().config, {"seed": seed}))


def written(seed: int = 0, owner: str = "ada") -> Path:
    """A training that is over, as the job service leaves it."""
    folder = environment().jobs / key(of_seed(seed).config)
    store.write_run(of_seed(seed), folder, owner)
    return folder


def kept(seed: int = 0, owner: str = "ada", **card: Any) -> StoredRun:
    """A kept run; those with a higher seed are younger."""
    folder = written(seed, owner)
    data = json.loads((folder / "card.json").read_text()) | {"created": f"2026-03-{seed + 1:02}T12:00:00+00:00"} | card
    (folder / "card.json").write_text(json.dumps(data))
    return operations.add_run(folder)


def listed() -> list[str]:
    return sorted(entry.key for entry in search(Query(shipped=False)))


def on_disk() -> list[str]:
    return sorted(folder.name for folder in environment().runs.iterdir())


def in_trash() -> list[str]:
    return sorted(folder.name for folder in environment().trash.glob("*"))


def test_keep_moves_and_enters(database: str) -> None:
    folder = written()
    run = operations.add_run(folder)
    assert run.folder == environment().runs / run.key
    assert not folder.exists()
    assert listed() == on_disk() == [run.key]
    assert search(Query(owner="ada"))[0].key == run.key


def test_keep_again_replaces_the_run_and_not_what_was_said_of_it(database: str) -> None:
    run = kept(0, "ada")
    operations.edit_card(run.key, "ada", False, name="Mine", pinned=True)
    again = operations.add_run(written(0, "bob"))
    assert again.card.created != run.card.created
    (entry,) = search(Query(shipped=False))
    assert (entry.name, entry.pinned, entry.owner) == ("Mine", True, "ada")
    assert (entry.created.isoformat(timespec="milliseconds")) == again.card.created


def test_keep_refuses_what_is_no_run(database: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownRun):
        operations.add_run(tmp_path / "nothing")
    folder = written()
    (folder / "events.parquet").unlink()
    with pytest.raises(DamagedRun):
        operations.add_run(folder)
    assert folder.exists()
    assert not environment().runs.exists()


def test_a_full_disk_is_said_and_loses_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = written()
    with monkeypatch.context() as broken, pytest.raises(StoreError, match="could not be kept: No space left on device"):
        broken.setattr(store, "install_run", full)
        operations.add_run(folder)
    assert folder.exists()
    run = operations.add_run(folder)
    with monkeypatch.context() as broken, pytest.raises(StoreError, match="could not be written: No space left"):
        broken.setattr(store, "write_file", full)
        operations.edit_card(run.key, "ada", False, name="x")
    with monkeypatch.context() as broken, pytest.raises(StoreError, match="could be deleted: No space left"):
        broken.setattr(Path, "rename", full)
        operations.delete_runs([run.key], "ada", False)
    assert on_disk() == listed() == [run.key]


# ---- Room ----


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda most: monkeypatch.setenv("LINEAGE_MOST_DISK", str(most))


def test_there_is_room(database: str, limit: Callable[[int], None]) -> None:
    size = store.folder_size(kept().folder)
    limit(2 * size)
    assert operations.free_disk_space(size) == []
    assert len(on_disk()) == 1


def test_room_is_made_of_the_oldest_runs_of_visitors(database: str, limit: Callable[[int], None]) -> None:
    runs = [
        kept(3, "ada"),
        kept(1, "bob"),
        kept(0, ""),  # the operator's
        kept(2, "bob", pinned=True),
        kept(4, "ada"),
    ]
    sizes = [store.folder_size(run.folder) for run in runs]
    limit(sum(sizes))
    assert operations.free_disk_space(1) == [runs[1].key]
    assert listed() == on_disk() == sorted(run.key for run in runs if run is not runs[1])
    limit(sum(sizes) - sizes[1])
    assert operations.free_disk_space(sizes[0] + 1) == [runs[0].key, runs[4].key]
    assert in_trash() == []
    with pytest.raises(StoreError, match=r"no space for .* \(LINEAGE_MOST_DISK\). Delete runs, or unpin some"):
        operations.free_disk_space(sum(sizes))
    assert listed() == on_disk() == sorted([runs[2].key, runs[3].key])


def test_nothing_is_deleted_if_it_cannot_be_enough(database: str, limit: Callable[[int], None]) -> None:
    runs = [kept(0), kept(1), kept(2, "")]
    limit(sum(store.folder_size(run.folder) for run in runs))
    with pytest.raises(StoreError, match="LINEAGE_MOST_DISK"):
        operations.free_disk_space(10**9)
    assert len(on_disk()) == 3
    folder = written(3)
    limit(1)
    with pytest.raises(StoreError, match="LINEAGE_MOST_DISK"):
        operations.add_run(folder)
    assert folder.exists()
    assert len(on_disk()) == 3


def test_a_run_that_is_replaced_gives_its_room_back(database: str, limit: Callable[[int], None]) -> None:
    old, young = kept(0), kept(1)
    operations.edit_card(old.key, "ada", False, name="the oldest")
    limit(store.folder_size(old.folder) + store.folder_size(young.folder) + 200)
    assert operations.add_run(written(0)).card.name == "the oldest"
    assert on_disk() == sorted([old.key, young.key])


def test_runs_deleted_by_hand_take_no_room(database: str, limit: Callable[[int], None]) -> None:
    run, other = kept(0), kept(1)
    limit(store.folder_size(run.folder) * 2 + 100)
    store.remove_folder(run.folder)
    assert operations.free_disk_space(store.folder_size(other.folder)) == []


# ---- What is said of a run ----


def test_change_says_something_and_leaves_the_rest(database: str) -> None:
    run = kept()
    operations.edit_card(
        run.key, "ada", False, name="  A\tgood\r\nrun\x1b[31m\0 ", tags=["b", " B", "", "a  c\n", "\0"]
    )
    operations.edit_card(run.key, "ada", False, note=" two\r\nlines\x07 ")
    card = operations.edit_card(run.key, "ada", False, pinned=True).card
    assert (card.name, card.tags, card.note, card.pinned) == ("A good run[31m", ("b", "a c"), "two\nlines", True)
    (entry,) = search(Query(text="good run"))
    assert (entry.name, entry.tags, entry.note, entry.pinned) == ("A good run[31m", ("a c", "b"), "two\nlines", True)
    assert operations.edit_card(run.key, "ada", False).card == card
    card = operations.edit_card(run.key, "", True, name="", tags=(), note="", pinned=False).card
    assert (card.name, card.tags, card.note, card.pinned) == ("", (), "", False)
    assert index.all_tags() == []


@pytest.mark.parametrize("text", ["100%", "_", "it's", "\\", "'; DROP TABLE runs; --", "<script>", "ÉTÉ 🎉", "\ud800x"])
def test_text_of_every_kind_is_kept(text: str, database: str) -> None:
    run = kept()
    operations.edit_card(run.key, "ada", False, name=text, tags=[text], note=text)
    shown = text.replace("\ud800", "")
    (entry,) = search(Query(text=shown, tags=(shown,)))
    assert (entry.name, entry.tags, entry.note) == (shown, (shown,), shown)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": "x" * 81}, "has 81 characters. Give at most 80"),
        ({"note": "x" * 2001}, "has 2,001 characters. Give at most 2,000"),
        ({"tags": ["x" * 31]}, "has 31 characters. Give at most 30"),
        ({"tags": ["a,b"]}, "contains a comma"),
        ({"tags": [str(i) for i in range(13)]}, "These are 13 tags. Give at most 12"),
    ],
    ids=str,
)
def test_what_is_too_much_is_said(words: dict[str, Any], said: str, home: Path) -> None:
    store.save_run(of_seed(0), environment().runs / key(of_seed(0).config), "ada")
    with pytest.raises(InvalidSetting, match=said) as raised:
        operations.edit_card(key(of_seed(0).config), "ada", False, pinned=True, **words)
    assert len(str(raised.value)) < 200
    assert not store.load(environment().runs / key(of_seed(0).config)).card.pinned


def test_the_most_is_allowed(database: str) -> None:
    tags = [f"{i:030}" for i in range(12)]
    card = operations.edit_card(kept().key, "ada", False, name="x" * 80, note="y" * 2000, tags=tags).card
    assert (card.name, card.note, card.tags) == ("x" * 80, "y" * 2000, tuple(tags))


# ---- Who may ----

ASKED: dict[str, Callable[[str, str, bool], object]] = {
    "change": lambda key, visitor, operator: operations.edit_card(key, visitor, operator, name="x"),
    "pin": lambda key, visitor, operator: operations.edit_card(key, visitor, operator, pinned=True),
    "nothing": lambda key, visitor, operator: operations.edit_card(key, visitor, operator),
    "delete": lambda key, visitor, operator: operations.delete_runs([key], visitor, operator),
}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("owner", ["ada", ""])
def test_only_the_owner_and_the_operator_may(what: str, owner: str, database: str, program: StoredRun) -> None:
    run = kept(0, owner)
    for visitor in ("bob", "", "Ada"):
        assert not operations.may_change(run, visitor, False)
        with pytest.raises(NotAllowed, match="belongs to another visitor"):
            ASKED[what](run.key, visitor, False)
    for name in (program.key, "shipped-one"):
        with pytest.raises(NotAllowed, match="is included with the program"):
            ASKED[what](name, "", True)
    for name in ("a" * 12, "..", "", "../runs", "x\0", run.key.upper(), "nonsense" * 99):
        with pytest.raises(UnknownRun) as raised:
            ASKED[what](name, "ada", True)
        assert len(str(raised.value)) < 200
    assert store.load(run.folder).card == run.card
    ASKED[what](run.key, owner, owner == "")


def test_may_change(database: str, program: StoredRun) -> None:
    run = kept(0, "ada")
    entries = {entry.shipped: entry for entry in search()}
    for mine in (run, entries[False]):
        assert operations.may_change(mine, "ada", False)
        assert operations.may_change(mine, "bob", True)
        assert not operations.may_change(mine, "bob", False)
    for shipped in (program, entries[True]):
        assert not operations.may_change(shipped, "", True)


# ---- Delete and undo ----


def test_delete_undelete_purge(database: str) -> None:
    a, b = kept(0), kept(1)
    operations.delete_runs([a.key, b.key, a.key], "ada", False)
    assert listed() == on_disk() == []
    assert in_trash() == sorted([a.key, b.key])
    with pytest.raises(UnknownRun):
        store.find(a.key)
    with pytest.raises(NotAllowed):
        operations.restore_runs([a.key], "bob", False)
    operations.restore_runs([a.key], "ada", False)
    assert listed() == on_disk() == [a.key]
    assert store.find(a.key).card == a.card
    with pytest.raises(UnknownRun, match="no longer be restored"):
        operations.restore_runs([a.key], "ada", False)
    operations.purge_runs([b.key, b.key, a.key, "..", "../runs"])
    assert in_trash() == []
    assert on_disk() == [a.key]
    with pytest.raises(UnknownRun, match="no longer be restored"):
        operations.restore_runs([b.key], "", True)


def test_nothing_is_deleted_if_one_may_not_be(database: str, program: StoredRun) -> None:
    mine, other = kept(0, "ada"), kept(1, "bob")
    for refused in (other.key, program.key, "a" * 12):
        with pytest.raises(LineageError):
            operations.delete_runs([mine.key, refused], "ada", False)
    assert listed() == on_disk() == sorted([mine.key, other.key])
    operations.delete_runs([mine.key, other.key], "", True)
    with pytest.raises(NotAllowed):
        operations.restore_runs([mine.key, other.key], "ada", False)
    assert on_disk() == []


def test_an_older_one_in_the_trash_is_replaced(database: str) -> None:
    operations.delete_runs([kept(0, note="old").key], "ada", False)
    run = kept(0, note="new")
    operations.delete_runs([run.key], "ada", False)
    operations.restore_runs([run.key], "ada", False)
    assert store.find(run.key).card.note == "new"


def test_undelete_never_replaces_a_run_that_was_made_again(database: str) -> None:
    run, other = kept(0, note="old"), kept(1)
    operations.delete_runs([run.key, other.key], "ada", False)
    kept(0, note="new")
    with pytest.raises(StoreError, match="trained again in the meantime"):
        operations.restore_runs([other.key, run.key], "ada", False)
    assert store.find(run.key).card.note == "new"
    assert on_disk() == [run.key]


def test_undelete_needs_room(database: str, limit: Callable[[int], None]) -> None:
    run = kept(0)
    operations.delete_runs([run.key], "ada", False)
    limit(1)
    with pytest.raises(StoreError, match="LINEAGE_MOST_DISK"):
        operations.restore_runs([run.key], "ada", False)
    assert in_trash() == [run.key]


def test_a_damaged_run_is_the_operators(database: str) -> None:
    run = kept()
    (run.folder / "card.json").write_text("{")
    with pytest.raises(NotAllowed):
        operations.delete_runs([run.key], "ada", False)
    with pytest.raises(DamagedRun):
        operations.edit_card(run.key, "", True, name="x")
    operations.delete_runs([run.key], "", True)
    assert in_trash() == [run.key]
    operations.restore_runs([run.key], "", True)
    assert on_disk() == [run.key]


def test_empty_trash(database: str) -> None:
    operations.empty_trash()
    operations.delete_runs([kept(0).key, kept(1).key], "ada", False)
    (environment().trash / "something else").write_text("")
    operations.empty_trash()
    assert not environment().trash.exists()
    operations.empty_trash()


# ---- When the index does not answer, and when two ask at once ----


def test_the_folders_do_not_wait_for_the_index(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "_LOCK_TIMEOUT", 0.01)
    first, second = kept(0), kept(1)
    other = sqlite3.connect(home / "index.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    third = operations.add_run(written(2))
    operations.edit_card(first.key, "ada", False, name="new")
    operations.delete_runs([second.key], "ada", False)
    with pytest.raises(StoreError):
        index.refresh()
    other.rollback()
    other.close()
    assert on_disk() == sorted([first.key, third.key])
    index.refresh()
    assert listed() == on_disk()
    assert search(Query(text="new"))[0].key == first.key
    db.close_database()


def test_the_folders_do_not_need_the_index(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", "postgresql://lineage@127.0.0.1:1/none")
    with caplog.at_level(logging.ERROR):
        run = operations.add_run(written())
    assert "the index does not answer" in caplog.text
    operations.delete_runs([run.key], "ada", False)
    operations.restore_runs([run.key], "ada", False)
    assert on_disk() == [run.key]
    monkeypatch.setenv("LINEAGE_MOST_DISK", "1")
    folder = written(1)
    with pytest.raises(StoreError):
        operations.add_run(folder)
    assert folder.exists()


def test_many_at_once(database: str) -> None:
    keys = [kept(seed).key for seed in range(4)]

    def play(i: int) -> None:
        for act in (operations.delete_runs, operations.restore_runs):
            with suppress(UnknownRun, StoreError):  # somebody else was first
                act([keys[i % 4], keys[(i + 1) % 4]], "ada", False)
        operations.free_disk_space(1)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(play, range(12)))
    assert sorted(on_disk() + in_trash()) == sorted(keys)
    assert listed() == on_disk()
