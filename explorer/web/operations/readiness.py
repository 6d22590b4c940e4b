"""GET /ready: whether a proxy or a cluster should send new visitors to this server.

`_stcore/health` answers as soon as the process runs. This address also needs the database, and answers with status 503
and a sentence while the server is still importing what its pages need.
"""

from __future__ import annotations

import asyncio

from sqlalchemy import text
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from explorer.database.engine import run_transaction
from explorer.errors import LineageError
from explorer.web.operations import warmup

_SECONDS = 5.0  # for which the answer of the database is awaited


async def ready_endpoint(request: Request) -> Response:
    """Return status 200, or 503 with the reason why this server should get no new visitors."""
    problem = "" if warmup.is_ready() else "This server is still starting."
    try:
        if not problem:
            await asyncio.wait_for(asyncio.to_thread(run_transaction, _ask_database), _SECONDS)
    except TimeoutError:
        problem = f"The database has not answered for {_SECONDS:g} seconds."
    except LineageError as error:
        problem = str(error)
    headers = {"Cache-Control": "no-store"}
    return PlainTextResponse(f"{problem or 'ready'}\n", 503 if problem else 200, headers=headers)


def _ask_database(session: Session) -> None:
    session.execute(text("SELECT 1"))


ROUTES = [Route("/ready", ready_endpoint)]
