"""Heavy imports after the server is up, so that the first page does not wait for torch."""

from __future__ import annotations

import gc
import logging
import sys
import threading

log = logging.getLogger(__name__)
_done = threading.Event()
_started = threading.Event()


def start() -> None:
    """Import torch and what trains and inspects, on a thread of its own. Called once by the server."""
    _started.set()
    sys.setswitchinterval(0.001)  # a page waits for the training's Python for one millisecond at a time, not five
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()


def ready() -> bool:
    """Whether a model can be asked without a wait; always true where no server warms up (in tests)."""
    return _done.is_set() or not _started.is_set()


def _warm_up() -> None:
    try:
        import plotly.graph_objects as go
        import scipy.special  # noqa: F401
        import torch

        torch.set_num_threads(1)  # on a server there is always other work for the second core
        import explorer.inspection.sentences  # noqa: F401
        from explorer.training import index, library, store
        from explorer.training.config import changed, default
        from explorer.training.recorder import record_run

        record_run(
            changed(default("negation", "rnn"), {"epochs": 1, "replicas": 2})
        )  # a process's first steps are slow
        store.tidy()
        library.empty_trash()  # nobody is left who could ask anything back
        index.refresh()

        go.Figure()  # the first figure loads plotly's validators
        gc.collect()
        gc.freeze()  # what is loaded now stays: no later collection has to look at it again
    except Exception:  # the outermost edge of this thread; pages then import what they need themselves
        log.exception("warm-up failed")
    finally:
        _done.set()
    ahead()


def ahead() -> None:
    """Begin what the first visitor of a page would have to wait for, where nobody waits for anything else."""
    from explorer.ui.depth import Depth
    from explorer.ui.depth_grid import grid
    from explorer.ui.slowly import work

    usual = Depth()
    work(*grid(usual.start, usual.heads), "patient")
