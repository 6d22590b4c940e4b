"""The table `jobs`: one row for each training of all servers that share a database, and its transactions.

A server trains a job only if it has claimed its row (`server`). A claim ends when the server releases it, or when it
gives no more signs of life (`servers.py`): then another one may claim the row. Whatever the server that trains writes
requires that it still holds its claim (`is_held`, `update_row`), so a server that was frozen and has lost it changes
nothing. `shared_jobs.py` decides when rows are read and written.
"""

from __future__ import annotations

import datetime
import secrets
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import JSON, BigInteger, LargeBinary, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database import notifications, servers
from explorer.database.engine import Base, read_clock
from explorer.errors import StoreError
from explorer.jobs.job import Job, JobView, later_step
from explorer.jobs.order import decode, encode, of_prefix, with_prefix
from explorer.training.config import to_json
from explorer.training.record import Curves

ACTIVE = ("waiting", "running")  # states of a job that has not ended
SHOWN = ("state", "step", "seconds", "left", "loss", "parameters", "repeated", "difference", "saved", "problem")
_KEPT_ROWS, _KEPT_TIME = 300, datetime.timedelta(days=1)  # of jobs that have ended


class JobRow(Base):
    """One training."""

    __tablename__ = "jobs"

    key: Mapped[str] = mapped_column(primary_key=True)
    submission: Mapped[str]  # another text each time that the configuration is submitted again
    mark: Mapped[str]  # another text after every change
    config: Mapped[dict[str, Any]]
    starter: Mapped[str]
    submitted: Mapped[datetime.datetime]
    changed: Mapped[datetime.datetime]
    requesters: Mapped[list[str]] = mapped_column(JSON)
    watchers: Mapped[list[str]] = mapped_column(JSON)
    until: Mapped[int] = mapped_column(BigInteger)
    stop_requested: Mapped[bool]
    crashes: Mapped[int]  # as in job.json: one is counted before a training, and taken back after it
    claims: Mapped[int]  # how often a server has claimed it
    server: Mapped[str | None]  # the one that has claimed it
    # What a JobView shows:
    state: Mapped[str]
    step: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
    left: Mapped[float | None]
    loss: Mapped[float | None]
    parameters: Mapped[int] = mapped_column(BigInteger)
    repeated: Mapped[bool | None]
    difference: Mapped[float | None]
    saved: Mapped[bool]
    problem: Mapped[str]
    curves: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    curves_mark: Mapped[str]  # another text after every change of the curves


def insert_rows(session: Session, jobs: Mapping[str, Job]) -> dict[str, tuple[str, str]]:
    """Insert the rows of new jobs, replace those of jobs that have ended, or join those that have not.

    jobs: by submission

    Returns the submission and the starter of each, by key. Raises StoreError if a row is removed at this moment.
    """
    now = read_clock(session)
    ordered = sorted(jobs.items(), key=lambda each: each[1].key)  # all servers lock rows in the same order
    new = {job.key: _new_row(job, submission, now) for submission, job in ordered}
    statement = insert(JobRow).values(list(new.values())).on_conflict_do_nothing().returning(JobRow.key)
    inserted = set(session.scalars(statement))
    found = {}
    for submission, job in ordered:
        row = None if job.key in inserted else session.get(JobRow, job.key, with_for_update=True)
        if row and row.state in ACTIVE:
            row.requesters = sorted({*row.requesters, *job.requesters})
            row.watchers = sorted({*row.watchers, *job.watchers})
            row.until = later_step(row.until, job.until)
            row.mark = new_mark()
        elif row:
            for name, value in new[job.key].items():
                setattr(row, name, value)
        elif job.key not in inserted:
            raise StoreError(f"The row of job {job.key} was removed at this moment; it is inserted again.")
        found[job.key] = (row.submission, row.starter) if row else (submission, job.starter)
        announce(session, f"changed {job.key}")
    return found


def _new_row(job: Job, submission: str, now: datetime.datetime) -> dict[str, Any]:
    return {
        "key": job.key,
        "submission": submission,
        "mark": new_mark(),
        "config": to_json(job.view().config),
        "starter": job.starter,
        "submitted": now,
        "changed": now,
        "requesters": sorted(job.requesters),
        "watchers": sorted(job.watchers),
        "until": job.until,
        "stop_requested": job.requested_action == "stop",
        "crashes": job.crashes,
        "claims": 0,
        "server": None,
        "curves": None,
        "curves_mark": "",
    } | view_values(job.view(), job.unstored)


