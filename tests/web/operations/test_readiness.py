"""GET /ready: whether this server should get new visitors."""

from __future__ import annotations

import threading
import warnings

import pytest
from starlette.applications import Starlette

from explorer.errors import StoreError
from explorer.web.operations import readiness, warmup

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=readiness.ROUTES))


def test_a_server_with_a_database_is_ready(client: TestClient) -> None:
    answer = client.get("/ready")
    assert (answer.status_code, answer.text) == (200, "ready\n")
    assert answer.headers["cache-control"] == "no-store"


def test_a_server_without_its_database_is_not_ready(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(work: object) -> None:
        raise StoreError("The database does not answer.")

    monkeypatch.setattr(readiness, "run_transaction", fail)
    answer = client.get("/ready")
    assert (answer.status_code, answer.text) == (503, "The database does not answer.\n")


def test_a_database_that_hangs_is_not_waited_for(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(readiness, "run_transaction", lambda work: released.wait(60))
    monkeypatch.setattr(readiness, "_SECONDS", 0.01)
    threading.Timer(0.5, released.set).start()
    answer = client.get("/ready")
    assert answer.status_code == 503
    assert "has not answered" in answer.text


def test_a_server_that_still_imports_is_not_ready(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "is_ready", lambda: False)
    answer = client.get("/ready")
    assert (answer.status_code, answer.text) == (503, "This server is still starting.\n")
