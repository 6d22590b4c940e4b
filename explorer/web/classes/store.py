"""Classes: the question shown, the answers of the students, whether they are revealed, and who takes part.

Classes are in the database and contain no names: a visitor is identified by the hash of the cookie. Several servers
share them, and a class survives a restart. The answers to earlier questions are kept until the class ends, so that the
teacher can download them. Each student has one answer in each vote. An answer in the first vote is final; the teacher
can let the class vote a second time after a discussion, where an answer can change until the reveal. The teacher can
remove answers, whose visitors then cannot answer this question again, and close the class: nobody else can join then.

Each server has a copy of the classes that it is asked for. It reads a class again when another server sends a
notification about it, and after MAX_AGE in any case; while the database does not answer, the copy stays as it is.
All functions may be called from any thread. Those that change a class raise StoreError while the database does not
answer.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from cachetools import LRUCache, TTLCache
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from explorer.database import notifications, servers
from explorer.database.engine import is_busy, read_clock, run_transaction
from explorer.errors import InvalidSetting, NotAllowed, StoreError, shorten
from explorer.periodic_thread import PeriodicThread
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.web import own_texts, predictions
from explorer.web.classes.classroom import (
    MAX_VISITORS,
    PRESENCE_SECONDS,
    AnsweredQuestion,
    Classroom,
    ClassroomQuestion,
    Members,
    UnknownClassroom,
)
from explorer.web.classes.tables import (
    AnswerRow,
    ClassRow,
    MemberRow,
    QuestionRow,
    TextRow,
    drop_oldest_question,
    kept_answers,
    question_to_json,
    read_answered_questions,
    read_classroom,
    shown_to_json,
    upsert,
)
from explorer.web.visitors import Visitor

_T = TypeVar("_T")
CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # letters that cannot be confused with digits
CODE_LENGTH = 5
MAX_CLASSROOMS = 200  # classrooms at once; the least recently used is dropped first
MAX_MEMBERS = 5 * MAX_VISITORS  # who have joined one class; the one seen longest ago is dropped first
IDLE_SECONDS = 4 * 3600.0  # seconds without a request after which a classroom is dropped
MAX_CLASS_RECORDS = 20_000  # answers to earlier questions that one class keeps; the oldest question is dropped first
MAX_RECORDS = 200_000  # answers to earlier questions in all classes; the least recently used class drops some first
MAX_AGE = 2.0  # seconds after which the copy of a class is read again in any case
_ANSWERS_AGE = 0.3  # seconds after which it is read again if answers have arrived at other servers
_SEEN_SECONDS = 5.0  # seconds after which the row of a member who is still there is written again
_WRITE_SECONDS = 1.0  # seconds between two times at which members are written
_TIDY_SECONDS = 600.0  # seconds between two times at which the leader deletes what has ended
_DOWN_SECONDS = 1.0  # seconds for which nothing is tried after the database did not answer
_ATTEMPTS = 5  # of a transaction for which another one holds the lock for too long
_CHANNEL = "classes"
_CLASS_OWNER = "a class"  # owns the texts that this process has from the database; no visitor has this id
_UNREACHABLE = "The database of this server does not answer now, so the class has to wait a moment."


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
        self.loaded = 0.0  # when it was read
        self.announced = 0  # the newest version that a notification named

    def replace(self, classroom: Classroom | None) -> None:
        """Take over what has been read or written."""
        self.classroom, self.is_loaded, self.loaded = classroom, True, time.monotonic()
        if classroom is None or self.announced <= classroom.version:
            self.due = self.loaded + MAX_AGE

    def notify(self, version: int, what: str) -> None:
        """Read the class again soon, because it has changed."""
        self.announced = 0 if what == "ended" else max(self.announced, version)
        if what == "ended":
            self.classroom, self.members, self.members_read = None, Members(), None
        self.due = min(self.due, self.loaded + _ANSWERS_AGE if what == "answers" else 0.0)


_copies: LRUCache[str, _Copy] = LRUCache(2 * MAX_CLASSROOMS)  # by code
_codes: TTLCache[str, str] = TTLCache(50_000, 60.0, lambda: time.monotonic())  # of each visitor's class, or empty
_unwritten: set[tuple[str, str]] = set()  # code and id of the members to write
_written: TTLCache[tuple[str, str], None] = TTLCache(50_000, _SEEN_SECONDS, lambda: time.monotonic())
_lock = threading.RLock()  # of all of the above
_down_until = 0.0
_tidied = 0.0  # when (`time.monotonic`)


def start() -> None:
    """Write who is present, and delete what has ended, on a thread of its own."""
    _thread.start()


def stop() -> None:
    """End the thread, and write for a last time who is present."""
    _thread.stop()
    with contextlib.suppress(StoreError):  # the browsers ask again, at another server
        write_presence()


def reset() -> None:
    """End every class."""
    run_transaction(lambda session: session.execute(delete(ClassRow)), write=True, lock="classes")
    forget()


def forget() -> None:
    """Forget the copies of this process, so that everything is read again."""
    global _down_until
    with _lock:
        for each in (_copies, _codes, _unwritten, _written):
            each.clear()
        _down_until = 0.0


# Reading


def find_classroom(code: str) -> Classroom:
    """Return the classroom with this code. Raises UnknownClassroom, or StoreError if it cannot be read."""
    copy = _copy(code)
    if time.monotonic() >= copy.due:
        _read_again(copy)
    if (classroom := copy.classroom) is None:
        raise _unknown(code)
    return classroom


def find_classroom_for(code: str, visitor: Visitor) -> Classroom:
    """Return the classroom with this code.

    Raises UnknownClassroom, NotAllowed if it is closed to others, or StoreError.
    """
    classroom = find_classroom(code)
    if not classroom.is_led_by(visitor):
        classroom.check_open(visitor.id)
    return classroom


def classroom_of_teacher(owner: str) -> Classroom | None:
    """Return the classroom that a visitor started, or None. Raises StoreError."""
    code = _transaction(partial(_find_code_of_teacher, owner=owner))
    try:
        return find_classroom(code) if code else None
    except UnknownClassroom:
        return None


def classroom_of_visitor(visitor: Visitor) -> Classroom | None:
    """Return the classroom that a visitor started, or the last one that the visitor joined, if it is still there.

    While the database does not answer, it may be None.
    """
    try:
        with _lock:
            code = _codes.get(visitor.id)
        if code is None:
            code = _transaction(partial(_find_code_of_visitor, visitor=visitor.id))
            with _lock:
                _codes[visitor.id] = code
        classroom = find_classroom(code) if code else None
    except (UnknownClassroom, StoreError):
        return None
    return classroom if classroom and (classroom.is_led_by(visitor) or classroom.admits(visitor.id)) else None


def answered_questions(code: str, visitor: Visitor) -> tuple[list[AnsweredQuestion], int]:
    """Return all questions of a class with their answers, and how many older ones are no longer kept.

    Raises UnknownClassroom, NotAllowed or StoreError.
    """
    copy = _copy(code)

    def read(session: Session) -> tuple[list[AnsweredQuestion], int]:
        row = _find_row(session, copy.code, read_clock(session))
        _check_teacher(row.owner, visitor)
        return read_answered_questions(session, row), row.dropped

    return _transaction(read)


@dataclass(frozen=True)
class ClassOverview:
    """What the operator sees of a class: no answers."""

    code: str
    seconds: float  # since it was started
    question: int  # number of the question that is shown
    present: int  # students who are present at any server
    joined: int  # students who have joined at any time


def list_classes() -> list[ClassOverview]:
    """Return an overview of every class that has not ended, at all servers, the oldest first. Raises StoreError."""
    return _transaction(_read_overviews)


def _read_overviews(session: Session) -> list[ClassOverview]:
    now = read_clock(session)
    is_present = MemberRow.seen > now - datetime.timedelta(seconds=PRESENCE_SECONDS)
    found = session.execute(
        select(
            ClassRow.code,
            ClassRow.started,
            ClassRow.number,
            func.count().filter(is_present),
            func.count(MemberRow.code),
        )
        .outerjoin(MemberRow, MemberRow.code == ClassRow.code)
        .where(ClassRow.used > _oldest_use(now))
        .group_by(ClassRow.code)
        .order_by(ClassRow.started)
    )
    return [
        ClassOverview(code, (now - started).total_seconds(), number, *members)
        for code, started, number, *members in found
    ]


def _copy(code: str) -> _Copy:
    """Return the copy of a class, which may not be loaded yet. Raises UnknownClassroom for an impossible code."""
    plain = code.strip().upper()[: 2 * CODE_LENGTH]
    if len(plain) != CODE_LENGTH or not set(plain) <= set(CODE_LETTERS):
        raise _unknown(code)
    with _lock:
        if plain not in _copies:
            _copies[plain] = _Copy(plain)
        return _copies[plain]


def _unknown(code: str) -> UnknownClassroom:
    return UnknownClassroom(f"There is no class “{shorten(code)}” here. It has ended, or the code is mistyped.")


def read_changes(code: str) -> None:
    """Return when the copy of this process has all changes that it has been notified of. Raises StoreError."""
    _read_again(_copy(code), wait=True)


def _read_again(copy: _Copy, wait: bool = False) -> None:
    """Read a class from the database. If another thread does it, only the first ones wait for it. Raises StoreError.

    wait: wait for that thread in any case
    """
    if not copy.lock.acquire(blocking=wait or not copy.is_loaded):
        return
    try:
        if time.monotonic() >= copy.due:
            copy.replace(_transaction(partial(_read_with_members, copy=copy)))
    except StoreError:
        if not copy.is_loaded:
            raise
        copy.due = time.monotonic() + _DOWN_SECONDS  # until then the last state
    finally:
        copy.lock.release()


def _read_with_members(session: Session, copy: _Copy) -> Classroom | None:
    now = read_clock(session)
    try:
        row = _find_row(session, copy.code, now)
    except UnknownClassroom:
        return None
    present = now - datetime.timedelta(seconds=PRESENCE_SECONDS)
    members = select(MemberRow.visitor, MemberRow.seen).where(MemberRow.code == copy.code)
    if copy.members_read:
        members = members.where(MemberRow.seen > copy.members_read - datetime.timedelta(seconds=PRESENCE_SECONDS))
    seen = {visitor: moment for visitor, moment in session.execute(members)}
    copy.members.set_stored(set(seen), frozenset(visitor for visitor, moment in seen.items() if moment > present))
    copy.members_read = now
    return read_classroom(session, row, copy.classroom, copy.members)


def _find_row(session: Session, code: str, now: datetime.datetime) -> ClassRow:
    """Return the row of a class. Raises UnknownClassroom if it is not there or idle for too long."""
    row = session.get(ClassRow, code)
    if row is None or row.used <= _oldest_use(now):
        raise _unknown(code)
    return row


def _oldest_use(now: datetime.datetime) -> datetime.datetime:
    """Return the time since which a class that goes on has been used."""
    return now - datetime.timedelta(seconds=IDLE_SECONDS)


def _find_code_of_teacher(session: Session, owner: str) -> str:
    if not owner:
        return ""
    led = select(ClassRow.code).where(ClassRow.owner == owner, ClassRow.used > _oldest_use(read_clock(session)))
    return session.scalar(led.limit(1)) or ""


def _find_code_of_visitor(session: Session, visitor: str) -> str:
    joined = select(MemberRow.code).where(MemberRow.visitor == visitor).order_by(MemberRow.seen.desc()).limit(1)
    return _find_code_of_teacher(session, visitor) or session.scalar(joined) or ""


def _transaction(work: Callable[[Session], _T], lock: str = "") -> _T:
    """Run a function in a transaction, which writes if a lock is given. Raises StoreError.

    After the database did not answer, nothing is tried for a moment: many threads would wait for it.
    """
    global _down_until
    if time.monotonic() < _down_until:
        raise StoreError(_UNREACHABLE)
    try:
        return run_transaction(work, bool(lock), lock, _ATTEMPTS)
    except StoreError as error:
        if not is_busy(error.__cause__):
            _down_until = time.monotonic() + _DOWN_SECONDS
        raise StoreError(_UNREACHABLE) from error


# Changes


def show_question(owner: str, shown: ClassroomQuestion) -> Classroom:
    """Show a question to the visitor's class; start a classroom if the visitor has none. Raises StoreError."""
    code = _transaction(partial(_find_code_of_teacher, owner=owner))
    if not code:
        code, is_new = _transaction(partial(_insert_class, owner=owner, shown=shown), lock="classes")
        if is_new:
            with _lock:
                _codes[owner] = code
            return find_classroom(code)

    def show(session: Session, row: ClassRow, before: Classroom) -> None:
        _keep_answers(session, row, before)
        row.shown, row.number, row.shown_at = shown_to_json(shown), row.number + 1, row.used
        row.vote, row.votes_shown, row.revealed, row.sizes, row.arrivals = 1, False, False, [], 0

    try:
        return _change(code, show)
    except UnknownClassroom:  # it has ended meanwhile
        return show_question(owner, shown)