def claim_row(session: Session, run_key: str, submission: str) -> JobRow | None:
    """Claim a row that no living server holds, and return it as it is then."""
    living, this = servers.living_ids(session), servers.this_server()
    if this not in living:  # the others would take the job over at once
        return None
    is_free = or_(JobRow.server.is_(None), JobRow.server == this)
    if servers.may_take_over():
        is_free = or_(is_free, JobRow.server.not_in(living))
    here = (JobRow.key == run_key, JobRow.submission == submission, JobRow.state.in_(ACTIVE))
    row = session.scalars(select(JobRow).where(*here, is_free).with_for_update(skip_locked=True)).first()
    if row is None:
        return None
    row.server, row.mark, row.changed = this, new_mark(), read_clock(session)
    row.claims += 1
    row.crashes += 1
    return row


def is_held(session: Session, run_key: str, submission: str) -> bool:
    """Return whether this server holds the claim of a job."""
    return session.scalar(select(JobRow.key).where(*_held_row(run_key, submission))) is not None


def _held_row(run_key: str, submission: str) -> tuple[Any, ...]:
    """Return the condition that this server holds the claim of a job."""
    return JobRow.key == run_key, JobRow.submission == submission, JobRow.server == servers.this_server()


def update_row(session: Session, run_key: str, submission: str, values: dict[str, Any]) -> bool:
    """Write these columns of a job, and return False if this server does not hold its claim."""
    values = values | {"mark": new_mark(), "changed": func.clock_timestamp()}
    statement = update(JobRow).where(*_held_row(run_key, submission)).values(values).returning(JobRow.key)
    return session.execute(statement).first() is not None


def find_active(session: Session, run_key: str) -> bool | None:
    """Return whether the job of this key waits or runs; None if there is no row."""
    state = session.scalar(select(JobRow.state).where(JobRow.key == run_key))
    return None if state is None else state in ACTIVE


def remove_old_rows(session: Session) -> None:
    """Remove the rows of jobs that ended long ago, and of all but the last few hundred that have ended."""
    ended = JobRow.state.not_in(ACTIVE)
    kept = select(JobRow.key).where(ended).order_by(JobRow.changed.desc()).limit(_KEPT_ROWS)
    oldest = read_clock(session) - _KEPT_TIME
    session.execute(delete(JobRow).where(ended, or_(JobRow.changed < oldest, JobRow.key.not_in(kept))))


def announce(session: Session, text: str) -> bool:
    """Notify all servers of something after the commit, with the id of this one. Returns True."""
    notifications.publish(session, "jobs", f"{text} {servers.this_server()}")
    return True


def new_mark() -> str:
    """Return a text that differs from all others."""
    return secrets.token_hex(8)


def view_values(view: JobView, unstored: bool) -> dict[str, Any]:
    """Return the columns that show a job to other servers. A run that waits to be stored counts as running there."""
    values = {name: getattr(view, name) for name in SHOWN} | {"problem": view.problem.replace("\0", "")}
    return values | ({"state": "running"} if unstored else {})


def curve_values(view: JobView) -> dict[str, Any]:
    """Return the columns with the curves of a job."""
    return {"curves": encode_curves(view.curves), "curves_mark": new_mark()} if view.curves else {}


def encode_curves(curves: Curves) -> bytes:
    """Return curves as compressed bytes, with the types of their numbers."""
    arrays = {name: getattr(curves, name) for name in ("losses", "tokens", "seconds", "evaluated")}
    for part in ("metrics", "answers", "signals"):
        arrays |= with_prefix(f"{part}.", getattr(curves, part))
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    return zlib.compress(encode({"first": curves.first, "samples": curves.samples}, arrays), 1)


def decode_curves(content: bytes) -> Curves:
    """Return the curves in these bytes."""
    header, arrays = decode(zlib.decompress(content))
    plain = ("losses", "tokens", "seconds", "evaluated")
    parts = ("metrics", "answers", "signals")
    values: dict[str, Any] = {name: arrays[name] for name in plain}
    values |= {part: of_prefix(f"{part}.", arrays) for part in parts}
    return Curves(first=header["first"], samples=tuple(map(tuple, header["samples"])), **values)
