"""Classes: a teacher's page, everybody's predictions, and the reveal. In this process's memory, and gone at the end.

There are no names in it. A visitor counts once in each question, by the hash of their cookie; a later answer takes the
place of the earlier one until the teacher reveals, so a browser may send an answer as often as it likes.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.errors import InvalidSetting, LineageError, NotAllowed, shortened
from explorer.lessons.lesson import Question
from explorer.ui.visitors import Visitor

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # nobody takes one of these for a digit
LENGTH = 5
MOST = 200  # classes at once; the one that was quiet longest goes first
MOST_PRESENT = 1_000  # visitors of a class
IDLE = 4 * 3600.0  # seconds without anybody, after which a class is gone
PRESENT = 15.0  # seconds since somebody's browser last asked


class NoClass(LineageError):
    """A code that belongs to no class, or no longer."""


@dataclass(frozen=True)
class Stage:
    """What a class looks at, and what it is asked."""

    page: str  # an address
    state: Mapping[str, str] = field(hash=False)
    locked: tuple[str, ...] = ()  # controls that the class does not see, see `lock.py`
    question: Question | None = None
    lesson: str = ""
    step: int = 0
    holds: bool = True  # the page opens at the reveal


@dataclass
class Room:
    """One class. Everything in it changes under `_lock` only."""

    code: str
    owner: str  # a visitor's id
    stage: Stage
    number: int = 1  # of the stage: each is a question of its own
    revealed: bool = False
    answers: dict[str, object] = field(default_factory=dict)  # by visitor
    seen: dict[str, float] = field(default_factory=dict)  # when each visitor's browser last asked
    touched: float = field(default_factory=time.monotonic)

    def steered_by(self, visitor: Visitor) -> bool:
        return visitor.owns(self.owner)

    @property
    def open(self) -> bool:
        """Whether the class may see the page."""
        return self.revealed or not (self.stage.question and self.stage.holds)

    @property
    def present(self) -> int:
        """Who is here, or has answered."""
        since = time.monotonic() - PRESENT
        return len({*self.answers, *(visitor for visitor, last in self.seen.items() if last >= since)})


_rooms: OrderedDict[str, Room] = OrderedDict()  # the one that was quiet longest comes first
_lock = threading.RLock()


def find(code: str) -> Room:
    """A class by its code. Raises NoClass."""
    with _lock:
        _tidy()
        room = _rooms.get(code.strip().upper()[: 2 * LENGTH])
        if room is None:
            raise NoClass(f"There is no class “{shortened(code)}” here: it has ended, or its code has other letters.")
        return room


def of(owner: str) -> Room | None:
    """The class that a visitor runs."""
    with _lock:
        _tidy()
        return next((room for room in _rooms.values() if owner and room.owner == owner), None)


def show(owner: str, stage: Stage) -> Room:
    """Let the visitor's class look at something; it begins if there is none yet."""
    with _lock:
        room = of(owner)
        if room is None:
            room = Room(_code(), owner, stage)
            _rooms[room.code] = room
            while len(_rooms) > MOST:
                _rooms.popitem(last=False)
        else:
            room.stage, room.number = stage, room.number + 1
            room.revealed, room.answers = False, {}
        _touch(room)
        return room


def _code() -> str:
    """A code that no other class has."""
    while (code := "".join(secrets.choice(LETTERS) for _ in range(LENGTH))) in _rooms:
        pass
    return code


def answer(code: str, visitor: str, number: int, given: object) -> None:
    """Keep what somebody predicts; again and again until the reveal. Raises NoClass, NotAllowed or InvalidSetting."""
    with _lock:
        room = find(code)
        question = room.stage.question
        if number != room.number or question is None:
            raise NotAllowed("The class has gone on to something else; this answer was to a question before.")
        if not question.takes(given):
            raise InvalidSetting(f"“{shortened(given)}” is no answer to this question.")
        if room.answers.get(visitor) == given:
            return  # sent twice, perhaps once more after the reveal
        if room.revealed:
            raise NotAllowed("The answer has been shown already, so this one came too late.")
        if visitor not in room.answers and len(room.answers) >= MOST_PRESENT:
            raise NotAllowed(f"At most {MOST_PRESENT:,} can answer in one class.")
        room.answers[visitor] = given
        _touch(room)


def reveal(code: str, visitor: Visitor, number: int) -> None:
    """Show the answer to all; nobody's prediction changes any more. Raises NoClass or NotAllowed."""
    with _lock:
        room = steered(code, visitor)
        if number == room.number:  # pressed twice, or before the last gesture was heard
            room.revealed = True
            _touch(room)


def end(code: str, visitor: Visitor) -> None:
    """The class and all its answers are gone. Raises NoClass or NotAllowed."""
    with _lock:
        _rooms.pop(steered(code, visitor).code, None)


def steered(code: str, visitor: Visitor) -> Room:
    """A class that this visitor steers. Raises NoClass or NotAllowed."""
    room = find(code)
    if not room.steered_by(visitor):
        raise NotAllowed("Only the browser that began this class steers it.")
    return room


def attend(room: Room, visitor: str) -> None:
    """Somebody's browser has asked what there is."""
    with _lock:
        if visitor in room.seen or len(room.seen) < MOST_PRESENT:
            room.seen[visitor] = time.monotonic()
        _touch(room)


def _touch(room: Room) -> None:
    room.touched = time.monotonic()
    if room.code in _rooms:
        _rooms.move_to_end(room.code)


def _tidy() -> None:
    """Classes in which nobody has been for hours are gone."""
    last = time.monotonic() - IDLE
    for code in [code for code, room in _rooms.items() if room.touched < last]:
        del _rooms[code]


def picture(room: Room, visitor: Visitor) -> dict[str, object]:
    """What a browser is told of its class: what everybody predicted only to the teacher, or after the reveal."""
    with _lock:
        teaches = room.steered_by(visitor)
        return {
            "code": room.code,
            "number": room.number,
            "teaches": teaches,
            "revealed": room.revealed,
            "open": room.open,
            "answered": len(room.answers),
            "present": max(room.present, len(room.answers)),
            "mine": room.answers.get(visitor.id),
            "given": list(room.answers.values()) if teaches or room.revealed else [],
        }
