"""A worker in a Ray cluster: an actor that has imported everything before its first order. See `ray_executor.py`.

The server calls its methods; they are carried out one after the other. Whatever ends the actor ends its training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from explorer.jobs import messages
from explorer.jobs.worker_training import import_everything, limit_process, train_as_messages


class RayWorker:
    """Carries out one order after the other.

    memory: the bytes that one training may need
    """

    def __init__(self, memory: int) -> None:
        import_everything()
        limit_process(memory)
        self._messages: Iterator[bytes] = iter(())

    def hello(self) -> bytes:
        """Return the message that everything is imported; it has the version of this program on this machine."""
        import ray

        return messages.encode_hello(os.getpid(), ray.get_runtime_context().get_node_id())

    def begin(self, content: bytes) -> None:
        """Begin an encoded order in place of the previous one."""
        self._messages = train_as_messages(content)

    def next_message(self) -> bytes | None:
        """Train until there is a message, and return it; None after the last one."""
        return next(self._messages, None)
