"""What the operator's page reads and does, and that nobody else can."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from explorer.errors import StoreError
from explorer.jobs.service import JobService
from explorer.program_files import VERSION
from explorer.training.config import default_config, with_settings
from explorer.web import job_endpoints
from explorer.web.classes import actions, endpoints, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.operations import operator_endpoints, server_facts, server_log
from explorer.web.operations.server_log import LoggedError
from explorer.web.visitors import operator_endpoint
from tests.waiting import wait_until
from tests.web.client import COMMAND, TestClient

Patch = pytest.MonkeyPatch
PASSWORD = "a long password"
TYPED = "typed-by-a-visitor"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[JobService]:
    service = JobService()
    for module in (job_endpoints, server_facts):
        monkeypatch.setattr(module, "service", service)
    yield service
    service.close()


@pytest.fixture
def visitor(service: JobService, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser of somebody who has not signed in, at a server that runs."""
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", PASSWORD)
    store.reset()
    server_log.reset()
    server_facts.read_memory.cache_clear()
    routes = [
        Route("/operator", operator_endpoint, methods=["GET", "POST"]),
        *operator_endpoints.ROUTES,
        *job_endpoints.ROUTES,
        *endpoints.ROUTES,
    ]
    yield TestClient(Starlette(routes=routes))
    store.reset()
    server_log.reset()


@pytest.fixture
def operator(visitor: TestClient) -> TestClient:
    answer = visitor.post("/operator", data={"password": PASSWORD})
    assert answer.url.path == "/operator" and 'id="operator"' in answer.text
    return visitor


def test_only_the_operator_sees_the_page_and_its_data(visitor: TestClient) -> None:
    assert 'id="operator"' not in visitor.get("/operator").text
    answer = visitor.get("/operator/state")
    assert answer.status_code == 403
    assert answer.json() == {"problem": "Only the operator sees this. Sign in at /operator."}


def test_the_state_has_the_facts_of_the_server(operator: TestClient, service: JobService, monkeypatch: Patch) -> None:
    service.jobs.tab_opened("ada")
    now = datetime.datetime.now(datetime.UTC)
    server_log._errors.extend(LoggedError(now, "page", f"KeyError{i}") for i in range(21))
    answer = operator.get("/operator/state")
    assert answer.headers["cache-control"] == "no-store"
    facts = answer.json()["server"]
    assert (facts["id"], facts["version"]) == (server_log.SERVER, VERSION) and facts["name"]
    assert datetime.datetime.fromisoformat(facts["started"]) < now
    assert facts["presence"] == {"browsers": 1, "tabs": 1}
    assert facts["workers"]["executor"] == "here" and facts["workers"]["most"] == 12
    assert facts["memory"]["server"] > 10_000_000 and facts["memory"]["workers"] >= 0
    assert facts["disk"]["free"] > 0
    errors = [(error["source"], error["exception"]) for error in facts["errors"]]
    assert errors == [("page", f"KeyError{i}") for i in range(20, 0, -1)]
    assert answer.json()["disk"] == {"limit": 2_000_000_000, "used": 0}
    failing = Mock(side_effect=StoreError("The database does not answer."))
    monkeypatch.setattr(operator_endpoints.index, "used_bytes", failing)
    state = operator.get("/operator/state").json()
    assert state["problem"] == "The database does not answer."
    assert state["server"]["id"] == server_log.SERVER and "used" not in state["disk"]


def test_the_operator_stops_a_training_of_somebody_else(operator: TestClient, service: JobService) -> None:
    job = service.submit(with_settings(default_config("negation", "rnn"), {"epochs": 400, "replicas": 1}), "ada")
    state = operator.get("/operator/state").json()
    assert [row["key"] for row in state["jobs"]] == [job.key]
    jobs = state["server"]["jobs"]
    assert jobs["waiting"] + jobs["running"] == 1
    assert operator.post(f"/jobs/{job.key}/stop", headers=COMMAND).status_code == 204
    wait_until(lambda: job.view().done)
    assert operator.get("/operator/state").json()["jobs"] == []


def test_the_operator_ends_a_class_and_sees_no_answer(operator: TestClient) -> None:
    classroom = actions.show_question("teacher", ClassroomQuestion("negation", {"sentence": TYPED}))
    store.record_presence(classroom, "a visitor")
    store.write_presence()
    answer = operator.get("/operator/state")
    (row,) = answer.json()["classes"]
    assert row.pop("seconds") >= 0
    assert row == {"code": classroom.code, "question": 1, "present": 1, "joined": 1}
    assert TYPED not in answer.text and "a visitor" not in answer.text
    ended = operator.post(f"/class/{classroom.code}/end", headers=COMMAND, json={"number": 1})
    assert ended.json()["over"] is True
    assert operator.get("/operator/state").json()["classes"] == []
