"""The classrooms of this process: the question shown, the answers of the students, and whether they are revealed.

Classrooms are held in memory only and contain no names. A visitor, identified by the hash of the cookie, has one answer
per question. A later answer replaces the earlier one until the teacher reveals the result.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.errors import InvalidSetting, LineageError, NotAllowed, shorten
from explorer.lessons.lesson import Question
from explorer.web.visitors import Visitor

CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # letters that cannot be confused with digits
CODE_LENGTH = 5
MAX_CLASSROOMS = 200  # classrooms at once; the least recently used is dropped first
MAX_VISITORS = 1_000  # visitors of one classroom
IDLE_SECONDS = 4 * 3600.0  # seconds without a request after which a classroom is dropped
PRESENCE_SECONDS = 15.0  # seconds after its last request for which a browser counts as present


class UnknownClassroom(LineageError):
    """The code belongs to no classroom, or to one that has ended."""


@dataclass(frozen=True)
class ClassroomQuestion:
    """The page that a class sees, and the question that it answers."""

    page: str  # path of the page
    state: Mapping[str, str] = field(hash=False)
    locked: tuple[str, ...] = ()  # controls hidden from the class, see `hidden_controls.py`
    question: Question | None = None
    lesson: str = ""
    step: int = 0
    opens_at_reveal: bool = True  # the page is shown only after the reveal


@dataclass
class Classroom:
    """One class. Its fields change only while `_lock` is held."""

    code: str
    owner: str  # a visitor's id
    shown: ClassroomQuestion
    number: int = 1  # counts the questions shown so far
    revealed: bool = False
    answers: dict[str, object] = field(default_factory=dict)  # by visitor id
    last_seen: dict[str, float] = field(default_factory=dict)  # time of the last request, by visitor id
    last_used: float = field(default_factory=time.monotonic)

    def is_led_by(self, visitor: Visitor) -> bool:
        return visitor.owns(self.owner)

    @property
    def open(self) -> bool:
        """Return whether the class may see the page."""
        return self.revealed or not (self.shown.question and self.shown.opens_at_reveal)

    @property
    def present(self) -> int:
        """Return the number of visitors who are present or have answered."""
        since = time.monotonic() - PRESENCE_SECONDS
        return len({*self.answers, *(visitor for visitor, last in self.last_seen.items() if last >= since)})


_classrooms: OrderedDict[str, Classroom] = OrderedDict()  # least recently used first
_lock = threading.RLock()


def reset() -> None:
    """End every class."""
    with _lock:
        _classrooms.clear()


def find_classroom(code: str) -> Classroom:
    """Return the classroom with this code. Raises UnknownClassroom."""
    with _lock:
        _drop_idle()
        classroom = _classrooms.get(code.strip().upper()[: 2 * CODE_LENGTH])
        if classroom is None:
            raise UnknownClassroom(
                f"There is no class “{shorten(code)}” here: it has ended, or its code has other letters."
            )
        return classroom


def classroom_of_teacher(owner: str) -> Classroom | None:
    """Return the classroom that a visitor started, or None."""
    with _lock:
        _drop_idle()
        return next((classroom for classroom in _classrooms.values() if owner and classroom.owner == owner), None)


def show_question(owner: str, shown: ClassroomQuestion) -> Classroom:
    """Show a question to the visitor's class; start a classroom if the visitor has none."""
    with _lock:
        classroom = classroom_of_teacher(owner)
        if classroom is None:
            classroom = Classroom(_new_code(), owner, shown)
            _classrooms[classroom.code] = classroom
            while len(_classrooms) > MAX_CLASSROOMS:
                _classrooms.popitem(last=False)
        else:
            classroom.shown, classroom.number = shown, classroom.number + 1
            classroom.revealed, classroom.answers = False, {}
        _mark_used(classroom)
        return classroom


def _new_code() -> str:
    """Return a random code that no other classroom has."""
    while (code := "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))) in _classrooms:
        pass
    return code


def record_answer(code: str, visitor: str, number: int, answer: object) -> None:
    """Store a visitor's answer; it can change until the reveal.

    Raises UnknownClassroom, NotAllowed or InvalidSetting.
    """
    with _lock:
        classroom = find_classroom(code)
        question = classroom.shown.question
        if number != classroom.number or question is None:
            raise NotAllowed("The class has gone on to something else; this answer was to a question before.")
        if not question.accepts(answer):
            raise InvalidSetting(f"“{shorten(answer)}” is no answer to this question.")
        if classroom.answers.get(visitor) == answer:
            return  # a repeated request, possibly after the reveal
        if classroom.revealed:
            raise NotAllowed("The answer has been shown already, so this one came too late.")
        if visitor not in classroom.answers and len(classroom.answers) >= MAX_VISITORS:
            raise NotAllowed(f"At most {MAX_VISITORS:,} can answer in one class.")
        classroom.answers[visitor] = answer
        _mark_used(classroom)


def reveal_answer(code: str, visitor: Visitor, number: int) -> None:
    """Show the result to the class; answers are final from now on. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if number == classroom.number:  # otherwise the request is for an earlier question
            classroom.revealed = True
            _mark_used(classroom)


def end_classroom(code: str, visitor: Visitor) -> None:
    """Delete a classroom with all its answers. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        _classrooms.pop(_find_for_teacher(code, visitor).code, None)


def _find_for_teacher(code: str, visitor: Visitor) -> Classroom:
    """Return a classroom that this visitor leads. Raises UnknownClassroom or NotAllowed."""
    classroom = find_classroom(code)
    if not classroom.is_led_by(visitor):
        raise NotAllowed("Only the browser that began this class steers it.")
    return classroom


def record_presence(classroom: Classroom, visitor: str) -> None:
    """Record that a visitor's browser has requested the state of the classroom."""
    with _lock:
        if visitor in classroom.last_seen or len(classroom.last_seen) < MAX_VISITORS:
            classroom.last_seen[visitor] = time.monotonic()
        _mark_used(classroom)


def _mark_used(classroom: Classroom) -> None:
    classroom.last_used = time.monotonic()
    if classroom.code in _classrooms:
        _classrooms.move_to_end(classroom.code)


def _drop_idle() -> None:
    """Drop the classrooms that nobody has used for `IDLE_SECONDS`."""
    last = time.monotonic() - IDLE_SECONDS
    for code in [code for code, classroom in _classrooms.items() if classroom.last_used < last]:
        del _classrooms[code]


def classroom_state(classroom: Classroom, visitor: Visitor) -> dict[str, object]:
    """Return the state of a classroom for one visitor; students get all answers only after the reveal."""
    with _lock:
        teaches = classroom.is_led_by(visitor)
        return {
            "code": classroom.code,
            "number": classroom.number,
            "teaches": teaches,
            "revealed": classroom.revealed,
            "open": classroom.open,
            "answered": len(classroom.answers),
            "present": max(classroom.present, len(classroom.answers)),
            "mine": classroom.answers.get(visitor.id),
            "given": list(classroom.answers.values()) if teaches or classroom.revealed else [],
        }
