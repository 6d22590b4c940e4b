"""GET /operator/state: what the operator's page shows, as JSON; `static/operator/page.js` polls it.

It is about the server that answers; trainings are those of this server, classes and the disk those of its database.
Trainings are stopped and classes ended by the same addresses as elsewhere (`job_endpoints`, `classes/endpoints`).
"""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.environment import environment
from explorer.errors import LineageError
from explorer.run_store import index
from explorer.web import job_endpoints
from explorer.web.classes import store
from explorer.web.operations import server_facts
from explorer.web.visitors import visitor_from_cookies

_NOT_ALLOWED = "Only the operator sees this. Sign in at /operator."
_HEADERS = {"Cache-Control": "no-store"}


def state_endpoint(request: Request) -> Response:
    """Return everything that the operator's page shows."""
    operator = visitor_from_cookies(request.cookies)
    if not operator.operator:
        return JSONResponse({"problem": _NOT_ALLOWED}, 403, headers=_HEADERS)
    disk = {"limit": environment().most_disk}
    state: dict[str, object] = {"server": server_facts.read_facts(), "classes": [], "disk": disk, "problem": ""}
    try:
        state["classes"] = [asdict(each) for each in store.list_classes()]
        disk["used"] = index.used_bytes()
    except LineageError as error:
        state["problem"] = str(error)
    state["jobs"] = [row for row in job_endpoints.job_rows(operator) if row["state"] in ("waiting", "running")]
    return JSONResponse(state, headers=_HEADERS)


ROUTES = [Route("/operator/state", state_endpoint)]
