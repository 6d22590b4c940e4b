from __future__ import annotations

import dataclasses
import datetime
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text
from syrupy.assertion import SnapshotAssertion

from explorer.database import engine as db
from explorer.database import shared_values  # noqa: F401  # it has a table
from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError
from explorer.run_store import index, store
from explorer.run_store.index import Query, search
from explorer.run_store.store import StoredRun
from explorer.sweeps import stored  # noqa: F401  # it has a table
from explorer.training import config as run_config
from explorer.training.config import Branch, changed_settings, default_config, with_settings
from explorer.web import predictions  # noqa: F401  # it has a table
from explorer.web.classes import tables  # noqa: F401  # it has tables
from tests.run_store import small_runs
from tests.run_store.small_runs import record, record_of_seed

Patch = pytest.MonkeyPatch
MONDAY = datetime.datetime(2026, 3, 2, 12, 0, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def own_index(included_folder: Path) -> Iterator[None]:
    yield
    db.close_database()


def store_run(
    seed: int = 0, owner: str = "", model: str = "bag_of_words", folder: Path | None = None, **card: Any
) -> StoredRun:
    """Store a run on disk without adding it to the index."""
    record = record_of_seed(seed, model)
    run = store.save_run(record, folder or store.run_folder(record.config), owner)
    return edit_card(run.folder, **card) if card else run


def edit_card(folder: Path, **card: Any) -> StoredRun:
    """Edit fields of a card on disk and load the run again."""
    small_runs.edit_card(folder, **card)
    store._load.cache_clear()
    return store.load(folder)


def search_keys(*arguments: Any, **query: Any) -> list[str]:
    return [entry.key for entry in search(Query(*arguments, **query))]


def search_names(**query: Any) -> list[str]:
    return [entry.name for entry in search(Query(**query))]


def test_an_entry_contains_the_fields_of_its_card(snapshot: SnapshotAssertion) -> None:
    words = {"name": "Mine", "note": "two\nlines", "tags": ["b", "A"], "seconds": 1.5}
    run = store_run(7, "ada", created="2026-03-02T14:00:00.250+02:00", **words)
    index.add_run(run)
    (entry,) = search()
    assert entry.bytes == store.folder_size(run.folder)
    assert entry.changed == (run.folder / "card.json").stat().st_mtime_ns
    assert entry.metrics == {name: metric.model_dump(exclude_none=True) for name, metric in run.card.metrics.items()}
    assert entry.score == run.card.metrics["exact_accuracy"].mean
    varying = {"bytes": 0, "changed": 0, "metrics": {}, "score": 0.0}
    assert dataclasses.asdict(dataclasses.replace(entry, **varying)) == snapshot
    config = dataclasses.replace(record().config, branch=Branch("a" * 12, 0))
    index.add_run(store.save_run(dataclasses.replace(record(), config=config), store.run_folder(config)))
    assert {entry.parent for entry in search()} == {"", "a" * 12}


def test_changed_settings_are_those_that_differ_from_the_default(monkeypatch: Patch) -> None:
    config = default_config("negation", "gru")
    for changes in ({}, {"replicas": 8, "p_not": 0.5}, {"seed": 5, "learning_rate": 0.5, "held_out": "destroy"}):
        changed = with_settings(config, changes)
        assert changed_settings(changed).keys() == changes.keys()
        assert with_settings(config, changed_settings(changed)) == changed
    default = {"seed": 0, "task": {"name": "t", "seed": 0, "size": 1}, "model": {"name": "m", "width": 1}}
    other = {"seed": 1, "task": {"name": "t", "seed": 2, "size": 1}, "model": {"name": "m", "width": 3}}
    monkeypatch.setattr(run_config, "to_json", lambda c: other if c is config else default)
    monkeypatch.setattr(run_config, "default_config", lambda *_: None)
    assert changed_settings(config) == {"seed": 1, "task.seed": 2, "width": 3}


def test_the_migrations_create_the_tables_of_the_classes(database: str) -> None:
    index.used_bytes()
    with db.database().engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, db.Base.metadata) == []
        assert {i["name"] for i in inspect(connection).get_indexes("runs")} >= {"ix_runs_created", "ix_runs_owner"}


