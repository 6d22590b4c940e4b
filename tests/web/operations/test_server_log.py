"""The log of the server: its two formats, the errors that it counts, and that it contains nothing a visitor typed."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator

import pytest

from explorer.errors import InvalidSetting
from explorer.metrics import REGISTRY
from explorer.web.operations import server_log

TYPED = "typed-by-a-visitor"


@pytest.fixture(autouse=True)
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Return what the program prints as errors, and restore the usual log after the test."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    yield sys.stderr  # type: ignore[misc]
    server_log.reset()


@pytest.fixture
def json_log(printed: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_LOG", "json")
    server_log.configure()


def lines(printed: io.StringIO) -> list[dict[str, str]]:
    assert TYPED not in printed.getvalue()
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def fail(logger: logging.Logger, message: str = "a section failed") -> None:
    try:
        raise KeyError(TYPED)
    except KeyError:
        logger.exception(message)


@pytest.mark.usefixtures("json_log")
def test_each_entry_is_one_json_object(printed: io.StringIO) -> None:
    logging.getLogger("explorer.jobs").warning("two\nlines of run %s", "0a1b")
    fail(logging.getLogger("explorer.web.results"))
    first, second = lines(printed)
    assert first.pop("time").endswith("+00:00") and first.pop("server")
    assert first == {"level": "WARNING", "logger": "explorer.jobs", "message": "two\nlines of run 0a1b"}
    assert second["exception"].startswith("Traceback") and second["exception"].endswith("KeyError")


@pytest.mark.usefixtures("json_log")
def test_libraries_with_handlers_of_their_own_write_json_too(printed: io.StringIO) -> None:
    logger, parent = logging.getLogger("streamlit.tests.child"), logging.getLogger("streamlit.tests")
    for each in (parent, logger, logger):  # the last time as when a library is configured again
        each.addHandler(logging.StreamHandler())
        each.propagate = False
        if each is logger:
            fail(logger)
    assert [line["logger"] for line in lines(printed)] == ["streamlit.tests.child"] * 2


@pytest.mark.usefixtures("json_log")
def test_warnings_and_errors_that_nobody_caught_are_json(printed: io.StringIO) -> None:
    def crash() -> None:
        raise ValueError(TYPED)

    thread = threading.Thread(target=crash)
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match=TYPED) as raised:
        crash()
    sys.excepthook(ValueError, raised.value, raised.tb)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.getLogger("py.warnings").handlers.clear()
        warnings.showwarning("old", DeprecationWarning, "file.py", 1)
    found = lines(printed)
    assert [line["message"] for line in found[:2]] == ["an error was not caught"] * 2
    assert all("in crash" in line["exception"] for line in found[:2])
    assert found[2]["logger"] == "py.warnings"


def test_text_stays_as_it_is_without_the_messages_of_exceptions(printed: io.StringIO) -> None:
    server_log.configure()
    assert not server_log.is_json()
    logger = logging.getLogger("streamlit.tests.text")
    handler = logging.StreamHandler(printed)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    fail(logger)
    written = printed.getvalue()
    assert written.startswith("ERROR a section failed\nTraceback (most recent call last):\n")
    assert written.endswith("KeyError\n") and TYPED not in written


def test_an_invalid_setting_does_not_prevent_the_sentence_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_LOG", "xml")
    server_log.configure()
    with pytest.raises(InvalidSetting, match="LINEAGE_LOG = xml is not possible: input should be 'text' or 'json'"):
        server_log.environment()


def test_errors_are_counted_and_remembered_without_their_texts() -> None:
    def count(source: str, exception: str) -> float:
        return REGISTRY.get_sample_value("lineage_errors_total", {"source": source, "exception": exception}) or 0

    server_log.configure()
    before = count("section of a page", "KeyError"), count("tests", "none")
    fail(logging.getLogger("explorer.web.results"), TYPED)
    logging.getLogger("tests").error(TYPED)
    logging.getLogger("tests").warning(TYPED)
    assert (count("section of a page", "KeyError"), count("tests", "none")) == (before[0] + 1, before[1] + 1)
    newest, oldest = server_log.last_errors()
    assert (newest.source, newest.exception) == ("tests", "none")
    assert (oldest.source, oldest.exception) == ("section of a page", "KeyError")
    assert newest.time >= oldest.time and TYPED not in str(server_log.last_errors())
    for _ in range(200):
        logging.getLogger("tests").error("again")
    assert len(server_log.last_errors()) == 50
