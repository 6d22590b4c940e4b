"""Visitors are identified by a cookie; one of them may sign in as the operator."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from explorer.run_store import index
from explorer.web import signing, visitors
from explorer.web.visitors import COOKIE, OPERATOR, Visitor, VisitorMiddleware, issue_cookie, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

PAGE = {"accept": "text/html,application/xhtml+xml"}
TOKEN = "abcdefghijklmnopqrst_-"
GARBAGE = ["", "short", TOKEN + "x", TOKEN[:-1] + "é", TOKEN[:-1] + ".", "../../etc/passwd", "<script>", "x" * 10_000]


async def respond(request: Request) -> Response:
    return PlainTextResponse("here")


@pytest.fixture
def browser() -> TestClient:
    routes = [Route("/operator", visitors.operator_endpoint, methods=["GET", "POST"]), Route("/{path:path}", respond)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(VisitorMiddleware)]))


# ---- the cookie


def test_a_page_sets_a_cookie_that_scripts_and_other_sites_cannot_read(browser: TestClient) -> None:
    cookie = browser.get("/", headers=PAGE).headers["set-cookie"]
    value, *attributes = cookie.split("; ")
    assert value.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(attributes)
    assert "Secure" not in attributes
    assert visitor_from_cookies({COOKIE: value.partition("=")[2]}).id != "nobody"


def test_two_browsers_are_two_visitors(browser: TestClient) -> None:
    one, two = (browser.get("/", headers=PAGE).cookies[COOKIE] for _ in range(2) if not browser.cookies.clear())
    assert one != two
    assert visitor_from_cookies({COOKIE: one}) != visitor_from_cookies({COOKIE: two})


@pytest.mark.parametrize("accept", ["*/*", "application/javascript", "text/css,*/*;q=0.1", ""])
def test_other_files_set_no_cookie(accept: str, browser: TestClient) -> None:
    response = browser.get("/static/app.js", headers={"accept": accept})
    assert (response.text, "set-cookie" in response.headers) == ("here", False)


def test_a_valid_cookie_is_not_replaced(browser: TestClient) -> None:
    browser.get("/", headers=PAGE)
    assert "set-cookie" not in browser.get("/runs", headers=PAGE).headers


@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_invalid_cookie_is_replaced(garbage: str, browser: TestClient) -> None:
    headers = PAGE | {"cookie": f"{COOKIE}={garbage}"}
    response = browser.get("/", headers={k: v.encode() for k, v in headers.items()})
    assert visitor_from_cookies(response.cookies).id != "nobody"


# ---- the visitor


def test_a_visitor_does_not_contain_the_cookie() -> None:
    visitor = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)})
    assert visitor == visitor_from_cookies({COOKIE: issue_cookie(TOKEN), "other": "x"})
    assert visitor.id not in ("", "nobody")
    assert not any(TOKEN[i : i + 6] in repr(dataclasses.asdict(visitor)) for i in range(len(TOKEN) - 5))


@pytest.mark.parametrize("garbage", [*GARBAGE, TOKEN, TOKEN + ".", TOKEN + "\n", "\ud800" * 22])
def test_an_invalid_cookie_identifies_no_visitor(garbage: str) -> None:
    assert visitor_from_cookies({COOKIE: garbage}) == Visitor("nobody", operator=False)
    assert visitor_from_cookies({}) == Visitor("nobody", operator=False)


def test_a_cookie_signed_with_another_key_or_changed_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = issue_cookie(TOKEN)
    assert visitor_from_cookies({COOKIE: "A" + cookie[1:]}).id == "nobody"
    monkeypatch.setenv("LINEAGE_SECRET", "another key of a server")
    assert visitor_from_cookies({COOKIE: cookie}).id == "nobody"


def test_the_key_is_made_once_and_only_its_owner_can_read_it(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: signing._create(home / signing.FILE), range(8)))
    key = (home / signing.FILE).read_text()
    assert signing.signing_key() == key and len(key) >= 32
    assert [path.name for path in home.iterdir()] == [signing.FILE]
    if os.name == "posix":  # Windows has no such permissions
        assert (home / signing.FILE).stat().st_mode & 0o077 == 0


def test_the_key_is_kept_on_a_file_system_without_hard_links(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: Path) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    signing._create(home / signing.FILE)
    key = (home / signing.FILE).read_text("utf-8")
    signing._create(home / signing.FILE)  # of another process, which was later
    assert signing.signing_key() == key == (home / signing.FILE).read_text("utf-8")
    assert [path.name for path in home.iterdir()] == [signing.FILE]


def test_an_unsigned_cookie_of_an_owner_is_signed_and_others_are_replaced(
    browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)})
    monkeypatch.setattr(index, "search", lambda query: ["a run"] if query.owner == owner.id else [])
    for token, stays in ((TOKEN, True), ("x" * 22, False)):
        browser.cookies.clear()
        response = browser.get("/", headers=PAGE | {"cookie": f"{COOKIE}={token}"})
        assert (issue_cookie(token) == response.cookies[COOKIE]) == stays
        assert (visitor_from_cookies(response.cookies) == owner) == stays


# ---- rate limits


@pytest.mark.slow
def test_four_hundred_students_at_one_address_get_cookies_and_a_thousand_do_not(browser: TestClient) -> None:
    def open_page() -> bool:
        browser.cookies.clear()
        response = browser.get("/", headers=PAGE)
        assert response.text == "here"
        return "set-cookie" in response.headers

    cookies = [open_page() for _ in range(700)]
    assert cookies == [True] * 600 + [False] * 100, "400 students may each come with two browsers less than all"
    other = TestClient(browser.app, client=("9.9.9.9", 1))
    assert "set-cookie" in other.get("/", headers=PAGE).headers


def test_passwords_are_limited_by_address_and_together_and_logged(
    browser: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open")
    assert [sign_in(browser, "guess").status_code for _ in range(11)] == [200] * 10 + [429]
    refused = sign_in(browser, "open")
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) <= 600
    assert "at most 10 sign-ins from one address within 10 min" in refused.text
    assert "from testclient" not in caplog.text and "from unknown, number 10" in caplog.text
    assert "guess" not in caplog.text
    others = [TestClient(browser.app, client=(f"9.9.9.{i}", 1)) for i in range(60)]
    answers = [sign_in(other, "guess").status_code for other in others]
    assert answers == [200] * 50 + [429] * 10


def test_a_visitor_owns_own_runs_and_the_operator_owns_all() -> None:
    assert Visitor("ada").owns("ada")
    assert not Visitor("ada").owns("bob")
    assert not Visitor("").owns("")
    assert Visitor("ada", operator=True).owns("bob")


# ---- the operator


def sign_in(browser: TestClient, password: str) -> Response:
    return browser.post("/operator", data={"password": password}, follow_redirects=False)  # type: ignore[return-value]


def test_without_a_password_there_is_no_operator(browser: TestClient) -> None:
    for response in (browser.get("/operator"), sign_in(browser, ""), sign_in(browser, "guess")):
        assert response.status_code == 404
        assert OPERATOR not in response.headers.get("set-cookie", "")
    for token in ("", "0" * 64, visitors._operator_signer(signing.signing_key(), "").sign("x").decode()):
        assert not visitor_from_cookies({OPERATOR: token}).operator


def test_in_a_frame_the_operator_is_sent_to_a_tab(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame")
    frame = {"sec-fetch-dest": "iframe"}
    for response in (
        browser.get("/operator", headers=frame),
        browser.post("/operator", data={"password": "open sesame"}, headers=frame, follow_redirects=False),
    ):
        assert 'target="_blank"' in response.text and "password" not in response.text
        assert OPERATOR not in response.headers.get("set-cookie", "")
    assert 'type="password"' in browser.get("/operator", headers={"sec-fetch-dest": "document"}).text


def test_the_right_password_signs_in_for_twelve_hours_until_sign_out(
    database: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame é")
    assert 'type="password"' in browser.get("/operator").text
    response = sign_in(browser, "open sesame é")
    assert (response.status_code, response.headers["location"]) == (303, "operator")
    cookie = response.headers["set-cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=43200"} <= set(cookie.split("; "))
    assert "sesame" not in cookie
    cookies = {COOKIE: issue_cookie(TOKEN), OPERATOR: cookie.split(";")[0].partition("=")[2]}
    assert visitor_from_cookies(cookies) == Visitor(visitor_from_cookies(cookies).id, operator=True)
    assert "signed in until" in browser.get("/operator").text
    with monkeypatch.context() as other:
        other.setenv("LINEAGE_OPERATOR_PASSWORD", "another one")
        assert not visitor_from_cookies(cookies).operator
        other.delenv("LINEAGE_OPERATOR_PASSWORD")
        assert not visitor_from_cookies(cookies).operator
    now = time.time()
    for hours, valid in ((11, True), (13, False)):
        monkeypatch.setattr(time, "time", lambda hours=hours: now + hours * 3600)
        assert visitor_from_cookies(cookies).operator == valid
    monkeypatch.setattr(time, "time", lambda: now)
    response = browser.post("/operator", data={"sign-out": "1"}, follow_redirects=False)
    assert 'lineage_operator=""' in response.headers["set-cookie"]
    for _ in range(2):
        assert not visitor_from_cookies(cookies).operator, "the old cookie is of no use either"
        visitors._ended.clear()  # as after a restart, or at another server
        visitors.read_ended_sessions()


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "another one": b"password=close",
    "no password": b"passwort=open",
    "twice, the wrong one first": b"password=close&password=open",
    "longer": b"password=opener",
    "null": b"password=open%00",
    "no utf-8": b"password=\xff\xfe%ff",
    "json": b'{"password": "open"}',
    "after a long field": b"x=" + b"y" * 3_000 + b"&password=open",
    "many": b"&" * 100_000,
    "markup": b"password=<script>alert(1)</script>",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_any_other_request_body_is_refused(body: bytes, browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open")
    headers = {"content-type": "application/x-www-form-urlencoded"}
    response = browser.post("/operator", content=body, headers=headers)
    assert (response.status_code, "set-cookie" in response.headers) == (200, False)
    assert "This is not the password." in response.text
    assert "alert" not in response.text


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_an_invented_operator_token_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open")
    assert not visitor_from_cookies({OPERATOR: token}).operator
