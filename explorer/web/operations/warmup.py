"""Import heavy libraries on a thread after the server has started, so that the first page does not wait for torch."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from explorer.jobs.machine_speed import machine_speed
from explorer.jobs.service import service
from explorer.lazy_libraries import torch
from explorer.run_store import index, operations, storage
from explorer.training import recorder
from explorer.training.config import default_config, with_settings

log = logging.getLogger(__name__)
FIRST_VISIT = 4.0  # seconds after the imports that are left to a first visitor, who needs the processor
_done = threading.Event()
_started = threading.Event()


def start(prefetch: Sequence[Callable[[], object]] = ()) -> None:
    """Import torch and what trains and inspects, on a thread, and then start the work of `prefetch`. Called once."""
    _started.set()
    # Python aborts the process if it ends a daemon thread within C++ code of torch, so the process ends before.
    atexit.register(os._exit, 0)
    sys.setswitchinterval(0.001)  # a page waits 1 ms, not 5, for the interpreter lock of a job
    threading.Thread(target=_warm_up, args=(prefetch,), name="warm-up", daemon=True).start()


def is_ready() -> bool:
    """Return whether the warm-up has ended; always true where it was never started (in tests)."""
    return _done.is_set() or not _started.is_set()


def _warm_up(prefetch: Sequence[Callable[[], object]]) -> None:
    later = partial(_prepare_for_later_visitors, prefetch)
    for prepare, pause in ((_prepare_for_first_visitor, FIRST_VISIT), (later, 0.0)):
        try:
            prepare()
        except Exception:  # pages then do it themselves
            threading.main_thread().join(5)  # it ends where the server is being stopped
            if threading.main_thread().is_alive():
                log.exception("warm-up failed")
        _done.set()
        time.sleep(pause)


def import_libraries() -> None:
    """Import what pages need and what takes seconds."""
    torch.set_num_threads(1)  # on a server there is always other work for the second core
    for name in ("plotly.graph_objects", "scipy.optimize", "scipy.special", "explorer.training.recorder"):
        import_module(name)
    import_module("explorer.inspection.words.negation_sentences")


def _prepare_for_first_visitor() -> None:
    import_libraries()
    machine_speed()  # measured while nothing else runs
    storage.current().recover()
    operations.empty_trash()  # no browser tab is left that could restore a deleted run
    import_module("plotly.graph_objects").Figure()  # the first figure loads plotly's validators
    gc.freeze()  # loaded modules stay: exclude them from later collections


def _prepare_for_later_visitors(prefetch: Sequence[Callable[[], object]]) -> None:
    index.refresh()
    service.prepare()
    # The first training step of a process imports the compiler of torch.
    recorder.record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 2}))
    gc.collect()
    gc.freeze()
    for start_measuring in prefetch:
        start_measuring()
