"""The database: SQLite in LINEAGE_HOME, or the one of LINEAGE_DATABASE_URL, which several servers can share.

The first access migrates it to the schema of this version. A damaged SQLite file in LINEAGE_HOME is moved aside and
created again. Every function may be called from any thread.
"""

from __future__ import annotations

import datetime
import json
import logging
import math
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from filelock import FileLock
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, ProgrammingError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Session

from explorer.database.columns import TEXT, TIME
from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError, shorten

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_LOCK_TIMEOUT = 2.0  # seconds to wait for another transaction
_ROWS_AT_ONCE = 5_000  # rows of one statement: SQLite takes 32,766 values, PostgreSQL 65,535
_MOST_OPENED = 8  # databases of one process; a server has one
_WRITE_LOCK_ID = 0x11EA6E  # the advisory locks of writers to a PostgreSQL database
# Of a connection to PostgreSQL: each end notices within 20 s that the other machine is gone, and within 10 s that a
# server is frozen in a transaction. By default a server without power would hold its locks for two hours.
_CONNECTION = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
    "options": "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2 "
    "-c tcp_user_timeout=20000 -c idle_in_transaction_session_timeout=10000",
}
# JSON is decoded once, because a list of thousands of runs is read again and again. What is read must not be changed.
_OPTIONS: dict[str, Any] = {"hide_parameters": True, "json_deserializer": lru_cache(maxsize=10_000)(json.loads)}
_UNREACHABLE = (
    "The list of runs cannot be read now: the database does not answer. "
    "The runs themselves are safe; try again in a moment."
)
_INCOMPATIBLE = (
    "The database of LINEAGE_DATABASE_URL is damaged, or a newer version of this program made it. "
    "The runs themselves are safe: give an empty database, and the list is built again."
)


def to_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a time in UTC; one without a time zone is taken as UTC."""
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)


class UtcDateTime(sa.TypeDecorator[datetime.datetime]):
    """A time in UTC on every database: SQLite does not store the time zone."""

    impl = TIME
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: sa.Dialect) -> datetime.datetime | None:
        return value and to_utc(value)

    def process_result_value(self, value: datetime.datetime | None, dialect: sa.Dialect) -> datetime.datetime | None:
        return value and to_utc(value)


class Base(DeclarativeBase):
    type_annotation_map = {  # noqa: RUF012  # the name is SQLAlchemy's
        str: TEXT,
        datetime.datetime: UtcDateTime,
        dict[str, Any]: sa.JSON,
        dict[str, dict[str, Any]]: sa.JSON,
    }


@dataclass
class Database:
    """An open database, and what this process remembers about it."""

    engine: sa.Engine
    # An idle connection to an SQLite file: whoever closes the last one waits until everything is on the disk.
    idle: sqlite3.Connection | None = None
    refreshed_at: float = -math.inf
    skipped_folders: dict[tuple[bool, str], int] = field(
        default_factory=dict
    )  # unreadable folders, with the time of their card

    def close(self) -> None:
        self.engine.dispose()
        if self.idle:
            self.idle.close()


_FAILURES = (SQLAlchemyError, CommandError)  # of alembic: an unknown revision, or a damaged file
_opening = threading.RLock()
_opened: dict[tuple[str, Path], Database] = {}  # by LINEAGE_DATABASE_URL and LINEAGE_HOME


def run_transaction(work: Callable[[Session], _T], write: bool = False, lock: str = "runs", attempts: int = 1) -> _T:
    """Run a function in one transaction and return its result. Raises StoreError.

    write: whether writers of the same `lock` wait for each other from the beginning. SQLite has one lock for all.
    attempts: how often the transaction is tried while others hold a lock for too long
    """
    for attempt in range(attempts):
        try:
            return _attempt_transaction(work, write, lock)
        except SQLAlchemyError as error:
            if is_busy(error) and attempt + 1 < attempts:
                continue
            if _is_unwritable(error) and not environment().database_url:
                home = environment().home
                with _opening:  # go on without a file that cannot be written any more
                    _opened[("", home)] = _open_in_memory(home)
                break
            if not _is_damage(error):
                raise _unreachable(error) from error
            close_database()  # opening it again repairs it
            break
    try:
        return _attempt_transaction(work, write, lock)
    except SQLAlchemyError as error:
        raise _unreachable(error) from error


def _unreachable(error: SQLAlchemyError) -> StoreError:
    """Return the error for a transaction that failed. One that the database has not caused is logged as a fault."""
    if not isinstance(error, DBAPIError | PoolTimeout):
        log.error("the program has made an impossible transaction", exc_info=error)
    return StoreError(_UNREACHABLE)


def _attempt_transaction(work: Callable[[Session], _T], write: bool, lock: str) -> _T:
    with Session(database().engine, expire_on_commit=False) as session:
        with session.begin():
            session.connection(execution_options={"write_lock": lock if write else None})
            result = work(session)
        return result


def upsert(session: Session, table: type[Base], rows: Sequence[Mapping[str, object]], changed: tuple[str, ...]) -> None:
    """Insert rows; of those that are there already, set the columns named in `changed`."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    keys = [column.name for column in table.__table__.primary_key]
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        insert = dialect.insert(table).values(rows[first : first + _ROWS_AT_ONCE])
        changes = {name: insert.excluded[name] for name in changed}
        session.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes))


