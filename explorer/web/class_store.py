"""What lessons and classes remember in this process: the predictions of visitors, and the classrooms.

Everything is held in memory only and contains no names: a visitor is identified by the hash of the cookie. A prediction
in a lesson survives a reload and is private to the visitor. A classroom is the question shown, the answers of the
students, whether they are revealed, and the answers to earlier questions, which the teacher can download until the
class ends. Each student has one answer in each vote. An answer in the first vote is final; the teacher can let the
class vote a second time after a discussion, where an answer can change until the reveal. The teacher can remove
answers, whose visitors then cannot answer this question again, and close the class: nobody else can join then. All
functions are thread-safe.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from cachetools import FIFOCache, LRUCache, TTLCache

from explorer.errors import InvalidSetting, LineageError, NotAllowed, shorten
from explorer.lessons.lesson import Question
from explorer.tasks.text import corpora
from explorer.web.visitors import Visitor

NO_PREDICTION: Final = "(no guess)"  # the visitor asked for the answer without predicting
MAX_PREDICTIONS = 50_000  # the one stored longest ago is dropped first
CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # letters that cannot be confused with digits
CODE_LENGTH = 5
MAX_CLASSROOMS = 200  # classrooms at once; the least recently used is dropped first
MAX_VISITORS = 1_000  # visitors of one classroom
IDLE_SECONDS = 4 * 3600.0  # seconds without a request after which a classroom is dropped
MAX_CLASS_RECORDS = 20_000  # answers to earlier questions that one class keeps; the oldest question is dropped first
MAX_RECORDS = 200_000  # answers to earlier questions in all classes; the least recently used class drops some first
MAX_REMEMBERED = 50_000  # visitors whose class is remembered
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


@dataclass(frozen=True)
class Arrival:
    """When an answer arrived first."""

    number: int  # names the answer for the teacher, who sees no visitor's id
    seconds: float  # since the question was shown


@dataclass(frozen=True)
class AnswerRecord:
    """What one student answered to one question."""

    student: int  # a random number that the student keeps for the whole class
    votes: tuple[object | None, object | None]  # the answers in the first and in the second vote


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question of a class with all answers to it."""

    number: int  # of the question in its class
    question: Question
    records: tuple[AnswerRecord, ...]


@dataclass
class Classroom:
    """One class. Its fields change only while `_lock` is held."""

    code: str
    owner: str  # a visitor's id
    shown: ClassroomQuestion
    number: int = 1  # counts the questions shown so far
    revealed: bool = False
    shown_at: float = field(default_factory=lambda: _read_clock())  # when the question was shown
    started_at: float = field(default_factory=lambda: _read_clock())  # when the class began
    votes: list[dict[str, object]] = field(default_factory=lambda: [{}])  # of each vote: the answers by visitor id
    sizes: list[int] = field(default_factory=list)  # of each vote that is over: how many students were there
    votes_shown: bool = False  # the teacher sees the answers before the reveal
    arrivals: dict[str, Arrival] = field(default_factory=dict)  # of the answers, by visitor id
    removed: set[str] = field(default_factory=set)  # ids of visitors who cannot answer this question
    closed: bool = False  # nobody else can join
    members: LRUCache[str, None] = field(  # ids of those who have joined, also if they are not present now
        default_factory=lambda: LRUCache(5 * MAX_VISITORS)
    )
    used: float = 0.0  # when it was last used; a look at it is no use
    earlier: list[AnsweredQuestion] = field(default_factory=list)  # the questions before this one that had answers
    dropped: int = 0  # how many of the earlier questions are no longer kept
    student_numbers: FIFOCache[str, int] = field(  # by visitor id
        default_factory=lambda: FIFOCache(5 * MAX_VISITORS)
    )
    text: str = ""  # SHA-256 of a text of the teacher that the class may read
    visitors: TTLCache[str, None] = field(  # ids of those who are present
        default_factory=lambda: TTLCache(MAX_VISITORS, PRESENCE_SECONDS, _read_clock)
    )

    def is_led_by(self, visitor: Visitor) -> bool:
        return visitor.owns(self.owner)

    def admits(self, visitor: str) -> bool:
        """Return whether a visitor (by id) takes part, or may still join."""
        return not self.closed or visitor in self.members or any(visitor in vote for vote in self.votes)

    @property
    def answers(self) -> dict[str, object]:
        """Return the answers of the current vote by visitor id."""
        return self.votes[-1]

    @property
    def open(self) -> bool:
        """Return whether the class may see the page."""
        return self.revealed or not (self.shown.question and self.shown.opens_at_reveal)

    @property
    def present(self) -> int:
        """Return the number of visitors who are present or have answered."""
        with _lock:
            return len({*self.visitors}.union(*self.votes))

    @property
    def vote_sizes(self) -> list[int]:
        """Return for each vote how many students were there; for the current one how many are there now."""
        return [*self.sizes, self.present][: len(self.votes)]

    def answered_question(self) -> AnsweredQuestion | None:
        """Return the question that is shown with the answers so far, or None without an answer."""
        first, second = (self.votes[0], self.votes[1] if len(self.votes) > 1 else {})
        if self.shown.question is None or not (first or second):
            return None
        records = [
            AnswerRecord(self.student_number(visitor), (first.get(visitor), second.get(visitor)))
            for visitor in {**first, **second}
        ]
        return AnsweredQuestion(
            self.number, self.shown.question, tuple(sorted(records, key=lambda record: record.student))
        )

    def student_number(self, visitor: str) -> int:
        """Return the random number of a student in this class, which says nothing about the order of the answers."""
        if visitor not in self.student_numbers:
            used = set(self.student_numbers.values())
            while (number := 10_000 + secrets.randbelow(90_000)) in used:
                pass
            self.student_numbers[visitor] = number
        return self.student_numbers[visitor]