def test_special_characters_in_a_search_are_literal(database: str) -> None:
    hostile = ["100% sure", "under_score", "it's", 'a "quote"', "back\\slash", "semi; DROP TABLE runs", "a/b"]
    hostile += ["Größe ÉTÉ", "İ", "<script>", "fêtes 🎉"]
    for seed, name in enumerate([*hostile, "plain"]):
        store_run(seed, name=name)
    for name in hostile:
        assert search_names(text=name) == [name]
        assert search_names(text=f"  {name.upper()} ") == [name]
        assert search_names(text=name[1:-1]) == [name] or len(name) < 3
    for sign, expected_count in {"%": 1, "_": 1, "'": 1, "\\": 1, ";": 1, "/": 1, "\0": 12, "\x1f": 12, "": 12}.items():
        assert len(search_names(text=sign)) == expected_count, sign
    assert search_names(text="'; DROP TABLE runs; --") == []
    assert len(search_names()) == 12


def test_text_is_searched_separately_in_name_title_key_note_and_tags(database: str) -> None:
    run = store_run(0, name="first", note="second\nline", tags=["third", "fourth"])
    store_run(1, model="rnn")
    for search_text in ("FIRS", "bag of", run.key[2:9].upper(), "Second", "nd\nli", "hird", "fourth"):
        assert search_keys(text=search_text) == [run.key], search_text
    for text_ in ("firstbag", "first\x1fbag", "first bag", "thirdfourth", "negation-"):
        assert search_keys(text=text_) == []
    with pytest.raises(InvalidSetting, match="at most 2,000 characters; this one has 2,001"):
        search(Query(text="x" * 2001))


def test_filters(database: str, included_folder: Path) -> None:
    a = store_run(0, "ada", created="2026-03-01T12:00:00+00:00", tags=["good", "it's 100%_"]).key
    b = store_run(0, "bob", "rnn", created="2026-03-02T12:00:00+00:00", tags=["good"]).key
    c = store_run(1, created="2026-03-03T12:00:00+00:00", state="stopped").key
    d = store_run(2, folder=included_folder / "shipped-one", created="2026-03-04T12:00:00+00:00").key
    later = MONDAY.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    queries: list[tuple[list[str], dict[str, Any]]] = [
        ([d, c, b, a], {}),
        ([b], {"models": ("rnn",)}),
        ([d, c, b, a], {"models": ("rnn", "bag_of_words")}),
        ([d, c, b, a], {"tasks": ("negation",)}),
        ([], {"tasks": ("'; --",)}),
        ([b, a], {"tags": ("good",)}),
        ([a], {"tags": ("good", "it's 100%_")}),
        *(([], {"tags": (tag,)}) for tag in ("goo%", "Good")),
        *(([d, c, b], {"since": since}) for since in (MONDAY, later)),
        ([d, c], {"since": MONDAY + datetime.timedelta(seconds=1)}),
        ([a], {"owner": "ada"}),
        ([d, c], {"owner": ""}),
        ([c], {"owner": "", "shipped": False}),
        ([c, b, a], {"shipped": False}),
        ([d, b, a], {"unfinished": False}),
        ([c, a], {"keys": (a, c)}),
        ([], {"keys": ()}),
        ([d, c], {"limit": 2}),
        *(([], {"limit": limit}) for limit in (0, -1)),
    ]
    for expected, query in queries:
        assert search_keys(**query) == expected, query
    assert index.all_tags() == ["good", "it's 100%_"]
    assert index.used_bytes() == sum(entry.bytes for entry in search(Query(shipped=False)))


