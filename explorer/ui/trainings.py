"""What this server is training, for the small panel on every page (`assets/jobs.js`), and its two buttons.

The panel asks by itself, so no page has to be run again only to move a progress bar.
"""

from __future__ import annotations

import time
from collections import OrderedDict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.catalogue import model_row, task_row
from explorer.errors import LineageError, NotAllowed, shortened
from explorer.training.config import RunConfig, differing
from explorer.training.job import View
from explorer.training.jobs import service
from explorer.ui.visitors import Visitor, who

_STAYS = 600.0  # seconds that a training of one's own stays in the list after its end
_ended: OrderedDict[str, float] = OrderedDict()  # when the end of a job was first seen


def described(config: RunConfig) -> str:
    """What is not as usual in a configuration, in a few words."""
    parts = [f"{config.replicas} seeds" if config.replicas > 1 else "1 seed"]
    parts += [f"{name} = {value}" for name, value in differing(config).items() if name != "replicas"]
    if config.branch:
        parts.append(f"from step {config.branch.step:,} of {config.branch.parent}")
    return ", ".join(parts)


def listed(visitor: Visitor) -> list[dict[str, object]]:
    """The trainings that this visitor is told of: their own, then everybody's that are under way."""
    views = service.views(visitor.id)
    waiting = sum(view.state == "waiting" for view in views)
    mine = {view.key for view in views if visitor.id in service.asked(view.key)}
    shown = [view for view in views if not view.done or (view.key in mine and _fresh(view))]
    shown.sort(key=lambda view: (view.key not in mine, view.done))
    return [_row(view, visitor, waiting) for view in shown[:60]]


def _fresh(view: View) -> bool:
    """Whether a training ended a short while ago, counted from when somebody first looked."""
    name = f"{view.key}/{view.state}/{view.seconds}"
    seen = _ended.setdefault(name, time.monotonic())
    while len(_ended) > 1_000:
        _ended.popitem(last=False)
    return time.monotonic() - seen < _STAYS


def _row(view: View, visitor: Visitor, waiting: int) -> dict[str, object]:
    row = model_row(view.config.model)
    mine = visitor.owns(view.starter)
    return {
        "key": view.key,
        "title": row.title,
        "detail": shortened(described(view.config), 80),
        "colour": row.colour,
        "state": view.state,
        "step": view.step,
        "steps": view.config.steps,
        "left": view.left,
        "loss": view.loss,
        "mine": visitor.id in service.asked(view.key),
        "can_stop": mine and not view.done,
        "can_resume": mine and view.state == "stopped" and view.saved,
        "problem": view.problem,
        "href": f"/{task_row(view.config.task).page}?run={view.key}",
        "ahead": max(waiting - 1, 0) if view.state == "waiting" else 0,
    }


async def jobs(request: Request) -> Response:
    """GET /jobs"""
    return JSONResponse({"jobs": listed(who(request.cookies))}, headers={"Cache-Control": "no-store"})


async def wish(request: Request) -> Response:
    """POST /jobs/KEY/stop or /resume. The header keeps other sites' forms out."""
    visitor, run = who(request.cookies), request.path_params["key"]
    if "x-lineage" not in request.headers:
        return JSONResponse({"problem": "This address is for the panel of this site."}, status_code=403)
    act = {"stop": service.stop, "resume": service.resume}.get(request.path_params["wish"])
    if act is None:
        return JSONResponse({"problem": "A training can be stopped and resumed, nothing else."}, status_code=404)
    try:
        act(run, visitor.id, visitor.operator)
    except NotAllowed as error:
        return JSONResponse({"problem": str(error)}, status_code=403)
    except LineageError as error:
        return JSONResponse({"problem": str(error)}, status_code=404)
    return Response(status_code=204)


ROUTES = [
    Route("/jobs", jobs),
    Route("/jobs/{key:str}/{wish:str}", wish, methods=["POST"]),
]
