"""GET /ready: whether this server should get new visitors."""

from __future__ import annotations

import threading
from unittest.mock import Mock

import pytest
from starlette.applications import Starlette

from explorer.errors import StoreError
from explorer.web.operations import readiness, warmup
from tests.web.client import TestClient


def test_a_server_is_ready_when_its_database_answers_and_all_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    client = TestClient(Starlette(routes=readiness.ROUTES))
    usual, fail = readiness.run_transaction, Mock(side_effect=StoreError("The database does not answer."))
    hang = Mock(side_effect=lambda _: threading.Event().wait(0.3))
    for read, seconds, is_imported, status, text in (
        (usual, 60.0, True, 200, "ready\n"),
        (fail, 60.0, True, 503, "The database does not answer.\n"),
        (hang, 0.01, True, 503, "The database has not answered for 0.01 seconds.\n"),
        (usual, 60.0, False, 503, "This server is still starting.\n"),
    ):
        monkeypatch.setattr(readiness, "run_transaction", read)
        monkeypatch.setattr(readiness, "_SECONDS", seconds)
        monkeypatch.setattr(warmup, "is_ready", lambda is_imported=is_imported: is_imported)
        answer = client.get("/ready")
        assert (answer.status_code, answer.text) == (status, text)
        assert answer.headers["cache-control"] == "no-store"
