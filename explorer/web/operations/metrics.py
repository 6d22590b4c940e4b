"""GET /metrics: what the operator's monitoring reads about this server, in the text format of Prometheus.

Events are counted where they happen (`explorer.metrics`). Everything else is read from the parts of the program when it
is asked for, so that no second count can be wrong. It is for the operator and for programs on this machine; others need
LINEAGE_METRICS_TOKEN.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.environment import environment
from explorer.errors import LineageError
from explorer.jobs.service import service
from explorer.metrics import REGISTRY, REQUEST_SECONDS, REQUESTS
from explorer.run_store import index
from explorer.web.classes import store
from explorer.web.client_address import is_loopback
from explorer.web.operations.server_facts import read_memory
from explorer.web.visitors import visitor_from_cookies

_NOT_ALLOWED = (
    "The metrics of this server are for its operator. Sign in at /operator, ask from the machine of the server without "
    "a proxy, or send the header “Authorization: Bearer …” with the value of LINEAGE_METRICS_TOKEN.\n"
)
# Headers by which a request shows that a proxy has passed it on.
_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_HOST_NAMES = ("127.0.0.1", "::1", "localhost")  # of a request that comes from this machine without a proxy
PAGES, OTHERS = "page", "other"  # labels of the addresses of pages, and of all that are not named below
_STREAMLIT = {"_stcore": "streamlit", "static": "streamlit", "media": "streamlit", "component": "streamlit"}
_open_connections = 0  # WebSockets, one for each open page


def may_read(request: Request) -> bool:
    """Return whether this request may read the metrics."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    expected = environment().metrics_token
    if expected and kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), expected.encode()):
        return True
    if visitor_from_cookies(request.cookies).operator:
        return True
    is_direct = not any(name in request.headers for name in _PROXY_HEADERS) and request.url.hostname in _HOST_NAMES
    return is_direct and is_loopback(request.client.host if request.client else "")


def metrics_endpoint(request: Request) -> Response:
    """GET /metrics: return all metrics of this server to those who may read them."""
    if not may_read(request):
        return PlainTextResponse(_NOT_ALLOWED, 403, headers={"Cache-Control": "no-store"})
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


class MetricsMiddleware:
    """ASGI middleware that counts requests, and measures how long each waits for the beginning of its answer.

    The label of a request is the first part of its address if one of `routes`, such as "/class/{code:str}", begins with
    it, and "page" or "other" otherwise, so there are few labels whatever is requested. `base_path`: of the site, or
    empty.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[str], base_path: str = "") -> None:
        self.app = app
        self.base_path = base_path
        self._labels = {name: name for name in (path.split("/")[1] for path in routes)} | _STREAMLIT

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        global _open_connections
        if scope["type"] == "websocket":
            _open_connections += 1
            try:
                await self.app(scope, receive, send)
            finally:
                _open_connections -= 1
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route, begun, is_counted = self._label(scope["path"]), time.perf_counter(), False

        def count(status: int) -> None:
            nonlocal is_counted
            if not is_counted:
                is_counted = True
                REQUESTS.labels(route, f"{status // 100}xx").inc()
                REQUEST_SECONDS.labels(route).observe(time.perf_counter() - begun)

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, send_and_count)
        except Exception:
            count(500)  # the server answers so, unless the answer had begun
            raise

    def _label(self, path: str) -> str:
        first, _, rest = path.removeprefix(self.base_path).strip("/").partition("/")
        return self._labels.get(first) or (OTHERS if rest else PAGES)


class _ServerCollector(Collector):
    """What is read from the parts of the program at the moment of a request."""

    def describe(self) -> list[Metric]:
        return []  # nothing is read when the collector is registered

    def collect(self) -> Iterator[Metric]:
        browsers, tabs = service.jobs.count_presence()
        yield GaugeMetricFamily("lineage_visitors", "Browsers that have a page of this server open.", browsers)
        yield GaugeMetricFamily("lineage_tabs", "Browser tabs that have a page of this server open.", tabs)
        yield GaugeMetricFamily("lineage_connections", "Open WebSockets of pages.", _open_connections)
        yield self._jobs()
        memory = dict(zip(("server", "workers"), read_memory(), strict=True))
        yield _gauge("lineage_memory_bytes", "Memory of this server and of its worker processes.", "part", memory)
        yield GaugeMetricFamily("lineage_disk_limit_bytes", "LINEAGE_MOST_DISK.", environment().most_disk)
        try:
            from_database = list(self._read_database())
        except LineageError:
            from_database = []
        yield from from_database
        answers = "1 if the database answers, otherwise 0."
        yield GaugeMetricFamily("lineage_database_up", answers, bool(from_database))

    def _jobs(self) -> Metric:
        states, executor = service.count_states(), environment().executor
        help_of_jobs = "Trainings of this server that have not ended."
        jobs = GaugeMetricFamily("lineage_jobs", help_of_jobs, labels=["state", "executor"])
        for state in ("waiting", "running"):
            jobs.add_metric([state, executor], states[state])
        return jobs

    def _read_database(self) -> Iterator[Metric]:
        """Yield what is in the database, which several servers may share. Raises StoreError."""
        yield GaugeMetricFamily("lineage_disk_used_bytes", "Size of all stored runs.", index.used_bytes())
        classes = store.list_classes()
        yield GaugeMetricFamily("lineage_classes", "Classes that have not ended.", len(classes))
        members = {name: sum(getattr(each, name) for each in classes) for name in ("present", "joined")}
        about = "Students of all classes: present now, or joined at any time."
        yield _gauge("lineage_class_members", about, "state", members)


def _gauge(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return a metric with a value for each value of its label."""
    metric = GaugeMetricFamily(name, about, labels=[label])
    for each, value in values.items():
        metric.add_metric([each], value)
    return metric


ProcessCollector(registry=REGISTRY)
REGISTRY.register(_ServerCollector())
ROUTES = [Route("/metrics", metrics_endpoint)]
