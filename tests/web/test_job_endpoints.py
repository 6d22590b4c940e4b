"""The rows of the job panel, and the requests of its two buttons."""

from __future__ import annotations

import itertools
import warnings

import pytest
from starlette.applications import Starlette

from explorer.errors import NotAllowed, UnknownRun
from explorer.jobs.job import JobView
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.web import job_endpoints
from explorer.web.job_endpoints import describe_config, job_rows
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

ADA, BOB, OPERATOR = Visitor("ada"), Visitor("bob"), Visitor("op", operator=True)
TOKEN = "abcdefghijklmnopqrst_-"


class Service:
    """A stand-in for the scheduler; jobs are listed newest first."""

    def __init__(self) -> None:
        self.all: list[JobView] = []
        self.watchers: dict[str, set[str]] = {}
        self.actions: list[tuple[str, str, str, bool]] = []

    def views(self, visitor: str = "") -> list[JobView]:
        return self.all

    def requesters(self, run_key: str) -> frozenset[str]:
        starters = {view.starter for view in self.all if view.key == run_key}
        return frozenset(starters | self.watchers.get(run_key, set()))

    def stop(self, run_key: str, visitor: str, operator: bool) -> None:
        self._record_action("stop", run_key, visitor, operator)

    def resume(self, run_key: str, visitor: str, operator: bool) -> None:
        self._record_action("resume", run_key, visitor, operator)

    def _record_action(self, action: str, run_key: str, visitor: str, operator: bool) -> None:
        job = next((view for view in self.all if view.key == run_key), None)
        if job is None:
            raise UnknownRun("No such training.")
        if visitor != job.starter and not operator:
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


def test_a_visitors_own_jobs_come_first_and_unfinished_before_finished(service: Service) -> None:
    running_bob, finished, running, waiting_bob, waiting = service.all = [
        job("bob"),
        job("ada", "finished"),
        job("ada"),
        job("bob", "waiting"),
        job("ada", "waiting"),
    ]
    assert keys(ADA) == [view.key for view in (running, waiting, finished, running_bob, waiting_bob)]


def test_finished_jobs_of_others_are_not_listed(service: Service) -> None:
    service.all = [job("bob", state) for state in ("finished", "stopped", "failed", "diverged")]
    assert keys(ADA) == []
    assert set(keys(BOB)) == {view.key for view in service.all}


def test_a_watched_job_is_listed_as_own_but_cannot_be_stopped(service: Service) -> None:
    other, watched = service.all = [job("bob"), job("bob")]
    service.watchers[watched.key] = {"ada"}
    assert keys(ADA) == [watched.key, other.key]
    assert [(row["mine"], row["can_stop"]) for row in job_rows(ADA)] == [(True, False), (False, False)]


