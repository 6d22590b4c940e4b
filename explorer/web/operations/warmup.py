"""Import heavy libraries on a thread after the server has started, so that the first page does not wait for torch."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence

log = logging.getLogger(__name__)
FIRST_VISIT = 4.0  # seconds after the imports that are left to a first visitor, who needs the processor
_done = threading.Event()
_started = threading.Event()


def start(prefetch: Sequence[Callable[[], object]] = ()) -> None:
    """Import torch and the modules that train and inspect, on a separate thread. Called once by the server.

    The functions in `prefetch` run afterwards: each starts work that the first visitor of a page would wait for.
    """
    _started.set()
    sys.setswitchinterval(0.001)  # a page waits 1 ms, not 5, for the interpreter lock of a job
    threading.Thread(target=_warm_up, args=(prefetch,), name="warm-up", daemon=True).start()


def is_ready() -> bool:
    """Return whether the warm-up has ended; always true where it was never started (in tests)."""
    return _done.is_set() or not _started.is_set()


def _warm_up(prefetch: Sequence[Callable[[], object]]) -> None:
    try:
        _prepare_for_first_visitor()
    except Exception:  # pages then import what they need themselves
        log.exception("warm-up failed")
    finally:
        _done.set()
    time.sleep(FIRST_VISIT)
    try:
        _prepare_for_later_visitors(prefetch)
    except Exception:  # pages then do it themselves
        if threading.main_thread().is_alive():  # otherwise the server is being stopped
            log.exception("warm-up failed")


def import_libraries() -> None:
    """Import what pages need and what takes seconds."""
    import plotly.graph_objects  # noqa: F401
    import scipy.optimize
    import scipy.special  # noqa: F401
    import torch

    torch.set_num_threads(1)  # on a server there is always other work for the second core
    import explorer.inspection.words.negation_sentences
    import explorer.training.recorder  # noqa: F401


def _prepare_for_first_visitor() -> None:
    import_libraries()
    import plotly.graph_objects as go

    from explorer.jobs.machine_speed import machine_speed
    from explorer.run_store import operations, storage

    machine_speed()  # measured while nothing else runs
    storage.current().recover()
    operations.empty_trash()  # no browser tab is left that could restore a deleted run
    go.Figure()  # the first figure loads plotly's validators
    gc.freeze()  # loaded modules stay: exclude them from later collections


def _prepare_for_later_visitors(prefetch: Sequence[Callable[[], object]]) -> None:
    from explorer.jobs.service import service
    from explorer.run_store import index
    from explorer.training.config import default_config, with_settings
    from explorer.training.recorder import record_run

    index.refresh()
    service.prepare()
    # The first training step of a process imports the compiler of torch.
    record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 2}))
    gc.collect()
    gc.freeze()
    for start_measuring in prefetch:
        start_measuring()
