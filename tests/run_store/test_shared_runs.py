"""Several servers, each with a home of its own, whose runs lie in one storage and are listed in one database."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, NotAllowed, RunError, StoreError, UnknownRun
from explorer.run_store import index, local_copies, operations, places, storage, store, upkeep
from explorer.run_store.index import ForeignDatabase, Query, search
from explorer.run_store.storage import Storage
from explorer.run_store.store import StoredRun
from tests import needs, postgres, s3
from tests.run_store.small_runs import (
    bytes_of,
    indexed_keys,
    key_of,
    record,
    record_of_seed,
    store_run,
    stored_keys,
    write_finished_job,
)

Patch = pytest.MonkeyPatch
UseServer = Callable[[str], None]


@pytest.fixture(autouse=True)
def included_run(included_folder: Path) -> Iterator[StoredRun]:
    """Replace the included runs by a single one."""
    yield store.save_run(record_of_seed(99), included_folder / "included-one")
    storage._open.cache_clear()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: Patch) -> Iterator[UseServer]:
    """Return a function that makes this process one of several servers, by its name; they share a folder."""
    yield from servers("folder", "sqlite", tmp_path, monkeypatch)


@pytest.fixture(params=["s3 sqlite", "folder postgresql"])
def any_server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> Iterator[UseServer]:
    """Like `server`, with another kind of storage, and with another kind of database."""
    yield from servers(*request.param.split(), tmp_path, monkeypatch)


def servers(kind: str, database: str, tmp_path: Path, monkeypatch: Patch) -> Iterator[UseServer]:
    if database == "postgresql" and postgres.missing():
        pytest.skip(needs.NO_POSTGRESQL)
    url = postgres.fresh_database() if database == "postgresql" else f"sqlite:///{tmp_path}/index.db"
    monkeypatch.setenv("LINEAGE_DATABASE_URL", url)
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("LINEAGE_RUNS", s3.fresh_bucket(monkeypatch) if kind == "s3" else str(tmp_path / "shared"))
    opened_databases = []

    def use(name: str) -> None:
        monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / f"home-{name}"))
        local_copies.reset()
        opened_databases.append(db.database())
        db.database().refreshed_at = float("-inf")  # as after two seconds

    use("a")
    yield use
    storage._open.cache_clear()
    local_copies.reset()
    for each in opened_databases:
        each.engine.dispose()
    db.close_database()


def open_storage() -> Storage:
    found = storage.current()
    assert found
    return found


def tidy_later(hours: float) -> None:
    open_storage().tidy(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours))


def add_run_and_die(seed: int) -> None:
    """Be killed when the files of a run have been uploaded, and its card has not."""
    with Patch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Storage, "publish", Mock(side_effect=SystemExit))
        patched.setattr(Storage, "delete_files", Mock())  # a killed server cleans nothing up
        store_run(seed)


def test_a_run_of_one_server_is_found_opened_and_changed_by_another(any_server: UseServer) -> None:
    run = store_run()
    assert run.folder == environment().runs / run.key
    assert not (environment().jobs / run.key).exists()
    any_server("b")
    (entry,) = search(Query(shipped=False))
    assert (entry.key, entry.owner, entry.state, entry.parameters) == (run.key, "ada", "finished", run.card.parameters)
    assert entry.settings["train_size"] == 20 and entry.bytes > 1_000
    assert stored_keys() == []
    found = store.find(run.key)
    assert (found.card, found.config, found.folder) == (run.card, run.config, environment().runs / run.key)
    assert bytes_of(found.weights()) == bytes_of(run.weights())
    assert found.checkpoint_steps() == run.checkpoint_steps() != []
    assert store.find_by_config(run.config) == found
    with pytest.raises(UnknownRun):
        store.find("abcdefghijkl")
    with pytest.raises(NotAllowed):
        operations.edit_card(run.key, "bob", False, name="Not yours")
    changed = operations.edit_card(run.key, "ada", False, name="Mine", tags=["a"], note="of b", pinned=True)
    any_server("a")
    (entry,) = search(Query(shipped=False))
    assert (entry.name, entry.tags, entry.pinned) == ("Mine", ("a",), True)
    assert store.find(run.key).card == changed.card
    assert changed.cache_key[1] == run.cache_key[1]  # models in memory stay


def test_a_finished_run_replaces_a_stopped_one_and_keeps_what_users_entered(server: UseServer) -> None:
    stopped = operations.add_run(write_finished_job(state="stopped"))
    operations.edit_card(stopped.key, "ada", False, name="Mine")
    server("b")
    assert store.find(stopped.key).card.state == "stopped"
    store_run(0, owner="bob")
    server("a")
    found = store.find(stopped.key)
    assert (found.card.state, found.card.name, found.card.owner) == ("finished", "Mine", "ada")
    assert len(open_storage().place.names(f"runs/{stopped.key}")) == 1
    assert found.curves.losses.tobytes() == stopped.curves.losses.tobytes()


def test_a_run_that_one_server_deletes_is_restored_by_another(any_server: UseServer) -> None:
    run, kept = store_run(0), store_run(1)
    any_server("b")
    store.find(run.key)
    any_server("a")
    with pytest.raises(NotAllowed):
        operations.delete_runs([kept.key, run.key], "bob", False)
    operations.delete_runs([run.key], "ada", False)
    assert stored_keys() == [kept.key]
    any_server("b")
    assert indexed_keys() == [kept.key]
    with pytest.raises(UnknownRun):
        store.find(run.key)
    assert stored_keys() == []
    with pytest.raises(NotAllowed):
        operations.restore_runs([run.key], "bob", False)
    operations.empty_trash()  # when a server starts: a tab of another one may restore it
    operations.restore_runs([run.key], "ada", False)
    assert store.find(run.key).card == run.card
    any_server("a")
    assert indexed_keys() == sorted([run.key, kept.key])
    operations.delete_runs([run.key], "", True)
    again = store_run(0)
    with pytest.raises(StoreError, match="trained again"):
        operations.restore_runs([run.key], "ada", False)
    operations.purge_runs([run.key, "../abcdefghijkl"])
    assert store.find(run.key).weights().keys() == again.weights().keys()
    operations.delete_runs([run.key], "", True)
    operations.purge_runs([run.key])
    with pytest.raises(UnknownRun):
        operations.restore_runs([run.key], "ada", False)
    assert list(open_storage().place.names(f"runs/{run.key}")) == []
    assert store.find(kept.key).weights()


def test_the_index_keeps_the_rows_of_other_servers_and_a_comparison_repairs_it(server: UseServer) -> None:
    run = store_run(0)
    server("b")
    lost = store_run(1)
    for name in ("a", "b", "c"):
        server(name)
        index.refresh()
        assert indexed_keys() == sorted([run.key, lost.key])
        index.compare_with_storage()
        assert indexed_keys() == sorted([run.key, lost.key])
    assert index.reindex() == 3
    assert indexed_keys() == sorted([run.key, lost.key])
    index.remove_run(run.key)
    open_storage().place.delete(f"cards/{lost.key}.json")
    index.compare_with_storage()
    assert indexed_keys() == [run.key]
    found = open_storage().find(run.key)
    assert found
    open_storage().publish(dataclasses.replace(found, card=found.card.model_copy(update={"name": "New"})))
    index.compare_with_storage()
    assert [entry.name for entry in search(Query(shipped=False))] == ["New"]
    index.remove_run(run.key)
    assert index.reindex() == 2
    assert indexed_keys() == [run.key]


def test_a_server_that_is_killed_while_it_uploads_shows_nothing_of_the_run(any_server: UseServer) -> None:
    run = store_run(0)
    add_run_and_die(1)
    any_server("b")
    index.compare_with_storage()
    assert indexed_keys() == [run.key]
    assert store.find_by_config(record_of_seed(1).config) is None
    for hours, kept in ((0, {run.key, key_of(1)}), (2, {run.key})):  # at first another server may be writing it
        tidy_later(hours)
        assert set(open_storage().place.names("runs")) == kept
    assert store.find(run.key).weights()
    any_server("a")
    operations.add_run(environment().jobs / key_of(1))
    assert indexed_keys() == sorted([run.key, key_of(1)])


def test_old_files_of_the_storage_are_deleted(server: UseServer) -> None:
    operations.add_run(write_finished_job(state="stopped"))
    add_run_and_die(0)  # it would replace the stopped run
    storage.save_checkpoint(key_of(1), write_finished_job(1))
    deleted = store_run(2)
    operations.delete_runs([deleted.key], "ada", False)
    shared = open_storage()
    for hours, expected in {0: (2, 1, 1), 2: (1, 1, 1), 25: (1, 0, 1), 24 * 29: (1, 0, 1), 24 * 31: (1, 0, 0)}.items():
        tidy_later(hours)
        versions, checkpoints = shared.place.names(f"runs/{key_of(0)}"), shared.place.names("checkpoints")
        assert tuple(len(list(each)) for each in (versions, shared.keys(deleted=True), checkpoints)) == expected
    assert not shared.place.names(f"runs/{deleted.key}")
    server("b")
    assert store.find(key_of(0)).weights()


def test_servers_that_store_the_same_run_at_once_store_one(any_server: UseServer) -> None:
    url = environment().run_storage
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: Storage(places.open_place(url)).id(), range(4)))) == 1
    first, second = write_finished_job(0), environment().jobs / "second"
    store.write_run(record_of_seed(0), second, "bob")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(operations.add_run, [first, second]))
    assert indexed_keys() == [key_of(0)]
    assert all(run.curves.losses.tobytes() == record().curves.losses.tobytes() for run in done)
    any_server("b")
    assert store.find(key_of(0)).weights()
    assert len(open_storage().place.names(f"runs/{key_of(0)}")) == 1


def test_a_run_is_downloaded_once_and_in_the_background(server: UseServer, monkeypatch: Patch) -> None:
    runs = [store_run(seed) for seed in range(3)]
    server("b")
    may_go_on, original = threading.Event(), Storage.download
    may_go_on.set()

    def wait_and_download(self: Storage, *arguments: Any) -> None:
        may_go_on.wait(120)
        original(self, *arguments)

    monkeypatch.setattr(Storage, "download", download := create_autospec(original, side_effect=wait_and_download))
    with ThreadPoolExecutor(8) as pool:
        assert all(each.card == runs[2].card for each in pool.map(lambda _: store.find(runs[2].key), range(8)))
    assert download.call_count == 1 and stored_keys() == [runs[2].key]
    may_go_on.clear()
    monkeypatch.setattr(local_copies, "_WAIT_SECONDS", 0.01)
    with monkeypatch.context() as patched:
        patched.setattr(local_copies, "is_registered", lambda: True)
        with pytest.raises(StoreError, match="still being fetched"):
            store.find(runs[0].key)
        patched.setattr(local_copies, "_WAIT_SECONDS", 600)
        with pytest.raises(StoreError, match="still being fetched"):
            store.find(runs[1].key)  # a page with many runs waits for one only
    may_go_on.set()
    for run in runs:
        assert store.find(run.key).card == run.card  # as a terminal, which waits


def test_the_limit_of_all_runs_counts_those_of_all_servers(server: UseServer, monkeypatch: Patch) -> None:
    old = store_run(0)
    server("b")
    (entry,) = search(Query(shipped=False))
    monkeypatch.setenv("LINEAGE_MOST_DISK", str(entry.bytes * 3 // 2))
    new = store_run(1)
    assert indexed_keys() == [new.key]
    server("a")
    with pytest.raises(UnknownRun):
        store.find(old.key)
    operations.edit_card(new.key, "ada", False, pinned=True)
    with pytest.raises(StoreError, match="There is no space"):
        store_run(2)
    assert set(open_storage().keys()) == {new.key}
    assert (environment().jobs / key_of(2) / "card.json").is_file()  # nothing is lost


def test_copies_that_were_not_used_are_deleted_first(server: UseServer, monkeypatch: Patch) -> None:
    runs = [store_run(seed) for seed in range(4)]
    sizes = {entry.key: entry.bytes for entry in search(Query(shipped=False))}
    local = environment().runs / key_of(9)
    store.save_run(record_of_seed(9), local)
    for age, run in enumerate(reversed(runs)):
        os.utime(run.folder / ".copy.json", (1_700_000_000 - age,) * 2)
    monkeypatch.setenv("LINEAGE_MOST_COPIES", str(sizes[runs[2].key] + sizes[runs[3].key]))
    remove = store.remove_folder
    with monkeypatch.context() as patched:
        patched.setattr(store, "remove_folder", lambda folder: [remove(folder) for _ in "12"])  # by another thread, too
        local_copies.free_space()
    assert stored_keys() == sorted([runs[2].key, runs[3].key, local.name])  # a run that is nowhere else stays
    assert indexed_keys() == sorted(run.key for run in runs)
    assert bytes_of(runs[0].weights()) == bytes_of(record().weights()), "it is still usable"
    assert len(stored_keys()) == 3  # the copy in use replaced another one
    store.remove_folder(runs[0].folder)
    assert runs[0].record().snapshots
    monkeypatch.setenv("LINEAGE_MOST_COPIES", "100")
    server("b")
    with pytest.raises(StoreError, match="LINEAGE_MOST_COPIES"):
        store.find(runs[0].key)


def test_runs_from_before_the_setting_are_copied(server: UseServer, monkeypatch: Patch) -> None:
    with monkeypatch.context() as patched:
        patched.delenv("LINEAGE_RUNS")
        patched.delenv("LINEAGE_DATABASE_URL")
        run = store_run()
        assert indexed_keys() == [run.key]
    assert store.find(run.key).card == run.card
    upkeep.run_once()
    assert operations.upload_runs() == []
    server("b")
    assert indexed_keys() == [run.key]
    assert store.find(run.key).card == run.card
    server("c")  # a stopped run of before does not replace a finished one
    store.write_run(dataclasses.replace(record_of_seed(0), state="stopped"), environment().runs / run.key, "bob")
    assert store.find(run.key).card.state == "stopped"
    assert operations.upload_runs() == []
    assert store.find(run.key).card == run.card


def test_an_unreachable_storage_is_one_sentence(server: UseServer, monkeypatch: Patch) -> None:
    run = store_run(0)
    server("b")
    kept = store_run(1)
    with monkeypatch.context() as patched:
        patched.setattr(places.Folder, "_path", Mock(side_effect=OSError(5, "Input/output error")))
        local_copies.reset()
        with pytest.raises(StoreError, match=r"does not answer\. Nothing is lost"):
            store.find(run.key)
        assert store.find_by_config(run.config) is None
        assert store.find(kept.key).card == kept.card  # its copy is here
        folder = write_finished_job(2)
        delete = partial(operations.delete_runs, [kept.key], "ada", False)
        for operation in (partial(operations.add_run, folder), delete, index.compare_with_storage):
            with pytest.raises(StoreError, match="does not answer"):
                operation()
        assert store.load(folder).weights()
        assert indexed_keys() == sorted([run.key, kept.key])
    operations.add_run(folder)
    assert indexed_keys() == sorted([run.key, kept.key, key_of(2)])
    assert store.find(run.key).card == run.card


def test_a_folder_that_is_no_longer_mounted_strikes_no_rows(server: UseServer, tmp_path: Path) -> None:
    run = store_run()
    (tmp_path / "shared").rename(tmp_path / "elsewhere")
    (tmp_path / "shared").mkdir()
    for operation in (index.compare_with_storage, lambda: store_run(1)):
        with pytest.raises(StoreError, match="Mount it again"):
            operation()
    # a server that starts now creates a new storage there, which is not that of the database
    storage._open.cache_clear()
    with pytest.raises(ForeignDatabase, match="LINEAGE_RUNS"):
        index.check_store()
    (tmp_path / "shared" / ".lineage-store").unlink()
    (tmp_path / "shared").rmdir()
    with pytest.raises(StoreError, match="does not answer"):
        open_storage().keys()
    storage._open.cache_clear()
    with pytest.raises(StoreError, match="no such folder"):
        index.check_store()
    (tmp_path / "elsewhere").rename(tmp_path / "shared")
    assert indexed_keys() == [run.key]


def test_two_homes_on_one_database_are_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{tmp_path}/index.db")

    def use_home(name: str) -> None:
        monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / name))

    use_home("first")
    mine = store_run(0)
    assert indexed_keys() == [mine.key]
    use_home("second")
    with pytest.raises(ForeignDatabase, match=r"LINEAGE_RUNS; otherwise .* `lineage reindex`") as raised:
        indexed_keys()
    assert "\n" not in str(raised.value)
    other = store_run(1)  # it is stored, but not listed
    assert store.find(other.key).card == other.card
    use_home("first")
    assert indexed_keys() == [mine.key]
    use_home("second")
    index.reindex()
    assert indexed_keys() == [other.key]
    use_home("first")
    db.database().refreshed_at = float("-inf")
    with pytest.raises(ForeignDatabase):
        indexed_keys()
    for name in ("first", "second"):
        use_home(name)
        db.database().engine.dispose()


def edit_file(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["files"]["config.json"].update(changes)


EVIL = {"bytes": 1, "sha256": "0" * 64}
HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a name outside": lambda data: data["files"].update({"../../evil": EVIL}),
    "an absolute name": lambda data: data["files"].update({"/etc/evil": EVIL}),
    "a hidden name": lambda data: data["files"].update({".copy.json": EVIL}),
    "a folder outside": lambda data: data.update(version="../../../etc"),
    "another key": lambda data: data["card"].update(key="abcdefghijkl"),
    "a negative size": edit_file(bytes=-1),
    "no files": lambda data: data.update(files={}),
    "a size that no database stores": edit_file(bytes=10**30),
    "a step that no database stores": lambda data: data["card"].update(step=10**30),
    "a huge file": edit_file(bytes=10**15),
    "another content": edit_file(sha256="0" * 64),
    "another size": edit_file(bytes=3),
}


@pytest.mark.parametrize("harm", HOSTILE)
def test_a_hostile_card_does_no_harm(harm: str, server: UseServer, tmp_path: Path) -> None:
    run, other = store_run(0), store_run(1)
    file = tmp_path / "shared" / "cards" / f"{run.key}.json"
    data = json.loads(file.read_text())
    HOSTILE[harm](data)
    file.write_text(json.dumps(data))
    server("b")
    with pytest.raises((RunError, StoreError)):
        store.find(run.key)
    assert store.find_by_config(run.config) is None
    assert stored_keys() == []
    index.compare_with_storage()
    assert other.key in indexed_keys()
    assert not list(tmp_path.rglob("*evil*"))
    assert store.find(other.key).weights()
    operations.delete_runs([run.key], "", True)  # its operator can delete it
    operations.purge_runs([run.key])
    assert indexed_keys() == [other.key]


def test_links_are_not_followed_and_damaged_files_are_noticed(server: UseServer, tmp_path: Path) -> None:
    run, other = store_run(0), store_run(1)
    shared, secret = tmp_path / "shared", tmp_path / "secret"
    (version,) = (shared / "runs" / run.key).iterdir()
    (of_other,) = (shared / "runs" / other.key).iterdir()
    (version / "config.json").rename(secret)
    (version / "config.json").symlink_to(secret)
    (version / "linked").symlink_to(tmp_path)
    (shared / "cards" / "abcdefghijkl.json").symlink_to(secret)
    (shared / "runs" / "abcdefghijkl").symlink_to(tmp_path / "home-a")
    (of_other / "events.parquet").write_bytes(b"x" * (of_other / "events.parquet").stat().st_size)
    server("b")
    with pytest.raises((RunError, StoreError)):
        store.find(run.key)
    with pytest.raises(DamagedRun, match=r"events\.parquet has changed"):
        store.find(other.key)
    (of_other / "events.parquet").unlink()
    with pytest.raises(DamagedRun, match="are missing"):
        store.find(other.key)
    assert stored_keys() == []
    index.compare_with_storage()
    assert indexed_keys() == sorted([run.key, other.key])
    tidy_later(48)
    operations.delete_runs([run.key], "", True)
    operations.purge_runs([run.key])
    assert secret.is_file()
    assert (tmp_path / "home-a" / "runs" / other.key / "card.json").is_file()


def test_an_impossible_storage_is_refused_without_its_password(
    home: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "runs").mkdir(parents=True)
    bucket = s3.fresh_bucket(monkeypatch)
    for url, sentence in (
        ("s3://somebody:hunter2@", "names no bucket"),
        ("nonsense://somebody:hunter2@host/path", "is not possible"),
        ("memory://a::s3://somebody:hunter2@b", "is not possible"),
        ("s3://somebody:hunter2@bucket/a*", "no \\*"),
        (bucket.replace("/lineage", "-of-nobody/lineage"), r"s3://.* there is no such bucket"),
        ("/does/not/exist", "no such folder"),
        (str(home), "LINEAGE_HOME"),
        (str(home / "runs"), "LINEAGE_HOME"),
    ):
        monkeypatch.setenv("LINEAGE_RUNS", url)
        storage._open.cache_clear()
        with pytest.raises((InvalidSetting, StoreError), match=sentence) as raised:
            index.check_store()
        assert not re.search("hunter2|tester|\n", str(raised.value))
    assert "hunter2" not in caplog.text


def test_a_file_of_an_object_storage_that_is_too_large_is_not_fetched(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_RUNS", s3.fresh_bucket(monkeypatch))
    place = open_storage().place
    place.write("runs/file", b"x" * 1_000)
    place.download({"runs/file": tmp_path / "file"}, 1_000)
    with pytest.raises(StoreError):
        place.download({"runs/file": tmp_path / "second"}, 999)
    assert not (tmp_path / "second").exists()


@pytest.fixture(params=["file", "memory", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> None:
    """Each kind of storage in turn, empty."""
    (tmp_path / "shared").mkdir()
    kinds = {"file": (tmp_path / "shared").as_uri(), "memory": f"memory://{tmp_path}"}
    monkeypatch.setenv("LINEAGE_RUNS", kinds.get(request.param) or s3.fresh_bucket(monkeypatch))


def write_run(folder: Path, seed: int = 0) -> StoredRun:
    store.write_run(record_of_seed(seed), folder, "ada")
    return store.load(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_checkpoint_is_continued_elsewhere(url: None, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run.folder / "job.json").write_text("{}")
    (run.folder / "reserved").write_text("room")
    copy = tmp_path / "copy"
    write_run(copy, seed=1)
    (copy / "snapshots" / "09999999.safetensors").write_bytes(b"of another run")
    (copy / "job.json").write_text('{"of": "the second server"}')
    assert not storage.load_checkpoint(run.key, copy)
    storage.save_checkpoint(run.key, run.folder)
    storage.save_checkpoint(run.key, run.folder)  # it replaces the first one
    assert storage.load_checkpoint(run.key, copy)
    expected = contents(run.folder)
    del expected["reserved"]
    assert contents(copy) == expected | {"job.json": b'{"of": "the second server"}'}
    assert store.load(copy).record().snapshots.keys() == record().snapshots.keys()
    storage.delete_checkpoint(run.key)
    storage.delete_checkpoint(run.key)
    assert not storage.load_checkpoint(run.key, copy)
    assert not list(environment().home.glob(".importing-*"))


def test_a_hostile_or_damaged_checkpoint_is_ignored(
    server: UseServer, tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    run, other = write_run(tmp_path / "run"), write_run(tmp_path / "other", 1)
    place = tmp_path / "shared" / "checkpoints"
    file = place / f"{run.key}.zip"
    for name in ("../evil", "snapshots/../../evil", "/etc/evil", "job.json", "weights.json"):
        storage.save_checkpoint(run.key, run.folder)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(name, "harm")
        before = contents(tmp_path)
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
        assert contents(tmp_path) == before
    for harm in (file.read_bytes()[:-40], b"no zip"):
        file.write_bytes(harm)
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    storage.save_checkpoint(other.key, other.folder)
    (place / f"{other.key}.zip").rename(file)
    assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    assert "cannot be used" in caplog.text
    storage.save_checkpoint(run.key, run.folder)
    with monkeypatch.context() as patched:
        patched.setenv("LINEAGE_MOST_DISK", "100")
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    file.rename(tmp_path / "elsewhere.zip")
    file.symlink_to(tmp_path / "elsewhere.zip")
    with pytest.raises(StoreError):
        storage.load_checkpoint(run.key, tmp_path / "copy")
    for wrong in ("../abcdefghijkl", "", "ABCDEFGHIJKL", "a/b"):
        with pytest.raises(ValueError, match="is not the key of a run"):
            storage.delete_checkpoint(wrong)
