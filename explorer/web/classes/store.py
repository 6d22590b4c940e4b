"""Classes: this server's copies of those in the database, who takes part, and the texts that a class may read.

Classes are in the database and contain no names: a visitor is identified by the hash of the cookie. Several servers
share them, and a class survives a restart. The answers to earlier questions are kept until the class ends, so that the
teacher can download them. Each student has one answer in each vote. An answer in the first vote is final; the teacher
can let the class vote a second time after a discussion, where an answer can change until the reveal. The teacher can
remove answers, whose visitors then cannot answer this question again, and close the class: nobody else can join then.
`actions.py` has what the teacher and the students do.

Each process has a copy of the classes that it is asked for. While somebody uses a class, one thread asks the database
every POLL_SECONDS for its version, and reads it again if it has changed. Members are read every MAX_AGE. While the
database does not answer, the copy stays as it is. All functions may be called from any thread.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias
from urllib.parse import unquote

from cachetools import LRUCache, TTLCache
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from explorer.database.engine import read_clock, run_transaction, upsert
from explorer.errors import NotAllowed, StoreError
from explorer.periodic_thread import PeriodicThread
from explorer.tasks.text import corpora
from explorer.tokenization.words import fold_word
from explorer.web import own_texts, predictions, rate_limits, transactions
from explorer.web.classes import tables, waiting
from explorer.web.classes.classroom import (
    MAX_VISITORS,
    PRESENCE_SECONDS,
    AnsweredQuestion,
    Classroom,
    Members,
    UnknownClassroom,
)
from explorer.web.classes.tables import ClassRow, MemberRow
from explorer.web.transactions import transaction
from explorer.web.visitors import Visitor

CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # letters that cannot be confused with digits
CODE_LENGTH = 5
MAX_CLASSROOMS = 200  # classrooms at once; the least recently used is dropped first
MAX_MEMBERS = 5 * MAX_VISITORS  # who have joined one class; the one seen longest ago is dropped first
MAX_AGE = 2.0  # seconds after which the copy of a class is read again in any case
POLL_SECONDS = 0.4  # seconds between two times at which the versions of the classes in use are read
_SEEN_SECONDS = 5.0  # seconds after which the row of a member who is still there is written again
_WRITE_SECONDS = 1.0  # seconds between two times at which members are written
_TIDY_SECONDS = 600.0  # seconds between two times at which what has ended is deleted
Change: TypeAlias = Callable[[Session, ClassRow, Classroom], bool | None]  # see `change_class`
_CLASS_OWNER = "a class"  # owns the texts that this process has from the database; no visitor has this id


class _Copy:
    """The copy of one class in this process. Its lock is held while the class is read or changed."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.lock = threading.Lock()
        self.classroom: Classroom | None = None  # None: there is no such class
        self.is_loaded = False
        self.members = Members()
        self.members_read: datetime.datetime | None = None  # by the clock of the database
        self.due = 0.0  # when to read it again (`time.monotonic`)
        self.used = 0.0  # when somebody last asked for it

    def replace(self, classroom: Classroom | None) -> None:
        """Take over what has been read or written; the caller holds the lock. Wake the requests that wait for it."""
        before, self.classroom = self.classroom, classroom
        self.is_loaded, self.due = True, time.monotonic() + MAX_AGE
        if classroom is None:
            self.members, self.members_read = Members(), None
        if (before and before.seen_by_students()) != (classroom and classroom.seen_by_students()):
            waiting.wake(self.code)


_copies: LRUCache[str, _Copy] = LRUCache(2 * MAX_CLASSROOMS)  # by code
_in_use: set[_Copy] = set()  # those for which somebody has asked lately
_codes: TTLCache[str, str] = TTLCache(50_000, 60.0, lambda: time.monotonic())  # of each visitor's class, or empty
_unwritten: set[tuple[str, str]] = set()  # code and id of the members to write
_written: TTLCache[tuple[str, str], None] = TTLCache(50_000, _SEEN_SECONDS, lambda: time.monotonic())
_guesses: TTLCache[tuple[str, str], None] = TTLCache(50_000, 60.0, lambda: time.monotonic())  # of `limit_guesses`
_lock = threading.RLock()  # of all of the above
_tidied = 0.0  # when (`time.monotonic`)


