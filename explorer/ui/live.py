"""Pictures of what trains: a browser that shows one asks for it again by itself.

No page is run for that: a run of the page costs many times more, and one that meets another gesture of the
same visitor on a busy server may be lost.
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

_MOST = 2_000  # windows; a later one takes the place of the one whose page was drawn longest ago
_pictures: OrderedDict[str, Callable[[], dict[str, object] | None]] = OrderedDict()


def offer(name: str, draw: Callable[[], dict[str, object] | None], seconds: float) -> dict[str, object]:
    """Where this window finds a picture of this name from now on, and how soon it should ask.

    `draw` is called from any thread, outside of any page; it returns the picture's data, or None when nothing
    trains any more: then the page is run once more.
    """
    token = st.session_state.setdefault(f"lineage.live.{name}", secrets.token_urlsafe(16))
    _pictures.pop(token, None)  # to the end, also if another thread has just made room
    _pictures[token] = draw
    while len(_pictures) > _MOST:
        _pictures.popitem(last=False)
    return {"address": f"/live/{token}", "seconds": seconds}


def live(request: Request) -> Response:
    """GET /live/TOKEN: the picture as it is now; null where nothing trains, or nobody knows of it."""
    draw = _pictures.get(request.path_params["token"])
    picture = None
    if draw:
        with suppress(DamagedRun):  # the page, which is run once more then, says which one
            picture = draw()
    return JSONResponse(picture, headers={"Cache-Control": "no-store"})


ROUTES = [Route("/live/{token:str}", live)]
