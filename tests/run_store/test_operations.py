from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, LineageError, NotAllowed, StoreError, UnknownRun
from explorer.run_store import index, operations, storage, store
from explorer.run_store.index import Query, search
from explorer.run_store.store import StoredRun
from tests.run_store.small_runs import indexed_keys, key_of, record_of_seed, store_run, stored_keys, write_finished_job

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def included_run(included_folder: Path) -> Iterator[StoredRun]:
    """Replace the included runs by a single one."""
    yield store.save_run(record_of_seed(99), included_folder / "shipped-one")
    db.close_database()


def trash_keys() -> list[str]:
    return sorted(folder.name for folder in environment().trash.glob("*"))


def test_adding_a_run_again_replaces_it_and_keeps_name_and_owner() -> None:
    folder = write_finished_job()
    run = operations.add_run(folder)
    assert run.folder == environment().runs / run.key and not folder.exists()
    assert indexed_keys() == stored_keys() == [run.key]
    operations.edit_card(run.key, "ada", False, name="Mine", pinned=True)
    replaced = operations.add_run(write_finished_job(0, "bob"))
    assert replaced.card.created != run.card.created
    (entry,) = search(Query(shipped=False))
    assert (entry.name, entry.pinned, entry.owner) == ("Mine", True, "ada")
    assert (entry.created.isoformat(timespec="milliseconds")) == replaced.card.created


def test_adding_a_folder_that_is_no_run_is_rejected() -> None:
    folder = write_finished_job()
    (folder / "events.parquet").unlink()
    for path, error in ((folder, DamagedRun), (folder / "nothing", UnknownRun)):
        with pytest.raises(error):
            operations.add_run(path)
    assert folder.exists() and not environment().runs.exists()


def test_a_full_disk_is_reported_and_loses_no_run(monkeypatch: Patch) -> None:
    folder, run = write_finished_job(), key_of(0)
    operation: Callable[[], object]
    for operation, where, name, sentence in (
        (lambda: operations.add_run(folder), storage, "replace_folder", "could not be stored: the disk is full"),
        (lambda: operations.edit_card(run, "ada", False, name="x"), storage, "write_file", "not be written: the disk"),
        (lambda: operations.delete_runs([run], "ada", False), Path, "rename", "could be deleted: the disk is"),
    ):
        with monkeypatch.context() as patch, pytest.raises(StoreError, match=sentence):
            patch.setattr(where, name, Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
            operation()
        if folder.exists():
            operations.add_run(folder)
    assert stored_keys() == indexed_keys() == [run]


@pytest.fixture
def set_disk_limit(monkeypatch: Patch) -> Callable[[int], None]:
    return lambda limit_in_bytes: monkeypatch.setenv("LINEAGE_MOST_DISK", str(limit_in_bytes))


def test_the_oldest_unpinned_runs_of_visitors_are_deleted_first(set_disk_limit: Callable[[int], None]) -> None:
    runs = [store_run(3, "ada"), store_run(1, "bob"), store_run(0, "")]  # the last one is the operator's
    runs += [store_run(2, "bob", pinned=True), store_run(4, "ada")]
    sizes = [store.folder_size(run.folder) for run in runs]
    set_disk_limit(sum(sizes))
    assert operations.free_disk_space(1) == [runs[1].key]
    assert indexed_keys() == stored_keys() == sorted(run.key for run in runs if run is not runs[1])
    set_disk_limit(sum(sizes) - sizes[1])
    assert operations.free_disk_space(sizes[0] + 1) == [runs[0].key, runs[4].key]
    assert trash_keys() == []
    with pytest.raises(StoreError, match=r"no space for .* Delete runs, or unpin some"):
        operations.free_disk_space(sum(sizes))
    folder = write_finished_job(5)
    set_disk_limit(1)
    with pytest.raises(StoreError, match="no space for"):
        operations.add_run(folder)
    assert folder.exists()
    assert indexed_keys() == stored_keys() == sorted([runs[2].key, runs[3].key])


def test_the_space_of_a_replaced_or_removed_run_is_reused(set_disk_limit: Callable[[int], None]) -> None:
    older, newer = store_run(0), store_run(1)
    operations.edit_card(older.key, "ada", False, name="the oldest")
    size = store.folder_size(newer.folder)
    set_disk_limit(store.folder_size(older.folder) + size + 200)
    assert operations.add_run(write_finished_job(0)).card.name == "the oldest"
    assert stored_keys() == sorted([older.key, newer.key])
    store.remove_folder(older.folder)  # by hand
    assert operations.free_disk_space(size) == []
    assert stored_keys() == [newer.key]


def test_editing_a_card_changes_only_the_given_fields() -> None:
    run = store_run()
    tags = ["b", " B", "", "a  c\n", "\0"]
    operations.edit_card(run.key, "ada", False, name="  A\tgood\r\nrun\x1b[31m\0 ", tags=tags)
    operations.edit_card(run.key, "ada", False, note=" two\r\nlines\x07 ")
    card = operations.edit_card(run.key, "ada", False, pinned=True).card
    assert (card.name, card.tags, card.note, card.pinned) == ("A good run[31m", ("b", "a c"), "two\nlines", True)
    (entry,) = search(Query(text="good run"))
    assert (entry.name, entry.tags, entry.note, entry.pinned) == ("A good run[31m", ("a c", "b"), "two\nlines", True)
    assert operations.edit_card(run.key, "ada", False).card == card
    # Characters that reorder or hide text are removed, and those that join emojis are not.
    tags = ["x\u200b", "x\u200f", "\u2066"]
    card = operations.edit_card(run.key, "ada", False, name="a\u202eb\u2069", tags=tags).card
    assert (card.name, card.tags) == ("ab", ("x",))
    assert operations.edit_card(run.key, "ada", False, name="\ud800x", tags=["\ud800x"]).card.tags == ("x",)
    assert operations.edit_card(run.key, "ada", False, note="é\u061c👩\u200d💻").card.note == "é👩\u200d💻"
    card = operations.edit_card(run.key, "", True, name="", tags=(), note="", pinned=False).card
    assert (card.name, card.tags, card.note, card.pinned) == ("", (), "", False)
    assert index.all_tags() == []


def test_too_long_texts_and_too_many_tags_are_rejected() -> None:
    run = store_run()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": "x" * 81}, "has 81 characters. Give at most 80"),
        ({"note": "x" * 2001}, "has 2,001 characters. Give at most 2,000"),
        ({"tags": ["x" * 31]}, "has 31 characters. Give at most 30"),
        ({"tags": ["a,b"]}, "contains a comma"),
        ({"tags": [str(i) for i in range(13)]}, "These are 13 tags. Give at most 12"),
    ]
    for changes, message in cases:
        with pytest.raises(InvalidSetting, match=message) as raised:
            operations.edit_card(run.key, "ada", False, pinned=True, **changes)
        assert len(str(raised.value)) < 200
        assert store.load(run.folder).card == run.card
    tags = [f"{i:030}" for i in range(12)]
    card = operations.edit_card(run.key, "ada", False, name="x" * 80, note="y" * 2000, tags=tags).card
    assert (card.name, card.note, card.tags) == ("x" * 80, "y" * 2000, tuple(tags))


