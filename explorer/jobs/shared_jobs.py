"""The trainings of all servers of one database: what this server knows about their rows (`job_rows.py`).

Each server remembers every row as a `Job`, which pages read without the database. It reads the rows that have changed
every second, and at once when another server announces a change. The curves of a training on another server are read
only while a page here looks at them; the server that trains hears of that, and writes them as often.

A server that loses its claim drops its copy of the job: it asks once more, under the lock of all runs, before it stores
a result. A job that is taken over goes on from the last checkpoint in the storage of runs (LINEAGE_RUNS). If the runs
are in a folder of each server instead, it begins at step 0, to the same curve. A server that is frozen while it uploads
a checkpoint may replace that of the server which has taken the job over; both are checkpoints of the same training.

While the database does not answer, trainings go on. Which server may store the result is decided by the row, so the
end of a training waits until the row can be read. What was submitted just before waits as well; after ten seconds
`check_reachable` refuses new trainings. When the database answers again, the servers take nothing over before all of
them have had the time to give signs of life (`servers.may_take_over`).
"""

from __future__ import annotations

import contextlib
import logging
import math
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from explorer.database import notifications, servers
from explorer.database.engine import is_shared, run_transaction
from explorer.environment import environment
from explorer.errors import LineageError, StoreError
from explorer.jobs.job import Job, JobView, Ownership, is_complete, later_step
from explorer.jobs.job_rows import (
    ACTIVE,
    SHOWN,
    JobRow,
    announce,
    claim_row,
    curve_values,
    decode_curves,
    insert_rows,
    is_held,
    new_mark,
    remove_old_rows,
    update_row,
    view_values,
)
from explorer.run_store import storage
from explorer.training.config import parse_config
from explorer.training.record import Curves

log = logging.getLogger(__name__)
_SYNC_SECONDS = 1.0  # seconds between two readings of the table, if nothing is announced
_LEAST_SECONDS = 0.1  # seconds between two readings if much is announced
_UNREACHABLE_SECONDS = 10.0  # seconds without a successful reading after which new trainings are refused
_RETRY_SECONDS = 1.0  # seconds between two attempts of what has to succeed
_CLAIM_SECONDS = 1.0  # seconds for which a new job is kept from the other servers, because this one may claim it
_LOST_CLAIM_SECONDS = 0.3  # seconds until a job that another server has got is tried again
_LOOK_SECONDS = 10.0  # seconds for which a page counts as looking at a job after it has read it
_ANNOUNCE_SECONDS = 4.0  # seconds between two announcements that a page looks at a job
_UPLOAD_SECONDS = 5.0  # least seconds between two uploads of checkpoints of one job
_UPLOAD_SHARE = 10  # times as long as an upload took is the least time until the next one begins
_TIDY_SECONDS = 60.0  # seconds between two removals of old rows by the leader
_UNREACHABLE_MESSAGE = (
    "No training can be started now, because the database that the servers share does not answer. Trainings under way "
    "go on; try again in a minute."
)


