"""The log of the server: lines of text, or one JSON object a line (LINEAGE_LOG), without what visitors have typed.

`configure` replaces how log records are made, so everything that the process logs, also through loggers of Streamlit
and uvicorn, is free of the messages of exceptions (see `explorer.log_privacy`), and every error is counted.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from explorer import log_privacy, metrics
from explorer.environment import environment
from explorer.errors import LineageError

log = logging.getLogger(__name__)
SERVER = secrets.token_hex(8)  # names this process in its log and to the operator, another one after each start
_REMEMBERED_ERRORS = 50
_SOURCES = {  # what failed, by the logger that reports it; others are named by their logger
    "streamlit.error_util": "page",
    "explorer.web.results": "section of a page",
    "explorer.web.token_streams": "generated text",
    "explorer.jobs.job": "training",
    "uvicorn.error": "request",
}
_LIBRARIES = ("streamlit", "uvicorn", "websockets")  # they print their records themselves


@dataclass(frozen=True)
class LoggedError:
    """An entry of the log with level ERROR or CRITICAL, without its text."""

    time: datetime  # in UTC
    source: str
    exception: str  # its class, or "none"


_errors: deque[LoggedError] = deque(maxlen=_REMEMBERED_ERRORS)
_json_handler: logging.Handler | None = None


def last_errors() -> list[LoggedError]:
    """Return the last errors that this process has logged, the newest first."""
    return list(reversed(_errors))


def reset() -> None:
    """Forget the last errors, and let Python make and print log records as usual."""
    global _json_handler
    _errors.clear()
    logging.setLogRecordFactory(logging.LogRecord)
    logging.raiseExceptions = True
    if _json_handler:
        logging.getLogger().removeHandler(_json_handler)
        logging.getLogger("explorer").setLevel(logging.NOTSET)
        logging.captureWarnings(False)
    _json_handler = None
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__


def configure() -> None:
    """Set up the log as LINEAGE_LOG says, as early as possible; an invalid setting is reported by the start itself."""
    global _json_handler
    logging.setLogRecordFactory(_make_record)
    logging.raiseExceptions = False  # an entry that cannot be written would be printed with its arguments
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda thread: _log_uncaught(thread.exc_type, thread.exc_value, thread.exc_traceback)
    try:
        is_json = environment().log == "json"
    except LineageError:
        return
    if is_json and _json_handler is None:
        _json_handler = logging.StreamHandler()
        _json_handler.setFormatter(
            JsonFormatter(
                ["levelname", "name", "message"],
                timestamp="time",
                rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
                reserved_attrs=[*RESERVED_ATTRS, "color_message"],  # uvicorn gives it for a terminal
                static_fields={"server": SERVER},
            )
        )
        logging.getLogger().addHandler(_json_handler)
        logging.getLogger("explorer").setLevel(logging.INFO)
        logging.captureWarnings(True)


def is_json() -> bool:
    """Return whether everything that the server prints is a JSON object."""
    return _json_handler is not None


def _make_record(
    name: str, level: int, path: str, line: int, message: object, args: Any, exception: Any, *others: Any, **more: Any
) -> logging.LogRecord:
    record = log_privacy.make_record(name, level, path, line, message, args, exception, *others, **more)
    if level >= logging.ERROR:
        kind = exception[0] if exception else None
        error = LoggedError(datetime.now(UTC), _SOURCES.get(name, name), kind.__name__ if kind else "none")
        _errors.append(error)
        metrics.ERRORS.labels(error.source, error.exception).inc()
    if _json_handler and name.partition(".")[0] in _LIBRARIES:
        _print_through_root(logging.getLogger(name))  # now, because a library makes its loggers whenever it likes
    return record


def _print_through_root(logger: logging.Logger | None) -> None:
    """Let a logger and its parents print through the handler of the root logger only."""
    while logger and logger.parent:
        if logger.handlers or not logger.propagate:
            logger.handlers.clear()
            logger.propagate = True
        logger = logger.parent


def _log_uncaught(kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None) -> None:
    if error is None or issubclass(kind, SystemExit):
        return
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
    else:
        log.critical("an error was not caught", exc_info=error)
