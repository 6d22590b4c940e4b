"""The program in which trainings run as processes of their own: `python -m explorer.jobs.worker DESCRIPTOR`.

The server starts this program once. It imports everything that a training needs, and then forks a worker for each
training, which takes some 20 ms and shares the memory of the imports. `DESCRIPTOR` is a Unix socket; each message on it
carries the socket through which a new worker receives its order and sends slices of events (see `messages.py`).

A worker ends with its training, when its socket is closed, when it is killed, or at its limit of memory. Nothing else
depends on it. It has a lower priority than the server, so that pages are answered first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator

from explorer.environment import environment
from explorer.errors import LineageError
from explorer.jobs import messages
from explorer.jobs.order import carry_out, decode_order
from explorer.jobs.worker_training import import_everything, limit_process
from explorer.log_privacy import format_traceback
from explorer.tasks.text import corpora

_SLICE_SECONDS = 0.075  # of training between two messages
_CHECKPOINT_SECONDS, _SMALL_CHECKPOINT = 1.0, 1_000_000  # seconds between two checkpoints of more than so many bytes


def main() -> None:
    """Fork a worker for each socket that arrives, until the server closes its end."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C in a terminal concerns the server
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes workers that have ended
    import_everything()
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            control.close()
            _work(socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


def _work(channel: socket.socket) -> None:
    """Carry out the order that arrives on the socket, and end this process."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        messages.send(channel, messages.encode_message("hello", pid=os.getpid()))
        content = messages.receive(channel)
        threading.Thread(target=_end_with_server, args=(channel,), daemon=True).start()
        limit_process(environment().memory_of_one_job)
        for message in _train_as_messages(content):
            messages.send(channel, message)
        status = 0
    except ConnectionError:  # the server has closed the socket: nobody waits for the training
        pass
    finally:
        os._exit(status)


def _train_as_messages(content: bytes) -> Iterator[bytes]:
    """Carry out an encoded order, and yield what becomes of it as messages. The last one is no slice."""
    checkpoint_sent = 0.0
    try:
        order = decode_order(content)
        if order.text:
            corpora.store_text(order.text)
        for part in carry_out(order, _SLICE_SECONDS):
            size = sum(value.nbytes for value in messages.checkpoint_tensors(part))
            now = time.monotonic()
            if size > _SMALL_CHECKPOINT and now - checkpoint_sent < _CHECKPOINT_SECONDS:
                part = messages.without_checkpoint(part)
            elif size:
                checkpoint_sent = now
            yield messages.encode_slice(part)
        yield messages.encode_message("end")
    except LineageError as error:
        yield messages.encode_message("problem", error=type(error).__name__, message=str(error))
    except Exception as error:  # the outermost level of a training: the server logs the traceback
        yield messages.encode_message("failure", traceback=format_traceback(error))


def _end_with_server(channel: socket.socket) -> None:
    """End this process, in the middle of a step if need be, when the server closes the socket or has ended."""
    with contextlib.suppress(OSError):
        channel.recv(1)  # nothing follows an order, so this returns when the socket is closed
    os._exit(1)


if __name__ == "__main__":
    main()
