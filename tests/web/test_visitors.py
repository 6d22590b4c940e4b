"""Visitors are identified by a cookie; one of them may sign in as the operator."""

from __future__ import annotations

import dataclasses
import warnings
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from explorer.web import visitors
from explorer.web.visitors import COOKIE, OPERATOR, Visitor, VisitorMiddleware, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

PAGE = {"accept": "text/html,application/xhtml+xml"}
TOKEN = "abcdefghijklmnopqrst_-"
GARBAGE = ["", "short", TOKEN + "x", TOKEN[:-1] + "é", TOKEN[:-1] + ".", "../../etc/passwd", "<script>", "x" * 10_000]


async def respond(request: Request) -> Response:
    return PlainTextResponse("here")


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    async def return_at_once(_: float) -> None: ...

    monkeypatch.setattr(visitors, "asyncio", SimpleNamespace(sleep=return_at_once))
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


def test_over_https_the_cookie_is_secure(browser: TestClient) -> None:
    browser.base_url = browser.base_url.copy_with(scheme="https")
    assert "Secure" in browser.get("/", headers=PAGE).headers["set-cookie"].split("; ")


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
    visitor = visitor_from_cookies({COOKIE: TOKEN})
    assert visitor == visitor_from_cookies({COOKIE: TOKEN, "other": "x"})
    assert visitor.id not in ("", "nobody")
    assert not any(TOKEN[i : i + 6] in repr(dataclasses.asdict(visitor)) for i in range(len(TOKEN) - 5))


@pytest.mark.parametrize("garbage", [*GARBAGE, TOKEN + "\n", "\ud800" * 22])
def test_an_invalid_cookie_identifies_no_visitor(garbage: str) -> None:
    assert visitor_from_cookies({COOKIE: garbage}) == Visitor("nobody", operator=False)
    assert visitor_from_cookies({}) == Visitor("nobody", operator=False)


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
    for token in ("", "0" * 64, visitors._expected_operator_token()):
        assert not visitor_from_cookies({OPERATOR: token}).operator


def test_the_right_password_signs_in(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame é")
    assert 'type="password"' in browser.get("/operator").text
    response = sign_in(browser, "open sesame é")
    assert (response.status_code, response.headers["location"]) == (303, "/runs")
    cookie = response.headers["set-cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
    assert "sesame" not in cookie
    token = cookie.split(";")[0].partition("=")[2]
    assert visitor_from_cookies({COOKIE: TOKEN, OPERATOR: token}) == Visitor(
        visitor_from_cookies({COOKIE: TOKEN}).id, operator=True
    )
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "another one")
    assert not visitor_from_cookies({OPERATOR: token}).operator
    monkeypatch.delenv("LINEAGE_OPERATOR_PASSWORD")
    assert not visitor_from_cookies({OPERATOR: token}).operator


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
