"""What the browsers of a class ask of the server, and tell it. No page is run for that: thirty may answer at once."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.errors import InvalidSetting, LineageError, NotAllowed
from explorer.ui import classes, lessons
from explorer.ui.classes import NoClass, Room
from explorer.ui.slowly import work
from explorer.ui.visitors import Visitor, who

_LONGEST = 2_000  # bytes of an answer
_NOBODY = "Your browser keeps no cookies, so your answer could be counted twice. Allow them for this site."


def _told(room: Room, visitor: Visitor) -> dict[str, object]:
    """The picture of a class, with the measured answer once it is revealed."""
    found = classes.picture(room, visitor)
    stage = room.stage
    if not stage.lesson:
        return found
    made = work(lessons.key_of(stage.lesson, stage.step), lambda: lessons.measure(stage.lesson, stage.step), "quick")
    if found["revealed"] and made.done() and not made.cancelled():
        try:
            step = lessons.step_of(stage.lesson, stage.step)[1]
            found["answer"] = lessons.revealed(step, made.result(), found["mine"], not found["teaches"])
        except LineageError as error:
            found["problem"] = str(error)
    return found


def classroom(request: Request) -> Response:
    """GET /class/CODE: what there is; once the class is over, a sentence that says so."""
    visitor = who(request.cookies)
    try:
        room = classes.find(request.path_params["code"])
        if not room.steered_by(visitor) and visitor.id != "nobody":
            classes.attend(room, visitor.id)
        return _json(_told(room, visitor))
    except NoClass as error:
        return _json({"over": True, "problem": str(error)})


async def tell(request: Request) -> Response:
    """POST /class/CODE/answer {number, given}, /reveal {number} or /end {}. The header keeps other sites' forms out."""
    visitor, code = who(request.cookies), request.path_params["code"]
    if "x-lineage" not in request.headers:
        return _json({"problem": "This address is for the pages of this site."}, 403)
    try:
        body = await _body(request)
        number = body.get("number")
        if not isinstance(number, int):
            raise InvalidSetting("It is not said to which question this belongs.")
        match request.path_params["wish"]:
            case "answer":
                if visitor.id == "nobody":
                    raise NotAllowed(_NOBODY)
                classes.answer(code, visitor.id, number, body.get("given"))
            case "reveal":
                classes.reveal(code, visitor, number)
            case "end":
                classes.end(code, visitor)
                return _json({"over": True, "problem": "The class has ended."})
            case _:
                return _json({"problem": "A class can be answered, revealed and ended, nothing else."}, 404)
        return _json(_told(classes.find(code), visitor))
    except LineageError as error:
        return _refused(error)


async def _body(request: Request) -> dict[str, object]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > _LONGEST:
            raise InvalidSetting("That is too long for an answer.")
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidSetting("That is no answer: an object of JSON is.")
    return found


def _refused(error: LineageError) -> Response:
    status = 404 if isinstance(error, NoClass) else 403 if isinstance(error, NotAllowed) else 422
    return _json({"problem": str(error)}, status)


def _json(data: dict[str, object], status: int = 200) -> Response:
    return JSONResponse(data, status, headers={"Cache-Control": "no-store"})


ROUTES = [
    Route("/class/{code:str}", classroom),
    Route("/class/{code:str}/{wish:str}", tell, methods=["POST"]),
]