def _read_clock() -> float:
    return time.monotonic()


_predictions: FIFOCache[tuple[str, str, int], object] = FIFOCache(MAX_PREDICTIONS)  # by visitor, lesson and step
_classrooms: TTLCache[str, Classroom] = TTLCache(MAX_CLASSROOMS, IDLE_SECONDS, _read_clock)  # by code
_joined: TTLCache[str, str] = TTLCache(MAX_REMEMBERED, IDLE_SECONDS, _read_clock)  # code of the last class by visitor
_lock = threading.RLock()


def reset() -> None:
    """Delete every prediction and end every class."""
    with _lock:
        _predictions.clear()
        _classrooms.clear()
        _joined.clear()


# Predictions in lessons


def find_prediction(visitor: str, lesson: str, step: int) -> object | None:
    """Return a visitor's prediction at a step of a lesson, or None."""
    with _lock:
        return _predictions.get((visitor, lesson, step))


def store_prediction(visitor: str, lesson: str, step: int, prediction: object) -> None:
    """Store a visitor's prediction at a step of a lesson."""
    with _lock:
        _predictions[visitor, lesson, step] = prediction


def delete_prediction(visitor: str, lesson: str, step: int) -> None:
    """Delete a prediction, so that the visitor can predict again."""
    with _lock:
        _predictions.pop((visitor, lesson, step), None)


# Classrooms


def find_classroom(code: str) -> Classroom:
    """Return the classroom with this code. Raises UnknownClassroom."""
    with _lock:
        classroom = _classrooms.get(code.strip().upper()[: 2 * CODE_LENGTH])
        if classroom is None:
            raise UnknownClassroom(f"There is no class “{shorten(code)}” here. It has ended, or the code is mistyped.")
        return classroom


def find_classroom_for(code: str, visitor: Visitor) -> Classroom:
    """Return the classroom with this code. Raises UnknownClassroom, or NotAllowed if it is closed to others."""
    with _lock:
        classroom = find_classroom(code)
        if not classroom.is_led_by(visitor):
            _check_open(classroom, visitor.id)
        return classroom


def _check_open(classroom: Classroom, visitor: str) -> None:
    """Raise NotAllowed if the class is closed and this visitor (by id) has not joined before."""
    if not classroom.admits(visitor):
        raise NotAllowed(
            f"Class {classroom.code} is closed to newcomers. Ask your teacher to open it, then reload the page."
        )


def classroom_of_teacher(owner: str) -> Classroom | None:
    """Return the classroom that a visitor started, or None."""
    with _lock:
        return next((classroom for classroom in _classrooms.values() if owner and classroom.owner == owner), None)


def classroom_of_visitor(visitor: Visitor) -> Classroom | None:
    """Return the classroom that a visitor started, or the last one that the visitor joined, if it is still there."""
    with _lock:
        classroom = classroom_of_teacher(visitor.id) or _classrooms.get(_joined.get(visitor.id, ""))
        return classroom if classroom and (classroom.is_led_by(visitor) or classroom.admits(visitor.id)) else None


def show_question(owner: str, shown: ClassroomQuestion) -> Classroom:
    """Show a question to the visitor's class; start a classroom if the visitor has none."""
    with _lock:
        classroom = classroom_of_teacher(owner)
        if classroom is None:
            if len(_classrooms) >= MAX_CLASSROOMS:
                _classrooms.pop(min(_classrooms.values(), key=lambda each: each.used).code, None)
            classroom = Classroom(_new_code(), owner, shown)
            _classrooms[classroom.code] = classroom
        else:
            _keep_answers(classroom)
            classroom.shown, classroom.number = shown, classroom.number + 1
            classroom.revealed, classroom.votes_shown, classroom.votes, classroom.sizes = False, False, [{}], []
            classroom.arrivals, classroom.removed = {}, set()
            classroom.shown_at = _read_clock()
        _mark_used(classroom)
        return classroom


