"""What the panel of trainings is told, and its two buttons."""

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
from explorer.web.visitors import COOKIE, Visitor, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # it would rather have another HTTP library
    from starlette.testclient import TestClient

ADA, BOB, OPERATOR = Visitor("ada"), Visitor("bob"), Visitor("op", operator=True)
TOKEN = "abcdefghijklmnopqrst_-"


class Service:
    """Jobs as they might stand, the newest first."""

    def __init__(self) -> None:
        self.all: list[JobView] = []
        self.looking: dict[str, set[str]] = {}
        self.done: list[tuple[str, str, str, bool]] = []

    def views(self, visitor: str = "") -> list[JobView]:
        return self.all

    def requesters(self, run_key: str) -> frozenset[str]:
        starters = {view.starter for view in self.all if view.key == run_key}
        return frozenset(starters | self.looking.get(run_key, set()))

    def stop(self, run_key: str, visitor: str, operator: bool) -> None:
        self._wish("stop", run_key, visitor, operator)

    def resume(self, run_key: str, visitor: str, operator: bool) -> None:
        self._wish("resume", run_key, visitor, operator)

    def _wish(self, what: str, run_key: str, visitor: str, operator: bool) -> None:
        job = next((view for view in self.all if view.key == run_key), None)
        if job is None:
            raise UnknownRun("No such training.")
        if visitor != job.starter and not operator:
            raise NotAllowed("Somebody else's.")
        self.done.append((what, run_key, visitor, operator))


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
    (found,) = [row for row in job_rows(visitor) if row["key"] == view.key]
    return found


def test_ones_own_come_first_and_of_those_what_is_under_way(service: Service) -> None:
    theirs, ended, mine, theirs_too, waiting = service.all = [
        job("bob"),
        job("ada", "finished"),
        job("ada"),
        job("bob", "waiting"),
        job("ada", "waiting"),
    ]
    assert keys(ADA) == [view.key for view in (mine, waiting, ended, theirs, theirs_too)]


def test_what_others_ended_is_not_listed(service: Service) -> None:
    service.all = [job("bob", state) for state in ("finished", "stopped", "failed", "diverged")]
    assert keys(ADA) == []
    assert set(keys(BOB)) == {view.key for view in service.all}


def test_what_somebody_looks_at_is_theirs_to_see_but_not_to_stop(service: Service) -> None:
    other, watched = service.all = [job("bob"), job("bob")]
    service.looking[watched.key] = {"ada"}
    assert keys(ADA) == [watched.key, other.key]
    assert [(found["mine"], found["can_stop"]) for found in job_rows(ADA)] == [(True, False), (False, False)]


def test_what_ended_a_while_ago_is_no_longer_listed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(job_endpoints.time, "monotonic", lambda: now[0])
    service.all = [job("ada", "finished"), job("ada")]
    assert len(keys(ADA)) == 2
    now[0] += 599
    assert len(keys(ADA)) == 2
    now[0] += 2
    assert keys(ADA) == [service.all[1].key]


def test_a_row_says_what_is_known(service: Service) -> None:
    config = with_settings(default_config("negation", "gru"), {"replicas": 3, "epochs": 7})
    view = job("ada", config=config, step=12, left=3.5, loss=0.25)
    service.all = [view, job("bob", "waiting"), job("bob", "waiting")]
    found = row(view, ADA)
    assert found | {"colour": None} == {
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
        "href": f"/negation?run={key(config)}",
        "ahead": 0,
    }
    assert {found["ahead"] for found in job_rows(ADA) if found["state"] == "waiting"} == {1}


@pytest.mark.parametrize(
    ("state", "saved", "can"),
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
def test_who_may_stop_and_resume(state: str, saved: bool, can: tuple[bool, bool], service: Service) -> None:
    view = job("ada", state, saved=saved)
    service.all = [view]
    service.looking[view.key] = {"bob", "op"}
    for visitor, expected in ((ADA, can), (OPERATOR, can), (BOB, (False, False))):
        found = row(view, visitor)
        assert (found["can_stop"], found["can_resume"]) == expected


def test_nobody_may_stop_what_the_terminal_started(service: Service) -> None:
    service.all = [job("")]
    for visitor in (Visitor("nobody"), Visitor(""), ADA):
        assert not row(service.all[0], visitor)["can_stop"]


def test_what_is_not_as_usual_is_said_shortly(service: Service) -> None:
    usual = default_config("negation", "transformer")
    assert describe_config(usual) == "1 seed"
    assert describe_config(branch_from(usual, 3, {})) == f"1 seed, from step 3 of {key(usual)}"
    changes = {"p_not": 0.123456789, "train_size": 1_234, "test_size": 567, "width": 32, "heads": 4, "epochs": 3}
    view = job("ada", config=branch_from(with_settings(usual, {**changes, "layers": 2, "replicas": 5}), 1, {}))
    service.all = [view]
    assert len(str(row(view, ADA)["detail"])) == 80


def test_there_are_never_more_than_sixty(service: Service) -> None:
    service.all = [job("bob") for _ in range(70)]
    assert len(job_rows(ADA)) == 60


# ---- over HTTP


@pytest.fixture
def browser(service: Service) -> TestClient:
    return TestClient(Starlette(routes=job_endpoints.ROUTES), cookies={COOKIE: TOKEN})


def test_the_list_is_json_that_nobody_keeps(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: TOKEN}).id)]
    response = browser.get("/jobs")
    assert response.headers["cache-control"] == "no-store"
    assert response.json() == {"jobs": job_rows(visitor_from_cookies({COOKIE: TOKEN}))}
    assert TOKEN not in response.text


def ask(browser: TestClient, run: str, wish: str, **headers: str) -> int:
    return browser.post(f"/jobs/{run}/{wish}", headers=headers).status_code


@pytest.mark.parametrize("wish", ["stop", "resume"])
def test_a_wish_is_passed_on_for_whoever_the_cookie_names(wish: str, service: Service, browser: TestClient) -> None:
    me = visitor_from_cookies({COOKIE: TOKEN}).id
    mine, other = service.all = [job(me), job("bob")]
    assert ask(browser, mine.key, wish, **{"X-Lineage": "1"}) == 204
    assert ask(browser, other.key, wish, **{"X-Lineage": "1"}) == 403
    assert ask(browser, "aaaaaaaaaaaa", wish, **{"X-Lineage": "1"}) == 404
    assert service.done == [(wish, mine.key, me, False)]


def test_another_sites_form_is_refused(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: TOKEN}).id)]
    assert ask(browser, service.all[0].key, "stop") == 403
    assert service.done == []


def test_there_are_no_other_wishes(service: Service, browser: TestClient) -> None:
    service.all = [job(visitor_from_cookies({COOKIE: TOKEN}).id)]
    run = service.all[0].key
    assert ask(browser, run, "delete", **{"X-Lineage": "1"}) == 404
    assert browser.get(f"/jobs/{run}/stop", headers={"X-Lineage": "1"}).status_code == 405
    assert service.done == []
