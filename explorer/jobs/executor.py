"""Where trainings run: the job service sends a request as JSON to an executor, which yields events.

`InProcessExecutor` trains in this process. An executor on a cluster would send the request there and yield the events
that come back; no other code would change.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from explorer.run_store import store
from explorer.training.config import RunConfig, parse_config, to_json

if TYPE_CHECKING:
    from explorer.training.events import Event


@runtime_checkable
class Executor(Protocol):
    """Anything that trains. Closing the stream of events stops the training."""

    def events(self, request: str) -> AsyncIterator[Event]:
        """Train what the request says; see `encode_request`."""


def encode_request(config: RunConfig, folder: Path | None = None, step: int = 0) -> str:
    """Return a training as JSON: its configuration and, if it resumes, the folder and step of the checkpoint.

    Both sides must be able to read the folder.
    """
    return json.dumps({"config": to_json(config), "resume": {"folder": str(folder), "step": step} if folder else None})


class InProcessExecutor:
    """Trains on the thread that awaits the next event, so that the caller decides which job gets the next slice."""

    async def events(self, request: str) -> AsyncIterator[Event]:
        import torch  # the service must not wait for it when the program starts

        from explorer.training.recorder import as_checkpoint
        from explorer.training.train import train

        data = json.loads(request)
        config, resume = parse_config(data["config"]), data["resume"]
        checkpoint = None
        if resume:
            snapshot = store.load(Path(resume["folder"])).checkpoint(resume["step"])
            checkpoint = as_checkpoint(resume["step"], snapshot)
        for event in train(config, checkpoint):
            yield event
            if torch.get_num_threads() != config.threads:  # another job with another number ran meanwhile
                torch.set_num_threads(config.threads)