def _insert_class(session: Session, owner: str, shown: ClassroomQuestion) -> tuple[str, bool]:
    """Return the code of the visitor's class, and whether it is a new one."""
    if code := _find_code_of_teacher(session, owner):
        return code, False
    now = read_clock(session)
    _end_classes(session, select(ClassRow.code).where(ClassRow.used <= _oldest_use(now)))
    above = (session.scalar(select(func.count()).select_from(ClassRow)) or 0) + 1 - MAX_CLASSROOMS
    _end_classes(session, select(ClassRow.code).order_by(ClassRow.used).limit(max(0, above)))
    while session.get(ClassRow, code := "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))):
        pass
    session.add(
        ClassRow(
            code=code, owner=owner, version=1, started=now, used=now, number=1, shown=shown_to_json(shown), shown_at=now
        )
    )
    notifications.publish(session, _CHANNEL, f"{code} 1 state")
    return code, True


def _keep_answers(session: Session, row: ClassRow, before: Classroom) -> None:
    """Count the answers to the question that is shown to those of the earlier questions, within the limits."""
    number = sum(any(vote is not None for vote in each.votes) for each in before.given.values())
    session.execute(delete(AnswerRow).where(AnswerRow.code == row.code, AnswerRow.removed))
    if before.shown.question is None or not number:
        return
    session.add(
        QuestionRow(code=row.code, number=row.number, question=question_to_json(before.shown.question), answers=number)
    )
    row.kept += number
    session.flush()
    while row.kept > max(number, MAX_CLASS_RECORDS):
        drop_oldest_question(session, row.code)
        session.refresh(row)
    above = kept_answers(session) - MAX_RECORDS
    while above > 0:
        least_used = select(QuestionRow.code).join(ClassRow, ClassRow.code == QuestionRow.code)
        above -= drop_oldest_question(session, session.scalars(least_used.order_by(ClassRow.used).limit(1)).one())
        session.refresh(row)


def record_answer(code: str, visitor: str, number: int, answer: object, vote: int = 1) -> Classroom:
    """Store a visitor's answer to the question `number` in its first or second vote.

    An answer in the first vote is final; one in the second vote can change until the reveal.
    Raises UnknownClassroom, NotAllowed, InvalidSetting or StoreError.
    """

    def record(session: Session, row: ClassRow, before: Classroom) -> bool:
        if not _is_new_answer(before, visitor, number, answer, vote):
            return False
        stored = session.get(AnswerRow, (row.code, visitor, number)) if visitor in before.given else None
        if stored is None:
            if row.arrivals >= MAX_VISITORS and sum(not each.removed for each in before.given.values()) >= MAX_VISITORS:
                raise NotAllowed(f"At most {MAX_VISITORS:,} can answer in one class.")
            row.arrivals += 1
            stored = AnswerRow(
                code=row.code,
                visitor=visitor,
                number=number,
                arrival=row.arrivals,
                seconds=(row.used - row.shown_at).total_seconds(),
                student=_student_number(session, row.code, visitor),
                removed=False,
            )
            session.add(stored)
        stored.version = row.version + 1
        if vote == 1:
            stored.first = answer
        else:
            stored.second = answer
        return True

    classroom = _change(code, record, "answers")
    _see(classroom, visitor)
    return classroom


def _is_new_answer(before: Classroom, visitor: str, number: int, answer: object, vote: int) -> bool:
    """Return whether an answer is to be stored; False for a repeated one. Raises NotAllowed or InvalidSetting."""
    question = before.shown.question
    if number != before.number or question is None:
        raise NotAllowed("The class has gone on to another question. This answer was to an earlier one.")
    if not question.accepts(answer):
        raise InvalidSetting(f"“{shorten(answer)}” is no answer to this question.")
    before.check_open(visitor)
    if before.is_removed(visitor):
        raise NotAllowed("Your teacher has removed your answer to this question. You can answer the next one.")
    if 1 <= vote <= before.vote and before.votes[vote - 1].get(visitor) == answer:
        return False  # a repeated request, possibly after the reveal
    if before.revealed:
        raise NotAllowed("The answer has been shown already, so this one came too late.")
    if vote != before.vote:
        raise NotAllowed("The first vote is over. Send your answer to the second vote.")
    if vote == 1 and visitor in before.answers:
        raise NotAllowed("You have answered already. You can change your answer if your teacher asks again.")
    return True


def _student_number(session: Session, code: str, visitor: str) -> int:
    """Return the random number of a student in this class, which says nothing about the order of the answers."""
    known = select(AnswerRow.student).where(AnswerRow.code == code, AnswerRow.visitor == visitor).limit(1)
    if (found := session.scalar(known)) is not None:
        return found
    is_used = select(AnswerRow.student).where(AnswerRow.code == code).limit(1)
    while session.scalar(is_used.where(AnswerRow.student == (number := 10_000 + secrets.randbelow(90_000)))):
        pass
    return number


def show_votes(code: str, visitor: Visitor, number: int, shown: bool) -> Classroom:
    """Show the answers to the teacher before the reveal, or hide them again.

    Raises UnknownClassroom, NotAllowed or StoreError.
    """

    def show(session: Session, row: ClassRow, before: Classroom) -> None:
        row.votes_shown = shown

    return _change_as_teacher(code, visitor, show, number)


def start_second_vote(code: str, visitor: Visitor, number: int) -> Classroom:
    """End the first vote and start the second one, whose answers are hidden at first.

    Raises UnknownClassroom, StoreError, or NotAllowed for anyone but the teacher, after the reveal, and without an
    answer.
    """

    def start_vote(session: Session, row: ClassRow, before: Classroom) -> bool:
        if before.vote > 1:
            return False  # a repeated request
        if before.revealed or not before.answers:
            raise NotAllowed("The class can vote again after the first answers have arrived, and before the reveal.")
        row.sizes, row.vote, row.votes_shown = [*before.sizes, before.present], 2, False
        return True

    return _change_as_teacher(code, visitor, start_vote, number)


def reveal_answer(code: str, visitor: Visitor, number: int) -> Classroom:
    """Show the result to the class; answers are final from now on.

    Raises UnknownClassroom, NotAllowed or StoreError.
    """

    def reveal(session: Session, row: ClassRow, before: Classroom) -> bool:
        if not before.revealed:
            row.sizes, row.revealed = [*before.sizes, before.present], True
        return not before.revealed

    return _change_as_teacher(code, visitor, reveal, number)


def remove_answers(code: str, visitor: Visitor, number: int, arrivals: Collection[int]) -> Classroom:
    """Remove answers by the numbers of their arrival; their visitors cannot answer this question again.

    Raises UnknownClassroom, NotAllowed or StoreError.
    """

    def remove(session: Session, row: ClassRow, before: Classroom) -> None:
        selected = [each.arrival for each in before.given.values() if each.arrival in arrivals]
        session.execute(
            update(AnswerRow)
            .where(AnswerRow.code == row.code, AnswerRow.number == number, AnswerRow.arrival.in_(selected))
            .values(first=None, second=None, removed=True, version=row.version + 1)
        )

    return _change_as_teacher(code, visitor, remove, number)


def set_closed(code: str, visitor: Visitor, closed: bool) -> Classroom:
    """Close a class to visitors who have not joined yet, or open it again.

    Raises UnknownClassroom, NotAllowed or StoreError.
    """

    def close(session: Session, row: ClassRow, before: Classroom) -> None:
        row.closed = closed

    return _change_as_teacher(code, visitor, close)


def share_text(code: str, visitor: Visitor, text: str) -> Classroom:
    """Let the students of a class read a text, given by its SHA-256; with an empty one, no longer.

    Until then, or until the class ends, the text is in the database, where all servers find it.

    Raises UnknownClassroom, StoreError, or NotAllowed for anyone but the teacher, and for a text that is not the
    teacher's.
    """
    _check_teacher(find_classroom(code).owner, visitor)
    content = ""
    if text:
        if not corpora.may_read(text, visitor.id):
            raise NotAllowed("Only a text that you have entered yourself can be shared with the class.")
        with corpora.read_as(visitor.id):
            content = corpora.load_text(TextConfig(corpus="own", text=text))

    def share(session: Session, row: ClassRow, before: Classroom) -> None:
        session.execute(delete(TextRow).where(TextRow.code == row.code))
        if content:
            session.add(TextRow(code=row.code, content=content))
        row.text = text

    return _change_as_teacher(code, visitor, share)


def end_classroom(code: str, visitor: Visitor) -> None:
    """Delete a classroom with all its answers. Raises UnknownClassroom, NotAllowed or StoreError."""
    copy = _copy(code)

    def end(session: Session) -> None:
        _check_teacher(_find_row(session, copy.code, read_clock(session)).owner, visitor)
        _end_classes(session, select(ClassRow.code).where(ClassRow.code == copy.code))

    with copy.lock:
        _transaction(end, lock=f"class {copy.code}")


def _end_classes(session: Session, codes: object) -> None:
    """Delete the classes that a query names."""
    ended = session.scalars(delete(ClassRow).where(ClassRow.code.in_(codes)).returning(ClassRow.code)).all()  # type: ignore[arg-type]
    for code in ended:
        notifications.publish(session, _CHANNEL, f"{code} 0 ended")


def _check_teacher(owner: str, visitor: Visitor) -> None:
    if not visitor.owns(owner):
        raise NotAllowed("Only the browser that started this class controls it.")


def _change_as_teacher(
    code: str,
    visitor: Visitor,
    change: Callable[[Session, ClassRow, Classroom], bool | None],
    number: int | None = None,
) -> Classroom:
    """Change a class as its teacher, unless the request is for an earlier question than the one shown."""

    def change_if_current(session: Session, row: ClassRow, before: Classroom) -> bool | None:
        _check_teacher(row.owner, visitor)
        return change(session, row, before) if number in (None, row.number) else False

    return _change(code, change_if_current)


def _change(code: str, change: Callable[[Session, ClassRow, Classroom], bool | None], what: str = "state") -> Classroom:
    """Change a class in one transaction, before which it has been read completely; return it as it is then.

    change: gets the row, whose time of use is now, and the class before the change; returns False if nothing changes
    what: "answers" if there are only more answers, of which the other servers learn a little later, otherwise "state"
    """
    copy = _copy(code)

    def work(session: Session) -> Classroom:
        now = read_clock(session)
        row = _find_row(session, copy.code, now)
        before = read_classroom(session, row, copy.classroom, copy.members)
        row.used = now
        with session.no_autoflush:
            if change(session, row, before) is False:
                return before
        row.version += 1
        session.flush()
        notifications.publish(session, _CHANNEL, f"{copy.code} {row.version} {what}")
        return read_classroom(session, row, before, copy.members)

    if not copy.is_loaded:
        _read_again(copy)  # with its members
    with copy.lock:
        classroom = _transaction(work, lock=f"class {copy.code}")
        copy.replace(classroom)
        return classroom


# Presence


def record_presence(classroom: Classroom, visitor: str) -> None:
    """Record that a visitor's browser has requested the state of the classroom. Raises NotAllowed if it is closed.

    The database gets it within a second or so, together with the others.
    """
    classroom.check_open(visitor)
    _see(classroom, visitor)


def _see(classroom: Classroom, visitor: str) -> None:
    classroom.members.see(visitor)
    with _lock:
        _codes[visitor] = classroom.code
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
        used = session.scalars(
            update(ClassRow)
            .where(ClassRow.code.in_(codes), ClassRow.used > _oldest_use(now))
            .values(used=now)
            .returning(ClassRow.code)
        )
        living = set(used)
        if members := [{"code": code, "visitor": each, "seen": now} for code, each in rows if code in living]:
            upsert(session, MemberRow, members, ("seen",))

    if rows:
        _transaction(write, lock="members")
    with _lock:
        _unwritten.difference_update(rows)
        for row in rows:
            _written[row] = None


def _work_periodically() -> None:
    """Write who is present; as the leader, delete what has ended."""
    global _tidied
    write_presence()
    if time.monotonic() - _tidied > _TIDY_SECONDS:
        _tidied = time.monotonic()
        forget_texts()
        if servers.is_leader():
            tidy()


_thread = PeriodicThread("classes", _work_periodically, _WRITE_SECONDS, "members of classes could not be written")


def tidy() -> None:
    """Delete classes that nobody uses, members and predictions above their limits. Raises StoreError."""

    def delete_ended(session: Session) -> None:
        _end_classes(session, select(ClassRow.code).where(ClassRow.used <= _oldest_use(read_clock(session))))
        counts = select(MemberRow.code).group_by(MemberRow.code).having(func.count() > MAX_MEMBERS)
        for code in session.scalars(counts).all():
            newest = select(MemberRow.seen).where(MemberRow.code == code).order_by(MemberRow.seen.desc())
            last = session.scalars(newest.offset(MAX_MEMBERS).limit(1)).one()
            session.execute(delete(MemberRow).where(MemberRow.code == code, MemberRow.seen <= last))
        predictions.delete_old(session)

    _transaction(delete_ended, lock="classes")


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
        if classroom.text == text and visitor in classroom.members:
            return True
    return False


def _read_shared_text(text: str) -> str | None:
    """Return a text that a class shares, or None; only those who may read it are given it."""
    shared = select(TextRow.content).join(ClassRow, ClassRow.code == TextRow.code).where(ClassRow.text == text)
    content = _transaction(lambda session: session.scalar(shared.limit(1)))
    if content is not None:
        corpora.store_text(content, _CLASS_OWNER)
    return content


def forget_texts() -> None:
    """Forget the texts of classes that do not share them any more. Raises StoreError."""
    texts = corpora.texts_of(_CLASS_OWNER)
    if texts:
        shared = set(_transaction(lambda session: session.scalars(select(ClassRow.text).distinct()).all()))
        for text in texts - shared:
            if corpora.release_text(text, _CLASS_OWNER):
                own_texts.forget(text)


corpora.shared_by.append(_is_shared_with)
corpora.shared_texts.append(_read_shared_text)


def _read_notification(text: str | None) -> None:
    """Read a class again that has changed; after a lost connection, all of them."""
    with _lock:
        if text is None:
            _codes.clear()
            for copy in _copies.values():
                copy.due = 0.0
            return
        code, version, what = text.split()
        if code in _copies:
            _copies[code].notify(int(version), what)
        if what == "ended":
            for visitor in [visitor for visitor, known in _codes.items() if known == code]:
                del _codes[visitor]


notifications.subscribe(_CHANNEL, _read_notification)