class SharedOwnership(Ownership):
    """What this server knows about the row of one job."""

    def __init__(self, shared: SharedJobs, job: Job, submission: str = "") -> None:
        self.inserted = bool(submission)  # whether the job is known to have a row
        self.insert_after = -math.inf  # when it may get one without being claimed at the same time (`time.monotonic`)
        self.submission = submission or secrets.token_hex(8)
        self.server = ""  # the one that has claimed it, as far as is known
        self.held = False  # whether this server has claimed it and has not yet lost it
        self.is_being_released = False  # whether the claim in the row may have ended although `held` is still true
        self.claim_after = -math.inf  # when it may be tried next (`time.monotonic`)
        self.claims = 0
        self.uploaded = False  # whether this server has uploaded a checkpoint since it claimed the job
        self.stop_wanted = False  # whether a stop has yet to be written into the row
        self.requesters: set[str] = set()  # that are in the row, as are the next two
        self.watchers: set[str] = set()
        self.until = 0
        self.looked_at = -math.inf  # when a page of this server last read the view
        self.announced_at = -math.inf  # when the server that trains was last told so
        self.wanted_at = -math.inf  # when another server last announced that a page looks at it
        self.curves_mark = ""  # of the curves in the row
        self.loaded_mark = ""  # of the row's curves that the view has
        self.change = 0  # the number of the last change that this server made; see `SharedJobs._note_change`
        self.previous: Job | None = None  # the one with the same configuration that may not be handed back yet
        self._shared, self._job = shared, job
        self._written: JobView | None = None  # the view that is in the row
        self._written_curves: Curves | None = None
        self._written_uploaded = False
        self._upload_after = -math.inf

    def confirm(self) -> bool:
        return self._shared.confirm(self._job)

    def save_checkpoint(self, folder: Path, at_once: bool = False) -> None:
        began = time.monotonic()
        if not self.held or not servers.is_living() or (began < self._upload_after and not at_once):
            return
        try:
            storage.current().save_checkpoint(self._job.key, folder)
            self.uploaded = keeps_checkpoints()
        except (LineageError, OSError) as error:
            log.warning("the checkpoint of %s could not be uploaded: %s", self._job.key, error)
        now = time.monotonic()
        self._upload_after = now + max(_UPLOAD_SECONDS, _UPLOAD_SHARE * (now - began))

    @property
    def waits_for_previous(self) -> bool:
        """Whether the end of the job with the same configuration has yet to be written."""
        return self.previous is not None and ownership(self.previous).held

    @property
    def is_wanted(self) -> bool:
        """Whether a page of another server looks at the job."""
        return time.monotonic() - self.wanted_at < _LOOK_SECONDS

    def is_written(self, view: JobView) -> bool:
        """Return whether the row shows this view, with its curves if somebody looks at them."""
        has_curves = self._written_curves is view.curves or not self.is_wanted
        return self._written is view and has_curves and self._written_uploaded == self.uploaded

    def note_written(self, view: JobView, with_curves: bool) -> None:
        self._written, self._written_uploaded = view, self.uploaded
        if with_curves:
            self._written_curves = view.curves


def ownership(job: Job) -> SharedOwnership:
    """Return what is known about the row of a job that all servers share."""
    assert isinstance(job.ownership, SharedOwnership)
    return job.ownership


def is_possible() -> bool:
    """Return whether this process shares its trainings with others: it is a server of a shared database."""
    return servers.is_registered() and is_shared()


def keeps_checkpoints() -> bool:
    """Return whether other servers find the checkpoints of this one: LINEAGE_RUNS is object storage."""
    return bool(environment().run_storage) and environment().shared_folder is None