def test_orders(database: str) -> None:
    nan = {"mean": None, "values": [None, None]}
    for seed, (name, seconds, parameters, accuracy) in enumerate(
        [("beta", 1.5, 10, 0.5), ("", 0.5, 9, None), ("Alpha", 10.0, 11, 0.25), ("gamma", 9.0, 2, 1.0)]
    ):
        metric = nan if accuracy is None else {"mean": accuracy, "values": [accuracy, accuracy]}
        created = (MONDAY + datetime.timedelta(hours=seed)).isoformat()
        card = {"name": name, "seconds": seconds, "parameters": parameters, "metrics": {"exact_accuracy": metric}}
        store_run(seed, created=created, **card)
    card = {"name": "delta", "seconds": 0.1, "parameters": 1, "metrics": {"exact_accuracy": nan}}
    store_run(0, model="rnn", created="2020-01-01", **card)
    for order, expected in {
        "created": "delta beta - Alpha gamma",
        "-created": "gamma Alpha - beta delta",
        "name": "Alpha beta delta gamma -",
        "-name": "gamma delta beta Alpha -",
        "title": "gamma Alpha - beta delta",
        "-title": "delta gamma Alpha - beta",
        "seconds": "delta - beta gamma Alpha",
        "-parameters": "Alpha beta - gamma delta",
        "accuracy": "Alpha beta gamma - delta",
        "-accuracy": "gamma beta Alpha - delta",
    }.items():
        assert " ".join(name or "-" for name in search_names(order=order)) == expected, order
    assert [e.bytes for e in search(Query(order="bytes"))] == sorted(e.bytes for e in search())
    for wrong in ("", "-", "--name", "Name", "key", "name; DROP TABLE runs", "x" * 999):
        with pytest.raises(InvalidSetting, match="There is created, name, title, seconds, parameters, bytes, accuracy"):
            search(Query(order=wrong))


def test_runs_are_added_updated_and_removed(database: str, included_folder: Path) -> None:
    run, other = store_run(0, name="old", tags=["a", "b"]), store_run(1)
    shipped = store_run(0, folder=included_folder / "one")
    for each in (run, other, shipped):
        index.add_run(each)
    index.add_run(edit_card(run.folder, name="new", tags=["b", "c"]))
    assert sorted(search_names()) == ["", "", "new"]
    assert index.all_tags() == ["b", "c"]
    shutil.rmtree(run.folder)
    index.remove_run(run.key)
    index.remove_run(run.key)
    index.remove_run("nothing; --")
    assert {(e.key, e.shipped) for e in search()} == {(other.key, False), (shipped.key, True)}
    assert index.all_tags() == []


def test_reindexing_gives_the_same_entries(included_folder: Path) -> None:
    runs = [store_run(seed, "ada", tags=[str(seed), "x"], created="2026-03-02") for seed in range(3)]
    store_run(0, folder=included_folder / "one")
    for run in runs:
        index.add_run(run)
    edit_card(runs[0].folder, note="later")
    shutil.rmtree(runs[1].folder)
    index.refresh()
    before = search()
    assert len(before) == 3
    assert index.reindex() == 3
    assert search() == before
    db.close_database()
    environment().database_url or (environment().home / "index.db").unlink()
    assert search() == before


def test_a_refresh_detects_manual_changes_and_reads_only_new_folders(monkeypatch: Patch) -> None:
    read: list[str] = []
    original = index._read_entry
    monkeypatch.setattr(
        index, "_read_entry", lambda folder, *rest: (read.append(folder.name), original(folder, *rest))[1]
    )
    a, b, damaged = store_run(0), store_run(1), store_run(3)
    (damaged.folder / "events.parquet").unlink()
    store._load.cache_clear()
    for _ in range(2):
        index.refresh()
        assert sorted(read) == sorted([a.key, b.key, damaged.key])
    shutil.rmtree(a.folder)
    c = store_run(2)
    edit_card(b.folder, name="by hand")
    for name in (".writing-1", "notes", "a" * 12):
        (environment().runs / name).mkdir()
    (environment().runs / "a file").write_text("")
    index.refresh()
    assert {e.key: e.name for e in search()} == {b.key: "by hand", c.key: ""}
    assert {b.key, c.key} <= set(read[3:]) and damaged.key not in read[3:]


