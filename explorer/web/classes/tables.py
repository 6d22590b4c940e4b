"""The tables of classes, and what is read from them and deleted within a transaction.

Every change of a class gets the next number as its version, also each answer, so that a server which has read a class
before reads only the answers that have changed since.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint, delete, func, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database.engine import Base, read_clock
from explorer.errors import shorten
from explorer.lessons.lesson import Question
from explorer.web.classes.classroom import (
    PRESENCE_SECONDS,
    AnsweredQuestion,
    AnswerRecord,
    Classroom,
    ClassroomQuestion,
    Members,
    StudentAnswer,
    UnknownClassroom,
)

IDLE_SECONDS = 4 * 3600.0  # seconds without a request after which a classroom is dropped


def _code_column() -> Mapped[str]:
    """Return the column for the code of a class, with which the row is deleted."""
    return mapped_column(ForeignKey("classes.code", ondelete="CASCADE"), primary_key=True)


class ClassRow(Base):
    """A class and the question that it shows; see `Classroom`."""

    __tablename__ = "classes"

    code: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(index=True)
    started: Mapped[datetime.datetime]
    version: Mapped[int]
    used: Mapped[datetime.datetime]  # when somebody was there; a class that nobody uses ends
    number: Mapped[int]
    shown: Mapped[dict[str, Any]]
    shown_at: Mapped[datetime.datetime]
    vote: Mapped[int] = mapped_column(default=1)
    votes_shown: Mapped[bool] = mapped_column(default=False)
    revealed: Mapped[bool] = mapped_column(default=False)
    sizes: Mapped[list[int]] = mapped_column(JSON, default=list)
    arrivals: Mapped[int] = mapped_column(default=0)  # number of the students who have answered, with the removed ones
    closed: Mapped[bool] = mapped_column(default=False)
    kept: Mapped[int] = mapped_column(default=0)
    dropped: Mapped[int] = mapped_column(default=0)
    text: Mapped[str] = mapped_column(default="")
    teachers: Mapped[str] = mapped_column(default="")  # ids of the further browsers that control it, after spaces
    keys: Mapped[dict[str, float | None]] = mapped_column(JSON, default=dict)  # see `actions.create_control_code`
    explained: Mapped[bool] = mapped_column(default=False)

    def list_teachers(self) -> tuple[str, ...]:
        """Return the ids of the browsers that control the class; the first one started it."""
        return (self.owner, *self.teachers.split())


class AnswerRow(Base):
    """The answers of one student to one question. The primary key lets nobody answer twice."""

    __tablename__ = "class_answers"
    __table_args__ = (
        UniqueConstraint("code", "number", "arrival"),
        Index("ix_class_answers_version", "code", "version"),
    )

    code: Mapped[str] = _code_column()
    visitor: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)  # of the question
    arrival: Mapped[int]
    seconds: Mapped[float]
    student: Mapped[int]  # see `AnswerRecord`
    first: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    second: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    removed: Mapped[bool]
    version: Mapped[int]  # of the class when the row was written


class QuestionRow(Base):
    """An earlier question that had answers."""

    __tablename__ = "class_questions"

    code: Mapped[str] = _code_column()
    number: Mapped[int] = mapped_column(primary_key=True)
    question: Mapped[dict[str, Any]]
    answers: Mapped[int]


class TextRow(Base):
    """The text of the teacher that a class may read."""

    __tablename__ = "class_texts"

    code: Mapped[str] = _code_column()
    content: Mapped[str]


class MemberRow(Base):
    """A visitor who has joined a class."""

    __tablename__ = "class_members"

    code: Mapped[str] = _code_column()
    visitor: Mapped[str] = mapped_column(primary_key=True, index=True)
    seen: Mapped[datetime.datetime]


# Columns that a Classroom has as they are.
_COLUMNS = [
    "code",
    "version",
    "number",
    "vote",
    "votes_shown",
    "revealed",
    "explained",
    "closed",
    "kept",
    "dropped",
    "text",
]


@lru_cache(maxsize=2)
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_json(shown: ClassroomQuestion | Question) -> dict[str, Any]:
    """Return a question as JSON data, complete, so that a class does not depend on files of lessons."""
    kind: type = type(shown)
    return dict(_adapter(kind).dump_python(shown, mode="json"))


def read_classroom(session: Session, row: ClassRow, known: Classroom | None, members: Members) -> Classroom:
    """Return a class at the version of its row; `known` is the class at an earlier version."""
    if known and known.version == row.version:
        return known
    same = known if known and known.number == row.number else None  # with the same question
    given = dict(same.given) if same else {}
    changed = select(AnswerRow).filter_by(code=row.code, number=row.number)
    if same:
        changed = changed.where(AnswerRow.version > same.version)
    for each in session.scalars(changed.order_by(AnswerRow.arrival).execution_options(populate_existing=True)):
        given[each.visitor] = StudentAnswer(each.arrival, each.seconds, (each.first, each.second), each.removed)
    shown = same.shown if same else _adapter(ClassroomQuestion).validate_python(row.shown)
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return Classroom(
        **columns, teachers=row.list_teachers(), sizes=tuple(row.sizes), shown=shown, given=given, members=members
    )


def read_answered_questions(session: Session, row: ClassRow) -> list[AnsweredQuestion]:
    """Return all questions of a class that are kept and have answers, with them."""
    earlier = session.scalars(select(QuestionRow).filter_by(code=row.code).order_by(QuestionRow.number))
    questions = {each.number: _adapter(Question).validate_python(each.question) for each in earlier}
    shown = _adapter(ClassroomQuestion).validate_python(row.shown)
    if shown.question:
        questions[row.number] = shown.question
    records = defaultdict(list)
    answers = select(AnswerRow).filter_by(code=row.code, removed=False).order_by(AnswerRow.student)
    for each in session.scalars(answers):
        records[each.number].append(AnswerRecord(each.student, (each.first, each.second)))
    return [AnsweredQuestion(n, question, tuple(records[n])) for n, question in questions.items() if n in records]


def drop_oldest_question(session: Session, code: str) -> int:
    """Delete the answers to the oldest of the earlier questions of a class; return their number."""
    oldest = session.scalars(select(QuestionRow).filter_by(code=code).order_by(QuestionRow.number).limit(1)).one()
    session.execute(delete(AnswerRow).filter_by(code=code, number=oldest.number))
    fewer = {"kept": ClassRow.kept - oldest.answers, "dropped": ClassRow.dropped + 1}
    session.execute(update(ClassRow).filter_by(code=code).values(fewer))
    session.delete(oldest)
    session.flush()
    return oldest.answers


def kept_answers(session: Session, code: str | None = None) -> int:
    """Return the number of answers to earlier questions, of one class or of all."""
    count = select(func.coalesce(func.sum(QuestionRow.answers), 0))
    return int(session.scalar(count.where(QuestionRow.code == code) if code else count) or 0)


@dataclass(frozen=True)
class ClassOverview:
    """What the operator sees of a class: no answers."""

    code: str
    seconds: float  # since it was started
    question: int  # number of the question that is shown
    present: int  # students who are present at any server
    joined: int  # students who have joined at any time


def read_overviews(session: Session) -> list[ClassOverview]:
    """Return an overview of every class that has not ended, the oldest first."""
    now = read_clock(session)
    is_present = MemberRow.seen > now - datetime.timedelta(seconds=PRESENCE_SECONDS)
    members = func.count().filter(is_present), func.count(MemberRow.code)
    found = session.execute(
        select(ClassRow.code, ClassRow.started, ClassRow.number, *members)
        .outerjoin(MemberRow, MemberRow.code == ClassRow.code)
        .where(ClassRow.used > oldest_use(now))
        .group_by(ClassRow.code)
        .order_by(ClassRow.started)
    )
    return [ClassOverview(code, (now - started).total_seconds(), *others) for code, started, *others in found]


def unknown_classroom(code: str) -> UnknownClassroom:
    """Return the error for a code to which no class belongs."""
    return UnknownClassroom(f"There is no class “{shorten(code)}” here. It has ended, or the code is mistyped.")


def find_row(session: Session, code: str, now: datetime.datetime) -> ClassRow:
    """Return the row of a class. Raises UnknownClassroom if it is not there or idle for too long."""
    row = session.get(ClassRow, code)
    if row is None or row.used <= oldest_use(now):
        raise unknown_classroom(code)
    return row


def oldest_use(now: datetime.datetime) -> datetime.datetime:
    """Return the time since which a class that goes on has been used."""
    return now - datetime.timedelta(seconds=IDLE_SECONDS)


def find_code_of_teacher(session: Session, owner: str) -> str:
    """Return the code of the class that a visitor, by id, controls, or an empty text."""
    if not owner:
        return ""
    leads = or_(ClassRow.owner == owner, ClassRow.teachers.contains(owner, autoescape=True))
    led = select(ClassRow.code).where(leads, ClassRow.used > oldest_use(read_clock(session)))
    return session.scalar(led.order_by(ClassRow.owner == owner).limit(1)) or ""  # first one that was started elsewhere


def find_code_of_visitor(session: Session, visitor: str) -> str:
    """Return the code of the class that a visitor, by id, has started or joined last, or an empty text."""
    joined = select(MemberRow.code).where(MemberRow.visitor == visitor).order_by(MemberRow.seen.desc()).limit(1)
    return find_code_of_teacher(session, visitor) or session.scalar(joined) or ""


def end_unused_classes(session: Session) -> datetime.datetime:
    """Delete the classes that nobody has used for long; return the time of the database."""
    now = read_clock(session)
    session.execute(delete(ClassRow).where(ClassRow.used <= oldest_use(now)))
    return now