def test_a_finished_job_is_listed_for_ten_minutes(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(job_endpoints.time, "monotonic", lambda: now[0])
    service.all = [job("ada", "finished"), job("ada")]
    assert len(keys(ADA)) == 2
    now[0] += 599
    assert len(keys(ADA)) == 2
    now[0] += 2
    assert keys(ADA) == [service.all[1].key]


def test_end_times_are_limited_and_the_first_recorded_is_dropped_first(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(job_endpoints.time, "monotonic", lambda: now[0])
    config = default_config("negation", "rnn")
    first, second, *others = (job("ada", "finished", config, seconds=float(i)) for i in range(1_001))

    def is_listed(view: JobView) -> bool:
        service.all = [view]
        return bool(keys(ADA))

    assert all(is_listed(view) for view in (first, second, *others[:-1]))
    now[0] += 601
    assert not is_listed(first) and not is_listed(second), (
        "1,000 end times are remembered, a later request changes nothing"
    )
    assert is_listed(others[-1]), "it ended now"
    assert not is_listed(second) and is_listed(first), "the end time recorded first was dropped"


def test_a_row_describes_its_job(service: Service) -> None:
    config = with_settings(default_config("negation", "gru"), {"replicas": 3, "epochs": 7})
    view = job("ada", config=config, step=12, left=3.5, loss=0.25)
    service.all = [view, job("bob", "waiting"), job("bob", "waiting")]
    described = row(view, ADA)
    assert described | {"colour": None} == {
        "key": key(config),
        "title": "GRU",
        "detail": "3 seeds, epochs = 7",
        "colour": None,
        "state": "running",
        "step": 12,
        "steps": config.steps,
        "left": 3.5,
        "loss": 0.25,
        "mine": True,
        "can_stop": True,
        "can_resume": False,
        "problem": "",
        "href": f"negation?run={key(config)}",
        "ahead": 0,
    }
    assert {row["ahead"] for row in job_rows(ADA) if row["state"] == "waiting"} == {1}


@pytest.mark.parametrize(
    ("state", "saved", "allowed"),
    [
        ("waiting", False, (True, False)),
        ("running", False, (True, False)),
        ("stopped", True, (False, True)),
        ("stopped", False, (False, False)),
        ("finished", True, (False, False)),
        ("diverged", True, (False, False)),
        ("failed", False, (False, False)),
    ],
)
def test_the_starter_and_the_operator_may_stop_and_resume(
    state: str, saved: bool, allowed: tuple[bool, bool], service: Service
) -> None:
    view = job("ada", state, saved=saved)
    service.all = [view]
    service.watchers[view.key] = {"bob", "op"}
    for visitor, expected in ((ADA, allowed), (OPERATOR, allowed), (BOB, (False, False))):
        buttons = row(view, visitor)
        assert (buttons["can_stop"], buttons["can_resume"]) == expected


def test_jobs_of_the_terminal_cannot_be_stopped_from_the_browser(service: Service) -> None:
    service.all = [job("")]
    for visitor in (Visitor("nobody"), Visitor(""), ADA):
        assert not row(service.all[0], visitor)["can_stop"]


def test_changed_settings_are_described_in_at_most_80_characters(service: Service) -> None:
    default = default_config("negation", "transformer")
    assert describe_config(default) == "1 seed"
    assert describe_config(branch_from(default, 3, {})) == f"1 seed, from step 3 of {key(default)}"
    changes = {"p_not": 0.123456789, "train_size": 1_234, "test_size": 567, "width": 32, "heads": 4, "epochs": 3}
    view = job("ada", config=branch_from(with_settings(default, {**changes, "layers": 2, "replicas": 5}), 1, {}))
    service.all = [view]
    assert len(str(row(view, ADA)["detail"])) == 80


def test_at_most_sixty_jobs_are_listed(service: Service) -> None:
    service.all = [job("bob") for _ in range(70)]
    assert len(job_rows(ADA)) == 60


# ---- over HTTP


@pytest.fixture
def browser(service: Service) -> TestClient:
    return TestClient(Starlette(routes=job_endpoints.ROUTES), cookies={COOKIE: issue_cookie(TOKEN)})


def test_the_list_is_json_that_is_not_cached(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}).id)]
    response = browser.get("/jobs")
    assert response.headers["cache-control"] == "no-store"
    assert response.json() == {"jobs": job_rows(visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}))}
    assert TOKEN not in response.text


def post_action(browser: TestClient, run: str, action: str, **headers: str) -> int:
    return browser.post(f"/jobs/{run}/{action}", headers=headers).status_code


@pytest.mark.parametrize("action", ["stop", "resume"])
def test_an_action_is_performed_for_the_visitor_in_the_cookie(
    action: str, service: Service, browser: TestClient
) -> None:
    me = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}).id
    mine, other = service.all = [job(me), job("bob")]
    assert post_action(browser, mine.key, action, **{"X-Lineage": "1"}) == 204
    assert post_action(browser, other.key, action, **{"X-Lineage": "1"}) == 403
    assert post_action(browser, "aaaaaaaaaaaa", action, **{"X-Lineage": "1"}) == 404
    assert service.actions == [(action, mine.key, me, False)]


def test_a_form_of_another_site_is_refused(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}).id)]
    assert post_action(browser, service.all[0].key, "stop") == 403
    assert service.actions == []


def test_other_actions_and_methods_are_refused(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: issue_cookie(TOKEN)}).id)]
    run = service.all[0].key
    assert post_action(browser, run, "delete", **{"X-Lineage": "1"}) == 404
    assert browser.get(f"/jobs/{run}/stop", headers={"X-Lineage": "1"}).status_code == 405
    assert service.actions == []
