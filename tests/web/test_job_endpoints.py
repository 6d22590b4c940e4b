"""The rows of the job panel, and the requests of its two buttons."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from cachetools import FIFOCache
from starlette.applications import Starlette
from syrupy.assertion import SnapshotAssertion

from explorer.errors import NotAllowed, TooManyRequests, UnknownRun
from explorer.jobs.job import JobView
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.web import job_endpoints, rate_limits
from explorer.web.job_endpoints import describe_config, job_rows
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies
from tests.web.client import COMMAND, TestClient

ADA, BOB, OPERATOR = Visitor("ada"), Visitor("bob"), Visitor("op", operator=True)
TOKEN = "abcdefghijklmnopqrst_-"


class Service:
    """A stand-in for the scheduler; jobs are listed newest first."""

    def __init__(self) -> None:
        self.all: list[JobView] = []
        self.watchers: dict[str, set[str]] = {}
        self.actions: list[tuple[str, str, str, bool]] = []
        self.stop, self.resume = (partial(self._record_action, action) for action in ("stop", "resume"))

    def views(self, visitor: str = "") -> list[JobView]:
        return self.all

    def seconds_left(self, view: JobView) -> float | None:
        return view.left

    def requesters(self, run_key: str) -> set[str]:
        return {view.starter for view in self.all if view.key == run_key} | self.watchers.get(run_key, set())

    def _record_action(self, action: str, run_key: str, visitor: str, operator: bool) -> None:
        job = next((view for view in self.all if view.key == run_key), None)
        if job is None:
            raise UnknownRun("No such training.")
        if visitor != job.starter:
            raise NotAllowed("Somebody else's.")
        self.actions.append((action, run_key, visitor, operator))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()
    monkeypatch.setattr(job_endpoints, "service", service)
    job_endpoints.reset()
    return service


_seeds = itertools.count(1)


def job(starter: str, state: str = "running", config: RunConfig | None = None, **more: object) -> JobView:
    config = config or with_settings(default_config("negation", "rnn"), {"seed": next(_seeds)})
    return JobView(config, starter, state, **more)  # type: ignore[arg-type]


def keys(visitor: Visitor) -> list[object]:
    return [row["key"] for row in job_rows(visitor)]


def row(view: JobView, visitor: Visitor) -> dict[str, object]:
    (match,) = [row for row in job_rows(visitor) if row["key"] == view.key]
    return match


def test_only_own_and_watched_jobs_are_listed_but_the_operator_sees_what_others_train(service: Service) -> None:
    running_bob, finished, running, waiting_bob, waiting, *ended_bob = service.all = [
        *(job("bob"), job("ada", "finished"), job("ada"), job("bob", "waiting"), job("ada", "waiting")),
        *(job("bob", state) for state in ("finished", "stopped", "failed", "diverged")),
    ]
    assert keys(ADA) == [view.key for view in (running, waiting, finished)] and keys(Visitor("eve")) == []
    assert keys(OPERATOR) == [view.key for view in (running_bob, running, waiting_bob, waiting)]
    assert {view.key for view in ended_bob} < set(keys(BOB))
    other, watched = service.all = [job("bob"), job("bob")]
    service.watchers[watched.key] = {"ada"}
    assert keys(ADA) == [watched.key] and other.key in keys(OPERATOR)
    assert [(row["mine"], row["can_stop"]) for row in job_rows(ADA)] == [(True, False)]
    service.all = [job("ada") for _ in range(70)]
    assert len(job_rows(ADA)) == 60


def test_a_finished_job_is_listed_for_some_seconds(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(job_endpoints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job_endpoints, "_end_first_seen", FIFOCache(2))
    first, second, third = (job("ada", "finished") for _ in range(3))
    service.all = [first, second, running := job("ada")]
    for seconds, count in ((0, 3), (19, 3), (2, 1)):
        now[0] += seconds
        assert len(keys(ADA)) == count
    service.all = [third, first, running]
    assert keys(ADA) == [running.key, third.key, first.key], "only two ends are remembered, and the first was dropped"


def test_a_row_describes_its_job(service: Service, snapshot: SnapshotAssertion) -> None:
    config = with_settings(default_config("negation", "gru"), {"replicas": 3, "epochs": 7})
    view = job("ada", config=config, step=12, left=3.5, loss=0.25)
    service.all = [view, job("ada", "waiting"), job("bob", "waiting")]
    described = row(view, ADA)
    assert (described.pop("key"), described.pop("href")) == (key(config), f"negation?run={key(config)}")
    assert described.pop("colour") and described.pop("steps") == config.steps
    assert described == snapshot
    assert {row["ahead"] for row in job_rows(ADA) if row["state"] == "waiting"} == {1}


def test_the_starter_and_the_operator_may_stop_and_resume(service: Service) -> None:
    for state, saved, allowed in [
        *((state, False, (True, False)) for state in ("waiting", "running")),
        ("stopped", True, (False, True)),
        ("stopped", False, (False, False)),
        *((state, True, (False, False)) for state in ("finished", "diverged", "failed")),
    ]:
        view = job("ada", state, saved=saved)
        service.all = [view]
        service.watchers[view.key] = {"bob", "op"}
        for visitor, expected in ((ADA, allowed), (OPERATOR, allowed), (BOB, (False, False))):
            buttons = row(view, visitor)
            assert (buttons["can_stop"], buttons["can_resume"]) == expected
    service.all = [job("")]  # of the terminal
    assert job_rows(Visitor("nobody")) == job_rows(ADA) == [] and not row(service.all[0], Visitor(""))["can_stop"]


def test_changed_settings_are_described_in_at_most_80_characters(service: Service) -> None:
    default = default_config("negation", "transformer")
    assert describe_config(default) == "1 seed"
    assert describe_config(branch_from(default, 3, {})) == f"1 seed, from step 3 of {key(default)}"
    changes = {"p_not": 0.123456789, "train_size": 1_234, "test_size": 567, "width": 32, "heads": 4, "epochs": 3}
    view = job("ada", config=branch_from(with_settings(default, {**changes, "layers": 2, "replicas": 5}), 1, {}))
    service.all = [view]
    assert len(str(row(view, ADA)["detail"])) == 80


@pytest.fixture
def browser(service: Service) -> TestClient:
    return TestClient(Starlette(routes=job_endpoints.ROUTES), cookies={COOKIE: issue_cookie(TOKEN)})


def test_an_action_is_performed_for_the_visitor_in_the_cookie(service: Service, browser: TestClient) -> None:
    visitor = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)})
    mine, other = service.all = [job(me := visitor.id), job("bob")]
    listed = browser.get("/jobs")
    assert listed.json() == {"jobs": job_rows(visitor)} and TOKEN not in listed.text
    assert listed.headers["cache-control"] == "no-store"
    assert browser.post(f"/jobs/{mine.key}/delete", headers=COMMAND).status_code == 404
    for action in ("stop", "resume"):
        assert browser.post(f"/jobs/{mine.key}/{action}").status_code == 403, "a form of another site"
        assert browser.get(f"/jobs/{mine.key}/{action}", headers=COMMAND).status_code == 405
        for run, status in ((mine.key, 204), (other.key, 403), ("aaaaaaaaaaaa", 404)):
            assert browser.post(f"/jobs/{run}/{action}", headers=COMMAND).status_code == status
    assert service.actions == [(action, mine.key, me, False) for action in ("stop", "resume")]


def test_resuming_is_limited_and_needs_a_cookie(service: Service, browser: TestClient) -> None:
    me = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}).id
    service.all = [job(me, "stopped", saved=True)]
    with pytest.raises(TooManyRequests):
        while True:
            rate_limits.check(rate_limits.TRAININGS, "unknown", me)
    answer = browser.post(f"/jobs/{service.all[0].key}/resume", headers=COMMAND)
    assert answer.status_code == 429 and 0 < int(answer.headers["retry-after"]) <= 600
    browser.cookies.clear()
    answer = browser.post(f"/jobs/{service.all[0].key}/resume", headers=COMMAND)
    assert answer.status_code == 403 and "cookie" in answer.json()["problem"]
    assert service.actions == []
