"""Commands about stored runs: list, export, import, delete, reindex."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from explorer import catalogue
from explorer.cli.common import Json, Run, print_json, stored_run
from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.run_store import store


def list_everything(as_json: Json = False) -> None:
    """List models, tasks, shipped runs and the runs of this machine."""
    shipped = store.pretrained_folders()
    own = sorted(f.parent.name for f in environment().runs.glob("*/config.json"))
    if as_json:
        for row in catalogue.MODELS.values():
            print_json({"kind": "model", "name": row.name, "title": row.title, "tasks": list(row.by_task)})
        for task in catalogue.TASKS.values():
            print_json({"kind": "task", "name": task.name, "title": task.title})
        for run, name in shipped.items():
            print_json({"kind": "pretrained", "name": name, "run": run})
        for run in own:
            print_json({"kind": "run", "run": run})
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
        typer.Argument(help="File to write: .py is a Python file, .ipynb a notebook, any other ending a zip."),
    ],
    as_json: Json = False,
) -> None:
    """Export a run as one zip (configuration, metrics as CSV, weights as safetensors, model card), or as code that
    trains it again (a Python file or a notebook)."""
    stored = stored_run(run)
    content = _exported_content(stored, file.suffix.lower())
    try:
        file.write_bytes(content)
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}. Give another file.") from error
    if as_json:
        print_json({"kind": "exported", "run": stored.key, "file": str(file), "bytes": len(content)})
        return
    print(f"{file}, {len(content):,} bytes")


def _exported_content(stored: store.StoredRun, suffix: str) -> bytes:
    if suffix == ".py":
        from explorer.export.python_file import as_python

        return as_python(stored.config).encode()
    if suffix == ".ipynb":
        from explorer.export.notebook import as_notebook

        return as_notebook(stored.config, stored.curves.losses).encode()
    from explorer.run_store.archive.write import pack

    return pack(stored)


def import_run(
    file: Annotated[Path, typer.Argument(help="A zip file made by `export`.")], as_json: Json = False
) -> None:
    """Import a run from a zip file, after checking everything in it."""
    from explorer.jobs import limits
    from explorer.run_store.archive.read import import_zip

    kept = import_zip(file, owner="", check_limits=limits.check)
    if as_json:
        print_json({"kind": "imported", "run": kept.key})
        return
    print(f"stored as {kept.folder}")


def delete(runs: Annotated[list[str], typer.Argument(help="Keys of runs of this machine.")]) -> None:
    """Delete runs permanently."""
    from explorer.run_store import operations

    operations.delete_runs(runs, "", operator=True)
    operations.purge_runs(runs)


def reindex(as_json: Json = False) -> None:
    """Rebuild the index of the runs from their folders."""
    from explorer.run_store import index

    count = index.reindex()
    if as_json:
        print_json({"kind": "reindexed", "runs": count})
        return
    print(f"{count} runs")
