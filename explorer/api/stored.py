"""Runs on this machine: `explorer.load` and `explorer.runs`."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from explorer.api.arguments import require_text
from explorer.api.real_model import RealModel
from explorer.api.run import Run
from explorer.errors import UnknownRun, shorten
from explorer.hub.allowed import PREFIX
from explorer.lazy_libraries import pd
from explorer.model.real_model import find_real_model
from explorer.run_store import index, store


def load(run: str | Path) -> Any:  # a Run or a RealModel
    """Return a stored run by its key, by the name of an included run, or by its folder.

    "hub:gpt2" is the real model that was opened with `lineage open gpt2`, and "hub:/a/folder" the model in a folder; it
    needs the packages of requirements-models.txt, and gives a `RealModel`.

    Raises UnknownRun with the nearest names if there is none, DamagedRun if its files do not fit together, and
    InvalidSetting for a real model that is not open here or cannot be shown.

    >>> explorer.load("negation-single-transformer").task
    'negation'
    """
    if isinstance(run, os.PathLike):
        try:
            return Run(store.load(Path(run)))
        except ValueError:  # a name that no folder can have, as one with a NUL
            raise UnknownRun(f"There is no run in {shorten(run)}.") from None
    require_text(run, "The key of a run, its name or its folder")
    if run.startswith(PREFIX):
        return RealModel(find_real_model(run))
    try:
        return Run(store.find_run_or_folder(run))
    except UnknownRun as error:
        near = get_close_matches(run, store.pretrained_folders().values(), n=3)
        if not near:
            raise
        raise UnknownRun(f"{error} Included runs with a similar name: {', '.join(near)}.") from None


def runs() -> pd.DataFrame:
    """Return all runs of this machine and those that are included, one per row, the newest first.

    The columns are name (that of an included run, or the one that the user gave), key, task, model, title, state,
    seeds, steps, parameters, seconds (of training), created, included, and a column for each metric, bits per byte
    first: its mean over the seeds at the end, NaN where the task has no such metric. `load` takes a name of an included
    run, or a key.

    Raises StoreError if the index of the runs does not answer.

    >>> best = explorer.runs().query("task == 'text'").sort_values("bits_per_byte")
    >>> bool(best.bits_per_byte.iloc[0] < 2)
    True
    """
    rows = [
        {
            "name": entry.folder if entry.shipped else entry.name,
            **{name: getattr(entry, name) for name in ("key", "task", "model", "title", "state")},
            "seeds": entry.replicas,
            "steps": entry.step,
            **{name: getattr(entry, name) for name in ("parameters", "seconds", "created")},
            "included": entry.shipped,
            **{name: metric["mean"] for name, metric in entry.metrics.items()},
        }
        for entry in index.search(index.Query(limit=2**31 - 1))
    ]
    table = pd.DataFrame(rows)
    facts, metrics = table.columns[:12], sorted(table.columns[12:], key=lambda name: name != "bits_per_byte")
    return table[[*facts, *metrics]].assign(**{name: pd.to_numeric(table[name]) for name in metrics})
