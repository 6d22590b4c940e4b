"""Who is here: a visitor is a random number in a cookie, the operator one who knows the password. No accounts.

Only a hash of the cookie is used anywhere else, so what is stored and listed opens nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.environment import environment
from explorer.errors import LineageError
from explorer.training.jobs import service

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
    """One browser. The empty id is the terminal's, which may do everything."""

    id: str
    operator: bool = False

    def owns(self, owner: str) -> bool:
        """Whether a run or training of this owner may be changed."""
        return self.operator or (bool(self.id) and owner == self.id)


def who(cookies: Mapping[str, str]) -> Visitor:
    """The visitor that a browser's cookies name; nobody where there is no valid one."""
    token = cookies.get(COOKIE, "")
    known = hashlib.sha256(token.encode()).hexdigest()[:20] if _VALID.fullmatch(token) else "nobody"
    return Visitor(known, _signed_in(cookies.get(OPERATOR, "")))


def visitor() -> Visitor:
    """Who looks at this page."""
    found = who(st.context.cookies)
    if found.id == "nobody":  # a browser without cookies is somebody new in every window
        found = Visitor(st.session_state.setdefault("lineage.visitor", secrets.token_hex(10)), found.operator)
    return found


@dataclass
class Window:
    """One open window of a visitor, and what ends with it."""

    visitor: str
    deleted: list[str] = field(default_factory=list)  # runs that it can still ask back


def window() -> Window:
    """This window; the job service knows that it is open, and when it closes. Called at least once a run."""
    return _open_window(visitor().id)


def forget_deleted(closed: Window) -> None:
    """What was deleted here can no longer be asked back."""
    if closed.deleted:
        from explorer.training import library

        with contextlib.suppress(LineageError):  # the next start empties the trash
            library.purge(closed.deleted)
        closed.deleted = []


def _close(closed: Window) -> None:
    service.leave(closed.visitor)
    forget_deleted(closed)


@st.cache_resource(scope="session", max_entries=4, show_spinner=False, on_release=_close)
def _open_window(visitor_id: str) -> Window:
    service.arrive(visitor_id)
    return Window(visitor_id)


class Visitors:
    """ASGI middleware: a page that is opened without a valid cookie brings one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = HTTPConnection(scope) if scope["type"] == "http" else None
        is_page = asked is not None and "text/html" in asked.headers.get("accept", "")  # not its scripts, all at once
        if asked is None or not is_page or _VALID.fullmatch(asked.cookies.get(COOKIE, "")):
            await self.app(scope, receive, send)
            return

        async def greeting(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = _cookie(COOKIE, secrets.token_urlsafe(16), scope["scheme"] == "https")
                MutableHeaders(raw=message["headers"]).append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, greeting)


def _cookie(name: str, value: str, secure: bool) -> str:
    made = Response()
    made.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="lax", secure=secure)
    return made.headers["set-cookie"]


def _operator_token() -> str:
    """What the operator's cookie holds; another password makes it void."""
    password = environment().operator_password
    return hmac.new(password.encode(), b"operator of lineage", hashlib.sha256).hexdigest() if password else ""


def _signed_in(token: str) -> bool:
    right = _operator_token()
    return bool(right) and hmac.compare_digest(token.encode(), right.encode())


async def operator(request: Request) -> Response:
    """The page where the operator signs in."""
    password = environment().operator_password
    if not password:
        words = "This server has no operator: LINEAGE_OPERATOR_PASSWORD is not set where it was started."
        return HTMLResponse(_SIGN_IN.format(words=words, form=""), status_code=404)
    words = "The operator may stop every training and delete every run."
    if request.method == "POST":
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > 2_000:  # nobody's password; the rest is not read
                break
        given = parse_qs(body[:2_000].decode(errors="replace")).get("password", [""])[0]
        if hmac.compare_digest(given.encode(), password.encode()):
            answer = RedirectResponse("/runs", status_code=303)
            answer.headers.append("set-cookie", _cookie(OPERATOR, _operator_token(), request.url.scheme == "https"))
            return answer
        await asyncio.sleep(1)  # guessing takes time
        words = "This is not the password."
    return HTMLResponse(_SIGN_IN.format(words=words, form=_FORM))
