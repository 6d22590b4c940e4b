"""Models that the server is opening for the operator: one after the other, on a thread, whoever looks at them."""

from __future__ import annotations

import itertools
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.hub.download import Progress
from explorer.hub.opened import open_model
from explorer.hub.packages import check_installed

log = logging.getLogger(__name__)
MOST_WAITING = 10
_numbers = itertools.count(1)
_openings: dict[int, Opening] = {}
_lock = threading.Lock()
_pool = ThreadPoolExecutor(1, thread_name_prefix="opening")


@dataclass
class Opening:
    """A model that is being opened, or could not be opened."""

    given: str
    number: int = field(default_factory=lambda: next(_numbers))
    progress: Progress = field(default_factory=Progress)
    problem: str = ""  # why it could not be opened

    @property
    def title(self) -> str:
        """What was requested, in few characters."""
        return shorten(self.given, 60)


def start_opening(given: str, name: str = "") -> Opening:
    """Open a model on another thread. Raises InvalidSetting if too many models wait, or the packages are missing."""
    check_installed()
    opening = Opening(given)
    with _lock:
        if len(_openings) >= MOST_WAITING:
            raise InvalidSetting(
                f"{MOST_WAITING} models are being opened or could not be opened. Dismiss some of them first."
            )
        _openings[opening.number] = opening
    _pool.submit(_run, opening, name)
    return opening


def list_openings() -> list[Opening]:
    """Return the models that are being opened, and those that could not be opened until they are dismissed."""
    with _lock:
        return list(_openings.values())


def cancel_or_dismiss(number: int) -> None:
    """Cancel an opening, or forget one that has failed; nothing if it has ended."""
    with _lock:
        opening = _openings.get(number)
        if opening and opening.problem:
            del _openings[number]
    if opening:
        opening.progress.cancel()


def reset() -> None:
    """Cancel and forget everything."""
    with _lock:
        for opening in _openings.values():
            opening.progress.cancel()
        _openings.clear()


def _run(opening: Opening, name: str) -> None:
    try:
        open_model(opening.given, name, progress=opening.progress)
    except LineageError as error:
        if not opening.progress.cancelled:
            opening.problem = str(error)
    except Exception:  # the outermost level of this thread: log it and tell the operator
        log.exception("a model could not be opened")
        opening.problem = (
            "The model could not be opened, because of a mistake in Lineage; the log of the server has it."
        )
    if not opening.problem:
        with _lock:
            _openings.pop(opening.number, None)
