"""Where trainings run: an executor carries out an order and yields slices of events.

`InProcessExecutor` trains in this process, `worker_processes.ProcessExecutor` in processes of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from explorer.jobs.order import Order, carry_out
from explorer.training.slices import Slice

SLICE_SECONDS = 0.02  # of training in this process before another training takes its turn


class WorkerLost(Exception):
    """What carried out an order has ended without a result. The order itself may be all right."""


class TrainingFailed(Exception):
    """An unexpected exception in a worker; its text is the traceback there (see `log_privacy`)."""

    has_loggable_message = True


@runtime_checkable
class Executor(Protocol):
    """Anything that trains. Closing the iterator stops the training."""

    def slices(self, order: Order) -> AsyncIterator[Slice]:
        """Carry out an order. Raises LineageError if it is impossible, and WorkerLost."""

    def start(self) -> None:
        """Prepare for the first order, which is carried out sooner then."""

    def close(self) -> None:
        """Release what was prepared. The executor may be used again afterwards."""


class InProcessExecutor:
    """Trains on the thread that awaits the next slice. All trainings get the same share of its time."""

    def __init__(self) -> None:
        self._turns = _Turns()

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        turn = self._turns.join()
        try:
            training = carry_out(order, SLICE_SECONDS)
            before = 0.0
            await self._turns.wait(turn)
            yield Slice((), before)  # it begins now; a crash before this moment is not its fault
            while True:
                part = next(training, None)
                if part is None:
                    return
                self._turns.used[turn] += part.seconds - before
                before = part.seconds
                yield part
                await self._turns.wait(turn)
        finally:
            self._turns.leave(turn)

    def start(self) -> None: ...

    def close(self) -> None: ...


class _Turns:
    """Gives the thread to the training that has used the least of it, among those that wait for a turn."""

    def __init__(self) -> None:
        self.used: dict[object, float] = {}  # seconds of the thread that each training has had
        self._waiting: dict[object, asyncio.Future[None]] = {}
        self._choosing = False  # whether a call of `_choose` is scheduled

    def join(self) -> object:
        turn = object()
        self.used[turn] = min(self.used.values(), default=0.0)
        return turn

    def leave(self, turn: object) -> None:
        del self.used[turn]
        self._waiting.pop(turn, None)

    async def wait(self, turn: object) -> None:
        """Return when it is this training's turn."""
        future = self._waiting[turn] = asyncio.get_running_loop().create_future()
        self._choose_soon()
        await future
        self._choose_soon()  # the next one is chosen after this turn, when its training has had time to wait again

    def _choose_soon(self) -> None:
        if not self._choosing:
            self._choosing = True
            asyncio.get_running_loop().call_soon(self._choose)

    def _choose(self) -> None:
        self._choosing = False
        if self._waiting:
            future = self._waiting.pop(min(self._waiting, key=self.used.__getitem__))
            if not future.done():  # it is cancelled when its service closes
                future.set_result(None)