def test_a_search_refreshes_every_two_seconds(monkeypatch: Patch) -> None:
    clock_time = 100.0
    monkeypatch.setattr(index.time, "monotonic", lambda: clock_time)
    assert search_keys() == []
    run = store_run(0)
    for seconds, found in ((1.9, []), (0.2, [run.key])):
        clock_time += seconds
        assert search_keys() == found
    shutil.rmtree(run.folder)
    for seconds, is_known in ((1.9, True), (0.2, False)):
        clock_time += seconds
        assert (index.used_bytes() > 0) == is_known


def test_a_damaged_folder_is_skipped_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = store_run(0), store_run(1)
    index.refresh()
    assert len(search_keys()) == 2
    events = (bad.folder / "events.parquet").read_bytes()
    (bad.folder / "events.parquet").write_bytes(events[:50])
    os.utime(bad.folder / "card.json", ns=(1, 1))
    store._load.cache_clear()
    with caplog.at_level(logging.WARNING):
        index.refresh()
        index.refresh()
    assert [bad.key in r.getMessage() for r in caplog.records] == [True]
    assert search_keys() == [good.key]
    assert index.reindex() == 1
    (bad.folder / "events.parquet").write_bytes(events)
    os.utime(bad.folder / "card.json", ns=(2, 2))
    index.refresh()
    assert sorted(search_keys()) == sorted([good.key, bad.key])


def test_an_invalid_card_does_not_affect_other_runs() -> None:
    good = store_run(0)
    invalid: list[dict[str, Any]] = [{"seconds": float("inf")}, {"parameters": 10**30}, {"parameters": -1}]
    invalid += [{"created": "yesterday"}, {"created": "0001-01-01T00:00:00+12:00"}]  # the last one is before all time
    for seed, odd in enumerate(invalid, 1):
        store_run(seed, **odd)
    index.refresh()
    assert search_keys() == [good.key]
    assert index.reindex() == 1


def test_a_card_with_unusual_text_is_listed(database: str) -> None:
    long = "x" * 50_000
    metric = {"mean": float("nan"), "values": [float("inf"), 1.0]}
    metrics = {"exact_accuracy": metric, "\0": {"mean": 1, "values": [1]}}
    odd = {"name": "a\0b\x1f", "note": long, "tags": ["a", "a", "a\0", long], "owner": long, "metrics": metrics}
    store_run(0, **odd)
    (entry,) = search()
    assert (entry.name, entry.note, entry.tags) == ("ab", long, ("a", "x" * 200))
    assert entry.score is None
    assert entry.metrics["exact_accuracy"] == {"mean": None, "values": [None, 1.0]}
    assert search_names(text="ab") == ["ab"]
    assert search_names(tags=("a\0",), owner="nobody\0") == []


def test_a_run_is_listed_once_and_only_under_its_key(included_folder: Path) -> None:
    run = store_run(0)
    shutil.copytree(run.folder, run.folder.parent / ("b" * 12))
    assert search_keys() == [run.key]
    included_folder.mkdir()
    run.folder.rename(included_folder / "b")
    shutil.rmtree(run.folder.parent / ("b" * 12))
    index.refresh()
    shutil.copytree(included_folder / "b", included_folder / "a")
    for _ in range(2):
        index.refresh()
    assert [entry.folder for entry in search()] == ["b"]
    assert index.reindex() == 1


def test_threads_can_open_the_index_simultaneously(database: str) -> None:
    run = store_run(0)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: search_keys(), range(16))) == [[run.key]] * 16
        list(pool.map(lambda _: index.add_run(run), range(16)))
        assert list(pool.map(lambda _: index.reindex(), range(8))) == [1] * 8


@pytest.fixture
def file(home: Path) -> Path:
    return home / "index.db"


def overwrite_pages(file: Path) -> None:
    """Overwrite all pages but the first, as a defective disk may do."""
    file.write_bytes(file.read_bytes()[:4096] + b"\xa5" * (file.stat().st_size - 4096))


