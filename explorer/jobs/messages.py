"""Messages between the server and a worker process, which is this program on the same machine: pickled objects.

Each message follows its length in 8 bytes. The server sends an `Order`. A worker sends the id of its process, slices of
its training, and at last None if the training has reached its end, or a `Problem`.
"""

from __future__ import annotations

import io
import pickle
import socket
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer import errors
from explorer.errors import LineageError
from explorer.jobs.executor import TrainingFailed
from explorer.lazy_libraries import torch

LENGTH_BYTES = 8


@dataclass(frozen=True)
class Problem:
    """Why a training has failed.

    error: the name of a class of `explorer.errors`; empty for any other exception
    text: its message, or the traceback
    """

    error: str
    text: str

    def as_exception(self) -> Exception:
        """Return the exception that the server raises."""
        if not self.error:
            return TrainingFailed(self.text)
        kind = getattr(errors, self.error, LineageError)
        try:
            error: LineageError = kind(self.text)
        except TypeError:  # a class whose constructor takes more than a message
            error = LineageError(self.text)
        return error


class _Pickler(pickle.Pickler):
    """Pickles tensors as arrays, which is ten times as fast."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.from_numpy, (np.ascontiguousarray(value.numpy()),)
        return NotImplemented


def encode(message: object) -> bytes:
    """Return a message with its length."""
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(message)
    return content.tell().to_bytes(LENGTH_BYTES, "little") + content.getvalue()


def decode(content: bytes) -> Any:
    """Return a message, given without its length."""
    return pickle.loads(content)


def receive(channel: socket.socket) -> Any:
    """Wait for one message and return it. Raises OSError if the other side has ended."""
    return decode(_receive_exactly(channel, int.from_bytes(_receive_exactly(channel, LENGTH_BYTES), "little")))


def _receive_exactly(channel: socket.socket, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = channel.recv(min(size - len(content), 1 << 20))
        if not part:
            raise ConnectionError("the other side has ended")
        content += part
    return bytes(content)
