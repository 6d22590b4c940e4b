"""HTTP endpoints of a classroom. They run without a page script, so that thirty students can answer at once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache

import segno
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.errors import InvalidSetting, LineageError, NotAllowed, StoreError, TooManyRequests
from explorer.web import lesson_results, rate_limits
from explorer.web.classes import actions, answers_csv, store, waiting
from explorer.web.classes.classroom import Classroom, UnknownClassroom
from explorer.web.client_address import client_address
from explorer.web.visitors import NOBODY, Visitor, visitor_from_cookies

HOLD_SECONDS = 5.0  # seconds for which a request waits for a change; well below `PRESENCE_SECONDS`
_MAX_BODY_BYTES = 2_000  # bytes of a request body
_NO_COOKIES_MESSAGE = (
    "Your browser has no cookie of this site, so your answer could be counted twice. Allow cookies for this site and "
    "reload the page."
)


def _classroom_data(classroom: Classroom, visitor: Visitor) -> dict[str, object]:
    """Return the state of a classroom for one visitor, with the measured answer once it is revealed."""
    data = classroom.state_for(visitor)
    shown = classroom.shown
    if not shown.lesson:
        return data
    result = lesson_results.submit_step(shown.lesson, shown.step)
    if data["revealed"] and result.done() and not result.cancelled():
        try:
            step = lesson_results.find_step(shown.lesson, shown.step)[1]
            mine = data["first"] if data["mine"] is None else data["mine"]
            data["answer"] = lesson_results.result_data(step, result.result(), mine, not data["teaches"])
        except LineageError as error:
            data["problem"] = str(error)
    return data


async def classroom_endpoint(request: Request) -> Response:
    """GET /class/CODE: return the state of the classroom, or a message once the class has ended.

    The state for a student has a `mark`. With `?mark=MARK` the request waits until the state is another one for this
    student, for HOLD_SECONDS at most. There is no mark for the teacher, who sees every answer, and while the answer is
    measured, because the end of a measurement is announced to nobody.
    """
    code, mark = request.path_params["code"], request.query_params.get("mark")
    with waiting.change_of_class(store.read_code(code)) as change:  # one that happens during the reading is not missed
        data, status = await run_in_threadpool(_read_state, request, code)
        is_known = bool(mark) and data.get("mark") == mark
        if is_known:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(change.wait(), HOLD_SECONDS)
    if is_known:
        data, status = await run_in_threadpool(_read_state, request, code)
    return _json_response(data, status)


def _read_state(request: Request, code: str) -> tuple[dict[str, object], int]:
    """Return the state of a class for the visitor of a request, and the status of the answer."""
    visitor = visitor_from_cookies(request.cookies)
    try:
        classroom = store.find_classroom_for(code, visitor, client_address(request.scope))
        if not classroom.is_led_by(visitor) and visitor.id != NOBODY:
            store.record_presence(classroom, visitor.id)
        data = _classroom_data(classroom, visitor)
    except UnknownClassroom as error:
        return {"over": True, "problem": str(error)}, 200
    except LineageError as error:
        return {"problem": str(error)}, _status_of(error)
    is_measured = not classroom.revealed or not classroom.shown.lesson or bool({"answer", "problem"} & set(data))
    mark = _mark_state(data) if is_measured and not data["teaches"] else ""
    return ({**data, "mark": mark} if mark else data), 200


def _mark_state(data: Mapping[str, object]) -> str:
    """Return a text that changes with what a student sees of a state: not who is present and who has answered."""
    unseen = {"present"} if data["visible"] else {"present", "votes"}
    seen = {name: value for name, value in data.items() if name not in unseen}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


def answers_endpoint(request: Request) -> Response:
    """GET /class/CODE/answers.csv: return all answers of the class to its teacher as a CSV file."""
    visitor, code = visitor_from_cookies(request.cookies), request.path_params["code"]
    try:
        store.find_classroom_for(code, visitor, client_address(request.scope))
        answered, _ = store.answered_questions(code, visitor)
        rate_limits.check(rate_limits.DOWNLOADS, client_address(request.scope), visitor.id)
    except LineageError as error:
        return _error_response(error)
    name = f"class-{store.read_code(code)}.csv"
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(answers_csv.format_answers(answered), media_type="text/csv; charset=utf-8", headers=headers)


async def command_endpoint(request: Request) -> Response:
    """POST /class/CODE/answer {number, vote, given}, /remove {number, arrivals}, /control {number, lasts} (a code for
    another device; `lasts`: until the class ends), or with {number} only: /reveal, /show and /hide (the votes, to the
    teacher), /why and /votes (what the wall shows after the reveal), /again (a second vote), /close, /open, /alone (no
    other device controls the class), /end.

    The required header `X-Lineage` prevents cross-site form submissions. Status 503 means that the database does not
    answer now: the browser sends an answer again.
    """
    if "x-lineage" not in request.headers:
        return _json_response({"problem": "This address is for the pages of this site."}, 403)
    try:
        body = await _read_body(request)
        return await run_in_threadpool(_obey_command, request, body)
    except LineageError as error:
        return _error_response(error)


def _obey_command(request: Request, body: dict[str, object]) -> Response:
    visitor, code = visitor_from_cookies(request.cookies), request.path_params["code"]
    number = body.get("number")
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidSetting("The request does not say which question it is for.")
    store.find_classroom_for(code, visitor, client_address(request.scope))
    match request.path_params["command"]:
        case "answer":
            if visitor.id == NOBODY:
                raise NotAllowed(_NO_COOKIES_MESSAGE)
            rate_limits.check(rate_limits.ANSWERS, client_address(request.scope), visitor.id)
            given, vote = body.get("given"), body.get("vote", 1)
            if not isinstance(vote, int) or isinstance(vote, bool):
                raise InvalidSetting("The request does not say which vote it is for.")
            answer = given if isinstance(given, str | int | float) else None
            classroom = actions.record_answer(code, visitor.id, number, answer, vote)
        case "reveal":
            classroom = actions.reveal_answer(code, visitor, number)
        case "show" | "hide" as command:
            classroom = actions.set_as_teacher(code, visitor, number, votes_shown=command == "show")
        case "why" | "votes" as command:
            classroom = actions.set_as_teacher(code, visitor, number, explained=command == "why")
        case "control":
            control = actions.create_control_code(code, visitor, bool(body.get("lasts")))
            url = f"{str(request.url).partition('/class/')[0]}/lessons?join={control}"
            return _json_response({"control": control, "address": url, "qr": qr_code(url)})
        case "alone":
            classroom = actions.keep_control(code, visitor)
        case "again":
            classroom = actions.start_second_vote(code, visitor, number)
        case "remove":
            classroom = actions.remove_answers(code, visitor, number, _read_numbers(body.get("arrivals")))
        case "close" | "open" as command:
            classroom = actions.set_as_teacher(code, visitor, closed=command == "close")
        case "end":
            actions.end_classroom(code, visitor)
            return _json_response({"over": True, "problem": "The class has ended."})
        case _:
            return _json_response({"problem": "A class has no such command."}, 404)
    return _json_response(_classroom_data(classroom, visitor))


@lru_cache(maxsize=256)
def qr_code(url: str) -> dict[str, object]:
    """Return a QR code as one SVG path, one unit per module, with the required quiet zone of four modules."""
    modules = segno.make(url, error="m", micro=False).matrix
    dark = [f"M{x + 4} {y + 4}h1v1h-1z" for y, row in enumerate(modules) for x, module in enumerate(row) if module]
    return {"size": len(modules) + 8, "path": "".join(dark)}


async def _read_body(request: Request) -> dict[str, object]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > _MAX_BODY_BYTES:
            raise InvalidSetting("The request is too long for an answer.")
    try:
        body = json.loads(data or b"{}")
    except (ValueError, RecursionError):  # RecursionError: too many brackets inside each other
        body = None
    if not isinstance(body, dict):
        raise InvalidSetting("The request is no JSON object.")
    return body


def _read_numbers(given: object) -> set[int]:
    if not isinstance(given, list) or not all(isinstance(each, int) for each in given):
        raise InvalidSetting("The answers to remove are missing: a list of their numbers is needed.")
    return set(given)


def _error_response(error: LineageError) -> Response:
    headers = {"Retry-After": str(error.seconds)} if isinstance(error, TooManyRequests) else {}
    return _json_response({"problem": str(error)}, _status_of(error), headers)


def _status_of(error: LineageError) -> int:
    statuses = {TooManyRequests: 429, UnknownClassroom: 404, NotAllowed: 403, StoreError: 503}
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 422)


def _json_response(data: dict[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(data, status, headers={"Cache-Control": "no-store", **(headers or {})})


ROUTES = [
    Route("/class/{code:str}", classroom_endpoint),
    Route("/class/{code:str}/answers.csv", answers_endpoint),
    Route("/class/{code:str}/{command:str}", command_endpoint, methods=["POST"]),
]
