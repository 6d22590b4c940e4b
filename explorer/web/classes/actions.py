"""What the teacher and the students of a class do: questions, answers, votes, the reveal and the end.

All functions may be called from any thread. They raise UnknownClassroom if there is no such class, StoreError while the
database does not answer, and those with a Visitor NotAllowed for anyone but the teacher. Each of them changes the class
in one transaction (`store.change_class`). A request with the number of an earlier question than the one shown changes
nothing.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from functools import partial

from sqlalchemy import String, cast, delete, func, select, update
from sqlalchemy.orm import Session

from explorer.errors import InvalidSetting, NotAllowed, shorten
from explorer.lessons.lesson import MAX_SENTENCE
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.visible_text import clean_line
from explorer.web import predictions
from explorer.web.classes import store, tables
from explorer.web.classes.classroom import MAX_VISITORS, Classroom, ClassroomQuestion, UnknownClassroom
from explorer.web.classes.tables import AnswerRow, ClassRow, QuestionRow
from explorer.web.transactions import transaction
from explorer.web.visitors import Visitor

MAX_CLASS_RECORDS = 20_000  # answers to earlier questions that one class keeps; the oldest question is dropped first
CONTROL_LENGTH = 10  # letters of a code that gives control of a class: more than anybody can guess
CONTROL_SECONDS = 600.0  # seconds for which it is valid, unless it lasts as long as the class
_UNKNOWN_CONTROL = (
    "This code gives control of no class. It works once and for ten minutes: ask for a new one at the device that "
    "controls the class, under “Manage the class”."
)
MAX_RECORDS = 200_000  # answers to earlier questions in all classes; the least recently used class drops some first


def show_question(owner: str, shown: ClassroomQuestion) -> Classroom:
    """Show a question to the visitor's class; start a classroom if the visitor has none."""
    code = transaction(partial(tables.find_code_of_teacher, owner=owner))
    if not code:
        code, is_new = transaction(partial(_insert_class, owner=owner, shown=shown), lock="classes")
        if is_new:
            store.remember_class(owner, code)
            store.copy_of_class(code).due = 0.0  # somebody may have guessed the code before
            return store.find_classroom(code)

    def show(session: Session, row: ClassRow, before: Classroom) -> None:
        _keep_answers(session, row, before)
        row.shown, row.number, row.shown_at = tables.to_json(shown), row.number + 1, row.used
        row.vote, row.votes_shown, row.revealed, row.explained, row.sizes, row.arrivals = 1, False, False, False, [], 0

    try:
        return store.change_class(code, show)
    except UnknownClassroom:  # it has ended meanwhile
        return show_question(owner, shown)


def _insert_class(session: Session, owner: str, shown: ClassroomQuestion) -> tuple[str, bool]:
    """Return the code of the visitor's class, and whether it is a new one."""
    if code := tables.find_code_of_teacher(session, owner):
        return code, False
    now = tables.end_unused_classes(session)
    above = (session.scalar(select(func.count()).select_from(ClassRow)) or 0) + 1 - store.MAX_CLASSROOMS
    least_used = select(ClassRow.code).order_by(ClassRow.used).limit(max(0, above))
    session.execute(delete(ClassRow).where(ClassRow.code.in_(least_used)))
    while session.get(ClassRow, code := "".join(secrets.choice(store.CODE_LETTERS) for _ in range(store.CODE_LENGTH))):
        pass
    columns = {"code": code, "owner": owner, "version": 1, "number": 1, "shown": tables.to_json(shown)}
    session.add(ClassRow(**columns, started=now, used=now, shown_at=now))
    return code, True


