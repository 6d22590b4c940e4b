"""Visitors are identified by a cookie; one of them may sign in as the operator."""

from __future__ import annotations

import dataclasses
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
from limits import RateLimitItemPerMinute
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from explorer.database.engine import close_database
from explorer.errors import StoreError
from explorer.run_store import index
from explorer.web import rate_limits, signing, transactions, visitors
from explorer.web.visitors import COOKIE, OPERATOR, Visitor, VisitorMiddleware, issue_cookie, visitor_from_cookies
from tests.web.client import TestClient

Patch, Log = pytest.MonkeyPatch, pytest.LogCaptureFixture
PAGE = {"accept": "text/html,application/xhtml+xml"}
TOKEN = "abcdefghijklmnopqrst_-"


async def respond(request: Request) -> Response:
    return PlainTextResponse("here")


@pytest.fixture
def browser() -> TestClient:
    routes = [Route("/operator", visitors.operator_endpoint, methods=["GET", "POST"]), Route("/{path:path}", respond)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(VisitorMiddleware)]))


def test_a_page_sets_a_cookie_that_scripts_and_other_sites_cannot_read(browser: TestClient) -> None:
    cookie = browser.get("/", headers=PAGE).headers["set-cookie"]
    value = cookie.split("; ")[0]
    assert value.startswith(f"{COOKIE}=")
    first = visitor_from_cookies({COOKIE: value.partition("=")[2]})
    assert first.id != "nobody"
    again = browser.get("/runs", headers=PAGE)
    assert "set-cookie" not in again.headers, "a valid cookie is not replaced"
    browser.cookies.clear()
    for accept in ("*/*", "application/javascript", "text/css,*/*;q=0.1", ""):
        response = browser.get("/static/app.js", headers={"accept": accept})
        assert (response.text, "set-cookie" in response.headers) == ("here", False)
    second = browser.get("/", headers=PAGE)
    assert second.headers["cache-control"] == "no-store"
    assert visitor_from_cookies(second.cookies).id not in (first.id, "nobody")


def test_a_visitor_does_not_contain_the_cookie() -> None:
    visitor = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)})
    assert visitor.id not in ("", "nobody") and len(visitor.id) == 20
    assert visitor.owns(visitor.id) and not visitor.owns("bob") and not Visitor("").owns("")
    assert Visitor("ada", operator=True).owns("bob")
    assert not any(TOKEN[i : i + 6] in repr(dataclasses.asdict(visitor)) for i in range(len(TOKEN) - 5))


def test_an_invalid_cookie_is_nobodys_and_is_replaced(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Visitor("nobody", operator=False)
    assert visitor_from_cookies({}) == nobody
    cookie = issue_cookie(TOKEN)
    short = issue_cookie("short")
    for garbage in ("", "short", TOKEN, TOKEN + "x", TOKEN[:-1] + "é", "x" * 10_000, short, "A" + cookie[1:]):
        assert visitor_from_cookies({COOKIE: garbage}) == nobody
        browser.cookies.clear()
        response = browser.get("/", headers={**PAGE, "cookie": f"{COOKIE}={garbage}".encode()})  # type: ignore[dict-item]
        assert visitor_from_cookies(response.cookies).id != "nobody"
    for garbage in (TOKEN + "\n", "\ud800" * 22):
        assert visitor_from_cookies({COOKIE: garbage}) == nobody
    monkeypatch.setenv("LINEAGE_SECRET", "another key of a server")
    assert visitor_from_cookies({COOKIE: cookie}) == nobody


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_the_key_is_made_once_and_is_private(has_hard_links: bool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing.shared_values, "find_or_store", lambda _, make: make())  # there is no database
    file = home / signing.FILE
    if has_hard_links:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: signing._create(file), range(8)))
    else:
        monkeypatch.setattr(os, "link", Mock(side_effect=OSError(95, "Operation not supported")))
        signing._create(file)
    key = file.read_text("utf-8")
    signing._create(file)  # of another process, which was later
    assert signing.signing_key() == key == file.read_text("utf-8") and len(key) >= 32
    assert list(home.iterdir()) == [file]
    if os.name == "posix":  # Windows has no such permissions
        assert file.stat().st_mode & 0o077 == 0


