"""Commands about stored runs: list, export, import, delete, reindex, where."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from explorer import __version__, catalogue
from explorer.atomic_files import check_new_file, write_new_file
from explorer.cli import completion
from explorer.cli.common import Force, Json, Run, argument, flag, option, stored_run
from explorer.cli.program import print_json, print_result, program_name
from explorer.cli.setting_rows import check_names
from explorer.cli.tables import print_columns, print_wrapped
from explorer.cluster import earlier_runs
from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.export import notebook
from explorer.jobs import limits
from explorer.number_format import format_bytes
from explorer.program_files import PACKAGE
from explorer.run_store import index, operations, storage
from explorer.run_store.archive import read, write
from explorer.visible_text import escape_invisible


def list_runs(
    task: Annotated[str, option("TASK", "List runs of this task only.", completion.tasks)] = "",
    model: Annotated[str, option("MODEL", "List runs of this model only.", completion.models)] = "",
    tags: Annotated[
        list[str] | None, option("TAG", "List runs with this tag only. Repeat it for several tags.", name="--tag")
    ] = None,
    own: Annotated[bool, flag("--own", "List the runs of this machine only.")] = False,
    included: Annotated[bool, flag("--included", "List included runs only.")] = False,
    search: Annotated[str, option("TEXT", "List runs with this text in name, title, key, tag or note.")] = "",
    sort: Annotated[
        str,
        option(
            "ORDER",
            f"Sort by {', '.join(completion.ORDERS)} (on text, bits per byte); a leading minus reverses the order, so "
            "that -accuracy begins with the best. "
            "Default: runs of this machine first, the newest at the top.",
            completion.orders,
        ),
    ] = "",
    limit: Annotated[int | None, option("COUNT", "List at most this many runs.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """List runs, tasks and models.

    The first column is the name or key that other commands take; then the state, the result and the title of each run.
    """
    if own and included:
        raise InvalidSetting("--own and --included exclude each other. Give one of them, or none for both.")
    check_names(task, model)
    query = index.Query(
        text=search,
        tasks=(task,) if task else (),
        models=(model,) if model else (),
        tags=tuple(tags or ()),
        shipped=not own,
        order=sort or "-created",
        limit=2**31 - 1,
    )
    found = [entry for entry in index.search(query) if entry.shipped or not included]
    if not sort:
        found.sort(key=lambda entry: (entry.shipped, entry.folder if entry.shipped else ""))
    shown = found[:limit]
    everything = not (task or model or tags or own or included or search)
    if as_json:
        _print_as_json(shown, everything)
        return
    if everything:
        print_wrapped(f"Tasks: {', '.join(catalogue.TASKS)}.")
        print_wrapped(f"Models: {', '.join(catalogue.MODELS)}.")
        print()
    if shown:
        print_columns(("RUN", "STATE", "RESULT", "TITLE"), [_row(entry) for entry in shown])
        print()
    count = f"{len(shown):,} of {len(found):,} runs" if len(shown) < len(found) else _count(len(found))
    place = f"The runs of this machine are in {environment().runs}"
    if environment().run_storage:
        place = f"The runs are in {storage.current().address}"
    print_wrapped(f"{count}. {place}.")


def _count(runs: int) -> str:
    return "No run matches" if not runs else f"{runs:,} run{'s' * (runs != 1)}"


def _print_as_json(entries: list[index.Entry], everything: bool) -> None:
    from explorer.labs.runs.descriptions import display_name, find_score

    if everything:
        for row in catalogue.MODELS.values():
            print_json({"kind": "model", "name": row.name, "title": row.title, "tasks": list(row.by_task)})
        for task in catalogue.TASKS.values():
            print_json({"kind": "task", "name": task.name, "title": task.title})
    for entry in entries:
        score = find_score(entry)
        print_json(
            {
                **({"kind": "pretrained", "name": entry.folder} if entry.shipped else {"kind": "run"}),
                "run": entry.key,
                "title": display_name(entry),
                **{name: getattr(entry, name) for name in ("task", "model", "state", "step", "steps")},
                "seeds": entry.replicas,
                **{name: getattr(entry, name) for name in ("parameters", "seconds", "bytes")},
                "created": entry.created.isoformat(),
                "tags": list(entry.tags),
                "note": entry.note,
                "result": score.text,
                "metrics": {name: metric["mean"] for name, metric in entry.metrics.items()},
                "settings": entry.settings,
            }
        )


def _row(entry: index.Entry) -> tuple[str, str, str, str]:
    from explorer.labs.runs.descriptions import display_name, find_score

    state = "included" if entry.shipped else entry.state
    if entry.state != "finished":
        state = f"{entry.state} {entry.step:,}/{entry.steps:,}"
    title = display_name(entry)
    if entry.tags:
        title += f" [{', '.join(entry.tags)}]"
    name = entry.folder if entry.shipped else entry.key
    return name, state, find_score(entry).text, escape_invisible(title)


def export_run(
    run: Run,
    file: Annotated[
        Path, argument("FILE", "File to write: .py is a Python file, .ipynb a notebook, any other ending a zip.")
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Export a run as a zip, or as code that trains, predicts or generates without this program.

    The zip contains configuration, metrics as CSV, weights as safetensors and a model card. Code is a Python file or a
    notebook, and a file of its name that ends in .safetensors: its weights, and the examples that it was trained on.
    """
    check_new_file(file, force)
    stored = stored_run(run)
    contents = notebook.export_files(stored.config, stored, file) or {file: write.pack(stored)}
    for path, content in reversed(contents.items()):  # that beside the file first, so that a refusal leaves nothing
        if path == file or not path.is_file() or path.read_bytes() != content:
            write_new_file(path, content, force)
    text = "\n".join(f"{escape_invisible(str(path))}, {len(content):,} bytes" for path, content in contents.items())
    print_result(as_json, text, kind="exported", run=stored.key, file=str(file), bytes=len(contents[file]))


