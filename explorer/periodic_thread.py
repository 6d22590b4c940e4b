"""The periodic work of a server: a thread that does something again and again until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from explorer.errors import LineageError


class PeriodicThread:
    """Calls a function on a thread of its own, at once and then again after each pause.

    name: of the thread
    turn: the function; an exception that it raises is logged, and the thread goes on
    pause: seconds from the end of a turn to the next one, or a function that returns them
    problem: what the log says if a turn raises an exception
    """

    def __init__(self, name: str, turn: Callable[[], object], pause: float | Callable[[], float], problem: str) -> None:
        self.stopping = False  # a turn that takes long ends if it is set
        self._name, self._turn, self._pause, self._problem = name, turn, pause, problem
        self._log = logging.getLogger(turn.__module__)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless the thread runs already."""
        if self._thread is None:
            self.stopping = False
            self._wake.clear()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """End the pause, so that the next turn begins at once."""
        self._wake.set()

    def stop(self) -> None:
        """End after the present turn, and wait for that."""
        self.stopping = True
        self._wake.set()
        if self._thread:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self.stopping:
            try:
                self._turn()
            except LineageError as error:  # its sentence says why, for example that the database does not answer
                self._log.warning("%s: %s", self._problem, error)
            except Exception:
                self._log.exception(self._problem)
            self._wake.wait(self._pause() if callable(self._pause) else self._pause)
            self._wake.clear()
