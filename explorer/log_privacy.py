"""Log records without what visitors have typed.

The message of an exception can repeat a sentence, the name of a run or a part of an imported file. A log therefore
shows an exception by its class and the lines of code where it was raised. It shows the message only if the message
cannot contain such a text: that of the operating system, and those that only name parts of the program.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeAlias

_ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_OF_THE_INTERPRETER = (  # their messages name types, modules and attributes of the program, or numbers
    AttributeError,
    ImportError,
    IndexError,
    MemoryError,
    NameError,
    RecursionError,
    ZeroDivisionError,
)


def describe_exception(error: BaseException) -> str:
    """Return the class of an exception, with its message if that cannot contain a visitor's text."""
    name = type(error).__name__
    if isinstance(error, OSError):
        message = error.strerror or ""  # without the name of a file
    else:
        is_safe = getattr(error, "has_loggable_message", False) or isinstance(error, _OF_THE_INTERPRETER)
        message = str(error) if is_safe else ""
    return f"{name}: {message}" if message else name


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an exception and of those that led to it, without unsafe messages."""
    return "\n\nThis led to:\n\n".join(reversed(list(_format_chain(error))))


def _format_chain(error: BaseException | None) -> Iterator[str]:
    formatted: set[int] = set()
    while error is not None and id(error) not in formatted:
        formatted.add(id(error))
        lines = "".join(traceback.format_tb(error.__traceback__))
        parts = [f"Traceback (most recent call last):\n{lines}{describe_exception(error)}"]
        if isinstance(error, BaseExceptionGroup):
            parts += [format_traceback(each) for each in error.exceptions]
        yield "\n\nwith:\n\n".join(parts)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def make_record(
    name: str,
    level: int,
    path: str,
    line: int,
    message: object,
    args: Any,
    exception: _ExceptionInfo | None,
    *others: Any,
    **further: Any,
) -> logging.LogRecord:
    """Return a log record, as `logging.setLogRecordFactory` needs it, in which every exception is described safely."""
    if isinstance(message, BaseException):
        message = describe_exception(message)
    if isinstance(args, tuple):
        args = tuple(describe_exception(each) if isinstance(each, BaseException) else each for each in args)
    if name == "asyncio":  # further lines show a task or a future with the message of its exception
        message, args = str(message).partition("\n")[0], ()
    record = logging.LogRecord(name, level, path, line, message, args, None, *others, **further)
    if exception and exception[1]:
        record.exc_text = format_traceback(exception[1])  # which every formatter prints
    return record
