"""Commands about what is kept: list, export, import, delete, reindex."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from explorer import catalogue
from explorer.commands.common import Json, Run, say, stored_run
from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.training import store


def list_everything(as_json: Json = False) -> None:
    """Models, tasks, shipped runs, and the runs of this machine."""
    shipped = store.pretrained()
    own = sorted(f.parent.name for f in environment().runs.glob("*/config.json"))
    if as_json:
        for row in catalogue.MODELS.values():
            say({"kind": "model", "name": row.name, "title": row.title, "tasks": list(row.variants)})
        for task in catalogue.TASKS.values():
            say({"kind": "task", "name": task.name, "title": task.title})
        for run, name in shipped.items():
            say({"kind": "pretrained", "name": name, "run": run})
        for run in own:
            say({"kind": "run", "run": run})
        return
    print("tasks     ", ", ".join(catalogue.TASKS))
    print("models    ", ", ".join(catalogue.MODELS))
    print("pretrained")
    for run, name in shipped.items():
        print(f"  {run}  {name}")
    print(f"runs in {environment().runs}")
    for run in own:
        print(f"  {run}")


def export_run(
    run: Run,
    file: Annotated[
        Path,
        typer.Argument(help="What to write: a zip, or, where its name ends so, one .py file or an .ipynb notebook."),
    ],
    as_json: Json = False,
) -> None:
    """A run as one zip (configuration, metrics as CSV, weights as safetensors, model card), or as code that trains it
    again: one plain Python file, or a notebook."""
    stored = stored_run(run)
    content = _as_file(stored, file.suffix.lower())
    try:
        file.write_bytes(content)
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}. Give another file.") from error
    if as_json:
        say({"kind": "exported", "run": stored.key, "file": str(file), "bytes": len(content)})
        return
    print(f"{file}, {len(content):,} bytes")


def _as_file(stored: store.StoredRun, suffix: str) -> bytes:
    if suffix == ".py":
        from explorer.training.export import as_python

        return as_python(stored.config).encode()
    if suffix == ".ipynb":
        from explorer.training.notebook import as_notebook

        return as_notebook(stored.config, stored.curves.losses).encode()
    from explorer.training.packing import pack

    return pack(stored)


def import_run(file: Annotated[Path, typer.Argument(help="A zip from export.")], as_json: Json = False) -> None:
    """Take a run in from a zip; everything in it is checked."""
    from explorer.training.unpacking import take_in

    kept = take_in(file, owner="")
    if as_json:
        say({"kind": "imported", "run": kept.key})
        return
    print(f"kept as {kept.folder}")


def delete(runs: Annotated[list[str], typer.Argument(help="Keys of this machine's runs.")]) -> None:
    """Delete runs for good."""
    from explorer.training import library

    library.delete(runs, "", operator=True)
    library.purge(runs)


def reindex(as_json: Json = False) -> None:
    """Make the index of the runs anew from their folders."""
    from explorer.training import index

    count = index.reindex()
    if as_json:
        say({"kind": "reindexed", "runs": count})
        return
    print(f"{count} runs")