def start() -> None:
    """Read what changes, write who is present, and delete what has ended, on threads of their own."""
    for thread in _threads:
        thread.start()


def stop() -> None:
    """End the threads, and write for a last time who is present."""
    for thread in _threads:
        thread.stop()
    with contextlib.suppress(StoreError):  # the browsers ask again, at another server
        write_presence()


def reset() -> None:
    """End every class."""
    run_transaction(lambda session: session.execute(delete(ClassRow)), write=True, lock="classes")
    forget()


def forget() -> None:
    """Forget the copies of this process, so that everything is read again."""
    transactions.reset()
    with _lock:
        for each in (_copies, _in_use, _codes, _unwritten, _written, _guesses):
            each.clear()


# Reading


def find_classroom(code: str) -> Classroom:
    """Return the classroom with this code. Raises UnknownClassroom, or StoreError if it cannot be read."""
    copy = copy_of_class(code)
    if time.monotonic() >= copy.due:
        _read_again(copy)
    if (classroom := copy.classroom) is None:
        raise tables.unknown_classroom(code)
    with _lock:
        copy.used = time.monotonic()
        _in_use.add(copy)
    return classroom


def find_classroom_for(code: str, visitor: Visitor, address: str = "") -> Classroom:
    """Return the classroom with this code. Raises NotAllowed if it is closed to others, and as `limit_guesses`.

    address: of the visitor, who does not have to wait there if the class is theirs
    """
    with _lock:
        copy = _copies.get(read_code(code))
    known = copy.classroom if copy else None
    takes_part = copy and known and (known.is_led_by(visitor) or visitor.id in copy.members)
    with limit_guesses("" if takes_part else address, code):
        classroom = find_classroom(code)
    if not classroom.is_led_by(visitor):
        classroom.check_open(visitor.id)
    return classroom


@contextlib.contextmanager
def limit_guesses(address: str, code: str) -> Iterator[None]:
    """Count the code at an address if the block finds no class for it; a code that is sent again counts once a minute.

    Raises TooManyRequests before the block, also for a right code, if an address has sent too many unknown ones.
    """
    guess = address, read_code(code)
    with _lock:
        is_counted = not address or guess in _guesses
    if not is_counted:
        rate_limits.check(rate_limits.UNKNOWN_CODES, address, is_counted=False)
    try:
        yield
    except UnknownClassroom:
        if not is_counted:
            with _lock:
                _guesses[guess] = None
            rate_limits.check(rate_limits.UNKNOWN_CODES, address)
        raise


def classroom_of_teacher(owner: str) -> Classroom | None:
    """Return the classroom that a visitor started, or None. Raises StoreError."""
    code = transaction(partial(tables.find_code_of_teacher, owner=owner))
    try:
        return find_classroom(code) if code else None
    except UnknownClassroom:
        return None


def classroom_of_visitor(visitor: Visitor) -> Classroom | None:
    """Return the class that a visitor leads or has joined last; None also while the database does not answer."""
    try:
        with _lock:
            code = _codes.get(visitor.id)
        if code is None:
            code = transaction(partial(tables.find_code_of_visitor, visitor=visitor.id))
            remember_class(visitor.id, code)
        classroom = find_classroom(code) if code else None
    except UnknownClassroom:
        with _lock:
            _codes.pop(visitor.id, None)
        return None
    except StoreError:
        return None
    return classroom if classroom and (classroom.is_led_by(visitor) or classroom.admits(visitor.id)) else None


def remember_class(visitor: str, code: str) -> None:
    """Take over which class a visitor, by id, leads or has joined last; the code is empty if there is none."""
    with _lock:
        _codes[visitor] = code


def answered_questions(code: str, visitor: Visitor) -> tuple[list[AnsweredQuestion], int]:
    """Return all questions of a class with their answers, and how many are no longer kept. Raises as `actions`."""
    copy = copy_of_class(code)

    def read(session: Session) -> tuple[list[AnsweredQuestion], int]:
        row = tables.find_row(session, copy.code, read_clock(session))
        check_teacher(row.list_teachers(), visitor)
        return tables.read_answered_questions(session, row), row.dropped

    return transaction(read)


