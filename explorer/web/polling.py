"""Live figures of running jobs: the browser polls an endpoint for their data.

No page script runs for a poll: a script run costs many times more, and on a busy server it can interrupt another
interaction of the same visitor.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.errors import DamagedRun

_MAX_POLLS = 2_000  # browser tabs; the one whose page was drawn longest ago is dropped first
_polls: OrderedDict[str, Callable[[], dict[str, object] | None]] = OrderedDict()


def register_poll(name: str, draw: Callable[[], dict[str, object] | None], seconds: float) -> dict[str, object]:
    """Register a live figure for this browser tab; return the URL to poll and the interval in seconds.

    `draw` is called from any thread, outside a page script. It returns the data of the figure, or None when no job
    runs any more; the browser then reruns the page.
    """
    token = st.session_state.setdefault(f"lineage.live.{name}", secrets.token_urlsafe(16))
    _polls.pop(token, None)  # move it to the end, even if another thread has just dropped it
    _polls[token] = draw
    while len(_polls) > _MAX_POLLS:
        _polls.popitem(last=False)
    return {"address": f"/live/{token}", "seconds": seconds}


def reset() -> None:
    """Drop every registered poll."""
    _polls.clear()


def poll_endpoint(request: Request) -> Response:
    """GET /live/TOKEN: return the current data of a figure; null if no job runs or the token is unknown."""
    draw = _polls.get(request.path_params["token"])
    picture = None
    if draw:
        with suppress(DamagedRun):  # the page reruns and names the damaged run
            picture = draw()
    return JSONResponse(picture, headers={"Cache-Control": "no-store"})


ROUTES = [Route("/live/{token:str}", poll_endpoint)]
