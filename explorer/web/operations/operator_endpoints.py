"""What the operator's page shows and does: `static/operator/page.js` polls the first address.

    GET   /operator/state                   servers, trainings, classes and the disk, as JSON
    POST  /operator/servers/ID/drain        let a server take no more trainings and no new visitors
    POST  /operator/servers/ID/undrain      let it take them again

Trainings are stopped and classes ended by the same addresses as elsewhere (`job_endpoints`, `classes/endpoints`).
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.database import servers
from explorer.database.servers import Server
from explorer.environment import environment
from explorer.errors import LineageError, NotAllowed, UnknownServer
from explorer.run_store import index
from explorer.web import job_endpoints
from explorer.web.classes import store
from explorer.web.classes.tables import ClassOverview
from explorer.web.visitors import Visitor, visitor_from_cookies

_NOT_ALLOWED = "Only the operator sees this. Sign in at /operator."
_HEADERS = {"Cache-Control": "no-store"}


def _find_operator(request: Request) -> Visitor:
    """Return the visitor who has sent this request. Raises NotAllowed for anyone but the operator."""
    visitor = visitor_from_cookies(request.cookies)
    if not visitor.operator:
        raise NotAllowed(_NOT_ALLOWED)
    return visitor


def state_endpoint(request: Request) -> Response:
    """GET /operator/state: return everything that the operator's page shows."""
    try:
        operator = _find_operator(request)
    except NotAllowed as error:
        return JSONResponse({"problem": str(error)}, 403, headers=_HEADERS)
    problem = ""
    found: list[Server] = []
    classes: list[ClassOverview] = []
    disk = {"limit": environment().most_disk}
    try:
        found = servers.living()
        classes = store.list_classes()
        disk["used"] = index.used_bytes()
    except LineageError as error:
        problem = str(error)
    jobs = [row for row in job_endpoints.job_rows(operator) if row["state"] in ("waiting", "running")]
    return JSONResponse(
        {
            "servers": [_server_data(server) for server in found],
            "jobs": jobs,
            "classes": [asdict(each) for each in classes],
            "disk": disk,
            "problem": problem,
        },
        headers=_HEADERS,
    )


def _server_data(server: Server) -> dict[str, object]:
    """Return what the page shows of a server; the ids of visitors are for other servers only."""
    facts = {name: fact for name, fact in server.facts.items() if name != "visitors"}
    times = {name: _format_time(getattr(server, name)) for name in ("started", "seen")}
    return asdict(server) | times | {"facts": facts, "this": server.id == servers.this_server()}


def _format_time(time: datetime) -> str:
    """Return a time as the browser reads it; the database gives times in UTC without saying so."""
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def command_endpoint(request: Request) -> Response:
    """POST /operator/servers/ID/drain or /undrain. The required header `X-Lineage` prevents cross-site submissions."""
    if "x-lineage" not in request.headers:
        return JSONResponse({"problem": "This address is for the pages of this site."}, 403, headers=_HEADERS)
    command = request.path_params["command"]
    try:
        _find_operator(request)
        if command not in ("drain", "undrain"):
            return JSONResponse({"problem": "A server has no such command."}, 404, headers=_HEADERS)
        servers.set_draining(request.path_params["id"], command == "drain")
    except NotAllowed as error:
        return JSONResponse({"problem": str(error)}, 403, headers=_HEADERS)
    except UnknownServer as error:
        return JSONResponse({"problem": str(error)}, 404, headers=_HEADERS)
    except LineageError as error:
        return JSONResponse({"problem": str(error)}, 503, headers=_HEADERS)
    return Response(status_code=204)


ROUTES = [
    Route("/operator/state", state_endpoint),
    Route("/operator/servers/{id:str}/{command:str}", command_endpoint, methods=["POST"]),
]