def import_run(file: Annotated[Path, argument("FILE", "A zip file made by `export`.")], as_json: Json = False) -> None:
    """Import a run from a zip file, after checking everything in it. A run that is stored is never replaced."""
    kept = read.import_zip(file, owner="", check_limits=limits.check)
    print_result(as_json, f"stored as {kept.folder}", kind="imported", run=kept.key)


def delete(
    runs: Annotated[list[str], argument("KEY", "Keys of runs of this machine.", completion.own_runs)],
    as_json: Json = False,
) -> None:
    """Delete runs of this machine permanently. Included runs cannot be deleted."""
    operations.delete_runs(runs, "", operator=True)
    operations.purge_runs(runs)
    if as_json:
        for run in dict.fromkeys(runs):
            print_json({"kind": "deleted", "run": run})
        return
    print(f"{_count(len(set(runs)))} deleted")


def reindex(as_json: Json = False) -> None:
    """Rebuild the index of the runs from their folders, or from LINEAGE_RUNS.

    The database then lists these runs, also if it listed those of another home or storage before. Runs of this machine
    that are not in LINEAGE_RUNS yet are moved there.
    """
    count = index.reindex()
    if earlier_runs.move_runs_of_home():
        count = index.reindex()
    print_result(as_json, _count(count), kind="reindexed", runs=count)


def print_folders(as_json: Json = False) -> None:
    """Print folders, sizes and versions, and how to remove them."""
    settings = environment()
    places: dict[str, tuple[str, Path | None]] = {
        "home": ("your runs, unfinished jobs, the index and the cards of real models (LINEAGE_HOME)", settings.home),
        "cache": ("downloaded texts and models, and token arrays (LINEAGE_CACHE)", settings.cache),
        "data": ("your own copies of training texts (LINEAGE_DATA_DIR)", settings.data_dir),
    }
    rows: list[dict[str, Any]] = [
        {"kind": "folder", "name": name, "path": str(folder)}
        | {"exists": folder.is_dir(), "bytes": _size(folder), "content": content}
        for name, (content, folder) in places.items()
        if folder is not None
    ]
    packages = {name: version(name) for name in ("torch", "streamlit", "numpy")}
    versions = {"lineage": __version__, "Python": platform.python_version(), **packages}
    if as_json:
        for row in rows:
            print_json(row)
        for package, number in versions.items():
            print_json({"kind": "version", "name": package, "version": number})
        return
    for row in rows:
        size = format_bytes(row["bytes"]) if row["exists"] else "does not exist yet"
        print(f"{row['name']:7}  {escape_invisible(row['path'])}  ({size})")
        print_wrapped(f"{row['content'][0].upper()}{row['content'][1:]}.", "         ")
    print_wrapped(f"Versions: {', '.join(f'{name} {number}' for name, number in versions.items())}.")
    print_wrapped(
        "To remove everything that this program has written, delete the folders home and cache. The program itself is "
        f"in {escape_invisible(str(PACKAGE))}. To remove single runs: {program_name()} delete KEY."
    )


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder that can be read."""
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
