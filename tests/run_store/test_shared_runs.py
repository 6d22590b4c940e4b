"""Several servers, each with a home of its own, whose runs lie in one folder or in object storage (LINEAGE_RUNS)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest
from filelock import FileLock
from safetensors.numpy import load_file, save_file

from explorer.cluster import earlier_runs
from explorer.cluster.object_storage import ObjectStorage
from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import InvalidSetting, NotAllowed, StoreError, UnknownRun
from explorer.run_store import index, operations, storage, store
from explorer.run_store.index import ForeignDatabase, Query, search
from explorer.run_store.store import StoredRun
from tests import needs, postgres, s3
from tests.run_store import small_runs
from tests.run_store.small_runs import indexed_keys, key_of, store_run, write_finished_job

Patch = pytest.MonkeyPatch
UseServer = Callable[[str], None]


@pytest.fixture(autouse=True)
def included_run(included_folder: Path) -> Iterator[StoredRun]:
    """Replace the included runs by a single one."""
    yield store.save_run(small_runs.record_of_seed(99), included_folder / "included-one")
    storage._open.cache_clear()
    db.close_database()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: Patch) -> UseServer:
    """Return a function that makes this process one of several servers, by its name; they share a folder."""
    return servers("folder", "", tmp_path, monkeypatch)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: Patch) -> UseServer:
    """Like `server`; they share a place in object storage."""
    return servers("s3", "", tmp_path, monkeypatch)


@pytest.fixture(params=["folder sqlite", "folder postgresql", "s3 sqlite", "s3 postgresql"])
def any_server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> UseServer:
    """Like `server`, with each kind of storage, and with databases of their own or a common one."""
    kind, database = request.param.split()
    if database == "postgresql" and postgres.missing():
        pytest.skip(needs.NO_POSTGRESQL)
    return servers(kind, postgres.fresh_database() if database == "postgresql" else "", tmp_path, monkeypatch)


def servers(kind: str, database: str, tmp_path: Path, monkeypatch: Patch) -> UseServer:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", database)
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("LINEAGE_RUNS", s3.fresh_bucket(monkeypatch) if kind == "s3" else str(tmp_path / "shared"))

    def use(name: str) -> None:
        monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / f"home-{name}"))
        wait()

    use("a")
    return use


def wait() -> None:
    """Forget what is remembered for seconds, as after a minute."""
    db.database().refreshed_at = time.monotonic() - 3_600
    if isinstance(place := storage.current(), ObjectStorage):
        place._forget()


def test_a_run_of_one_server_is_found_opened_and_changed_by_another(any_server: UseServer) -> None:
    run = store_run()
    assert not (environment().jobs / run.key).exists()
    any_server("b")
    (entry,) = search(Query(shipped=False))
    assert (entry.key, entry.owner, entry.state, entry.parameters) == (run.key, "ada", "finished", run.card.parameters)
    assert entry.settings["train_size"] == 20 and entry.bytes == store.folder_size(run.folder) > 1_000
    found = store.find(run.key)
    assert (found.card, found.config, str(found.folder)) == (run.card, run.config, str(run.folder))
    assert small_runs.bytes_of(found.weights()) == small_runs.bytes_of(run.weights())
    assert found.checkpoint_steps() == run.checkpoint_steps() != []
    assert found.record().snapshots.keys() == run.record().snapshots.keys()
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


def test_a_run_that_one_server_deletes_is_restored_by_another(any_server: UseServer) -> None:
    run, kept = store_run(0), store_run(1)
    any_server("b")
    store.find(run.key)
    any_server("a")
    with pytest.raises(NotAllowed):
        operations.delete_runs([kept.key, run.key], "bob", False)
    operations.delete_runs([run.key], "ada", False)
    any_server("b")
    assert indexed_keys() == [kept.key]
    with pytest.raises(UnknownRun):
        store.find(run.key)
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
    assert indexed_keys() == [kept.key] and store.find(kept.key).weights()


def test_a_finished_run_replaces_a_stopped_one_and_keeps_what_users_entered(any_server: UseServer) -> None:
    stopped = operations.add_run(write_finished_job(state="stopped"))
    operations.edit_card(stopped.key, "ada", False, name="Mine")
    any_server("b")
    assert store.find(stopped.key).card.state == "stopped"
    store_run(0, owner="bob")
    any_server("a")
    found = store.find(stopped.key)
    assert (found.card.state, found.card.name, found.card.owner) == ("finished", "Mine", "ada")
    assert found.curves.losses.tobytes() == stopped.curves.losses.tobytes()


@pytest.mark.parametrize("any_server", ["folder postgresql", "s3 postgresql"], indirect=True)
def test_a_refresh_leaves_rows_that_another_server_has_changed_meanwhile(any_server: UseServer) -> None:
    old, edited = store_run(0), store_run(1)
    any_server("b")
    operations.delete_runs([old.key], "", True)
    place: Any = storage.current()

    def change_meanwhile() -> dict[str, int]:
        del place.changes
        operations.edit_card(edited.key, "ada", False, name="New")
        store_run(2)
        return {}  # what was listed before

    place.changes = change_meanwhile
    index.refresh()
    names = {entry.key: entry.name for entry in search(Query(shipped=False))}
    assert names == {edited.key: "New", key_of(2): ""}


def test_the_newest_program_keeps_the_rows_of_the_included_runs(
    any_server: UseServer, included_run: StoredRun, included_folder: Path
) -> None:
    index.refresh()
    any_server("b")
    assert [entry.folder for entry in search()] == ["included-one"]
    card = included_folder / "included-one" / "card.json"
    older = card.read_text().replace(included_run.card.created, "2020-01-01T00:00:00+00:00")
    card.write_text(older.replace('"name": ""', '"name": "old"'))
    index.refresh()
    shared = bool(environment().database_url)
    assert [entry.name for entry in search()] == ["" if shared else "old"]
    assert index.reindex() == 1 and [entry.name for entry in search()] == ["old"]


def test_the_limit_of_all_runs_counts_those_of_all_servers(any_server: UseServer, monkeypatch: Patch) -> None:
    old = store_run(0)
    any_server("b")
    (entry,) = search(Query(shipped=False))
    monkeypatch.setenv("LINEAGE_MOST_DISK", str(entry.bytes * 3 // 2))
    new = store_run(1)
    assert indexed_keys() == [new.key]
    any_server("a")
    with pytest.raises(UnknownRun):
        store.find(old.key)
    operations.edit_card(new.key, "ada", False, pinned=True)
    with pytest.raises(StoreError, match="There is no space"):
        store_run(2)
    assert storage.current().changes().keys() == {new.key}
    assert (environment().jobs / key_of(2) / "card.json").is_file()  # nothing is lost


def test_runs_of_the_home_are_moved_into_the_storage(any_server: UseServer, monkeypatch: Patch) -> None:
    home = environment().home / "runs"
    for seed, state in enumerate(("finished", "stopped", "running", "finished")):
        store.write_run(dataclasses.replace(small_runs.record_of_seed(seed), state=state), home / key_of(seed), "bob")
    (home / key_of(3) / ".copy.json").write_text("{}")  # a copy of earlier versions
    finished = store_run(1)
    assert earlier_runs.move_runs_of_home() == [key_of(0)]
    assert indexed_keys() == sorted([key_of(0), finished.key])
    assert store.find(finished.key).card == finished.card
    assert {folder.name for folder in home.iterdir()} == {key_of(2)}, "it may still be trained"
    os.utime(home / key_of(2), (0, 0))
    earlier_runs.move_runs_of_home()
    any_server("b")
    assert indexed_keys() == sorted(key_of(seed) for seed in range(3))


def test_what_crashes_leave_is_deleted_later(any_server: UseServer, monkeypatch: Patch) -> None:
    run, deleted = store_run(0), store_run(1)
    if isinstance(deleted.folder, Path):
        os.utime(deleted.folder, (0, 0))  # it is not new
    operations.delete_runs([deleted.key], "ada", False)
    place = storage.current()
    if isinstance(place, ObjectStorage):  # a server that is killed while it uploads
        place._upload(write_finished_job(2), f"runs/{key_of(2)}")
        place._files.rm_file(place._path(f"runs/{key_of(2)}/card.json"))
        wait()
        assert indexed_keys() == [run.key]
    now = time.time()
    for hours, in_trash in ((0, True), (2, True), (25, False)):
        monkeypatch.setattr(time, "time", lambda hours=hours: now + hours * 3_600)
        place.recover()
        operations.empty_trash()
        wait()
        assert ((place.folder(deleted.key, deleted=True) / "card.json").is_file()) == in_trash
        if isinstance(place, ObjectStorage):
            assert (place._find(f"runs/{key_of(2)}") != {}) == (hours == 0)
    assert store.find(run.key).weights()


def test_a_file_of_object_storage_is_fetched_once_and_again_after_a_change(
    bucket: UseServer, monkeypatch: Patch
) -> None:
    run = store_run(0)
    bucket("b")
    place = storage.current()
    assert isinstance(place, ObjectStorage)
    monkeypatch.setattr(place._files, "get_file", fetch := Mock(wraps=place._files.get_file), raising=False)
    fetched = small_runs.bytes_of(store.find(run.key).weights())
    wait()
    count = fetch.call_count
    assert small_runs.bytes_of(store.find(run.key).weights()) == fetched and fetch.call_count == count == 4
    storage._open.cache_clear()  # after a restart
    assert small_runs.bytes_of(store.find(run.key).weights()) == fetched
    assert len(list(Path(environment().cache).rglob("*"))) > count
    bucket("a")
    other = write_finished_job(0)
    file = other / f"snapshots/{run.card.step:08}.safetensors"
    save_file({name: array + 1 for name, array in load_file(file).items()}, file)
    operations.add_run(other)
    bucket("b")
    assert small_runs.bytes_of(store.find(run.key).weights()) != fetched


def test_runs_that_do_not_exist_cost_one_request_together(bucket: UseServer, monkeypatch: Patch) -> None:
    store_run(0)
    place: Any = storage.current()
    wait()
    for name in ("find", "ls", "info"):
        monkeypatch.setattr(place._files, name, Mock(wraps=getattr(place._files, name)), raising=False)
    assert not any(store.find_by_config(small_runs.record_of_seed(seed).config) for seed in range(1, 9))
    assert (place._files.ls.call_count, place._files.find.call_count, place._files.info.call_count) == (1, 0, 0)


def test_what_was_listed_before_a_change_is_not_remembered(bucket: UseServer) -> None:
    run, place = store_run(0), storage.current()
    files = place._files  # type: ignore[attr-defined]
    find = files.find

    def change_meanwhile(*arguments: Any, **options: Any) -> Any:
        found = find(*arguments, **options)
        del files.find
        place.write_card(run.key, store.changed_card(run, name="New"))
        return found

    wait()
    files.find = change_meanwhile
    store.find(run.key)
    assert store.find(run.key).card.name == "New"


def test_object_storage_replaces_every_operation_on_folders() -> None:
    methods = {name for name, each in vars(storage.RunStorage).items() if callable(each) and not name.startswith("_")}
    assert methods <= vars(ObjectStorage).keys()


def test_a_storage_that_does_not_answer_is_one_sentence(bucket: UseServer, monkeypatch: Patch) -> None:
    run, other = store_run(0), store_run(1)
    place = storage.current()
    assert isinstance(place, ObjectStorage) and indexed_keys()
    folder = write_finished_job(2)
    with monkeypatch.context() as patched:
        for name in ("find", "ls", "exists", "pipe_file", "info", "put"):
            patched.setattr(place._files, name, Mock(side_effect=OSError("hunter2")), raising=False)
        wait()
        for operation in (
            lambda: store.find(run.key),
            lambda: operations.add_run(folder),
            lambda: operations.delete_runs([run.key], "ada", False),
            index.refresh,
        ):
            with pytest.raises(
                StoreError, match=r"^The run storage s3://\S+ does not answer, or refuses access\. Nothing is lost"
            ):
                operation()
        assert store.find_by_config(run.config) is None
        assert store.load(folder).weights()
        assert indexed_keys() == sorted([run.key, other.key])
    with pytest.raises(StoreError, match="does not answer"):
        store.find(run.key)  # it is not asked again for some seconds
    place._asked_again_at = 0.0
    wait()
    with monkeypatch.context() as patched:  # the files cannot be read, which says nothing about the run
        index.remove_run(run.key)
        patched.setattr(place, "fetch", Mock(side_effect=StoreError("It does not answer.")))
        with pytest.raises(StoreError):
            index.refresh()
    operations.add_run(folder)
    assert indexed_keys() == sorted([run.key, other.key, key_of(2)])


def test_a_checkpoint_in_object_storage_is_continued_elsewhere(bucket: UseServer, tmp_path: Path) -> None:
    place = storage.current()
    folder = place.jobs / key_of(0)
    place.load_job(key_of(0))
    assert not folder.exists() and place.unfinished_keys() == []
    shutil.move(write_finished_job(0), folder)
    (folder / "job.json").write_text("{}")
    (folder / "reserved").write_text("room")
    for _ in range(2):
        place.save_job(key_of(0))
    assert place.unfinished_keys() == [key_of(0)]
    before = store.load(folder).record()
    shutil.rmtree(folder)
    place.load_job(key_of(0))
    assert store.load(folder).record().snapshots.keys() == before.snapshots.keys()
    assert (folder / "job.json").read_text() == "{}" and not (folder / "reserved").exists()
    place.delete_job(key_of(0))
    assert place.unfinished_keys() == []


def write_old_layout(folder: Path, seed: int, kind: str) -> None:
    """Write a run as earlier versions did. Its VERSION is made of zeros."""
    run = store.load(write_finished_job(seed))
    assert isinstance(run.folder, Path)
    if kind == "checkpoints":
        (folder / kind).mkdir()
        with zipfile.ZipFile(folder / kind / f"{run.key}.zip", "w") as archive:
            for file in filter(Path.is_file, run.folder.rglob("*")):
                archive.write(file, file.relative_to(run.folder).as_posix())
        shutil.rmtree(run.folder)
        return
    files = {file.relative_to(run.folder).as_posix(): {} for file in run.folder.rglob("*") if file.is_file()}
    del files["card.json"]
    document = {"format": 1, "version": "0" * 32, "files": files, "config": {}, "card": run.card.model_dump()}
    (folder / "runs" / run.key).mkdir(parents=True)
    (run.folder / "card.json").unlink()
    run.folder.rename(folder / "runs" / run.key / ("0" * 32))
    (folder / kind).mkdir(exist_ok=True)
    (folder / kind / f"{run.key}.json").write_text(json.dumps(document))


def test_the_old_layout_is_converted(any_server: UseServer, tmp_path: Path, monkeypatch: Patch) -> None:
    old, url = tmp_path / "old", environment().run_storage
    old.mkdir()
    for seed, kind in enumerate(("cards", "cards", "trash", "checkpoints")):
        write_old_layout(old, seed, kind)
    (old / "cards" / "abcdefghijkl.json").write_text("{")
    (old / ".lineage-store").write_text("0123456789abcdef" * 2 + "\n")
    if "://" in url:
        storage.current()._files.put(f"{old}/", url, recursive=True)
    else:
        shutil.copytree(old, url, dirs_exist_ok=True)
        for moved in range(0, 20, 3):  # it is interrupted several times
            moves = [DEFAULT] * moved + [KeyboardInterrupt]
            with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
                patched.setattr(shutil, "move", Mock(wraps=shutil.move, side_effect=moves))
                storage._open.cache_clear()
                storage.current()
    storage._open.cache_clear()
    assert indexed_keys() == sorted([key_of(0), key_of(1)])
    assert storage.current().id() == "0123456789abcdef" * 2
    for seed in (0, 1):
        assert (
            small_runs.bytes_of(store.find(key_of(seed)).weights()).keys()
            and store.find(key_of(seed)).card.owner == "ada"
        )
    operations.restore_runs([key_of(2)], "ada", False)
    assert store.find(key_of(2)).weights()
    operations.edit_card(key_of(1), "ada", False, name="New")
    storage._open.cache_clear()  # after a restart
    any_server("b")
    storage.current().id()
    assert store.find(key_of(1)).card.name == "New"
    assert indexed_keys() == sorted(key_of(seed) for seed in range(3))
    if "://" not in url:
        job = json.loads((storage.current().jobs / key_of(3) / "job.json").read_text())
        assert (job["starter"], job["asked"], set(job)) == (
            "ada",
            ["ada"],
            {"config", "starter", "asked", "crashes", "until"},
        )
        assert store.load(storage.current().jobs / key_of(3)).key == key_of(3)
    else:
        assert storage.current().unfinished_keys() == [key_of(3)]


def test_two_processes_do_not_change_runs_at_once(server: UseServer, tmp_path: Path, monkeypatch: Patch) -> None:
    run = store_run()
    monkeypatch.setattr(storage, "_LOCK_SECONDS", 0.01)
    with FileLock(tmp_path / "shared" / "runs.lock"), pytest.raises(StoreError, match="another process"):
        operations.edit_card(run.key, "ada", False, name="Mine")
    assert operations.edit_card(run.key, "ada", False, name="Mine").card.name == "Mine"
    with FileLock(tmp_path / "shared" / "runs.lock", timeout=0):
        pass  # it is free again


def test_a_job_folder_on_another_disk_is_copied(server: UseServer, monkeypatch: Patch) -> None:
    folder, rename = write_finished_job(), Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self == folder:
            raise OSError(18, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    assert operations.add_run(folder).weights() and not folder.exists()
    assert small_runs.stored_keys() == [key_of(0)]


def test_a_folder_that_is_no_longer_mounted_strikes_no_rows(server: UseServer, tmp_path: Path) -> None:
    run = store_run()
    (tmp_path / "shared").rename(tmp_path / "elsewhere")
    (tmp_path / "shared").mkdir()
    for operation in (index.refresh, lambda: store_run(1)):
        with pytest.raises(StoreError, match="Mount it again"):
            operation()
    assert indexed_keys() == [run.key]
    shutil.rmtree(tmp_path / "shared")
    storage._open.cache_clear()
    with pytest.raises(StoreError, match="no such folder"):
        index.check_store()
    assert not (tmp_path / "shared").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "shared")
    assert store.find(run.key).card == run.card


def test_a_folder_that_cannot_be_read_strikes_no_rows(server: UseServer, monkeypatch: Patch) -> None:
    run = store_run()
    index.refresh()
    with monkeypatch.context() as patched:
        patched.setattr(storage.os, "listdir", Mock(side_effect=OSError(5, "Input/output error")))
        with pytest.raises(StoreError, match="cannot be read: Input/output error"):
            index.refresh()
        wait()
        assert indexed_keys() == [run.key]
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
    wait()
    with pytest.raises(ForeignDatabase):
        indexed_keys()


def test_an_impossible_storage_is_refused_without_its_password(
    monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = s3.fresh_bucket(monkeypatch)
    for url, sentence in (
        ("s3://somebody:hunter2@", "names no bucket"),
        ("nonsense://somebody:hunter2@host/path", "is not possible"),
        ("memory://a::s3://somebody:hunter2@b", "is not possible"),
        ("s3://somebody:hunter2@bucket/a*", "no \\*"),
        (bucket.replace("/lineage", "-of-nobody/lineage"), r"s3://.* there is no such bucket"),
        ("/does/not/exist", "no such folder"),
    ):
        monkeypatch.setenv("LINEAGE_RUNS", url)
        with pytest.raises((InvalidSetting, StoreError), match=sentence) as raised:
            index.check_store()
        assert not re.search("hunter2|tester|\n", str(raised.value))
    assert "hunter2" not in caplog.text