class SharedJobs:
    """The rows of all jobs, for the job service of this server.

    list_jobs: returns all jobs that this server remembers and that have a row, or will have one
    remember: adds a job of another server, or one that was submitted again, to those that are remembered, instead of
        the previous one of this key; returns False if that is no longer the previous one
    forget: removes one whose row is gone
    on_change: is called after something has changed, on the thread of this class
    """

    def __init__(
        self,
        list_jobs: Callable[[], dict[str, Job]],
        remember: Callable[[Job, Job | None], bool],
        forget: Callable[[Job], None],
        on_change: Callable[[], None],
    ) -> None:
        self.living: frozenset[str] = frozenset()  # ids of the servers that live
        self._takes_over = True  # whether the claims of the others count as given up
        self._taking: frozenset[str] = frozenset()  # ids of the living servers that are not drained
        self._list_jobs, self._remember, self._forget, self._on_change = list_jobs, remember, forget, on_change
        self._mutex = threading.Lock()  # between claims, their ends, and the application of what was read
        self._inserting = threading.Lock()
        self._changes = 0  # number of changes that this server has made
        self._marks: dict[str, str] = {}  # of the rows as they were last read
        self._seen_elsewhere: dict[str, float] = {}  # when a visitor last had a tab open on another server
        self._present_elsewhere: frozenset[str] = frozenset()  # visitors who had one when this was last read
        self._read_at = time.monotonic()  # when the table was last read
        self._tidied_at = time.monotonic()
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._sync_periodically, name="jobs", daemon=True)
        _open.add(self)

    def start(self) -> None:
        """Read all rows soon, and then those that change."""
        self._wake.set()
        self._thread.start()

    def stop_waiting(self) -> None:
        """Give up instead of waiting for the database from now on, and release whatever is handed back."""
        self._closing.set()

    def close(self) -> None:
        """Write what has not been written yet, as far as this is possible, and end the thread."""
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        _open.discard(self)
        with contextlib.suppress(StoreError):
            self._write_all(list(self._list_jobs().values()))

    # ---- called by the job service

    def check_reachable(self) -> None:
        """Raise StoreError if the database has not answered for a while."""
        if not self.is_reachable():
            raise StoreError(_UNREACHABLE_MESSAGE)

    def is_reachable(self) -> bool:
        return time.monotonic() - self._read_at < _UNREACHABLE_SECONDS

    def add(self, job: Job, previous: Job | None = None) -> None:
        """Give a job a row soon. `previous`: one with the same configuration that has ended."""
        job.ownership = own = SharedOwnership(self, job)
        own.previous = previous if previous and previous.is_shared else None
        own.insert_after = time.monotonic() + _CLAIM_SECONDS

    def wait_for_slot(self, job: Job) -> None:
        """Let other servers see a job that does not get a slot here at once."""
        ownership(job).insert_after = -math.inf
        self.sync_soon()

    def sync_soon(self) -> None:
        """Write what this server has changed, and read what others have changed."""
        self._wake.set()

    def look_at(self, job: Job) -> None:
        """Note that a page reads the view of a job, which needs its curves."""
        own, now = ownership(job), time.monotonic()
        is_new = now - own.looked_at > _LOOK_SECONDS
        own.looked_at = now
        if is_new and not own.held:
            self._wake.set()

    def is_claimable(self, job: Job) -> bool:
        """Return whether this server may train a job, as far as is known."""
        own = ownership(job)
        return not job.view().done and (own.server in ("", servers.this_server()) or not self._is_living(own.server))

    def is_trained_elsewhere(self, job: Job) -> bool:
        """Return whether another server that lives has a slot for a job."""
        own = ownership(job)
        return not job.view().done and own.server not in ("", servers.this_server()) and self._is_living(own.server)

    def _is_living(self, server: str) -> bool:
        return server in self.living or not self._takes_over

    def place(self) -> int:
        """Return how many of the servers that take jobs come before this one."""
        return sum(server < servers.this_server() for server in self._taking)

    def last_seen(self, visitor: str) -> float:
        """Return when a visitor last had a tab open on another server (`time.monotonic`); infinity: has one."""
        return math.inf if visitor in self._present_elsewhere else self._seen_elsewhere.get(visitor, -math.inf)

    def claim(self, job: Job) -> bool:
        """Claim a job and fetch its checkpoint; return False if another server has it, or nothing answers."""
        own = ownership(job)
        try:
            row = self._insert_and_claim(job)
        except StoreError as error:
            log.warning("job %s could not be claimed: %s", job.key, error)
            own.claim_after = time.monotonic() + _RETRY_SECONDS
            return False
        if row is None:
            own.claim_after = time.monotonic() + _LOST_CLAIM_SECONDS
            self.sync_soon()
            return False
        with self._mutex:
            own.held, own.server, own.uploaded, own.claims = True, servers.this_server(), False, row.claims
            _read_wishes(row, job)
            job.crashes = row.crashes - 1
            self._note_change(job)
        try:
            self._fetch_files(job, is_new=row.claims == 1)
        except (LineageError, OSError) as error:
            log.warning("what job %s goes on from cannot be read now: %s", job.key, error)
            own.claim_after = time.monotonic() + _RETRY_SECONDS
            self.hand_back(job)
            return False
        return True

    def _fetch_files(self, job: Job, is_new: bool) -> None:
        """Fetch what a training starts from. Raises LineageError or OSError if the storage does not answer."""
        if job.resume_record is None:
            if not is_new and not is_complete(job.folder):
                storage.current().load_checkpoint(job.key, job.folder)
            job.find_resume_record()

    def confirm(self, job: Job) -> bool:
        """Return whether this server still holds its claim; wait for the database if need be."""
        own = ownership(job)
        while own.held:
            claims = own.claims
            try:
                if run_transaction(lambda session: is_held(session, job.key, own.submission)):
                    return True
                self._lose(job, claims)
            except StoreError as error:
                log.warning("job %s waits for the database: %s", job.key, error)
                if self._closing.wait(_RETRY_SECONDS):
                    return False
        return False

    def hand_back(self, job: Job) -> None:
        """Write what has become of a job, and release it, unless only this server can go on with it."""
        own = ownership(job)
        while own.held:
            try:
                self._hand_back(job)
                return
            except StoreError as error:
                log.warning("job %s waits for the database: %s", job.key, error)
                if self._closing.wait(_RETRY_SECONDS):
                    return  # others take the job over as soon as this server counts as dead

    def _hand_back(self, job: Job) -> None:
        own, view = ownership(job), job.view()
        keeps = job.unstored or (not view.done and self._resumes_only_here(job))
        values = view_values(view, job.unstored) | {"server": servers.this_server() if keeps else None}
        if not job.unstored:
            values["crashes"] = job.counted_crashes(running=False)
        if job.requested_action == "stop" and not view.done:
            values["stop_requested"] = True
        values |= curve_values(view)

        def write(session: Session) -> bool:
            return update_row(session, job.key, own.submission, values) and announce(session, f"changed {job.key}")

        with self._mutex:
            own.is_being_released = not keeps
        try:
            written = run_transaction(write)
        except StoreError:
            own.is_being_released = False
            raise
        with self._mutex:
            own.is_being_released = False
            self._note_change(job)
            own.note_written(view, with_curves=True)
            if keeps and written:
                return
            own.held, own.server = False, ""
            own.curves_mark = own.loaded_mark = values.get("curves_mark", "")
        if not written:
            own.loaded_mark = "none"
        elif not view.done:
            job.resume_record = None
            if own.uploaded:
                job.delete_folder()
        self.sync_soon()

    def _resumes_only_here(self, job: Job) -> bool:
        """Return whether a paused job has its checkpoint on this server alone, and this server goes on."""
        if self._closing.is_set() or servers.is_draining():
            return False
        return not keeps_checkpoints() or job.resume_record is not None

    def _lose(self, job: Job, claims: int) -> None:
        """Note that another server has claimed a job that this server trains, as the row says.

        claims: how often the job had been claimed before the row was read. If this server has released the job since
            then, and perhaps claimed it again, nothing was lost.
        """
        with self._mutex:
            own = ownership(job)
            if not own.held or own.is_being_released or own.claims != claims:
                return
            own.held, own.loaded_mark = False, "none"
            job.requested_action = "abandon"
        log.warning("job %s was taken over by another server; it is dropped here", job.key)

    # ---- writing and reading

    def _sync_periodically(self) -> None:
        failed = False
        while not self._closing.is_set():
            self._wake.wait(_SYNC_SECONDS)
            self._wake.clear()
            try:
                self.sync()
                failed = False
            except StoreError as error:
                if not failed:
                    log.warning("the trainings of other servers cannot be read: %s", error)
                failed = True
            except Exception:  # the outermost level of this thread
                log.exception("the trainings of other servers could not be read")
            self._closing.wait(_LEAST_SECONDS)

    def sync(self) -> None:
        """Write what has changed here and read what has changed elsewhere. Raises StoreError."""
        self._read_servers()
        self._write_all(list(self._list_jobs().values()))
        changed = self._read_rows()
        self._read_at = time.monotonic()
        self._announce_looks()
        self._tidy()
        if changed:
            self._on_change()

    def _note_change(self, job: Job) -> None:
        """Number a change of this server, so that a reading that began before it is not applied to this job."""
        self._changes += 1
        ownership(job).change = self._changes

    def _read_servers(self) -> None:
        now, this = time.monotonic(), servers.this_server()
        listed = servers.living()
        others = [server for server in listed if server.id != this]
        self._present_elsewhere = frozenset(each for server in others for each in server.facts.get("visitors", ()))
        self._seen_elsewhere.update(dict.fromkeys(self._present_elsewhere, now))
        for visitor in [visitor for visitor, seen in self._seen_elsewhere.items() if now - seen > 3_600]:
            del self._seen_elsewhere[visitor]
        living = frozenset(server.id for server in listed)
        self._taking = frozenset(server.id for server in listed if not server.draining)
        takes_over = servers.may_take_over()
        if (living, takes_over) != (self.living, self._takes_over):
            self.living, self._takes_over = living, takes_over
            self._on_change()

    def _write_all(self, jobs: list[Job]) -> None:
        now, closing = time.monotonic(), self._closing.is_set()
        self._insert_new([job for job in jobs if closing or now > ownership(job).insert_after])
        for job in jobs:
            if ownership(job).inserted:
                self._write_wishes(job)
        held = [job for job in jobs if ownership(job).held]
        due = [(job, job.view(), ownership(job).is_wanted) for job in held if not ownership(job).is_written(job.view())]
        if due:

            def write(session: Session) -> list[bool]:
                return [
                    update_row(session, job.key, ownership(job).submission, _progress_values(job, view, curves))
                    for job, view, curves in due
                ]

            written = run_transaction(write)
            for (job, view, with_curves), is_held in zip(due, written, strict=True):
                ownership(job).note_written(view, with_curves)
                if not is_held and ownership(job).held:
                    self.confirm(job)  # it may have been handed back meanwhile

    def _insert_new(self, jobs: list[Job]) -> None:
        """Give those of these jobs rows that have none; one waits until a job of the same configuration has ended."""
        with self._inserting:
            due = [job for job in jobs if not (own := ownership(job)).inserted and not own.waits_for_previous]
            if due:
                self._insert(due)

    def _insert_and_claim(self, job: Job) -> JobRow | None:
        """Claim a job, and give it its row if it has none; return the row, None if another server has claimed it."""
        with self._inserting:
            own = ownership(job)
            return None if own.waits_for_previous else self._insert([] if own.inserted else [job], job)

    def _insert(self, jobs: list[Job], claimed: Job | None = None) -> JobRow | None:
        """Give jobs their rows, or let them join those that another server submitted at the same time.

        claimed: is claimed in the same transaction, so that no other server can claim it first

        Returns the row of this job, None if another server has claimed it. The caller holds `_inserting`.
        """
        wishes = [(job, set(job.requesters), set(job.watchers), job.until) for job in jobs]
        found: dict[str, tuple[str, str]] = {}

        def work(session: Session) -> JobRow | None:
            if jobs:
                found.update(insert_rows(session, {ownership(job).submission: job for job in jobs}))
            if claimed is None:
                return None
            submission, _ = found.get(claimed.key, (ownership(claimed).submission, ""))
            return claim_row(session, claimed.key, submission)

        row = run_transaction(work)
        with self._mutex:
            for job, requesters, watchers, until in wishes:
                own, (submission, starter) = ownership(job), found[job.key]
                if own.submission != submission:
                    job.starter = starter
                    job.show(starter=starter)
                own.inserted, own.submission, own.previous = True, submission, None
                own.requesters, own.watchers, own.until = requesters, watchers, until
                self._note_change(job)
        return row

    def _write_wishes(self, job: Job) -> None:
        """Write who has asked for a job or looks at it, and that it is to be stopped."""
        own = ownership(job)
        requesters, watchers, until, stop = set(job.requesters), set(job.watchers), job.until, own.stop_wanted
        if not (requesters - own.requesters or watchers - own.watchers or until != own.until or stop):
            return

        def write(session: Session) -> None:
            row = session.get(JobRow, job.key, with_for_update=True)
            if row and row.submission == own.submission and row.state in ACTIVE:
                row.requesters = sorted({*row.requesters, *requesters})
                row.watchers = sorted({*row.watchers, *watchers})
                row.until = later_step(row.until, until)
                row.stop_requested = row.stop_requested or stop
                row.mark = new_mark()
                announce(session, f"changed {job.key}")

        run_transaction(write)
        own.requesters |= requesters
        own.watchers |= watchers
        own.until = until
        if stop:  # and not if it was requested meanwhile
            own.stop_wanted = False

    def _read_rows(self) -> bool:
        """Read the rows that have changed, and return whether any has."""
        began, jobs = self._changes, self._list_jobs()
        shown = {key for key, job in jobs.items() if self._is_on_screen(job)}
        lacking = {key for key in shown if (own := ownership(jobs[key])).curves_mark != own.loaded_mark}

        def read(session: Session) -> tuple[dict[str, str], list[JobRow]]:
            marks = {key: mark for key, mark in session.execute(select(JobRow.key, JobRow.mark))}
            changed = {key for key, mark in marks.items() if self._marks.get(key) != mark} | (lacking & marks.keys())
            rows: list[JobRow] = []
            for keys, options in ((changed - shown, ()), (changed & shown, (undefer(JobRow.curves),))):
                if keys:
                    rows += session.scalars(select(JobRow).where(JobRow.key.in_(keys)).options(*options))
            return marks, sorted(rows, key=lambda row: (row.submitted, row.key))

        marks, rows = run_transaction(read)
        any_changed = False
        again: set[str] = set()  # keys of the rows that are to be read again
        for row in rows:
            try:
                applied = self._apply(row, jobs.get(row.key), began, row.key in shown)
            except LineageError as error:  # a newer version of this program may have other settings
                log.warning("the job %s of another server cannot be shown: %s", row.key, error)
                continue
            any_changed |= applied
            if not applied:
                again.add(row.key)
        for job in [job for key, job in jobs.items() if key not in marks and key in self._marks]:
            own = ownership(job)
            if own.inserted and not own.held and own.change <= began:
                self._forget(job)
                any_changed = True
        self._marks = {key: mark for key, mark in marks.items() if key not in again}
        return any_changed

    def _is_on_screen(self, job: Job) -> bool:
        own = ownership(job)
        return not own.held and time.monotonic() - own.looked_at < _LOOK_SECONDS

    def _apply(self, row: JobRow, job: Job | None, began: int, with_curves: bool) -> bool:
        """Let the job of a row show what the row says; return False if it is to be read again.

        That is so if this server has claimed the job, or has changed or submitted it after the reading.
        """
        if job is None or (ownership(job).submission != row.submission and ownership(job).inserted):
            if job and (ownership(job).held or ownership(job).change > began):
                return False
            new = Job(parse_config(row.config), row.starter)
            new.ownership = SharedOwnership(self, new, row.submission)
            self._mirror(row, new, False)
            return self._remember(new, job)
        with self._mutex:
            own = ownership(job)
            if own.change > began or not own.inserted or own.submission != row.submission:
                return False
            if own.held:
                _read_wishes(row, job)
                return False
            self._mirror(row, job, with_curves)
        return True

    def _mirror(self, row: JobRow, job: Job, with_curves: bool) -> None:
        own = ownership(job)
        _read_wishes(row, job)
        own.server, own.curves_mark, job.crashes = row.server or "", row.curves_mark, row.crashes
        view = job.view()
        values = {name: getattr(row, name) for name in SHOWN} | {"curves": view.curves}
        if own.loaded_mark != own.curves_mark:  # its curves are older than the rest of the row
            values["curves"] = decode_curves(row.curves) if with_curves and row.curves else None
            own.loaded_mark = own.curves_mark if with_curves else "none"
        if any(getattr(view, name) is not value and getattr(view, name) != value for name, value in values.items()):
            job.show(**values)

    def _announce_looks(self) -> None:
        """Tell the servers that train at which jobs pages of this server look."""
        now = time.monotonic()
        due = [
            job
            for job in self._list_jobs().values()
            if now - (own := ownership(job)).looked_at < _LOOK_SECONDS
            and not (own.held or job.view().done)
            and now - own.announced_at > _ANNOUNCE_SECONDS
        ]
        if due:
            run_transaction(lambda session: [announce(session, f"look {job.key}") for job in due])
            for job in due:
                ownership(job).announced_at = now

    def _tidy(self) -> None:
        """Remove rows of jobs that ended long ago, if this server leads."""
        if servers.is_leader() and time.monotonic() - self._tidied_at > _TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            run_transaction(remove_old_rows)

    def handle_notification(self, text: str | None) -> None:
        """Read again what another server has changed, and write the curves at which one of its pages looks."""
        what, run_key, server = (text or "changed  ").split(" ")
        if server == servers.this_server():
            return
        job = self._list_jobs().get(run_key) if what == "look" else None
        if what == "look":
            if job is None or not ownership(job).held:
                return
            ownership(job).wanted_at = time.monotonic()
        self._wake.set()


def _read_wishes(row: JobRow, job: Job) -> None:
    """Take over from the row of a job what visitors of other servers want of it."""
    own = ownership(job)
    own.requesters, own.watchers = set(row.requesters), set(row.watchers)
    job.requesters |= own.requesters
    job.watchers |= own.watchers
    job.until = row.until if job.until == own.until else later_step(row.until, job.until)
    own.until = row.until
    if row.stop_requested and not job.view().done:
        job.requested_action = "stop"


def _progress_values(job: Job, view: JobView, with_curves: bool) -> dict[str, Any]:
    """Return what to write about a running job."""
    values = view_values(view, job.unstored) | (curve_values(view) if with_curves else {})
    return values if job.unstored else values | {"crashes": 0 if ownership(job).uploaded else job.crashes + 1}


def _deliver(text: str | None) -> None:
    for shared in list(_open):
        shared.handle_notification(text)


_open: weakref.WeakSet[SharedJobs] = weakref.WeakSet()
notifications.subscribe("jobs", _deliver)