def test_the_key_survives_a_lost_database_and_is_the_same_at_all_servers(
    database: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing, "_shared_key", signing._shared_key.__wrapped__)  # nothing is remembered
    key = signing.signing_key()
    assert (home / signing.FILE).read_text("utf-8") == key
    (home / signing.FILE).unlink()
    assert signing.signing_key() == key, "it is in the database"
    if database == "postgresql":
        monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "other"))
    else:
        if os.name == "posix":  # Windows has no such permissions
            assert (home / "index.db").stat().st_mode & 0o077 == 0
        (home / signing.FILE).write_text(key, "utf-8")
        close_database()
        (home / "index.db").unlink()
    assert signing.signing_key() == key


def test_an_unsigned_cookie_of_an_owner_is_signed(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = visitor_from_cookies({COOKIE: issue_cookie(TOKEN)})
    monkeypatch.setattr(index, "search", lambda query: ["a run"] if query.owner == owner.id else [])
    for token, stays in ((TOKEN, True), ("x" * 22, False)):
        browser.cookies.clear()
        response = browser.get("/", headers=PAGE | {"cookie": f"{COOKIE}={token}"})
        assert (issue_cookie(token) == response.cookies[COOKIE]) == stays
        assert (visitor_from_cookies(response.cookies) == owner) == stays


def test_new_visitors_are_limited_for_each_address(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = rate_limits.NEW_VISITORS.per_address
    assert (usual.amount, usual.get_expiry()) == (600, 600), "a class of 400 may share one address"
    limit = dataclasses.replace(rate_limits.NEW_VISITORS, per_address=RateLimitItemPerMinute(3, 10))
    monkeypatch.setattr(rate_limits, "NEW_VISITORS", limit)
    other = TestClient(browser.app, client=("9.9.9.9", 1))
    for client, has_cookie in ((browser, True), (browser, True), (browser, True), (browser, False), (other, True)):
        client.cookies.clear()
        response = client.get("/", headers=PAGE)
        assert (response.text, "set-cookie" in response.headers) == ("here", has_cookie)


def test_passwords_are_limited_and_logged(browser: TestClient, monkeypatch: Patch, caplog: Log) -> None:
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


def sign_in(browser: TestClient, password: str) -> Response:
    return browser.post("/operator", data={"password": password}, follow_redirects=False)  # type: ignore[return-value]


def test_without_a_password_there_is_no_operator(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for response in (browser.get("/operator"), sign_in(browser, ""), sign_in(browser, "guess")):
        assert response.status_code == 404 and OPERATOR not in response.headers.get("set-cookie", "")
    unsigned = ("", "0" * 64, "é")
    for token in (*unsigned, visitors._operator_signer(signing.signing_key(), "").sign("x").decode()):
        assert not visitor_from_cookies({OPERATOR: token}).operator
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open")
    assert not any(visitor_from_cookies({OPERATOR: token}).operator for token in unsigned)


def test_in_a_frame_the_operator_is_sent_to_a_tab(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame")
    for method, form in (("GET", None), ("POST", {"password": "open sesame"})):
        response = browser.request(method, "/operator", data=form, headers={"sec-fetch-dest": "iframe"})
        assert 'target="_blank"' in response.text and "password" not in response.text
    assert OPERATOR not in browser.cookies
    assert 'type="password"' in browser.get("/operator", headers={"sec-fetch-dest": "document"}).text


def test_the_operator_signs_in_and_out(database: str, browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
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
        monkeypatch.setattr(visitors, "_ended_due", 0.0)
    visitors._ended.clear()
    monkeypatch.setattr(transactions, "run_transaction", Mock(side_effect=StoreError("no")))
    assert visitor_from_cookies(cookies).operator, "the last known, while the database does not answer"


def test_any_other_request_body_is_refused(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open")
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for body in (
        *(b"", b"password=close", b"passwort=open", b"password=close&password=open", b"password=opener"),
        *(b"password=open%00", b"password=\xff\xfe%ff", b'{"password": "open"}', b"&" * 100_000),
        *(b"x=" + b"y" * 3_000 + b"&password=open", b"password=<script>alert(1)</script>"),
    ):
        rate_limits.reset()
        response = browser.post("/operator", content=body, headers=headers)
        assert (response.status_code, "set-cookie" in response.headers) == (200, False), body
        assert "This is not the password." in response.text and "alert" not in response.text