def is_shared() -> bool:
    """Return whether several servers may use the database. Raises InvalidSetting, but does not open it."""
    given = environment().database_url
    return bool(given) and _validated_url(given).get_backend_name() == "postgresql"


def sqlite_file() -> Path | None:
    """Return the file of the database, or None if it is PostgreSQL. Raises InvalidSetting."""
    settings = environment()
    if not settings.database_url:
        return settings.home / "index.db"
    return None if is_shared() else Path(_validated_url(settings.database_url).database or "")


def read_clock(session: Session) -> datetime.datetime:
    """Return the time of the database, which is the same for all servers."""
    if session.get_bind().dialect.name == "sqlite":
        return datetime.datetime.now(datetime.UTC)
    return to_utc(session.execute(sa.select(sa.func.clock_timestamp())).scalar_one())


def close_database() -> None:
    """Close every open database; the next access opens it again."""
    with _opening:
        for each in _opened.values():
            each.close()
        _opened.clear()


def database() -> Database:
    """Return the open database of the current environment. Raises StoreError or InvalidSetting."""
    settings = environment()
    place = (settings.database_url, settings.home)
    with _opening:
        if place not in _opened:
            if len(_opened) >= _MOST_OPENED:
                _opened.pop(next(iter(_opened))).close()
            _opened[place] = _open_database(*place)
        return _opened[place]


def stores_nothing() -> bool:
    """Return whether the open database has no file, because the home folder cannot be written."""
    opened = _opened.get(("", environment().home))
    return opened is not None and opened.engine.url.database is None


def _open_database(given: str, home: Path) -> Database:
    """Open a database and migrate it; one in memory if the home folder cannot be written. Raises as `database`."""
    try:
        return _open_stored(given, home)
    except StoreError as error:
        if given or not _is_unwritable(error.__cause__):
            raise
    return _open_in_memory(home)


def _open_in_memory(home: Path) -> Database:
    """Open an empty database without a file, so that stored and included runs can still be listed."""
    log.warning("%s cannot be written: the stored and the included runs can be read, and nothing is stored.", home)
    engine = _engine(sa.URL.create("sqlite"))
    _prepare(engine)
    return Database(engine)


def _is_unwritable(error: BaseException | None) -> bool:
    """Return whether an error means a full disk or a place that cannot be written or read."""
    return isinstance(error, OSError) or _sqlite_code(error) in (8, 10, 13, 14)  # _READONLY, _IOERR, _FULL, _CANTOPEN


def _sqlite_code(error: BaseException | None) -> int:
    """Return the primary result code of SQLite, without the prefix SQLITE; 0 for another error."""
    return getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF


def _open_stored(given: str, home: Path) -> Database:
    """Open the database of an address, or the file in the home folder. Raises StoreError or InvalidSetting."""
    file = home / "index.db"
    url = _validated_url(given) if given else sa.URL.create("sqlite", database=str(file))
    engine, is_file = _engine(url), url.get_backend_name() == "sqlite"
    try:
        if not given:
            home.mkdir(parents=True, exist_ok=True)
        with _file_lock(Path(str(url.database))) if is_file else nullcontext():
            try:
                _prepare(engine)
            except _FAILURES as error:
                if not _is_damage(error):
                    raise
                if given:
                    raise StoreError(_INCOMPATIBLE) from error
                _move_aside(file)
                _prepare(engine)
    except (*_FAILURES, OSError, StoreError) as error:
        engine.dispose()
        raise error if isinstance(error, StoreError) else StoreError(_UNREACHABLE) from error
    if not given:
        with suppress(OSError):
            file.chmod(0o600)  # the key that signs cookies is in it
    idle = None
    if is_file:
        idle = sqlite3.connect(str(url.database), check_same_thread=False)
        idle.execute("SELECT * FROM alembic_version").fetchall()  # it has read, and holds no lock
    return Database(engine, idle)