def list_classes() -> list[tables.ClassOverview]:
    """Return an overview of every class that has not ended, at all servers, the oldest first. Raises StoreError."""
    return transaction(tables.read_overviews)


def read_code(typed: str) -> str:
    """Return the letters of a code, typed in small letters, with spaces (as on the wall: CX BNX) or as a link."""
    link = re.search(r"\b(?:class|join)[=/]([^&#/]+)", typed)
    return re.sub(r"[\W_]+", "", fold_word(unquote(link[1]) if link else typed)).upper()


def copy_of_class(code: str) -> _Copy:
    """Return the copy of a class, which may not be loaded yet. Raises UnknownClassroom for an impossible code."""
    plain = read_code(code)
    if len(plain) != CODE_LENGTH or not set(plain) <= set(CODE_LETTERS):
        raise tables.unknown_classroom(code)
    with _lock:
        if plain not in _copies:
            _copies[plain] = _Copy(plain)
        return _copies[plain]


def read_changes() -> None:
    """Read the classes again that somebody uses and that have changed, perhaps at another server."""
    global _in_use
    begin = time.monotonic() - PRESENCE_SECONDS
    with _lock:
        _in_use = {copy for copy in _in_use if copy.used > begin}
        known = {copy: copy.classroom for copy in _in_use if copy.classroom}
    if not known:
        return
    versions = select(ClassRow.code, ClassRow.version).where(ClassRow.code.in_([copy.code for copy in known]))
    try:
        found = transaction(lambda session: {code: version for code, version in session.execute(versions)})
    except StoreError:  # the thread that writes who is present logs it
        return
    for copy, classroom in known.items():
        if copy.classroom is classroom and found.get(copy.code) != classroom.version:
            copy.due = 0.0
            _read_again(copy)


def _read_again(copy: _Copy) -> None:
    """Read a class from the database. If another thread does it, only the first ones wait for it. Raises StoreError."""
    if not copy.lock.acquire(blocking=not copy.is_loaded):
        return
    try:
        if time.monotonic() >= copy.due:
            copy.replace(transaction(partial(_read_with_members, copy=copy)))
    except StoreError:
        if not copy.is_loaded:
            raise
    finally:
        copy.lock.release()


def _read_with_members(session: Session, copy: _Copy) -> Classroom | None:
    now = read_clock(session)
    try:
        row = tables.find_row(session, copy.code, now)
    except UnknownClassroom:
        return None
    members = select(MemberRow.visitor, MemberRow.seen).where(MemberRow.code == copy.code)
    if copy.members_read:
        members = members.where(MemberRow.seen > copy.members_read - datetime.timedelta(seconds=PRESENCE_SECONDS))
    for visitor, seen in session.execute(members):
        copy.members.see(visitor, (now - seen).total_seconds())
    copy.members_read = now
    return tables.read_classroom(session, row, copy.classroom, copy.members)


def check_teacher(teachers: Iterable[str], visitor: Visitor) -> None:
    """Raise NotAllowed unless the visitor is one of those who control a class, by id, or the operator."""
    if not any(map(visitor.owns, teachers)):
        raise NotAllowed("Only the browser that started this class, or was given control of it, controls it.")


def change_class(code: str, change: Change) -> Classroom:
    """Change a class in one transaction, before which it has been read completely; return it as it is then.

    change: gets the row, whose time of use is now, and the class before the change; returns False if nothing changes
    """
    copy = copy_of_class(code)

    def work(session: Session) -> Classroom:
        now = read_clock(session)
        row = tables.find_row(session, copy.code, now)
        before = tables.read_classroom(session, row, copy.classroom, copy.members)
        row.used = now
        with session.no_autoflush:
            if change(session, row, before) is False:
                return before
        row.version += 1
        session.flush()
        return tables.read_classroom(session, row, before, copy.members)

    if not copy.is_loaded:
        _read_again(copy)  # with its members
    with copy.lock:
        classroom = transaction(work, lock=f"class {copy.code}")
        copy.replace(classroom)
        return classroom


def end_class(code: str) -> None:
    """Delete a class. Raises StoreError."""
    copy = copy_of_class(code)
    ended = delete(ClassRow).filter_by(code=copy.code)
    with copy.lock:
        transaction(lambda session: session.execute(ended), lock=f"class {copy.code}")
        copy.replace(None)


