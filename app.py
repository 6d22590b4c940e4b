"""The server: Streamlit as an ASGI app with our HTTP routes, the job service and static files.

Start it with `streamlit run app.py`.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

import streamlit as st
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from explorer.cluster import earlier_runs
from explorer.database import engine, home_lock
from explorer.environment import environment, vanished_settings
from explorer.errors import LineageError, StoreError
from explorer.jobs.service import service
from explorer.labs.depth import stacks
from explorer.lessons.parse import read_lessons
from explorer.program_files import LAB_FILES, STATIC_FILES
from explorer.run_store import storage
from explorer.sweeps.driver import sweep_driver
from explorer.ui.base_path import base_path
from explorer.ui.state import page_states
from explorer.web import job_endpoints, lesson_sheet, results, security, unknown_address, visitors
from explorer.web.classes import endpoints as class_endpoints
from explorer.web.classes import store as class_store
from explorer.web.client_address import ClientAddressMiddleware
from explorer.web.operations import (
    memory,
    metrics,
    operator_endpoints,
    readiness,
    server_log,
    start_message,
    warmup,
)
from explorer.web.signing import signing_key

server_log.configure()  # before the server logs its start
memory.start()
log = logging.getLogger("explorer.app")
INDEX_PAGE = files("streamlit") / "static" / "index.html"
_COMPONENT_FILE = re.compile(r"\w+/components/\w+/\w+\.(js|css)", re.ASCII)


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


class ComponentFiles(CachedStaticFiles):
    """The JavaScript and CSS of the components in the folders of the labs, and nothing else of these folders."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not _COMPONENT_FILE.fullmatch(PurePath(path).as_posix()):
            raise HTTPException(404)
        return await super().get_response(path, scope)


def announce_start() -> None:
    """Say in the terminal where the app is open, and open it in the browser unless the server is headless."""
    names = ("server.address", "server.port", "server.baseUrlPath", "server.sslCertFile")
    address, port, path, certificate = (st.get_option(name) for name in names)
    runs = place_of_runs()
    stored = (
        f"Nothing is stored: {runs} cannot be written" if engine.stores_nothing() else f"Your runs are stored in {runs}"
    )
    message = start_message.describe_start(address, port, path, bool(certificate), stored)
    if server_log.is_json():
        log.info(message)
    else:
        start_message.print_in_any_encoding(message)
    if not st.get_option("server.headless"):
        url = start_message.url_of_server(address, port, path, bool(certificate))
        start_message.open_browser(url, address, port)


def place_of_runs() -> str:
    """Return where the runs are stored: LINEAGE_RUNS without credentials, or else LINEAGE_HOME."""
    return storage.current().address


def check_run_storage() -> None:
    """Raise InvalidSetting or StoreError if LINEAGE_RUNS cannot be used, or if the database lists other runs."""
    if environment().run_storage or environment().database_url:
        from explorer.run_store import index  # imports SQLAlchemy, which the first page must not wait for

        try:
            index.check_store()
        except index.ForeignDatabase:
            raise
        except StoreError:
            if environment().run_storage:
                raise  # otherwise pages say that the database does not answer


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    locks = ExitStack()
    try:
        environment()  # an invalid setting stops the server here instead of failing for the first visitor
        for sentence in vanished_settings():
            log.warning("%s", sentence)
        read_lessons(check_state=page_states.url_problems)  # and so does an invalid lesson
        locks.enter_context(home_lock.hold())
        check_run_storage()
        signing_key()
        class_store.start()
        service.restore()
    except LineageError:
        sys.tracebacklimit = 0  # its sentence says what to change
        raise
    warmup.start(prefetch=[stacks.prefetch_default_stacks, earlier_runs.move_runs_of_home])
    announce_start()
    sweep_driver.start()
    yield {}
    sweep_driver.close()
    service.close()
    class_store.stop()
    locks.close()


def below_base_path(*routes: BaseRoute) -> list[BaseRoute]:
    """Return our routes below `server.baseUrlPath`; Streamlit moves only its own."""
    moved: list[BaseRoute] = []
    for route in routes:
        if isinstance(route, Mount):
            moved.append(Mount(base_path() + route.path, route.app))
        elif isinstance(route, Route):
            moved.append(Route(base_path() + route.path, route.endpoint, methods=route.methods))
    return moved


ROUTES: list[Mount | Route] = [
    # revalidated at every request, sent only when changed
    Mount("/assets/static", CachedStaticFiles(STATIC_FILES, "no-cache")),
    Mount("/assets/labs", ComponentFiles(LAB_FILES, "no-cache")),
    Mount("/assets/vendor", CachedStaticFiles(STATIC_FILES / "vendor", "max-age=86400")),
    Route("/operator", visitors.operator_endpoint, methods=["GET", "POST"]),
    *operator_endpoints.ROUTES,
    *job_endpoints.ROUTES,
    *results.ROUTES,
    *class_endpoints.ROUTES,
    *lesson_sheet.ROUTES,
    *metrics.ROUTES,
    *readiness.ROUTES,
]
app = st.App(
    "pages/navigation.py",
    lifespan=lifespan,
    routes=below_base_path(*ROUTES),
    middleware=[
        Middleware(metrics.MetricsMiddleware, routes=[route.path for route in ROUTES], base_path=base_path()),
        Middleware(ClientAddressMiddleware),
        Middleware(security.SecurityMiddleware, index_page=INDEX_PAGE.read_text("utf-8"), base_path=base_path()),
        Middleware(visitors.VisitorMiddleware),
        Middleware(GZipMiddleware, minimum_size=10_000),
        Middleware(unknown_address.UnknownAddressMiddleware, index_page=INDEX_PAGE.read_bytes(), base_path=base_path()),
    ],
)