def run_sql(statement: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(statement)

    return change


def delete(file: Path) -> None:
    for part in file.parent.glob("index.db*"):
        part.unlink()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": delete,
    "no database": lambda file: file.write_bytes(b"no database at all" * 999),
    "cut": overwrite_pages,
    "newer": run_sql("UPDATE alembic_version SET version_num = 'v999'"),
    "tables are gone": run_sql("DROP TABLE runs"),
    "another table": run_sql("ALTER TABLE runs RENAME COLUMN words TO verbs"),
    "no version": run_sql("DROP TABLE alembic_version"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced(damage: str, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = store_run(0, name="still here")
    index.refresh()
    if damage in ("no database", "newer", "no version"):  # the others are noticed while the program runs
        db.close_database()
    DAMAGES[damage](file)
    assert index.search(Query(text="still")) == index.search() != []
    index.add_run(run)
    assert search_names() == ["still here"]
    if damage == "deleted":
        return
    aside = list(file.parent.glob("index.db.damaged-*"))
    assert [other.suffix for other in aside if not other.name.endswith(("-wal", "-shm"))]
    assert "is damaged or of a newer version" in caplog.text


@pytest.mark.parametrize("damage", ["no database", "newer", "tables are gone"])
def test_a_configured_file_is_never_replaced(damage: str, tmp_path: Path, monkeypatch: Patch) -> None:
    file = tmp_path / "given.db"
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{file}")
    index.refresh()
    db.close_database()
    DAMAGES[damage](file)
    before = file.read_bytes()
    with pytest.raises(StoreError, match=r"^[^\n]*LINEAGE_DATABASE_URL is damaged, or a newer version[^\n]*$"):
        search()
    assert file.read_bytes() == before


def test_an_invalid_address_is_reported_without_its_password(monkeypatch: Patch) -> None:
    for address in (
        *("nonsense", "postgres://ada:s3cret@host/db", "mysql://ada:s3cret@host/db", "s3cret@://"),
        *("postgresql://ada:s3cret@host:port/db", "postgresql+nothing://ada:s3cret@host/db?password=s3cret"),
        *("oracle://ada:s3cret@/x?password=s3cret", "sqlite://", "sqlite:///:memory:"),
    ):
        monkeypatch.setenv("LINEAGE_DATABASE_URL", address)
        with pytest.raises(InvalidSetting, match="LINEAGE_DATABASE_URL") as raised:
            search()
        assert "s3cret" not in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@127.0.0.1:1/db", "sqlite:////no/such/folder/x.db"])
def test_an_unreachable_database_is_reported(address: str, home: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", address)
    home.write_text("", encoding="utf-8")  # no folder, in which a database could be
    remove = lambda: index.remove_run("x")  # noqa: E731
    for operation in (search, index.all_tags, index.used_bytes, index.refresh, index.reindex, remove):
        with pytest.raises(StoreError, match="The runs themselves are safe") as raised:
            operation()
        assert "s3cret" not in str(raised.value)


def test_a_locked_database_is_reported_and_works_after_unlocking(database: str, home: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(db, "_LOCK_TIMEOUT", 0.02)
    run = store_run(0)
    index.refresh()
    store_run(1)
    with locked_database(database):
        for operation in (lambda: index.add_run(run), lambda: index.remove_run(run.key), index.refresh, index.reindex):
            with pytest.raises(StoreError, match="does not answer"):
                operation()
    assert len(search_keys()) in (1, 2)
    index.refresh()
    assert len(search_keys()) == 2
    db.close_database()
    with locked_database(database), pytest.raises(StoreError, match="does not answer"):
        search()  # it is locked at the start
    assert len(search_keys()) == 2
    assert not list(home.glob("index.db.damaged*"))


@contextmanager
def locked_database(database: str) -> Iterator[None]:
    """Hold a write lock on the database from another connection."""
    if database == "sqlite":
        other = sqlite3.connect(environment().home / "index.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.rollback()
        other.close()
    else:
        engine = create_engine(environment().database_url)
        with engine.connect() as connection:
            connection.execute(text("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"))
            yield
            connection.rollback()
        engine.dispose()
