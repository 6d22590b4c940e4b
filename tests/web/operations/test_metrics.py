"""GET /metrics: who may read it, and that its numbers are those of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from syrupy.assertion import SnapshotAssertion

from explorer.errors import StoreError, TooManyRequests
from explorer.jobs.service import JobService
from explorer.training.config import default_config, with_settings
from explorer.web import rate_limits
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.client_address import ClientAddressMiddleware
from explorer.web.operations import metrics
from explorer.web.visitors import operator_endpoint
from tests.waiting import wait_until
from tests.web.client import TestClient

PASSWORD, TOKEN = "a long password", "a token of sixteen letters"
MARKER = "typed-by-a-visitor"


def respond(request: Request) -> Response:
    if "fail" in request.path_params["rest"]:
        raise KeyError(MARKER)
    return PlainTextResponse("here", 404 if "missing" in request.path_params["rest"] else 200)


def connect(address: str = "127.0.0.1", host: str = "127.0.0.1") -> TestClient:
    """Return a client that connects to a server from an address."""
    routes = [
        *metrics.ROUTES,
        Route("/operator", operator_endpoint, methods=["GET", "POST"]),
        Route("/{rest:path}", respond),
    ]
    paths = ["/metrics", "/class/{code:str}"]
    middleware = [Middleware(metrics.MetricsMiddleware, routes=paths), Middleware(ClientAddressMiddleware)]
    app = Starlette(routes=routes, middleware=middleware)
    return TestClient(app, f"http://{host}", client=(address, 1), raise_server_exceptions=False)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[JobService]:
    service = JobService()
    monkeypatch.setattr(metrics, "service", service)
    yield service
    service.close()


def read() -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the value of each sample, by its name and the values of its labels in the order of their names."""
    answer = connect().get("/metrics")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    return {
        (sample.name, tuple(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_only_a_program_on_the_same_machine_may_read(trusted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_TRUSTED_PROXIES", trusted)
    loopback = {"127.0.0.1": "localhost:8501", "127.8.0.1": "127.0.0.1", "::1": "[::1]:8501"}
    for address, host in {**loopback, "::ffff:127.0.0.1": "127.0.0.1"}.items():
        assert connect(address, host).get("/metrics").status_code == 200, address
    for address in ("192.0.2.1", "2001:db8::1", "10.0.0.1"):
        answer = connect(address).get("/metrics")
        assert answer.status_code == 403
        assert "LINEAGE_METRICS_TOKEN" in answer.text and "lineage_jobs" not in answer.text
    of_a_proxy = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "localhost", "Forwarded": "for=127.0.0.1"}
    of_a_proxy |= {"Via": "1.1 proxy", "Host": "lineage.example.org"}
    for name, value in {**of_a_proxy, "X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"}.items():
        assert connect().get("/metrics", headers={name: value}).status_code == 403, f"{name}: sent by a proxy"


def test_the_token_and_the_operator_permit_reading_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    client = connect("192.0.2.1")
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403
    monkeypatch.setenv("LINEAGE_METRICS_TOKEN", TOKEN)
    for given in ("Bearer {}", "bearer {}", "Basic {}", "Bearer {}x", "Bearer x{}", "Bearer", "", "{}", "Bearer \xe9"):
        answer = client.get("/metrics", headers={"Authorization": given.format(TOKEN).encode("latin-1")})
        assert answer.status_code == (200 if given.lower() == "bearer {}" else 403), given
        assert TOKEN not in answer.text
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", PASSWORD)
    for password, status in (("another one", 403), (PASSWORD, 200)):
        client.post("/operator", data={"password": password})
        assert client.get("/metrics").status_code == status


def test_requests_are_counted_by_the_first_part_of_their_address(snapshot: SnapshotAssertion) -> None:
    client = connect()
    before = read()
    paths = ["/negation", f"/{MARKER}", "/", f"/class/{MARKER}", "/class/x/missing", f"/{MARKER}/{MARKER}/missing"]
    for path in [*paths, "/class/fail", "/_stcore/health", f"/static/{MARKER}.js", f"/x?own={MARKER}"]:
        client.get(path)
    after = read()
    name = "lineage_http_requests_total"
    changed = {key[1]: after[key] - before.get(key, 0) for key in after if key[0] == name}
    assert {" ".join(labels): int(count) for labels, count in changed.items() if count} == snapshot
    measured = ("lineage_http_request_seconds_count", ("page",))
    assert after[measured] - before.get(measured, 0) == 4
    seconds = ("lineage_http_request_seconds_sum", ("page",))
    assert 0 <= after[seconds] - before.get(seconds, 0) < 600
    assert not any(MARKER in label for _, labels in after for label in labels)


def test_open_websockets_are_counted() -> None:
    seen = []

    async def application(scope: object, receive: object, send: object) -> None:
        seen.append(metrics._open_connections)
        raise ConnectionError

    before = metrics._open_connections
    middleware = metrics.MetricsMiddleware(application, [])
    with pytest.raises(ConnectionError):
        asyncio.run(middleware({"type": "websocket", "path": "/_stcore/stream"}, None, None))  # type: ignore[arg-type]
    assert (seen, metrics._open_connections) == ([before + 1], before)


def test_visitors_and_trainings_are_counted(service: JobService) -> None:
    before = read()
    assert before["lineage_jobs", ("here", "running")] == before["lineage_jobs", ("here", "waiting")] == 0
    for visitor in ("ada", "ada", "bob"):
        service.jobs.tab_opened(visitor)
    job = service.submit(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 1}), "ada")
    assert sum(service.count_states().values()) == 1
    wait_until(lambda: job.view().done)
    stopped = service.submit(with_settings(default_config("negation", "rnn"), {"epochs": 400, "replicas": 1}), "ada")
    service.stop(stopped.key, "ada")
    wait_until(lambda: stopped.view().done)
    stopped.publish(saved=True)  # it is counted once
    after = read()
    grown = {key: after[key] - before.get(key, 0) for key in after}
    assert [grown["lineage_jobs_ended_total", (state,)] for state in ("finished", "stopped")] == [1, 1]
    assert grown["lineage_first_evaluation_seconds_count", ()] == 1
    assert grown["lineage_training_seconds_total", ()] >= job.view().seconds > 0
    assert (after["lineage_visitors", ()], after["lineage_tabs", ()]) == (2, 3)
    assert after["lineage_memory_bytes", ("server",)] > 10_000_000
    assert after["lineage_disk_used_bytes", ()] > 0
    texts = [label for _, labels in after for label in labels]
    assert not {"ada", "bob", job.key} & set(texts)


def test_classes_are_counted_without_their_codes_while_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    store.reset()
    classroom = actions.show_question("teacher", ClassroomQuestion("negation", {"sentence": MARKER}))
    for student in ("ada", "bob"):
        store.record_presence(classroom, student)
    store.write_presence()
    found = read()
    assert found["lineage_classes", ()] == 1
    assert found["lineage_class_members", ("present",)] == found["lineage_class_members", ("joined",)] == 2
    assert not {classroom.code, "ada", "bob", MARKER} & {label for _, labels in found for label in labels}
    store.reset()
    found = read()
    assert (found["lineage_classes", ()], found["lineage_database_up", ()]) == (0, 1)
    monkeypatch.setattr(metrics.index, "used_bytes", Mock(side_effect=StoreError("The database does not answer.")))
    found = read()
    assert found["lineage_database_up", ()] == 0
    assert not {("lineage_disk_used_bytes", ()), ("lineage_classes", ())} & found.keys()


def test_refusals_of_a_rate_limit_are_counted() -> None:
    key = ("lineage_rate_limit_refusals_total", ("sign-ins",))
    before = read().get(key, 0)
    for _ in range(10):
        rate_limits.check(rate_limits.SIGN_INS, "192.0.2.1")
    assert read().get(key, 0) == before
    with pytest.raises(TooManyRequests):
        rate_limits.check(rate_limits.SIGN_INS, "192.0.2.1")
    assert read()[key] == before + 1