def _keep_answers(session: Session, row: ClassRow, before: Classroom) -> None:
    """Count the answers to the question that is shown to those of the earlier questions, within the limits."""
    number = sum(any(vote is not None for vote in each.votes) for each in before.given.values())
    session.execute(delete(AnswerRow).where(AnswerRow.code == row.code, AnswerRow.removed))
    if before.shown.question is None or not number:
        return
    session.add(
        QuestionRow(code=row.code, number=row.number, question=tables.to_json(before.shown.question), answers=number)
    )
    session.flush()
    while tables.kept_answers(session, row.code) > max(number, MAX_CLASS_RECORDS):
        tables.drop_oldest_question(session, row.code)
    above = tables.kept_answers(session) - MAX_RECORDS
    while above > 0:
        least_used = select(QuestionRow.code).join(ClassRow, ClassRow.code == QuestionRow.code)
        above -= tables.drop_oldest_question(
            session, session.scalars(least_used.order_by(ClassRow.used).limit(1)).one()
        )
    session.refresh(row)
    row.kept = tables.kept_answers(session, row.code)  # another class may have dropped some at the same time


def record_answer(code: str, visitor: str, number: int, answer: object, vote: int = 1) -> Classroom:
    """Store a visitor's answer to the question `number` in its first or second vote.

    An answer in the first vote is final; one in the second vote can change until the reveal. Raises NotAllowed if it
    comes too late, and InvalidSetting if it is none.
    """
    answer = clean_line(answer) if isinstance(answer, str) else answer

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

    classroom = store.change_class(code, record)
    store.see_member(classroom, visitor)
    return classroom


def _is_new_answer(before: Classroom, visitor: str, number: int, answer: object, vote: int) -> bool:
    """Return whether an answer is to be stored; False for a repeated one. Raises NotAllowed or InvalidSetting."""
    question = before.shown.question
    if number != before.number or question is None:
        raise NotAllowed("The class has gone on to another question. This answer was to an earlier one.")
    if not question.accepts(answer):
        possible = f" Write 1 to {MAX_SENTENCE} characters." if question.collects else ""
        raise InvalidSetting(f"“{shorten(answer)}” is no answer to this question.{possible}")
    before.check_open(visitor)
    if visitor in before.given and before.given[visitor].removed:
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


def start_second_vote(code: str, visitor: Visitor, number: int) -> Classroom:
    """End the first vote and start the second one. Raises NotAllowed without an answer, or after the reveal."""

    def start_vote(session: Session, row: ClassRow, before: Classroom) -> bool:
        if before.vote > 1:
            return False  # a repeated request
        if before.revealed or not before.answers:
            raise NotAllowed("The class can vote again after the first answers have arrived, and before the reveal.")
        row.sizes, row.vote, row.votes_shown = [*before.sizes, before.present], 2, False
        return True

    return _change_as_teacher(code, visitor, start_vote, number)


def reveal_answer(code: str, visitor: Visitor, number: int) -> Classroom:
    """Show the result to the class; answers are final from now on, and students find theirs again in the lesson."""

    def reveal(session: Session, row: ClassRow, before: Classroom) -> bool:
        if before.revealed:
            return False
        row.sizes, row.revealed = [*before.sizes, before.present], True
        if before.shown.lesson:
            last = {visitor: answer for vote in before.votes for visitor, answer in vote.items()}
            predictions.store_class_answers(session, before.shown.lesson, before.shown.step, last)
        return True

    return _change_as_teacher(code, visitor, reveal, number)


def remove_answers(code: str, visitor: Visitor, number: int, arrivals: Collection[int]) -> Classroom:
    """Remove answers by the numbers of their arrival; their visitors cannot answer this question again."""

    def remove(session: Session, row: ClassRow, before: Classroom) -> None:
        selected = [each.arrival for each in before.given.values() if each.arrival in arrivals]
        chosen = update(AnswerRow).filter_by(code=row.code, number=number).where(AnswerRow.arrival.in_(selected))
        session.execute(chosen.values(first=None, second=None, removed=True, version=row.version + 1))

    return _change_as_teacher(code, visitor, remove, number)


