"""Visitors and the operator: a visitor is a random token in a cookie, the operator signs in with a password.

All other modules see only a hash of the token, so stored and listed ids cannot be used to sign in.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.environment import environment

COOKIE, OPERATOR = "lineage_visitor", "lineage_operator"
_VALID = re.compile(r"[A-Za-z0-9_-]{22}")
_YEAR = 365 * 24 * 3600
_SIGN_IN = """<!doctype html><html lang="en"><title>Operator</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 16px/1.6 sans-serif; max-width: 24rem; margin: 20vh auto; padding: 1rem }}
:root {{ color-scheme: light dark }}
input, button {{ font: inherit; padding: .4rem .6rem }}</style>
<h1>Operator</h1><p>{words}</p>{form}</html>"""
_FORM = """<form method="post"><label>Password <input name="password" type="password" autofocus required></label>
<button>Sign in</button></form>"""


@dataclass(frozen=True)
class Visitor:
    """A browser, by the hash of its cookie. The command line has the empty id."""

    id: str
    operator: bool = False

    def owns(self, owner: str) -> bool:
        """Return whether this visitor may change a run or a job of this owner."""
        return self.operator or (bool(self.id) and owner == self.id)


def visitor_from_cookies(cookies: Mapping[str, str]) -> Visitor:
    """Return the visitor of these cookies; the id is "nobody" without a valid cookie."""
    token = cookies.get(COOKIE, "")
    visitor_id = hashlib.sha256(token.encode()).hexdigest()[:20] if _VALID.fullmatch(token) else "nobody"
    return Visitor(visitor_id, _is_operator(cookies.get(OPERATOR, "")))


class VisitorMiddleware:
    """ASGI middleware that sets the visitor cookie on HTML responses if the request has no valid one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope) if scope["type"] == "http" else None
        is_page = connection is not None and "text/html" in connection.headers.get(
            "accept", ""
        )  # scripts are requested in parallel and would each get their own cookie
        if connection is None or not is_page or _VALID.fullmatch(connection.cookies.get(COOKIE, "")):
            await self.app(scope, receive, send)
            return

        async def greeting(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = _cookie(COOKIE, secrets.token_urlsafe(16), scope["scheme"] == "https")
                MutableHeaders(raw=message["headers"]).append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, greeting)


def _cookie(name: str, value: str, secure: bool) -> str:
    response = Response()
    response.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="lax", secure=secure)
    return response.headers["set-cookie"]


def _expected_operator_token() -> str:
    """Return the value of the operator's cookie, which a new password makes invalid; empty without a password."""
    password = environment().operator_password
    return hmac.new(password.encode(), b"operator of lineage", hashlib.sha256).hexdigest() if password else ""


def _is_operator(token: str) -> bool:
    expected = _expected_operator_token()
    return bool(expected) and hmac.compare_digest(token.encode(), expected.encode())


async def operator_endpoint(request: Request) -> Response:
    """GET or POST /operator: the page on which the operator signs in."""
    password = environment().operator_password
    if not password:
        message = "This server has no operator: LINEAGE_OPERATOR_PASSWORD is not set where it was started."
        return HTMLResponse(_SIGN_IN.format(words=message, form=""), status_code=404)
    message = "The operator may stop every training and delete every run."
    if request.method == "POST":
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > 2_000:  # too long for a password; ignore the rest
                break
        typed = parse_qs(body[:2_000].decode(errors="replace")).get("password", [""])[0]
        if hmac.compare_digest(typed.encode(), password.encode()):
            answer = RedirectResponse("/runs", status_code=303)
            answer.headers.append(
                "set-cookie", _cookie(OPERATOR, _expected_operator_token(), request.url.scheme == "https")
            )
            return answer
        await asyncio.sleep(1)  # slows down guessing
        message = "This is not the password."
    return HTMLResponse(_SIGN_IN.format(words=message, form=_FORM))
