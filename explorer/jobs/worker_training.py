"""What a process that only trains does first: it imports everything, and limits its memory and its priority."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from pathlib import Path

from explorer.catalogue import MODELS, TASKS
from explorer.lazy_libraries import torch
from explorer.training import train
from explorer.training.config import default_config, with_settings

_NICENESS = 19  # the lowest priority: a dozen workers must not slow down the pages


def import_everything() -> None:
    """Import what any training needs, on one thread: a forked process would wait for a second one that it lacks."""
    torch.set_num_threads(1)
    for row in MODELS.values():
        for variant in row.by_task.values():
            importlib.import_module(variant.class_path.partition(":")[0])
    for task in TASKS.values():
        importlib.import_module(task.objective.partition(":")[0])
    importlib.import_module("explorer.training.recorder")
    # The first training step of a process imports the compiler of torch. It is taken on the processor, and torch is not
    # asked for GPUs, because a forked process cannot use CUDA if the process before it has initialized it.
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 2})
    for _ in train.train(config, device=torch.device("cpu")):
        pass
    gc.collect()
    gc.freeze()  # a collection would write to the pages that the workers share


def limit_process(memory: int) -> None:
    """Give this process the lowest priority. On Linux, limit its memory to what it has plus that of a training."""
    os.nice(_NICENESS)
    if sys.platform != "linux":
        return
    import resource

    used = int(Path("/proc/self/statm").read_text("utf-8").split()[5]) * resource.getpagesize()
    limit = used + int(1.5 * memory) + 200_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a visitor's text must not be written to a disk
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "utf-8")
