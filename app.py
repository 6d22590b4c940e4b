"""The server: Streamlit as an ASGI app with our HTTP routes, the job service and static files.

Start it with `streamlit run app.py`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from explorer.environment import environment
from explorer.jobs.scheduler import service
from explorer.labs.depth import stack_measurements
from explorer.lessons.parse import read_lessons
from explorer.ui.state import page_states
from explorer.web import (
    classroom_endpoints,
    job_endpoints,
    lesson_sheet,
    results,
    security,
    visitors,
    warmup,
)
from explorer.web.client_address import ClientAddressMiddleware

log = logging.getLogger("lineage")
INDEX_PAGE = files("streamlit") / "static" / "index.html"
STATIC_FILES = Path(__file__).parent / "explorer" / "static"


class CachedStaticFiles(StaticFiles):
    """A folder of static files with its own Cache-Control header."""

    def __init__(self, directory: Path, cache_control: str) -> None:
        super().__init__(directory=directory)
        self.cache_control = cache_control

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = self.cache_control
        if path.endswith(".gz"):
            response.headers["Content-Encoding"] = "gzip"
        return response


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    environment()  # an invalid setting stops the server here instead of failing for the first visitor
    read_lessons(check_state=page_states.url_problems)  # and so does an invalid lesson
    service.restore()
    warmup.start(prefetch=[stack_measurements.prefetch_default_stacks])
    yield {}
    service.close()


def log_error(error: Exception) -> bool:
    """Log the traceback of an unexpected error; Streamlit shows the visitor its standard message."""
    log.error("a page failed", exc_info=error)
    return False


app = st.App(
    "pages/navigation.py",
    lifespan=lifespan,
    routes=[
        # revalidated at every request, sent only when changed
        Mount("/assets/lineage", CachedStaticFiles(STATIC_FILES, "no-cache")),
        Mount("/assets/vendor", CachedStaticFiles(STATIC_FILES / "vendor", "max-age=86400")),
        Route("/operator", visitors.operator_endpoint, methods=["GET", "POST"]),
        *job_endpoints.ROUTES,
        *results.ROUTES,
        *classroom_endpoints.ROUTES,
        *lesson_sheet.ROUTES,
    ],
    middleware=[
        Middleware(ClientAddressMiddleware),
        Middleware(security.SecurityMiddleware, index_page=INDEX_PAGE.read_text()),
        Middleware(visitors.VisitorMiddleware),
        Middleware(GZipMiddleware, minimum_size=10_000),
    ],
    on_script_error=log_error,
)
