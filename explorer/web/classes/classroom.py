"""A class as this process has read it from the database: the question shown, its answers, and who takes part."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from explorer.errors import LineageError, NotAllowed
from explorer.lessons.lesson import Question
from explorer.web.visitors import Visitor

MAX_VISITORS = 1_000  # visitors of one class who are counted, and who can answer one question
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
class StudentAnswer:
    """What one student answered to the question that is shown."""

    arrival: int  # names the answer for the teacher, who sees no visitor's id
    seconds: float  # from the question to the student's first answer
    votes: tuple[object | None, object | None] = (None, None)  # the answers in the first and in the second vote
    removed: bool = False  # by the teacher: the student cannot answer this question


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


class Members:
    """The visitors of one class, by id, at all servers. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}  # when each was last there (`time.monotonic`)

    def __contains__(self, visitor: str) -> bool:
        return visitor in self._seen

    def see(self, visitor: str, seconds: float = 0.0) -> None:
        """Record that a visitor was there so many seconds ago."""
        with self._lock:
            self._seen[visitor] = max(self._seen.get(visitor, -math.inf), time.monotonic() - seconds)

    @property
    def present(self) -> set[str]:
        """Return who is present at any server."""
        begin = time.monotonic() - PRESENCE_SECONDS
        with self._lock:
            return {visitor for visitor, seen in self._seen.items() if seen > begin}


@dataclass(frozen=True)
class Classroom:
    """One class at one version; only `members` changes."""

    code: str
    teachers: tuple[str, ...]  # ids of the visitors who control it; the first one started it
    version: int  # counts the changes of the class
    shown: ClassroomQuestion
    number: int  # counts the questions shown so far
    vote: int  # 1, or 2 after a discussion
    votes_shown: bool  # the teacher sees the answers before the reveal
    revealed: bool
    explained: bool  # the wall shows the explanation instead of the votes
    sizes: tuple[int, ...]  # of each vote that is over: how many students were there
    closed: bool  # nobody else can join
    kept: int  # number of the answers to earlier questions
    dropped: int  # how many of the earlier questions are no longer kept
    text: str  # SHA-256 of a text of the teacher that the class may read
    given: Mapping[str, StudentAnswer] = field(hash=False)  # by visitor id, in the order of their arrival
    members: Members = field(hash=False, compare=False)

    def is_led_by(self, visitor: Visitor) -> bool:
        return any(map(visitor.owns, self.teachers))

    def admits(self, visitor: str) -> bool:
        """Return whether a visitor (by id) takes part, or may still join."""
        return not self.closed or visitor in self.members or any(visitor in vote for vote in self.votes)

    def check_open(self, visitor: str) -> None:
        """Raise NotAllowed if the class is closed and this visitor (by id) has not joined before."""
        if not self.admits(visitor):
            raise NotAllowed(
                f"Class {self.code} is closed to newcomers. Ask your teacher to open it, then reload the page."
            )

    def seen_by_students(self) -> Classroom:
        """Return the class without what is no change for a student: answers of others, unless they are removed."""
        removed = {visitor: each for visitor, each in self.given.items() if each.removed}
        return replace(self, version=0, kept=0, given=removed)

    @cached_property
    def votes(self) -> list[dict[str, object]]:
        """Return the answers of each vote so far by visitor id."""
        return [
            {visitor: each.votes[vote] for visitor, each in self.given.items() if each.votes[vote] is not None}
            for vote in range(self.vote)
        ]

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
        return min(MAX_VISITORS, len(self.members.present.union(*self.votes)))

    def state_for(self, visitor: Visitor) -> dict[str, object]:
        """Return the state for a browser: all answers after the reveal, for the teacher before it on request."""
        teaches = self.is_led_by(visitor)
        is_visible = self.revealed or (teaches and self.votes_shown)
        mine = [vote.get(visitor.id) for vote in self.votes]
        present = self.present
        sizes = [*self.sizes, present][: self.vote]
        state: dict[str, object] = {
            "code": self.code,
            "number": self.number,
            "teaches": teaches,
            "revealed": self.revealed,
            "open": self.open,
            "present": present,
            "vote": self.vote,
            "mine": mine[-1],
            "first": mine[0],
            "visible": is_visible,
            "votes": [
                {"answered": len(vote), "size": size, "given": list(vote.values()) if is_visible else []}
                for vote, size in zip(self.votes, sizes, strict=True)
            ],
        }
        if teaches:
            state |= {"closed": self.closed, "explained": self.explained, "browsers": len(self.teachers)}
            state["kept"] = sum(map(len, self.votes)) + self.kept
            state["arrivals"] = [
                {
                    "id": each.arrival,
                    "seconds": round(each.seconds, 1),
                    "given": list(each.votes[: self.vote]) if is_visible else [],
                }
                for each in self.given.values()
                if not each.removed
            ]
        return state
