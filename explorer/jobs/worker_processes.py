"""Trainings in processes of their own, with a limit of memory (Linux). See `worker.py` for the other side.

The processes run side by side; the operating system divides the cores among them, at a lower priority than the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator

from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.jobs import messages
from explorer.jobs.executor import WorkerLost
from explorer.jobs.order import Order, decode, encode_order
from explorer.program_files import PACKAGE
from explorer.training.slices import Slice

log = logging.getLogger(__name__)
_BUFFER = 1 << 22  # bytes of messages that may wait in this process
_ATTEMPTS = 3  # to start a worker
_IDLE_SECONDS = 0.1  # seconds without a message after which an empty slice is yielded


class _NoWorker(Exception):
    """The helper process has ended before it forked a worker."""


class ProcessExecutor:
    """Carries out each order in a process that is forked from a helper process with everything imported."""

    def __init__(self) -> None:
        if not hasattr(os, "pidfd_open") or sys.platform != "linux":
            raise InvalidSetting(
                "LINEAGE_EXECUTOR = processes is possible on Linux only. Unset it: trainings then run in the server."
            )
        self._helper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the helper process, unless it runs. Its imports take a few seconds."""
        with self._lock:
            if self._helper and self._helper.poll() is None:
                return
            self._end_helper()
            self._control, other = socket.socketpair()
            path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
            with other:
                self._helper = subprocess.Popen(
                    [sys.executable, "-m", "explorer.jobs.worker", str(other.fileno())],
                    pass_fds=[other.fileno()],
                    stdin=subprocess.DEVNULL,
                    # Threads that wait without computing leave the core to the other workers.
                    env=os.environ | {"PYTHONPATH": path, "OMP_WAIT_POLICY": "PASSIVE"},
                )

    def close(self) -> None:
        """End the helper process. Workers end with the orders that they carry out."""
        with self._lock:
            self._end_helper()

    def _drop_helper(self, helper: subprocess.Popen[bytes] | None) -> None:
        with self._lock:
            if self._helper is helper:
                self._end_helper()

    def _end_helper(self) -> None:
        if self._control:
            self._control.close()
        if self._helper:
            self._helper.kill()
            self._helper.wait()
        self._helper = self._control = None

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        for _ in range(_ATTEMPTS):
            helper = self._helper
            try:
                async with contextlib.aclosing(self._slices(order)) as slices:
                    async for part in slices:
                        yield part
                return
            except _NoWorker:  # the helper process has ended, or does not answer any more
                await asyncio.to_thread(self._drop_helper, helper)
        raise WorkerLost("no worker process could be started")

    async def _slices(self, order: Order) -> AsyncGenerator[Slice]:
        channel = await asyncio.to_thread(self._fork_worker)
        reader, writer = await asyncio.open_connection(sock=channel, limit=_BUFFER)
        process: int | None = None
        seconds = 0.0
        try:
            async with contextlib.aclosing(_messages(reader)) as received:
                async for header, arrays in received:
                    match header["kind"]:
                        case "nothing":
                            yield Slice((), seconds)  # whoever waits may close this iterator now
                        case "hello":
                            process = os.pidfd_open(header["pid"])
                            content = await asyncio.to_thread(encode_order, order)
                            writer.write(len(content).to_bytes(messages.LENGTH_BYTES, "little") + content)
                            await writer.drain()
                        case _:
                            part = messages.to_slice(header, arrays)
                            if part is None:
                                return
                            seconds = part.seconds
                            yield part
        except (OSError, asyncio.IncompleteReadError) as error:
            raise _NoWorker if process is None else WorkerLost("the worker process has ended") from error
        finally:
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                os.close(process)
            writer.close()

    def _fork_worker(self) -> socket.socket:
        """Return the socket of a new worker. Raises _NoWorker."""
        self.start()
        channel, other = socket.socketpair()
        try:
            with other, self._lock:
                if self._control is None:
                    raise OSError("the helper process has been closed")
                socket.send_fds(self._control, [b"."], [other.fileno()])
        except OSError as error:
            channel.close()
            raise _NoWorker from error
        return channel


async def _messages(reader: asyncio.StreamReader) -> AsyncGenerator[tuple[messages.Header, dict[str, ndarray]]]:
    """Yield the messages of a worker, and `nothing` whenever none has arrived for a while."""
    while True:
        try:
            length = await asyncio.wait_for(reader.readexactly(messages.LENGTH_BYTES), _IDLE_SECONDS)
        except TimeoutError:
            yield {"kind": "nothing"}, {}
        else:
            yield decode(await reader.readexactly(int.from_bytes(length, "little")))