def _keep_answers(classroom: Classroom) -> None:
    """Move the answers to the question that is shown to those of the earlier questions, within the limits."""
    answered = classroom.answered_question()
    if answered is None:
        return
    classroom.earlier.append(answered)
    while len(classroom.earlier) > 1 and _record_count(classroom) > MAX_CLASS_RECORDS:
        _drop_oldest_question(classroom)
    while sum(map(_record_count, _classrooms.values())) > MAX_RECORDS:
        _drop_oldest_question(min((each for each in _classrooms.values() if each.earlier), key=lambda each: each.used))


def _record_count(classroom: Classroom) -> int:
    return sum(len(each.records) for each in classroom.earlier)


def _drop_oldest_question(classroom: Classroom) -> None:
    del classroom.earlier[0]
    classroom.dropped += 1


@dataclass(frozen=True)
class ClassOverview:
    """What the operator sees of a class: no answers."""

    code: str
    seconds: float  # since it was started
    question: int  # number of the question that is shown
    present: int  # students who are present or have answered
    joined: int  # students who have joined at any time


def list_classes() -> list[ClassOverview]:
    """Return an overview of every class that has not ended, the oldest first."""
    with _lock:
        classes = sorted(_classrooms.values(), key=lambda each: each.started_at)
        return [
            ClassOverview(each.code, _read_clock() - each.started_at, each.number, each.present, len(each.members))
            for each in classes
        ]


def answered_questions(code: str, visitor: Visitor) -> tuple[list[AnsweredQuestion], int]:
    """Return all questions of a class with their answers, and how many older ones are no longer kept.

    Raises UnknownClassroom or NotAllowed.
    """
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        current = classroom.answered_question()
        return [*classroom.earlier, *([current] if current else [])], classroom.dropped


