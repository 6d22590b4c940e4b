"""Where trainings run. The job service knows only this: an order goes in as JSON, events come out.

The executor here trains in this process. One on a cluster would send the order over and yield the events
that come back; nothing else of the program would change.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from explorer.training import store
from explorer.training.config import RunConfig, parse, to_json

if TYPE_CHECKING:
    from explorer.training.events import Event


@runtime_checkable
class Executor(Protocol):
    """Closing the stream of events stops the training."""

    def events(self, order: str) -> AsyncIterator[Event]:
        """Train what the order says; see `order`."""


def order(config: RunConfig, folder: Path | None = None, step: int = 0) -> str:
    """A training as text: its configuration, and the checkpoint to go on from, in a folder that both sides can read."""
    return json.dumps({"config": to_json(config), "resume": {"folder": str(folder), "step": step} if folder else None})


class InThisProcess:
    """Trains on the thread that asks for the next event; whoever asks decides who has the next turn."""

    async def events(self, order: str) -> AsyncIterator[Event]:
        import torch  # the service must not wait for it when the program starts

        from explorer.training.recorder import as_checkpoint
        from explorer.training.train import train

        wanted = json.loads(order)
        config, resume = parse(wanted["config"]), wanted["resume"]
        checkpoint = None
        if resume:
            kept = store.load(Path(resume["folder"])).checkpoint(resume["step"])
            checkpoint = as_checkpoint(resume["step"], kept)
        for event in train(config, checkpoint):
            yield event
            if torch.get_num_threads() != config.threads:  # another job had its turn with another number
                torch.set_num_threads(config.threads)