def create_control_code(code: str, visitor: Visitor, lasts: bool) -> str:
    """Return a code with which another browser can take control of a class once; it replaces one of its kind."""
    # The database has the SHA-256 of each code, and when it ends.
    control = "".join(secrets.choice(store.CODE_LETTERS) for _ in range(CONTROL_LENGTH))

    def add(session: Session, row: ClassRow, before: Classroom) -> None:
        others = {key: until for key, until in row.keys.items() if (until is None) != lasts}
        row.keys = others | {_hash_control(control): None if lasts else row.used.timestamp() + CONTROL_SECONDS}

    _change_as_teacher(code, visitor, add)
    return control


def take_control(control: str, visitor: Visitor, address: str = "") -> Classroom:
    """Let any visitor with this code control its class together with the others. Raises as `store.limit_guesses`."""
    key = _hash_control(control)

    def take(session: Session, row: ClassRow, before: Classroom) -> None:
        until = row.keys.get(key, 0.0)
        if until is not None and until <= row.used.timestamp():
            raise UnknownClassroom(_UNKNOWN_CONTROL)
        row.keys = {each: end for each, end in row.keys.items() if each != key}
        if visitor.id not in row.list_teachers():
            row.teachers = f"{row.teachers} {visitor.id}"

    with store.limit_guesses(address, key):
        named = select(ClassRow.code).where(cast(ClassRow.keys, String).contains(key))
        if not (code := transaction(lambda session: session.scalar(named))):
            raise UnknownClassroom(_UNKNOWN_CONTROL)
        classroom = store.change_class(code, take)
    store.remember_class(visitor.id, code)
    return classroom


def _hash_control(control: str) -> str:
    return hashlib.sha256(store.read_code(control).encode()).hexdigest()


def keep_control(code: str, visitor: Visitor) -> Classroom:
    """Let only this browser and the one that started the class control it."""
    is_further = visitor.id in store.find_classroom(code).teachers[1:]
    return set_as_teacher(code, visitor, keys={}, teachers=visitor.id if is_further else "")


def share_text(code: str, visitor: Visitor, text: str) -> Classroom:
    """Let the students of a class read a text, given by its SHA-256; with an empty one, no longer.

    Until then, or until the class ends, the text is in the database, where all servers find it. Raises NotAllowed for a
    text that is not the teacher's.
    """
    store.check_teacher(store.find_classroom(code).teachers, visitor)
    content = ""
    if text:
        if not corpora.may_read(text, visitor.id):
            raise NotAllowed("Only a text that you have entered yourself can be shared with the class.")
        with corpora.read_as(visitor.id):
            content = corpora.load_text(TextConfig(corpus="own", text=text))

    def share(session: Session, row: ClassRow, before: Classroom) -> None:
        session.execute(delete(tables.TextRow).where(tables.TextRow.code == row.code))
        if content:
            session.add(tables.TextRow(code=row.code, content=content))
        row.text = text

    return _change_as_teacher(code, visitor, share)


def end_classroom(code: str, visitor: Visitor) -> None:
    """Delete a classroom with all its answers."""
    classroom = store.find_classroom(code)
    store.check_teacher(classroom.teachers, visitor)
    store.end_class(classroom.code)


def set_as_teacher(code: str, visitor: Visitor, number: int | None = None, **values: object) -> Classroom:
    """Set columns of a class: `votes_shown` to the teacher before the reveal, `explained` on the wall, or `closed`."""

    def set_columns(session: Session, row: ClassRow, before: Classroom) -> None:
        for name, value in values.items():
            setattr(row, name, value)

    return _change_as_teacher(code, visitor, set_columns, number)


def _change_as_teacher(code: str, visitor: Visitor, change: store.Change, number: int | None = None) -> Classroom:
    """Change a class as its teacher, unless the request is for an earlier question than the one shown."""
    store.check_teacher(
        store.find_classroom(code).teachers, visitor
    )  # before the class is locked, which nobody else may do

    def change_if_current(session: Session, row: ClassRow, before: Classroom) -> bool | None:
        return change(session, row, before) if number in (None, row.number) else False

    return store.change_class(code, change_if_current)
