"""HTTP endpoints of the jobs panel (`components/jobs_panel`): list, stop and resume training jobs.

The panel polls these endpoints, so that no page script has to run to update a progress bar.
"""

from __future__ import annotations

import time

from cachetools import FIFOCache
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.catalogue import model_row, task_row
from explorer.errors import LineageError, NotAllowed, TooManyRequests, shorten
from explorer.jobs.job import JobView
from explorer.jobs.service import service
from explorer.training.config import RunConfig, changed_settings
from explorer.web import rate_limits
from explorer.web.client_address import client_address
from explorer.web.visitors import NOBODY, Visitor, visitor_from_cookies

_LISTED_SECONDS = 20.0  # seconds for which a visitor's own job stays in the list after its end
_end_first_seen: FIFOCache[str, float] = FIFOCache(1_000)  # time at which a job was first seen to have ended


def reset() -> None:
    """Delete the recorded end times of all jobs."""
    _end_first_seen.clear()


def describe_config(config: RunConfig) -> str:
    """Return the settings of a configuration that differ from the defaults, in a few words."""
    parts = [f"{config.replicas} seeds" if config.replicas > 1 else "1 seed"]
    parts += [f"{name} = {value}" for name, value in changed_settings(config).items() if name != "replicas"]
    if config.branch:
        parts.append(f"from step {config.branch.step:,} of {config.branch.parent}")
    return ", ".join(parts)


def job_rows(visitor: Visitor) -> list[dict[str, object]]:
    """Return a row for each of the visitor's own jobs, and for the operator also the running jobs of all others."""
    views = service.views(visitor.id)
    waiting = sum(view.state == "waiting" for view in views)
    mine = {view.key for view in views if visitor.id in service.requesters(view.key)}
    listed = [view for view in views if view.key in mine or (visitor.operator and not view.done)]
    shown = [view for view in listed if not view.done or _ended_recently(view)]
    shown.sort(key=lambda view: (view.key not in mine, view.done))
    return [_row(view, visitor, waiting) for view in shown[:60]]


def _ended_recently(view: JobView) -> bool:
    now = time.monotonic()
    return now - _end_first_seen.setdefault(f"{view.key}/{view.state}/{view.seconds}", now) < _LISTED_SECONDS


def _row(view: JobView, visitor: Visitor, waiting: int) -> dict[str, object]:
    row = model_row(view.config.model)
    mine = visitor.owns(view.starter)
    return {
        "key": view.key,
        "title": row.title,
        "detail": shorten(describe_config(view.config), 80),
        "colour": row.colour,
        "state": view.state,
        "step": view.step,
        "steps": view.config.steps,
        "left": service.seconds_left(view),
        "loss": view.loss,
        "mine": visitor.id in service.requesters(view.key),
        "can_stop": mine and not view.done,
        "can_resume": mine and view.state == "stopped" and view.saved,
        "problem": view.problem,
        "href": f"{task_row(view.config.task).page}?run={view.key}",
        "ahead": max(waiting - 1, 0) if view.state == "waiting" else 0,
    }


def jobs_endpoint(request: Request) -> Response:
    """GET /jobs: return the rows of the jobs panel."""
    rows = job_rows(visitor_from_cookies(request.cookies))
    return JSONResponse({"jobs": rows}, headers={"Cache-Control": "no-store"})


def command_endpoint(request: Request) -> Response:
    """POST /jobs/KEY/stop or /resume. The required header `X-Lineage` prevents cross-site form submissions."""
    visitor, run_key = visitor_from_cookies(request.cookies), request.path_params["key"]
    if "x-lineage" not in request.headers:
        return JSONResponse({"problem": "This address is for the panel of this site."}, status_code=403)
    command = {"stop": service.stop, "resume": service.resume}.get(request.path_params["command"])
    if command is None:
        return JSONResponse({"problem": "A training can be stopped and resumed, nothing else."}, status_code=404)
    try:
        if command == service.resume:
            if visitor.id == NOBODY:
                raise NotAllowed("Your browser has no cookie of this site. Allow cookies for it and reload the page.")
            rate_limits.check(rate_limits.TRAININGS, client_address(request.scope), visitor.id)
        command(run_key, visitor.id, visitor.operator)
    except LineageError as error:
        headers = {"Retry-After": str(error.seconds)} if isinstance(error, TooManyRequests) else {}
        status = 429 if headers else 403 if isinstance(error, NotAllowed) else 404
        return JSONResponse({"problem": str(error)}, status, headers)
    return Response(status_code=204)


ROUTES = [
    Route("/jobs", jobs_endpoint),
    Route("/jobs/{key:str}/{command:str}", command_endpoint, methods=["POST"]),
]
