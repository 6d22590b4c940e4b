from __future__ import annotations

import dataclasses
import datetime
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError
from explorer.run_store import database as db
from explorer.run_store import index, store
from explorer.run_store.index import Query, search
from explorer.run_store.store import StoredRun
from explorer.training import config as run_config
from explorer.training.config import Branch, changed_settings, default_config, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run
from tests import needs, postgres

TINY = {"epochs": 1, "train_size": 20, "test_size": 10, "replicas": 2}
ROOT = Path(index.__file__).parents[2]
MONDAY = datetime.datetime(2026, 3, 2, 12, 0, tzinfo=datetime.UTC)


@cache
def record(model: str = "bag_of_words") -> Record:
    return record_run(with_settings(default_config("negation", model), TINY))


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No run ships with the program unless a test makes it."""
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    return tmp_path / "pretrained"


def kept(
    seed: int = 0, owner: str = "", model: str = "bag_of_words", place: Path | None = None, **card: Any
) -> StoredRun:
    """A run on disk, of which the index was told nothing."""
    config = with_settings(record(model).config, {"seed": seed})
    run = store.save_run(dataclasses.replace(record(model), config=config), place or store.run_folder(config), owner)
    return edited(run.folder, **card) if card else run


def edited(folder: Path, **card: Any) -> StoredRun:
    """What a card says, changed by hand."""
    data = json.loads((folder / "card.json").read_text()) | card
    (folder / "card.json").write_text(json.dumps(data))
    store.reset()
    return store.load(folder)


def keys(*arguments: Any, **query: Any) -> list[str]:
    return [entry.key for entry in search(Query(*arguments, **query))]


def names(**query: Any) -> list[str]:
    return [entry.name for entry in search(Query(**query))]


def test_an_entry_holds_what_the_folder_says(database: str) -> None:
    run = kept(7, "ada", created="2026-03-02T14:00:00.250+02:00", name="Mine", note="two\nlines", tags=["b", "A"])
    index.add_run(run)
    (entry,) = search()
    assert entry.key == entry.folder == run.key
    assert (entry.task, entry.model, entry.title) == ("negation", "bag_of_words", "Bag of words")
    assert (entry.state, entry.step, entry.steps) == ("finished", 1, 1)
    assert (entry.replicas, entry.seed, entry.parameters) == (2, 7, run.card.parameters)
    assert (entry.owner, entry.name, entry.note, entry.tags) == ("ada", "Mine", "two\nlines", ("A", "b"))
    assert (entry.shipped, entry.pinned, entry.parent) == (False, False, "")
    assert entry.created == MONDAY + datetime.timedelta(milliseconds=250)
    assert entry.created.tzinfo == datetime.UTC
    assert entry.bytes == store.folder_size(run.folder)
    assert entry.changed == (run.folder / "card.json").stat().st_mtime_ns
    assert entry.metrics == {name: metric.model_dump() for name, metric in run.card.metrics.items()}
    assert entry.accuracy == run.card.metrics["exact_accuracy"].mean
    assert entry.settings == TINY | {"seed": 7}


def test_a_branch_names_its_parent(database: str) -> None:
    config = dataclasses.replace(record().config, branch=Branch("a" * 12, 0))
    store.save_run(dataclasses.replace(record(), config=config), store.run_folder(config))
    assert [entry.parent for entry in search()] == ["a" * 12]


@pytest.mark.parametrize(
    "changes",
    [{}, {"replicas": 8, "p_not": 0.5}, {"task.seed": 3, "seed": 5, "learning_rate": 0.5}, {"held_out": "destroy"}],
    ids=str,
)
@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_settings_are_what_differs_from_the_default(model: str, changes: dict[str, object]) -> None:
    usual = default_config("negation", model)
    try:
        config = with_settings(usual, changes)
    except InvalidSetting:
        config = with_settings(
            usual, changes := {name: value for name, value in changes.items() if name != "task.seed"}
        )
    assert changed_settings(config).keys() == changes.keys()
    assert with_settings(usual, changed_settings(config)) == config


def test_settings_of_one_name_in_two_parts_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"seed": 0, "task": {"name": "t", "seed": 0, "size": 1}, "model": {"name": "m", "width": 1}}
    whole = {"seed": 1, "task": {"name": "t", "seed": 2, "size": 1}, "model": {"name": "m", "width": 3}}
    config = default_config("negation", "gru")
    monkeypatch.setattr(run_config, "to_json", lambda c: whole if c is config else usual)
    monkeypatch.setattr(run_config, "default_config", lambda *_: None)
    assert changed_settings(config) == {"seed": 1, "task.seed": 2, "width": 3}


def test_the_migrations_make_the_tables_of_the_classes(database: str) -> None:
    index.used_bytes()
    with db.database().engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, db.Base.metadata) == []
        assert {i["name"] for i in inspect(connection).get_indexes("runs")} >= {"ix_runs_created", "ix_runs_owner"}


HOSTILE = [
    "100% sure",
    "under_score",
    "it's",
    'a "quote"',
    "back\\slash",
    "semi; DROP TABLE runs",
    "a/b",
    "Größe ÉTÉ",
    "İ",
]


def test_text_is_found_as_it_stands(database: str) -> None:
    for seed, name in enumerate([*HOSTILE, "plain"]):
        kept(seed, name=name)
    for name in HOSTILE:
        assert names(text=name) == [name]
        assert names(text=f"  {name.upper()} ") == [name]
        assert names(text=name[1:-1]) == [name] or len(name) < 3
    for sign, found in {"%": 1, "_": 1, "'": 1, "\\": 1, ";": 1, "/": 1, "\0": 10, "\x1f": 10, "": 10}.items():
        assert len(names(text=sign)) == found, sign
    assert names(text="'; DROP TABLE runs; --") == []
    assert len(names()) == 10


def test_text_is_looked_for_in_name_title_key_note_and_tags_each_for_itself(database: str) -> None:
    run = kept(0, name="first", note="second\nline", tags=["third", "fourth"])
    kept(1, model="rnn")
    for found in ("FIRS", "bag of", run.key[2:9].upper(), "Second", "nd\nli", "hird", "fourth"):
        assert keys(text=found) == [run.key], found
    for text_ in ("firstbag", "first\x1fbag", "first bag", "thirdfourth", "negation-"):
        assert keys(text=text_) == []
    with pytest.raises(InvalidSetting, match="at most 2,000 characters; this one has 2,001"):
        search(Query(text="x" * 2001))


def test_filters(database: str, program: Path) -> None:
    a = kept(0, "ada", created="2026-03-01T12:00:00+00:00", tags=["good", "it's 100%_"]).key
    b = kept(0, "bob", "rnn", created="2026-03-02T12:00:00+00:00", tags=["good"]).key
    c = kept(1, created="2026-03-03T12:00:00+00:00", state="stopped").key
    d = kept(2, place=program / "shipped-one", created="2026-03-04T12:00:00+00:00").key
    assert keys() == [d, c, b, a]
    assert keys(models=("rnn",)) == [b]
    assert keys(models=("rnn", "bag_of_words")) == [d, c, b, a]
    assert keys(tasks=("negation",)) == [d, c, b, a]
    assert keys(tasks=("'; --",)) == []
    assert keys(tags=("good",)) == [b, a]
    assert keys(tags=("good", "it's 100%_")) == [a]
    assert keys(tags=("goo%",)) == keys(tags=("Good",)) == []
    assert keys(since=MONDAY) == [d, c, b]
    assert keys(since=MONDAY.astimezone(datetime.timezone(datetime.timedelta(hours=5)))) == [d, c, b]
    assert keys(since=MONDAY + datetime.timedelta(seconds=1)) == [d, c]
    assert keys(owner="ada") == [a]
    assert keys(owner="") == [d, c]
    assert keys(owner="", shipped=False) == [c]
    assert keys(shipped=False) == [c, b, a]
    assert keys(unfinished=False) == [d, b, a]
    assert keys(limit=2) == [d, c]
    assert keys(limit=0) == keys(limit=-1) == []
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
        kept(seed, created=created, **card)
    kept(0, model="rnn", created="2020-01-01", name="delta", seconds=0.1, parameters=1, metrics={"exact_accuracy": nan})
    assert names(order="created") == ["delta", "beta", "", "Alpha", "gamma"]
    assert names(order="-created") == ["gamma", "Alpha", "", "beta", "delta"]
    assert names(order="name") == ["Alpha", "beta", "delta", "gamma", ""]
    assert names(order="-name") == ["gamma", "delta", "beta", "Alpha", ""]
    assert names(order="title") == ["gamma", "Alpha", "", "beta", "delta"]
    assert names(order="-title") == ["delta", "gamma", "Alpha", "", "beta"]
    assert names(order="seconds") == ["delta", "", "beta", "gamma", "Alpha"]
    assert names(order="-parameters") == ["Alpha", "beta", "", "gamma", "delta"]
    assert names(order="accuracy") == ["Alpha", "beta", "gamma", "", "delta"]
    assert names(order="-accuracy") == ["gamma", "beta", "Alpha", "", "delta"]
    assert [e.bytes for e in search(Query(order="bytes"))] == sorted(e.bytes for e in search())
    for wrong in ("", "-", "--name", "Name", "key", "name; DROP TABLE runs", "x" * 999):
        with pytest.raises(InvalidSetting, match="There is created, name, title, seconds, parameters, bytes, accuracy"):
            search(Query(order=wrong))


def test_put_enters_and_mends_and_drop_strikes_out(database: str, program: Path) -> None:
    run, other = kept(0, name="old", tags=["a", "b"]), kept(1)
    shipped = kept(0, place=program / "one")
    for each in (run, other, shipped):
        index.add_run(each)
    index.add_run(edited(run.folder, name="new", tags=["b", "c"]))
    assert sorted(names()) == ["", "", "new"]
    assert index.all_tags() == ["b", "c"]
    shutil.rmtree(run.folder)
    index.remove_run(run.key)
    index.remove_run(run.key)
    index.remove_run("nothing; --")
    assert {(e.key, e.shipped) for e in search()} == {(other.key, False), (shipped.key, True)}
    assert index.all_tags() == []


def test_made_anew_it_is_the_same_as_when_it_grew(database: str, program: Path) -> None:
    runs = [kept(seed, "ada", tags=[str(seed), "x"], created="2026-03-02") for seed in range(3)]
    kept(0, place=program / "one")
    for run in runs:
        index.add_run(run)
    edited(runs[0].folder, note="later")
    shutil.rmtree(runs[1].folder)
    index.refresh()
    grown = search()
    assert len(grown) == 3
    assert index.reindex() == 3
    assert search() == grown
    db.close_database()
    environment().database_url or (environment().home / "index.db").unlink()
    assert search() == grown


def test_a_refresh_sees_what_was_done_by_hand(database: str) -> None:
    a, b = kept(0), kept(1)
    index.refresh()
    shutil.rmtree(a.folder)
    c = kept(2)
    edited(b.folder, name="by hand")
    (environment().runs / ".writing-1").mkdir()
    (environment().runs / "notes").mkdir()
    (environment().runs / "a file").write_text("")
    (environment().runs / ("a" * 12)).mkdir()
    index.refresh()
    assert {e.key: e.name for e in search()} == {b.key: "by hand", c.key: ""}


def test_a_refresh_reads_only_what_is_new(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(0)
    (kept(1).folder / "events.parquet").unlink()
    read: list[str] = []
    original = index._read_entry
    monkeypatch.setattr(index, "_read_entry", lambda folder: (read.append(folder.name), original(folder))[1])
    index.refresh()
    assert len(read) == 2
    index.refresh()
    assert len(read) == 2
    new = kept(2)
    index.refresh()
    assert read[2:] == [new.key]


def test_a_search_refreshes_every_two_seconds(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(index.time, "monotonic", lambda: now)
    assert keys() == []
    run = kept(0)
    now += 1.9
    assert keys() == []
    now += 0.2
    assert keys() == [run.key]
    shutil.rmtree(run.folder)
    now += 1.9
    assert index.used_bytes() > 0
    now += 0.2
    assert index.used_bytes() == 0


def test_a_damaged_folder_is_left_out_and_logged_once(database: str, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = kept(0), kept(1)
    index.refresh()
    assert len(keys()) == 2
    events = (bad.folder / "events.parquet").read_bytes()
    (bad.folder / "events.parquet").write_bytes(events[:50])
    os.utime(bad.folder / "card.json", ns=(1, 1))
    store.reset()
    with caplog.at_level(logging.WARNING):
        index.refresh()
        index.refresh()
    assert [bad.key in r.getMessage() for r in caplog.records] == [True]
    assert keys() == [good.key]
    assert index.reindex() == 1
    (bad.folder / "events.parquet").write_bytes(events)
    os.utime(bad.folder / "card.json", ns=(2, 2))
    index.refresh()
    assert sorted(keys()) == sorted([good.key, bad.key])


ODD: dict[str, dict[str, Any]] = {
    "endless seconds": {"seconds": float("inf")},
    "no seconds": {"seconds": float("nan")},
    "too many parameters": {"parameters": 10**30},
    "negative parameters": {"parameters": -1},
    "no time": {"created": "yesterday"},
    "before all time": {"created": "0001-01-01T00:00:00+12:00"},
}


@pytest.mark.parametrize("odd", ODD)
def test_a_card_that_is_not_possible_spoils_nothing_else(odd: str, database: str) -> None:
    good = kept(0)
    kept(1, **ODD[odd])
    index.refresh()
    assert keys() == [good.key]
    assert index.reindex() == 1


def test_a_card_with_odd_text_is_listed(database: str) -> None:
    long = "x" * 50_000
    metrics = {
        "exact_accuracy": {"mean": float("nan"), "values": [float("inf"), 1.0]},
        "\0": {"mean": 1, "values": [1]},
    }
    odd = {"name": "a\0b\x1f", "note": long, "tags": ["a", "a", "a\0", long], "owner": long, "metrics": metrics}
    kept(0, **odd)
    (entry,) = search()
    assert (entry.name, entry.note, entry.tags) == ("ab", long, ("a", "x" * 200))
    assert entry.accuracy is None
    assert entry.metrics["exact_accuracy"] == {"mean": None, "values": [None, 1.0]}
    assert names(text="ab") == ["ab"]
    assert names(tags=("a\0",), owner="nobody\0") == []


def test_a_run_under_another_name_is_left_out(database: str) -> None:
    run = kept(0)
    shutil.copytree(run.folder, run.folder.parent / ("b" * 12))
    assert keys() == [run.key]
    run.folder.rename(run.folder.parent / ("c" * 12))
    index.refresh()
    assert keys() == []


def test_of_two_shipped_folders_of_one_run_the_first_is_listed(database: str, program: Path) -> None:
    run = kept(0, place=program / "b")
    index.refresh()
    shutil.copytree(run.folder, program / "a")
    index.refresh()
    index.refresh()
    assert [entry.folder for entry in search()] == ["b"]
    assert index.reindex() == 1


def test_threads_may_begin_at_once(database: str) -> None:
    run = kept(0)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: keys(), range(16))) == [[run.key]] * 16
        list(pool.map(lambda _: index.add_run(run), range(16)))
        assert list(pool.map(lambda _: index.reindex(), range(8))) == [1] * 8


@pytest.mark.sampled(2)
def test_processes_may_begin_at_once(database: str) -> None:
    run = kept(0)
    script = (
        "import sys; from pathlib import Path; from explorer.run_store import index, store\n"
        f"store.PRETRAINED = Path({str(store.PRETRAINED)!r})\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "index.reindex(); print([entry.key for entry in index.search()])"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, **pipes) for _ in range(2)]
    try:
        for process in started:
            assert process.stdout.readline() == "ready\n"
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert said == [(f"['{run.key}']\n", "")] * 2


def test_another_process_may_be_faster(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, original = kept(0), index._read_entries

    def read_and_be_overtaken(*folders: Any) -> list[index.Entry]:
        entries = original(*folders)
        db.run_transaction(lambda session: index._replace_rows(session, entries, []), write=True)
        return entries

    monkeypatch.setattr(index, "_read_entries", read_and_be_overtaken)
    index.refresh()
    assert keys() == [run.key]


def test_it_needs_no_torch_and_no_streamlit() -> None:
    script = "import sys, explorer.run_store.operations; print({'torch', 'streamlit'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, text=True) == "set()\n"


# ---- Databases that do not answer, or not as they should ----


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "_LOCK_TIMEOUT", 0.02)


@pytest.fixture
def file(home: Path) -> Iterator[Path]:
    yield home / "index.db"
    db.close_database()


def cut(file: Path) -> None:
    """Pages in the middle are lost, as after a bad disk."""
    with file.open("r+b") as out:
        out.seek(4096)
        out.write(b"\xa5" * (file.stat().st_size - 4096))


def spoken(statement: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            connection.execute(statement)
        connection.close()

    return change


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no database": lambda file: file.write_bytes(b"no database at all" * 999),
    "cut": cut,
    "newer": spoken("UPDATE alembic_version SET version_num = 'v999'"),
    "tables are gone": spoken("DROP TABLE runs"),
    "another table": spoken("ALTER TABLE runs RENAME COLUMN words TO verbs"),
    "no version": spoken("DROP TABLE alembic_version"),
}


@pytest.mark.parametrize("when", ["before", "while it runs"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced(damage: str, when: str, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = kept(0, name="still here")
    index.refresh()
    if when == "before":
        db.close_database()
    DAMAGES[damage](file)
    if damage in ("newer", "no version"):
        db.close_database()  # does not hurt who is running
    assert index.search(Query(text="still")) == index.search() != []
    index.add_run(run)
    assert names() == ["still here"]
    aside = list(file.parent.glob("index.db.damaged-*"))
    assert [other.suffix for other in aside if not other.name.endswith(("-wal", "-shm"))]
    assert "is damaged or of a newer version" in caplog.text


def test_a_file_that_was_deleted_while_it_runs_is_made_again(file: Path) -> None:
    run = kept(0)
    assert keys() == [run.key]
    for part in file.parent.glob("index.db*"):
        part.unlink()
    assert keys() == [run.key]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_given_file_is_never_replaced(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "given.db"
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{file}")
    index.refresh()
    db.close_database()
    DAMAGES[damage](file)
    before = file.read_bytes()
    with pytest.raises(StoreError, match="LINEAGE_DATABASE_URL is damaged, or a newer version") as raised:
        search()
    assert "\n" not in str(raised.value)
    assert file.read_bytes() == before


@needs.postgresql
@pytest.mark.parametrize("damage", ["UPDATE alembic_version SET version_num = 'v999'", "DROP TABLE tags"])
def test_a_postgresql_of_a_newer_version_is_left_alone(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres.fresh_database()
    monkeypatch.setenv("LINEAGE_DATABASE_URL", address)
    index.refresh()
    engine = create_engine(address)
    with engine.begin() as connection:
        connection.execute(text(damage))
    engine.dispose()
    db.close_database()
    with pytest.raises(StoreError, match="is damaged, or a newer version"):
        search()


BAD = [
    "nonsense",
    "postgres://ada:s3cret@host/db",
    "mysql://ada:s3cret@host/db",
    "postgresql://ada:s3cret@host:port/db",
    "postgresql+nothing://ada:s3cret@host/db?password=s3cret",
    "oracle://ada:s3cret@/x?password=s3cret",
    "sqlite://",
    "sqlite:///:memory:",
    "s3cret@://",
]


@pytest.mark.parametrize("address", BAD)
def test_a_bad_address_is_said_in_one_sentence_without_its_password(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", address)
    with pytest.raises(InvalidSetting, match="LINEAGE_DATABASE_URL") as raised:
        search()
    assert "s3cret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@127.0.0.1:1/db", "sqlite:////no/such/folder/x.db"])
def test_a_database_out_of_reach_is_said(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", address)
    for ask in (search, index.all_tags, index.used_bytes, index.refresh, index.reindex, lambda: index.remove_run("x")):
        with pytest.raises(StoreError, match="The runs themselves are safe") as raised:
            ask()
        assert "s3cret" not in str(raised.value)


def test_a_home_that_is_a_file_is_said(home: Path) -> None:
    home.write_text("")
    with pytest.raises(StoreError, match="The runs themselves are safe"):
        search()


def test_a_locked_database_is_said_and_works_again(database: str, impatient: None, home: Path) -> None:
    run = kept(0)
    index.refresh()
    kept(1)
    with locked(database):
        for ask in (lambda: index.add_run(run), lambda: index.remove_run(run.key), index.refresh, index.reindex):
            with pytest.raises(StoreError, match="does not answer"):
                ask()
    assert len(keys()) in (1, 2)
    index.refresh()
    assert len(keys()) == 2
    assert not list(home.glob("index.db.damaged*"))


def test_a_database_that_is_locked_at_the_start_is_said(database: str, impatient: None, home: Path) -> None:
    kept(0)
    index.refresh()
    db.close_database()
    with locked(database), pytest.raises(StoreError, match="does not answer"):
        search()
    assert len(keys()) == 1
    assert not list(home.glob("index.db.damaged*"))


class locked:
    """Somebody else writes, and does not come to an end."""

    def __init__(self, database: str) -> None:
        self.database = database

    def __enter__(self) -> None:
        if self.database == "sqlite":
            self.other: Any = sqlite3.connect(environment().home / "index.db", isolation_level=None)
            self.other.execute("BEGIN EXCLUSIVE")
        else:
            self.engine = create_engine(environment().database_url)
            self.other = self.engine.connect()
            self.other.execute(text("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"))

    def __exit__(self, *_: object) -> None:
        self.other.rollback()
        self.other.close()
        if self.database != "sqlite":
            self.engine.dispose()
