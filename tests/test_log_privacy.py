"""The log shows what failed and where, but no message that may repeat what a visitor has typed."""

from __future__ import annotations

import logging

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting, StoreError, UnknownWords
from explorer.log_privacy import describe_exception, format_traceback, make_record

TYPED = "typed-by-a-visitor"


def test_a_message_is_shown_unless_it_may_repeat_a_visitors_text(snapshot: SnapshotAssertion) -> None:
    errors = [
        InvalidSetting(TYPED),
        KeyError(TYPED),
        OSError(TYPED),
        UnicodeDecodeError("utf-8", TYPED.encode(), 0, 1, TYPED),
        UnknownWords(TYPED, {TYPED: (TYPED,)}),
        ValueError(TYPED),
        FileNotFoundError(2, "No such file", f"/home/{TYPED}"),
        IndexError("list index out of range"),
        StoreError("The disk is full."),
    ]
    assert [describe_exception(error) for error in errors] == snapshot


def raise_in_a_chain() -> None:
    try:
        raise KeyError(TYPED)
    except KeyError as error:
        raise ExceptionGroup(TYPED, [ValueError(TYPED), OSError(28, "No space left on device")]) from error


def test_a_traceback_shows_every_exception_and_the_lines_of_code() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        raise_in_a_chain()
    text = format_traceback(caught.value)
    assert TYPED not in text
    first, _, second = text.partition("This led to:")
    assert first.strip().endswith("KeyError") and "raise KeyError(TYPED)" in first
    assert "ExceptionGroup" in second and "ValueError" in second and "OSError: No space left on device" in second
    assert text.count("in raise_in_a_chain") == 2


def test_an_exception_that_caused_itself_is_shown_once() -> None:
    error = ValueError()
    error.__cause__ = KeyError()
    error.__cause__.__cause__ = error
    assert format_traceback(error).count("ValueError") == 1


def record(name: str, message: object, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    return make_record(name, logging.ERROR, __file__, 1, message, args, info)


def test_a_record_describes_exceptions_and_not_the_result_of_a_task() -> None:
    made = record("explorer", "run %s: %s", "0a1b", InvalidSetting(TYPED))
    assert made.getMessage() == "run 0a1b: InvalidSetting"
    assert record("explorer", ValueError(TYPED)).getMessage() == "ValueError"
    message = f"Task exception was never retrieved\nfuture: <Task finished exception=KeyError('{TYPED}')>"
    assert record("asyncio", message).getMessage() == "Task exception was never retrieved"
    with pytest.raises(ExceptionGroup) as caught:
        raise_in_a_chain()
    printed = logging.Formatter().format(record("explorer", "a section failed", error=caught.value))
    assert printed.startswith("a section failed\n") and "KeyError" in printed and TYPED not in printed
