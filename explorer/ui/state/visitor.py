"""The visitor and the browser tab that a page is drawn for.

`explorer.web.visitors` knows a visitor by a cookie; this module asks Streamlit for the cookies of the current page.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass, field

import streamlit as st

from explorer.errors import LineageError, NotAllowed
from explorer.jobs.service import service
from explorer.run_store import operations
from explorer.tasks.text import corpora
from explorer.web import rate_limits
from explorer.web.client_address import address_group
from explorer.web.rate_limits import Limit
from explorer.web.visitors import NOBODY, Visitor, visitor_from_cookies

NO_COOKIE_MESSAGE = (
    "Your browser has no cookie of this site, so everything can be looked at, but nothing can be trained, imported or "
    "answered. Allow cookies for this site and reload the page. If they are allowed, many new browsers came from your "
    "network at once: reload the page in ten minutes."
)


def current_visitor() -> Visitor:
    """Return the visitor of the current page."""
    visitor = visitor_from_cookies(st.context.cookies)
    if visitor.id == NOBODY:  # without cookies every browser tab is a new visitor
        visitor = Visitor(st.session_state.setdefault("lineage.visitor", secrets.token_hex(10)), visitor.operator)
    return visitor


def current_address() -> str:
    """Return the address of the current visitor as rate limits count it; "" in a script without a server."""
    return address_group(st.context.ip_address or "127.0.0.1") if st.context.headers else ""


def check_cookie() -> None:
    """Raise NotAllowed if the browser has no cookie of this server."""
    if st.context.headers and visitor_from_cookies(st.context.cookies).id == NOBODY:
        raise NotAllowed(NO_COOKIE_MESSAGE)


def count_action(limit: Limit) -> None:
    """Count an action of the current visitor that costs the server something.

    Raises NotAllowed if the browser has no cookie of this server, and TooManyRequests above the limit.
    """
    check_cookie()
    if address := current_address():  # a script without a server, as in AppTest, has no visitors from outside
        rate_limits.check(limit, address, current_visitor().id)


@dataclass
class BrowserTab:
    """One open browser tab of a visitor."""

    visitor: str
    deleted: list[str] = field(default_factory=list)  # runs that the visitor can still restore in this tab


def read_as_visitor() -> None:
    """Read texts for the current visitor from now on, in this thread and in the work that it submits."""
    corpora.reader.set(current_visitor().id)


def current_tab() -> BrowserTab:
    """Return this browser tab and register it with the job service; called at least once per run."""
    read_as_visitor()
    return _open_tab(current_visitor().id)


def purge_deleted_runs(closed: BrowserTab) -> None:
    """Delete for good the runs that were deleted in this tab."""
    if closed.deleted:
        with contextlib.suppress(LineageError):  # the next start empties the trash
            operations.purge_runs(closed.deleted)
        closed.deleted = []


def _close_tab(closed: BrowserTab) -> None:
    service.jobs.tab_closed(closed.visitor)
    purge_deleted_runs(closed)


@st.cache_resource(scope="session", max_entries=4, show_spinner=False, on_release=_close_tab)
def _open_tab(visitor_id: str) -> BrowserTab:
    service.jobs.tab_opened(visitor_id)
    return BrowserTab(visitor_id)
