"""Visitors and the operator: a visitor is a random token in a signed cookie, the operator signs in with a password.

Only this server can make a valid cookie (see `signing`), and the number of new ones is limited for each address. All
other modules see only a hash of the token, so stored and listed ids cannot be used to sign in.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import hmac
import json
import logging
import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import parse_qs

from cachetools import LRUCache, TTLCache
from itsdangerous import BadSignature, Signer, TimestampSigner
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.database import shared_values
from explorer.environment import environment
from explorer.errors import LineageError, StoreError, TooManyRequests
from explorer.run_store import index
from explorer.web import rate_limits
from explorer.web.client_address import client_address
from explorer.web.signing import signing_key
from explorer.web.transactions import transaction

log = logging.getLogger(__name__)
COOKIE, OPERATOR = "lineage_visitor", "lineage_operator"
NOBODY = "nobody"  # the id of a request without a valid cookie
SESSION_SECONDS = 12 * 3600  # of the operator
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
_YEAR = 365 * 24 * 3600
_SIGN_IN = """<!doctype html><html lang="en"><title>Operator</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 16px/1.6 sans-serif; max-width: 24rem; margin: 20vh auto; padding: 1rem }}
:root {{ color-scheme: light dark }}
input, button {{ font: inherit; padding: .4rem .6rem }}</style>
<h1>Operator</h1><p>{words}</p>{form}</html>"""
_FORM = """<form method="post"><label>Password <input name="password" type="password" autofocus required></label>
<button>Sign in</button></form>"""
_PAGE = """<!doctype html><html lang="en"><title>Operator</title>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="assets/static/shared/base.css">
<link rel="stylesheet" href="assets/static/operator/style.css">
<script type="module" src="assets/static/operator/page.js"></script>
<body class="lineage"><header><h1>Operator</h1><p>{words}</p>
<nav><a href="runs">Runs</a> <a href="metrics">Metrics</a>
<form method="post"><button class="lineage-button" name="sign-out" value="1">Sign out</button></form></nav></header>
<main id="operator"><p>The state of the server is being read.</p></main></body></html>"""

# Values of Sec-Fetch-Dest for a page in a frame, in which the browser would not keep the operator's cookie.
_FRAMES = ("iframe", "frame", "embed", "object")
_IN_FRAME = (
    "The operator cannot sign in within a frame. "
    '<a href="operator" target="_blank" rel="noopener">Open this page in a tab</a>.'
)

_failures: LRUCache[str, int] = LRUCache(10_000)  # failed sign-ins by address, since the last success there
_ended: TTLCache[str, None] = TTLCache(10_000, SESSION_SECONDS)  # signed out sessions of the operator, by their hash
_ENDED = "signed out sessions"  # the name of the value that all servers share: the hashes, and when to forget each
_ENDED_SECONDS = 2.0  # seconds after which it is read again
_ended_lock = threading.Lock()
_ended_due = 0.0  # when (`time.monotonic`)


@dataclass(frozen=True)
class Visitor:
    """A browser, by the hash of its cookie. The command line has the empty id."""

    id: str
    operator: bool = False

    def owns(self, owner: str) -> bool:
        """Return whether this visitor may change a run or a job of this owner."""
        return self.operator or (bool(self.id) and owner == self.id)


def visitor_from_cookies(cookies: Mapping[str, str]) -> Visitor:
    """Return the visitor of these cookies; the id is "nobody" without a cookie that this server has issued."""
    token = _signed_token(cookies.get(COOKIE, ""))
    return Visitor(_visitor_id(token) if token else NOBODY, operator_session_end(cookies) is not None)


def issue_cookie(token: str = "") -> str:
    """Return the value of a visitor's cookie, for a new visitor unless a token is given."""
    return _visitor_signer(signing_key()).sign(token or secrets.token_urlsafe(16)).decode()


def _visitor_id(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:20]


def _signed_token(value: str) -> str:
    """Return the token in the value of a visitor's cookie, or an empty text if this server has not signed it."""
    try:
        token = _visitor_signer(signing_key()).unsign(value.encode("utf-8", "replace")).decode()
    except (BadSignature, UnicodeError):
        return ""
    return token if _TOKEN.fullmatch(token) else ""


@lru_cache(maxsize=4)
def _visitor_signer(key: str) -> Signer:
    return Signer(key, salt="lineage visitor", digest_method=hashlib.sha256)


