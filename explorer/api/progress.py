"""One training in this process with a progress bar, which sweeps use as well."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

from explorer.errors import Diverged
from explorer.lazy_libraries import torch
from explorer.training import events as training_events
from explorer.training import recorder as recording
from explorer.training import train as training
from explorer.training.config import RunConfig
from explorer.training.record import Record, describe_lowest_loss


def train_config(config: RunConfig, progress: bool | None = None, before: Record | None = None) -> Record:
    """Train a configuration, from the end of the record `before` if there is one. See `train`."""
    recorder = recording.Recorder(config, before)
    last = max(before.snapshots) if before else 0
    start, before_seconds, threads = time.perf_counter(), recorder.seconds, torch.get_num_threads()
    resumed = recording.as_checkpoint(last, before.snapshots[last]) if before else None
    events: Iterator[training_events.Event] = training.train(config, resumed)
    try:
        with progress_bar(progress, config.title, "step", config.steps, recorder.step) as bar:
            for event in events:
                recorder.seconds = before_seconds + time.perf_counter() - start
                recorder.add(event)
                if isinstance(event, training_events.Step):
                    bar.update()
        record = recorder.record()
        note = describe_lowest_loss(config, record.curves)
    except (KeyboardInterrupt, Diverged) as error:
        if not recorder.resumable:
            raise
        if isinstance(error, Diverged):
            record, note = recorder.record("diverged", str(error)), str(error)
        else:
            record = recorder.record("stopped", "It was interrupted.")
            note = (
                f"The training was interrupted at step {recorder.step:,} of {config.steps:,}. The run ends at its last "
                f"checkpoint, step {record.curves.step:,}; run.resume() trains the rest."
            )
    finally:
        events.close()  # type: ignore[attr-defined]  # a generator
        torch.set_num_threads(threads)
    if note:
        warnings.warn(note, stacklevel=3)
    return record


def progress_bar(shown: bool | None, title: str, unit: str, total: int, done: int = 0) -> Any:
    """Return a progress bar of tqdm; None: it is shown in a terminal and in a notebook."""
    from tqdm import tqdm  # a bar of text: a notebook that is opened again shows an error in place of a widget

    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    notebook = hasattr(shell, "kernel")  # which is no terminal but can show a progress bar
    file = sys.stdout if notebook else sys.stderr  # JupyterLab shows standard error on red
    shown = notebook or sys.stderr.isatty() if shown is None else shown
    return tqdm(total=total, initial=done, desc=title, unit=unit, file=file, ncols=80, disable=not shown)
