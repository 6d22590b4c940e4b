"""The process: Streamlit as an ASGI app, with the job service and the files its pages' instruments need.

streamlit run app.py
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from explorer.environment import environment
from explorer.training.jobs import service
from explorer.ui import class_routes, left_pages, lessons, live, packed, streams, trainings, visitors, warmup

log = logging.getLogger("lineage")
OURS = Path(__file__).parent / "explorer" / "ui" / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data"


class Assets(StaticFiles):
    """A folder of static files with its own rule for how long a browser may keep them."""

    def __init__(self, directory: Path, keep: str) -> None:
        super().__init__(directory=directory)
        self.keep = keep

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = self.keep
        return response


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    environment()  # a setting that is not possible is said now, not to the first visitor
    lessons.every()  # and so is a lesson, not to a class
    service.restore()
    left_pages.forget_what_left_pages_ask()
    warmup.start()
    yield {}
    service.close()


def log_error(error: Exception) -> bool:
    """The visitor reads one sentence (Streamlit's own); the trace goes to the log."""
    log.error("a page failed", exc_info=error)
    return False


app = st.App(
    "pages/navigation.py",
    lifespan=lifespan,
    routes=[
        Mount("/assets/lineage", Assets(OURS, "no-cache")),  # asked for each time, sent only when changed
        Mount("/assets/plotly", Assets(PLOTLY, "max-age=86400")),
        Route("/operator", visitors.operator, methods=["GET", "POST"]),
        *trainings.ROUTES,
        *live.ROUTES,
        *streams.ROUTES,
        *packed.ROUTES,
        *class_routes.ROUTES,
    ],
    middleware=[Middleware(visitors.Visitors), Middleware(GZipMiddleware, minimum_size=10_000)],
    on_script_error=log_error,
)