class VisitorMiddleware:
    """ASGI middleware that sets the visitor cookie on HTML responses if the request has no valid one.

    Above the limit of new visitors of an address the page comes without a cookie: its visitor can look at everything,
    but not train, answer or import.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope) if scope["type"] == "http" else None
        value = ""
        # Scripts are requested in parallel and would each get their own cookie.
        if connection and "text/html" in connection.headers.get("accept", ""):
            before = connection.cookies.get(COOKIE, "")
            with contextlib.suppress(TooManyRequests):
                if not _signed_token(before):
                    rate_limits.check(rate_limits.NEW_VISITORS, client_address(scope))
                    value = issue_cookie(await run_in_threadpool(_unsigned_owner, before))
        if not value:
            await self.app(scope, receive, send)
            return

        async def greeting(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.append("set-cookie", _set_cookie(COOKIE, value, _YEAR, "lax"))
                headers["cache-control"] = "no-store"  # a proxy must not give the cookie to others
            await send(message)

        await self.app(scope, receive, greeting)


def _unsigned_owner(token: str) -> str:
    """Return the token of a cookie of earlier versions, which were not signed, if stored runs belong to it.

    Such a token cannot be guessed, and without it the runs would no longer be their owner's.
    """
    if not _TOKEN.fullmatch(token):
        return ""
    try:
        return token if index.search(index.Query(owner=_visitor_id(token), limit=1)) else ""
    except LineageError:  # the index cannot be read now
        return ""


def _set_cookie(name: str, value: str, seconds: int, samesite: Literal["lax", "strict"]) -> str:
    """Return the header that sets a cookie; `SecurityMiddleware` adds what depends on the connection."""
    response = Response()
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite=samesite)
    return response.headers["set-cookie"]


# The operator


@lru_cache(maxsize=4)
def _operator_signer(key: str, password: str) -> TimestampSigner:
    """Return the signer of the operator's sessions; another password makes all of them invalid."""
    digest = hmac.new(key.encode(), password.encode(), hashlib.sha256).hexdigest()
    return TimestampSigner(digest, salt="operator of lineage", digest_method=hashlib.sha256)


def operator_session_end(cookies: Mapping[str, str]) -> datetime.datetime | None:
    """Return when the operator's session of these cookies ends (UTC), or None if they are not the operator's."""
    value, password = cookies.get(OPERATOR, ""), environment().operator_password
    if not value or not password:
        return None
    signer = _operator_signer(signing_key(), password)
    try:
        _, begun = signer.unsign(value.encode("utf-8", "replace"), max_age=SESSION_SECONDS, return_timestamp=True)
    except BadSignature:  # also SignatureExpired
        return None
    if _has_ended(_session_hash(value)):
        return None
    return begun + datetime.timedelta(seconds=SESSION_SECONDS)


def _session_hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


def _has_ended(session: str) -> bool:
    """Return whether the operator has ended a session, given by its hash, at any server, as far as is known."""
    global _ended_due
    with _ended_lock:
        if time.monotonic() >= _ended_due:
            _ended_due = time.monotonic() + _ENDED_SECONDS
            with contextlib.suppress(StoreError):
                for each in json.loads(transaction(lambda session: shared_values.read(session, _ENDED)) or "{}"):
                    _ended[each] = None
        return session in _ended


def _end_session(cookie: str) -> None:
    """End a session of the operator at all servers, also after a restart."""
    ended = _session_hash(cookie)
    with _ended_lock:
        _ended[ended] = None

    def store(session: Session) -> None:
        now = time.time()
        known = json.loads(shared_values.read(session, _ENDED) or "{}")
        stored = {each: until for each, until in known.items() if until > now} | {ended: now + SESSION_SECONDS}
        shared_values.write(session, _ENDED, json.dumps(stored))

    try:
        transaction(store, lock="shared values")
    except StoreError as error:
        log.warning("the operator has signed out at this server only: %s", error)


async def operator_endpoint(request: Request) -> Response:
    """GET or POST /operator: the operator signs in, sees the server (`operator_endpoints`), and signs out."""
    password, cookies = environment().operator_password, request.cookies
    if not password:
        message = "This server has no operator: LINEAGE_OPERATOR_PASSWORD is not set where it was started."
        return _sign_in_page(message, "", 404)
    if request.headers.get("sec-fetch-dest") in _FRAMES:
        return _sign_in_page(_IN_FRAME, "")
    fields = await _read_form(request) if request.method == "POST" else {}
    end = await run_in_threadpool(operator_session_end, cookies)
    if "sign-out" in fields:
        if end:
            await run_in_threadpool(_end_session, cookies[OPERATOR])
        return _redirect("operator", _set_cookie(OPERATOR, "", 0, "strict"))
    if request.method != "POST":
        message = "The operator may stop every training, end every class and delete every run."
        if end:
            page = _PAGE.format(words=f"{message} You are signed in until {end:%H:%M} UTC.")
            return HTMLResponse(page, headers={"Cache-Control": "no-store"})
        return _sign_in_page(message)
    address = client_address(request.scope)
    try:
        rate_limits.check(rate_limits.SIGN_INS, address)
    except TooManyRequests as error:
        return _sign_in_page(str(error), status=429, headers={"Retry-After": str(error.seconds)})
    if hmac.compare_digest(fields.get("password", "").encode(), password.encode()):
        _failures.pop(address, None)
        log.warning("the operator has signed in from %s", address)
        value = _operator_signer(signing_key(), password).sign(secrets.token_urlsafe(16)).decode()
        return _redirect("operator", _set_cookie(OPERATOR, value, SESSION_SECONDS, "strict"))
    _failures[address] = _failures.get(address, 0) + 1
    log.warning("failed sign-in of the operator from %s, number %d", address, _failures[address])
    return _sign_in_page("This is not the password.")


def _sign_in_page(
    words: str, form: str = _FORM, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    page = _SIGN_IN.format(words=words, form=form)
    return HTMLResponse(page, status, {"Cache-Control": "no-store", **(headers or {})})


async def _read_form(request: Request) -> dict[str, str]:
    """Return the first value of each field of a submitted form; what is too long for a password is ignored."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 2_000:
            break
    fields = parse_qs(body[:2_000].decode(errors="replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}


def _redirect(path: str, cookie: str) -> Response:
    answer = RedirectResponse(path, status_code=303)
    answer.headers.append("set-cookie", cookie)
    return answer