def _new_code() -> str:
    """Return a random code that no other classroom has."""
    while (code := "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))) in _classrooms:
        pass
    return code


def record_answer(code: str, visitor: str, number: int, answer: object, vote: int = 1) -> None:
    """Store a visitor's answer to the question `number` in its first or second vote.

    An answer in the first vote is final; one in the second vote can change until the reveal.
    Raises UnknownClassroom, NotAllowed or InvalidSetting.
    """
    with _lock:
        classroom = find_classroom(code)
        question = classroom.shown.question
        if number != classroom.number or question is None:
            raise NotAllowed("The class has gone on to another question. This answer was to an earlier one.")
        if not question.accepts(answer):
            raise InvalidSetting(f"“{shorten(answer)}” is no answer to this question.")
        _check_open(classroom, visitor)
        if visitor in classroom.removed:
            raise NotAllowed("Your teacher has removed your answer to this question. You can answer the next one.")
        if 1 <= vote <= len(classroom.votes) and classroom.votes[vote - 1].get(visitor) == answer:
            return  # a repeated request, possibly after the reveal
        if classroom.revealed:
            raise NotAllowed("The answer has been shown already, so this one came too late.")
        if vote != len(classroom.votes):
            raise NotAllowed("The first vote is over. Send your answer to the second vote.")
        if vote == 1 and visitor in classroom.answers:
            raise NotAllowed("You have answered already. You can change your answer if your teacher asks again.")
        if visitor not in classroom.arrivals and len(classroom.arrivals) >= MAX_VISITORS:
            raise NotAllowed(f"At most {MAX_VISITORS:,} can answer in one class.")
        classroom.answers[visitor] = answer
        if visitor not in classroom.arrivals:
            number_of_answer = len(classroom.arrivals) + len(classroom.removed) + 1
            classroom.arrivals[visitor] = Arrival(number_of_answer, _read_clock() - classroom.shown_at)
        _joined[visitor] = classroom.code
        _mark_used(classroom)


def show_votes(code: str, visitor: Visitor, number: int, shown: bool) -> None:
    """Show the answers to the teacher before the reveal, or hide them again. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if number == classroom.number:
            classroom.votes_shown = shown
            _mark_used(classroom)


def start_second_vote(code: str, visitor: Visitor, number: int) -> None:
    """End the first vote and start the second one, whose answers are hidden at first.

    Raises UnknownClassroom, or NotAllowed for anyone but the teacher, after the reveal, and without an answer.
    """
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if number != classroom.number or len(classroom.votes) > 1:
            return  # a repeated request, or one for an earlier question
        if classroom.revealed or not classroom.answers:
            raise NotAllowed("The class can vote again after the first answers have arrived, and before the reveal.")
        classroom.sizes.append(classroom.present)
        classroom.votes.append({})
        classroom.votes_shown = False
        _mark_used(classroom)


def reveal_answer(code: str, visitor: Visitor, number: int) -> None:
    """Show the result to the class; answers are final from now on. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if number == classroom.number:  # otherwise the request is for an earlier question
            if not classroom.revealed:
                classroom.sizes.append(classroom.present)
            classroom.revealed = True
            _mark_used(classroom)


def remove_answers(code: str, visitor: Visitor, number: int, arrivals: Collection[int]) -> None:
    """Remove answers by the numbers of their arrival; their visitors cannot answer this question again.

    Raises UnknownClassroom or NotAllowed.
    """
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if number != classroom.number:  # the request is for an earlier question
            return
        for student in [student for student, arrival in classroom.arrivals.items() if arrival.number in arrivals]:
            for vote in classroom.votes:
                vote.pop(student, None)
            del classroom.arrivals[student]
            classroom.removed.add(student)
        _mark_used(classroom)


def set_closed(code: str, visitor: Visitor, closed: bool) -> None:
    """Close a class to visitors who have not joined yet, or open it again. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        classroom.closed = closed
        _mark_used(classroom)


def end_classroom(code: str, visitor: Visitor) -> None:
    """Delete a classroom with all its answers. Raises UnknownClassroom or NotAllowed."""
    with _lock:
        _classrooms.pop(_find_for_teacher(code, visitor).code, None)


def _find_for_teacher(code: str, visitor: Visitor) -> Classroom:
    """Return a classroom that this visitor leads. Raises UnknownClassroom or NotAllowed."""
    classroom = find_classroom(code)
    if not classroom.is_led_by(visitor):
        raise NotAllowed("Only the browser that started this class controls it.")
    return classroom


def record_presence(classroom: Classroom, visitor: str) -> None:
    """Record that a visitor's browser has requested the state of the classroom. Raises NotAllowed if it is closed."""
    with _lock:
        _check_open(classroom, visitor)
        classroom.members[visitor] = None
        classroom.visitors[visitor] = None
        _joined[visitor] = classroom.code
        _mark_used(classroom)


def share_text(code: str, visitor: Visitor, text: str) -> None:
    """Let the students of a class read a text, given by its SHA-256; with an empty one, no longer.

    Raises UnknownClassroom, or NotAllowed for anyone but the teacher, and for a text that is not the teacher's.
    """
    with _lock:
        classroom = _find_for_teacher(code, visitor)
        if text and not corpora.may_read(text, visitor.id):
            raise NotAllowed("Only a text that you have entered yourself can be shared with the class.")
        classroom.text = text


def _is_shared_with(text: str, visitor: str) -> bool:
    """Return whether a class shares this text with a visitor who has joined it."""
    with _lock:
        return any(text == classroom.text and visitor in classroom.members for classroom in _classrooms.values())


corpora.shared_by.append(_is_shared_with)


def _mark_used(classroom: Classroom) -> None:
    """Start the idle time of a classroom again, unless it has ended."""
    if classroom.code in _classrooms:
        classroom.used = _read_clock()
        _classrooms[classroom.code] = classroom


def classroom_state(classroom: Classroom, visitor: Visitor) -> dict[str, object]:
    """Return the state of a classroom for one visitor.

    Students get all answers after the reveal; the teacher gets them before it only after asking to see the votes.
    """
    with _lock:
        teaches = classroom.is_led_by(visitor)
        is_visible = classroom.revealed or (teaches and classroom.votes_shown)
        mine = [vote.get(visitor.id) for vote in classroom.votes]
        state: dict[str, object] = {
            "code": classroom.code,
            "number": classroom.number,
            "teaches": teaches,
            "revealed": classroom.revealed,
            "open": classroom.open,
            "present": classroom.present,
            "vote": len(classroom.votes),
            "mine": mine[-1],
            "first": mine[0],
            "visible": is_visible,
            "votes": [
                {"answered": len(vote), "size": size, "given": list(vote.values()) if is_visible else []}
                for vote, size in zip(classroom.votes, classroom.vote_sizes, strict=True)
            ],
        }
        if teaches:
            state["closed"] = classroom.closed
            state["kept"] = sum(len(vote) for vote in classroom.votes) + _record_count(classroom)
            state["arrivals"] = [
                {
                    "id": arrival.number,
                    "seconds": round(arrival.seconds, 1),
                    "given": [vote.get(student) for vote in classroom.votes] if is_visible else [],
                }
                for student, arrival in classroom.arrivals.items()
            ]
        return state