@lru_cache(maxsize=8)
def _validated_url(given: str) -> sa.URL:
    """Parse the database URL of an operator; messages never repeat its password. Raises InvalidSetting."""
    possible = "Give postgresql+psycopg://USER:PASSWORD@HOST/NAME or sqlite:////PATH/TO/FILE, or unset it."
    try:
        url = sa.make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidSetting(f"LINEAGE_DATABASE_URL is not the URL of a database. {possible}") from None
    shown = shorten(url.set(query={}).render_as_string(hide_password=True), 100)
    in_memory = url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")
    if url.get_backend_name() not in ("sqlite", "postgresql") or in_memory:
        raise InvalidSetting(f"LINEAGE_DATABASE_URL = {shown} is not possible. {possible}")
    try:
        url.get_dialect().import_dbapi()
    except (ArgumentError, ImportError):
        raise InvalidSetting(
            f"LINEAGE_DATABASE_URL = {shown} needs a database driver that is not installed. {possible}"
        ) from None
    return url


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() == "sqlite":
        # Opening a file is quick, and the file may be replaced; in memory, what one connection has is lost with it.
        in_memory = {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": 0}
        options = {"poolclass": sa.NullPool} if url.database else in_memory
        engine = sa.create_engine(url, connect_args={"check_same_thread": False}, **options, **_OPTIONS)

        @sa.event.listens_for(engine, "connect")
        def connected(connection: Any, _: object) -> None:
            connection.isolation_level = None  # the listener below begins transactions, not the driver
            connection.execute(f"PRAGMA busy_timeout = {round(_LOCK_TIMEOUT * 1000)}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")

        @sa.event.listens_for(engine, "begin")
        def begin_transaction(connection: sa.Connection) -> None:
            writes = connection.get_execution_options().get("write_lock")
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    else:
        engine = sa.create_engine(url.update_query_dict(_CONNECTION | dict(url.query)), pool_pre_ping=True, **_OPTIONS)

        @sa.event.listens_for(engine, "begin")
        def begin_transaction(connection: sa.Connection) -> None:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(_LOCK_TIMEOUT * 1000)}")
            if name := connection.get_execution_options().get("write_lock"):
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_WRITE_LOCK_ID, name))

    return engine


def _prepare(engine: sa.Engine) -> None:
    """Migrate a database to this version. A second process waits and then finds nothing to do."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with engine.connect().execution_options(write_lock="tables") as connection, connection.begin():
        sqlite = engine.dialect.name == "sqlite"
        if sqlite and connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
            raise CommandError("the file is damaged")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        for table in Base.metadata.sorted_tables:
            connection.execute(table.select().limit(1))  # raises if a column is missing


def _is_damage(error: Exception) -> bool:
    """Return whether an error means a damaged database, not a locked or unreachable one."""
    return isinstance(error, CommandError | ProgrammingError) or _sqlite_code(error) in (
        1,
        11,
        26,
    )  # _ERROR, _CORRUPT, _NOTADB


def is_busy(error: BaseException | None) -> bool:
    """Return whether an error means that another transaction held a lock for too long: trying again may help."""
    sqlstate = getattr(getattr(error, "orig", None), "sqlstate", "")
    return _sqlite_code(error) in (5, 6) or sqlstate in ("55P03", "40P01")  # lock timeout, deadlock


def _move_aside(file: Path) -> None:
    """Rename a damaged SQLite file; the next refresh fills the new one."""
    aside = f"{file.name}.damaged-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S%f}"
    log.error("%s is damaged or of a newer version; it is renamed to %s, and a new one is created", file, aside)
    for end in ("-wal", "-shm", ""):
        if (part := file.with_name(file.name + end)).exists():
            part.rename(file.with_name(aside + end))


def _file_lock(file: Path) -> FileLock:
    """Return a lock for opening an SQLite file: two processes that turn on its write-ahead log at once would fail."""
    if not file.parent.is_dir():  # the lock would create the folder of a mistyped address
        raise FileNotFoundError(f"there is no folder {file.parent}")
    return FileLock(file.with_suffix(".lock"))
