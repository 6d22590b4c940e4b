"""The database that holds the index of runs: SQLite in LINEAGE_HOME, or the one of LINEAGE_DATABASE_URL.

It is brought to this version of the program when it is first asked; a SQLite file of ours that is damaged is moved
aside and made again. Every function may be called from any thread.
"""

from __future__ import annotations

import datetime
import fcntl
import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import (
    JSON,
    URL,
    Connection,
    DateTime,
    Dialect,
    Engine,
    NullPool,
    Text,
    TypeDecorator,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, ProgrammingError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Session

from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError, shortened

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_PATIENCE = 2.0  # seconds to wait for somebody else's transaction
_WRITERS = 0x11EA6E  # names the lock that writers to a PostgreSQL database take in turn
_NO_ANSWER = (
    "The list of runs cannot be read now: the database does not answer. "
    "The runs themselves are safe; try again in a moment."
)
_NOT_OURS = (
    "The database of LINEAGE_DATABASE_URL is damaged, or a newer version of this program made it. "
    "The runs themselves are safe: give an empty database, and the list is made again."
)


def utc(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)


class Moment(TypeDecorator[datetime.datetime]):
    """A moment, the same on every database: SQLite forgets the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        return value and utc(value)

    def process_result_value(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        return value and utc(value)


class Base(DeclarativeBase):
    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy's own name for it
        str: Text().with_variant(Text(collation="C"), "postgresql"),  # sorted as SQLite does
        datetime.datetime: Moment,
        dict[str, Any]: JSON,
        dict[str, dict[str, Any]]: JSON,
    }


@dataclass
class Database:
    """A database that is ready to be asked, and what this process remembers of it."""

    engine: Engine
    refreshed: float = -math.inf
    skipped: dict[tuple[bool, str], int] = field(default_factory=dict)  # folders that cannot be read, as of when


class _Damaged(Exception):
    """The database file has lost something."""


lock = threading.RLock()


def ask(work: Callable[[Session], _T], write: bool = False) -> _T:
    """Do something in one transaction. Raises StoreError."""
    try:
        return _once(work, write)
    except SQLAlchemyError as error:
        if not _is_damage(error):
            raise StoreError(_NO_ANSWER) from error
    forget()  # so that it is looked at, and made again if need be
    try:
        return _once(work, write)
    except SQLAlchemyError as error:
        raise StoreError(_NO_ANSWER) from error


def _once(work: Callable[[Session], _T], write: bool) -> _T:
    with Session(database().engine, expire_on_commit=False) as session, session.begin():
        session.connection(execution_options={"writes": write})
        return work(session)


def forget() -> None:
    """Leave the database; who asks next opens it again."""
    with lock:
        database().engine.dispose()
        _open.cache_clear()


def database() -> Database:
    settings = environment()
    with lock:
        return _open(settings.database_url, settings.home)


@lru_cache(maxsize=8)
def _open(given: str, home: Path) -> Database:
    """The database of an address, brought to this version of the program. Raises StoreError or InvalidSetting."""
    file = home / "index.db"
    url = _checked(given) if given else URL.create("sqlite", database=str(file))
    engine = _engine(url)
    try:
        if not given:
            home.mkdir(parents=True, exist_ok=True)
        try:
            _prepare(engine)
        except (SQLAlchemyError, CommandError, _Damaged) as error:
            if not _is_damage(error):
                raise
            if given:
                engine.dispose()
                raise StoreError(_NOT_OURS) from error
            _replace_file(engine, file)
    except (SQLAlchemyError, CommandError, _Damaged, OSError) as error:
        engine.dispose()
        raise StoreError(_NO_ANSWER) from error
    return Database(engine)


def _checked(given: str) -> URL:
    """The address of a database as an operator gave it; a password in it is never repeated."""
    possible = "Give postgresql+psycopg://USER:PASSWORD@HOST/NAME or sqlite:////PATH/TO/FILE, or unset it."
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidSetting(f"LINEAGE_DATABASE_URL is not the address of a database. {possible}") from None
    shown = shortened(url.set(query={}).render_as_string(hide_password=True), 100)
    in_memory = url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")
    if url.get_backend_name() not in ("sqlite", "postgresql") or in_memory:
        raise InvalidSetting(f"LINEAGE_DATABASE_URL = {shown} is not possible. {possible}")
    try:
        url.get_dialect().import_dbapi()
    except (ArgumentError, ImportError):
        raise InvalidSetting(f"LINEAGE_DATABASE_URL = {shown} needs a driver that is not here. {possible}") from None
    return url


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, poolclass=NullPool)  # to open a file takes no time, and it may be replaced

        @event.listens_for(engine, "connect")
        def connected(connection: Any, _: object) -> None:
            connection.isolation_level = None  # transactions are begun below, not by the driver
            connection.execute(f"PRAGMA busy_timeout = {round(_PATIENCE * 1000)}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def begun(connection: Connection) -> None:
            writes = connection.get_execution_options().get("writes")
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    else:
        engine = create_engine(url.update_query_dict({"connect_timeout": "5"} | dict(url.query)), pool_pre_ping=True)

        @event.listens_for(engine, "begin")
        def begun(connection: Connection) -> None:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(_PATIENCE * 1000)}")
            if connection.get_execution_options().get("writes"):
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")

    return engine


def _prepare(engine: Engine) -> None:
    """Bring a database to this version of the program; who comes second waits, and finds it done."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        sqlite = engine.dialect.name == "sqlite"
        if sqlite and connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
            raise _Damaged
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        for table in Base.metadata.sorted_tables:
            connection.execute(table.select().limit(1))  # has the columns that we ask for


def _is_damage(error: Exception) -> bool:
    """Whether a database holds what it should not, or lacks something; not: it is locked, or out of reach."""
    if isinstance(error, (_Damaged, CommandError)):  # alembic: a revision that we do not know
        return True
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, ProgrammingError) or code in (1, 11, 26)  # SQLITE_ERROR, _CORRUPT, _NOTADB


def _replace_file(engine: Engine, file: Path) -> None:
    """Move a damaged SQLite file out of the way and begin another; the next refresh fills it."""
    with _alone(file.with_name("index.lock")):
        try:
            _prepare(engine)  # somebody else may have done it while we waited
        except (SQLAlchemyError, CommandError, _Damaged) as error:
            if not _is_damage(error):
                raise
            aside = f"{file.name}.damaged-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S%f}"
            log.error("%s is damaged or of a newer version; it is now %s, and a new one is made", file, aside)
            for end in ("-wal", "-shm", ""):
                if (part := file.with_name(file.name + end)).exists():
                    part.rename(file.with_name(aside + end))
            _prepare(engine)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """One process at a time."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