@pytest.mark.parametrize("owner", ["ada", ""])
@pytest.mark.parametrize(
    "operation",
    [partial(operations.edit_card, pinned=True), lambda key, *who: operations.delete_runs([key], *who)],
    ids=["pin", "delete"],
)
def test_only_the_owner_and_the_operator_may_change_a_run(
    operation: Callable[[str, str, bool], object], owner: str, included_run: StoredRun
) -> None:
    run = store_run(0, owner)
    entries = {entry.shipped: entry for entry in search()}
    for own in (run, entries[False]):
        assert operations.may_change(own, owner, owner == "") and operations.may_change(own, "bob", True)
        assert not any(operations.may_change(own, visitor, False) for visitor in ("bob", "", "Ada"))
    assert not any(operations.may_change(shipped, "", True) for shipped in (included_run, entries[True]))
    for visitor in ("bob", "", "Ada"):
        with pytest.raises(NotAllowed, match="belongs to another visitor"):
            operation(run.key, visitor, False)
    for name in (included_run.key, "shipped-one"):
        with pytest.raises(NotAllowed, match="is included with the program"):
            operation(name, "", True)
    for name in ("a" * 12, "..", "", "../runs", "x\0", run.key.upper(), "nonsense" * 99):
        with pytest.raises(UnknownRun) as raised:
            operation(name, "ada", True)
        assert len(str(raised.value)) < 200
    assert store.load(run.folder).card == run.card
    operation(run.key, owner, owner == "")


