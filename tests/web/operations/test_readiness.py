"""GET /ready: whether this server should get new visitors."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from starlette.applications import Starlette

from explorer.errors import StoreError
from explorer.web.operations import readiness, warmup
from tests.web.client import TestClient


def fail(work: object) -> None:
    raise StoreError("The database does not answer.")


def hang(work: object) -> None:
    threading.Event().wait(0.3)


@pytest.mark.parametrize(
    ("read", "is_imported", "status", "text"),
    [
        (None, True, 200, "ready\n"),
        (fail, True, 503, "The database does not answer.\n"),
        (hang, True, 503, "The database has not answered for 0.01 seconds.\n"),
        (None, False, 503, "This server is still starting.\n"),
    ],
)
def test_a_server_is_ready_when_its_database_answers_and_everything_is_imported(
    read: Callable[[object], None] | None, is_imported: bool, status: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if read:
        monkeypatch.setattr(readiness, "run_transaction", read)
    if read == hang:
        monkeypatch.setattr(readiness, "_SECONDS", 0.01)
    monkeypatch.setattr(warmup, "is_ready", lambda: is_imported)
    answer = TestClient(Starlette(routes=readiness.ROUTES)).get("/ready")
    assert (answer.status_code, answer.text) == (status, text)
    assert answer.headers["cache-control"] == "no-store"