# Presence


def record_presence(classroom: Classroom, visitor: str) -> None:
    """Record that a visitor's browser has requested the state of the classroom. Raises NotAllowed if it is closed."""
    classroom.check_open(visitor)
    see_member(classroom, visitor)


def see_member(classroom: Classroom, visitor: str) -> None:
    """Record that a visitor, who takes part, is there; the database gets it within a second or so."""
    classroom.members.see(visitor)
    remember_class(visitor, classroom.code)
    with _lock:
        if (classroom.code, visitor) not in _written:
            _unwritten.add((classroom.code, visitor))


def write_presence() -> None:
    """Write the members who were seen since the last time, of all classes at once. Raises StoreError."""
    with _lock:
        rows = sorted(_unwritten)

    def write(session: Session) -> None:
        now = read_clock(session)
        codes = {code for code, _ in rows}
        # The rows of the classes come first, as in every other transaction; they are locked until the members are in.
        lasting = update(ClassRow).where(ClassRow.code.in_(codes), ClassRow.used > tables.oldest_use(now))
        living = set(session.scalars(lasting.values(used=now).returning(ClassRow.code)))
        if members := [{"code": code, "visitor": each, "seen": now} for code, each in rows if code in living]:
            upsert(session, MemberRow, members, ("seen",))

    if rows:
        transaction(write, lock="members")
    with _lock:
        _unwritten.difference_update(rows)
        for row in rows:
            _written[row] = None


def _work_periodically() -> None:
    """Write who is present; now and then, delete what has ended."""
    global _tidied
    write_presence()
    if time.monotonic() - _tidied > _TIDY_SECONDS:
        _tidied = time.monotonic()
        forget_texts()
        tidy()


_threads = (
    PeriodicThread("classes", _work_periodically, _WRITE_SECONDS, "members of classes could not be written"),
    PeriodicThread("changes of classes", read_changes, POLL_SECONDS, "changes of classes could not be read"),
)


def tidy() -> None:
    """Delete classes that nobody uses, members and predictions above their limits. Raises StoreError."""

    def delete_ended(session: Session) -> None:
        tables.end_unused_classes(session)
        counts = select(MemberRow.code).group_by(MemberRow.code).having(func.count() > MAX_MEMBERS)
        for code in session.scalars(counts).all():
            newest = select(MemberRow.seen).filter_by(code=code).order_by(MemberRow.seen.desc())
            last = session.scalars(newest.offset(MAX_MEMBERS).limit(1)).one()
            session.execute(delete(MemberRow).filter_by(code=code).where(MemberRow.seen <= last))
        predictions.delete_old(session)

    transaction(delete_ended, lock="classes")


# Texts that a class may read


def _is_shared_with(text: str, visitor: str) -> bool:
    """Return whether a class shares this text with a visitor who has joined it."""
    if not visitor:  # a terminal
        return False
    last = classroom_of_visitor(Visitor(visitor))
    with _lock:
        codes = {copy.code for copy in _copies.values() if visitor in copy.members}
    for code in codes | ({last.code} if last else set()):
        try:
            classroom = find_classroom(code)
        except (UnknownClassroom, StoreError):
            continue
        if classroom.text == text and (visitor in classroom.members or visitor in classroom.teachers):
            return True
    return False


def _read_shared_text(text: str) -> str | None:
    """Return a text that a class shares, or None; only those who may read it are given it."""
    shared = (
        select(tables.TextRow.content).join(ClassRow, ClassRow.code == tables.TextRow.code).where(ClassRow.text == text)
    )
    content = transaction(lambda session: session.scalar(shared.limit(1)))
    if content is not None:
        corpora.store_text(content, _CLASS_OWNER)
    return content


def forget_texts() -> None:
    """Forget the texts of classes that do not share them any more. Raises StoreError."""
    texts = corpora.texts_of(_CLASS_OWNER)
    if texts:
        shared = set(transaction(lambda session: session.scalars(select(ClassRow.text).distinct()).all()))
        for text in texts - shared:
            if corpora.release_text(text, _CLASS_OWNER):
                own_texts.forget(text)


corpora.shared_by.append(_is_shared_with)
corpora.shared_texts.append(_read_shared_text)
