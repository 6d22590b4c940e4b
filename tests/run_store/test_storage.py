from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.environment import environment
from explorer.errors import StoreError
from explorer.run_store import storage, store
from explorer.run_store.storage import Storage
from explorer.run_store.store import StoredRun
from tests import s3
from tests.run_store.small_runs import record, record_of_seed


def write_run(folder: Path, seed: int = 0) -> StoredRun:
    store.write_run(record_of_seed(seed), folder, "ada")
    return store.load(folder)


@pytest.fixture(params=["file", "memory", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each kind of storage in turn, empty."""
    (tmp_path / "shared").mkdir()
    if request.param == "s3":
        found = s3.fresh_bucket(monkeypatch)
    else:
        shared = tmp_path / "shared"
        found = {"file": shared.as_uri(), "memory": f"memory://{tmp_path}"}[request.param]
    monkeypatch.setenv("LINEAGE_RUNS", found)
    yield found
    storage.reset()


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shared folder as the storage."""
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("LINEAGE_RUNS", str(tmp_path / "shared"))
    return tmp_path / "shared"


def open_storage() -> Storage:
    found = storage.current()
    assert found
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_without_a_storage_checkpoints_are_not_copied(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    storage.save_checkpoint(run.key, run.folder)
    assert storage.current() is None
    assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    storage.delete_checkpoint(run.key)
    assert not (tmp_path / "copy").exists()


def test_a_checkpoint_is_continued_elsewhere(url: str, tmp_path: Path) -> None:
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


def test_a_checkpoint_with_another_file_is_ignored(shared: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for name in ("../evil", "snapshots/../../evil", "/etc/evil", "job.json", "weights.json"):
        storage.save_checkpoint(run.key, run.folder)
        with zipfile.ZipFile(shared / "checkpoints" / f"{run.key}.zip", "a") as archive:
            archive.writestr(name, "harm")
        before = contents(tmp_path)
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
        assert contents(tmp_path) == before


def test_a_damaged_checkpoint_is_ignored(shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run, other = write_run(tmp_path / "run"), write_run(tmp_path / "other", seed=1)
    storage.save_checkpoint(run.key, run.folder)
    file = shared / "checkpoints" / f"{run.key}.zip"
    for harm in (file.read_bytes()[:-40], b"", b"no zip"):
        file.write_bytes(harm)
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    storage.save_checkpoint(other.key, other.folder)
    (shared / "checkpoints" / f"{other.key}.zip").rename(file)
    assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert "cannot be used" in caplog.text


def test_a_checkpoint_that_is_too_large_or_a_link_is_ignored(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run")
    storage.save_checkpoint(run.key, run.folder)
    with monkeypatch.context() as patched:
        patched.setenv("LINEAGE_MOST_DISK", "100")
        assert not storage.load_checkpoint(run.key, tmp_path / "copy")
    file = shared / "checkpoints" / f"{run.key}.zip"
    file.rename(tmp_path / "elsewhere.zip")
    file.symlink_to(tmp_path / "elsewhere.zip")
    with pytest.raises(StoreError):
        storage.load_checkpoint(run.key, tmp_path / "copy")
    for wrong in ("../abcdefghijkl", "", "ABCDEFGHIJKL", "a/b"):
        with pytest.raises(ValueError, match="is not the key of a run"):
            storage.delete_checkpoint(wrong)