def test_delete_restore_and_purge(database: str, included_run: StoredRun) -> None:
    a, b, other = store_run(0), store_run(1), store_run(2, "bob")
    for not_allowed in (other.key, included_run.key, "a" * 12):
        with pytest.raises(LineageError):  # and none is deleted
            operations.delete_runs([a.key, not_allowed], "ada", False)
    assert indexed_keys() == stored_keys() == sorted([a.key, b.key, other.key])
    operations.delete_runs([a.key, b.key, a.key], "ada", False)
    operations.delete_runs([other.key], "", True)
    assert indexed_keys() == stored_keys() == []
    assert trash_keys() == sorted([a.key, b.key, other.key])
    with pytest.raises(UnknownRun):
        store.find(a.key)
    for keys, visitor in (([a.key], "bob"), ([a.key, other.key], "ada")):
        with pytest.raises(NotAllowed):
            operations.restore_runs(keys, visitor, False)
    operations.restore_runs([a.key], "ada", False)
    assert indexed_keys() == stored_keys() == [a.key]
    assert store.find(a.key).card == a.card
    operations.purge_runs([b.key, b.key, a.key, "..", "../runs"])
    assert (trash_keys(), stored_keys()) == ([other.key], [a.key])
    for gone in (a, b):
        with pytest.raises(UnknownRun, match="no longer be restored"):
            operations.restore_runs([gone.key], "", True)
    (environment().trash / "something else").write_text("")
    for _ in range(2):
        operations.empty_trash()
        assert not environment().trash.exists()


def test_what_was_trained_again_meanwhile_stays(set_disk_limit: Callable[[int], None]) -> None:
    operations.delete_runs([store_run(0, note="old").key], "ada", False)
    run, other = store_run(0, note="new"), store_run(1)
    operations.delete_runs([run.key, other.key], "ada", False)
    operations.restore_runs([run.key], "ada", False)
    assert store.find(run.key).card.note == "new", "an older run in the trash is replaced"
    operations.delete_runs([run.key], "ada", False)
    store_run(0, note="newest")
    with pytest.raises(StoreError, match="trained again in the meantime"):
        operations.restore_runs([other.key, run.key], "ada", False)
    assert store.find(run.key).card.note == "newest"
    assert stored_keys() == [run.key]
    set_disk_limit(1)
    with pytest.raises(StoreError, match="no space for"):
        operations.restore_runs([other.key], "ada", False)
    assert trash_keys() == sorted([run.key, other.key])


def test_only_the_operator_may_delete_a_damaged_run() -> None:
    run = store_run()
    (run.folder / "card.json").write_text("{")
    with pytest.raises(NotAllowed):
        operations.delete_runs([run.key], "ada", False)
    with pytest.raises(DamagedRun):
        operations.edit_card(run.key, "", True, name="x")
    operations.delete_runs([run.key], "", True)
    assert trash_keys() == [run.key]
    operations.restore_runs([run.key], "", True)
    assert stored_keys() == [run.key]


def test_operations_on_folders_do_not_wait_for_a_locked_index(home: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(db, "_LOCK_TIMEOUT", 0.01)
    first, second = store_run(0), store_run(1)
    other = sqlite3.connect(home / "index.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    third = operations.add_run(write_finished_job(2))
    operations.edit_card(first.key, "ada", False, name="new")
    operations.delete_runs([second.key], "ada", False)
    with pytest.raises(StoreError):
        index.refresh()
    other.rollback()
    other.close()
    assert stored_keys() == sorted([first.key, third.key])
    index.refresh()
    assert indexed_keys() == stored_keys()
    assert search(Query(text="new"))[0].key == first.key


def test_operations_on_folders_work_without_the_index(monkeypatch: Patch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", "postgresql://lineage@127.0.0.1:1/none")
    run = operations.add_run(write_finished_job())
    assert "the index does not answer" in caplog.text
    operations.delete_runs([run.key], "ada", False)
    operations.restore_runs([run.key], "ada", False)
    assert stored_keys() == [run.key]
    monkeypatch.setenv("LINEAGE_MOST_DISK", "1")
    folder = write_finished_job(1)
    with pytest.raises(StoreError):
        operations.add_run(folder)
    assert folder.exists()


def test_concurrent_operations_lose_no_run(database: str) -> None:
    keys = [store_run(seed).key for seed in range(4)]

    def delete_and_restore(i: int) -> None:
        for operation in (operations.delete_runs, operations.restore_runs):
            with suppress(UnknownRun, StoreError):  # another thread was faster
                operation([keys[i % 4], keys[(i + 1) % 4]], "ada", False)
        operations.free_disk_space(1)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(delete_and_restore, range(12)))
    assert sorted(stored_keys() + trash_keys()) == sorted(keys)
    assert indexed_keys() == stored_keys()
