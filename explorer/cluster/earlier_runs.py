"""Runs from before: those that are in LINEAGE_HOME, and those in the layout that LINEAGE_RUNS had at first.

cards/KEY.json             the card and the configuration of a run, and the names of its files
runs/KEY/VERSION/…         these files
trash/KEY.json             the same as in cards/ for a deleted run, whose files are in runs/ as well
checkpoints/KEY.zip        the files of an unfinished training
"""

from __future__ import annotations

import io
import json
import logging
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from explorer.atomic_files import json_bytes
from explorer.environment import environment
from explorer.errors import RunError
from explorer.run_store import operations, storage, store
from explorer.run_store.storage import RUN_FILE
from explorer.training.config import KEY

log = logging.getLogger(__name__)
_VERSION = re.compile("[0-9a-f]{32}")


def move_runs_of_home() -> list[str]:
    """Move the runs in LINEAGE_HOME into the storage of LINEAGE_RUNS, if this is elsewhere, and return their keys.

    They are older than the setting, or a terminal trained them while the storage did not answer. A stopped run replaces
    no finished one, what is being trained stays, and copies of earlier versions are deleted. Raises StoreError.
    """
    moved = []
    for file in sorted((environment().home / "runs").glob("*/config.json")):
        folder, stored = file.parent, storage.current().folder(file.parent.name)
        if not KEY.fullmatch(folder.name) or folder == stored:
            continue
        try:
            if (folder / ".copy.json").is_file():
                storage.remove_folder(folder)
                continue
            card = store.load(folder).card
            if card.state == "running" and folder.stat().st_mtime > time.time() - storage.LEFTOVER_SECONDS:
                continue
            if not card.finished and store.is_stored(card.key) and store.load(stored).card.finished:
                storage.remove_folder(folder)
            else:
                moved.append(operations.add_run(folder).key)
        except (RunError, OSError) as error:
            log.warning("the run in %s is not moved into LINEAGE_RUNS: %s", folder, error)
    return moved


def convert(files: Any, root: str) -> None:
    """Convert what there is of the old layout in a folder. What cannot be read stays as it is."""
    for kind, target in (("cards", "runs"), ("trash", "trash"), ("checkpoints", "jobs")):
        for path, key in _files_of_keys(files, f"{root}/{kind}"):
            try:
                content = files.cat_file(path)
                if kind == "checkpoints":
                    _unpack_job(files, content, f"{root}/{target}/{key}")
                else:
                    _move_run(files, json.loads(content), f"{root}/runs/{key}", f"{root}/{target}/{key}")
            except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
                log.warning("%s cannot be read and stays as it is: %s", path, error)
            else:
                files.rm_file(path)


def _files_of_keys(files: Any, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the files that are named after the key of a run, and this key."""
    for path in files.ls(folder, detail=False) if files.exists(folder) else ():
        name = PurePosixPath(path)
        if KEY.fullmatch(name.stem) and name.suffix in (".json", ".zip"):
            yield path, name.stem


def _move_run(files: Any, document: dict[str, Any], folder: str, target: str) -> None:
    if not _VERSION.fullmatch(document["version"]):
        raise ValueError("it names no version")
    source = f"{folder}/{document['version']}"
    for name in filter(RUN_FILE.fullmatch, document["files"]):
        if files.exists(f"{source}/{name}"):
            files.makedirs(f"{target}/{name}".rpartition("/")[0], exist_ok=True)
            files.mv(f"{source}/{name}", f"{target}/{name}")
    if files.exists(f"{target}/config.json"):  # otherwise a run that is not deleted has the same files
        files.pipe_file(f"{target}/card.json", json_bytes(document["card"]))
    if files.exists(source):
        files.rm(source, recursive=True)


def _unpack_job(files: Any, content: bytes, target: str) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = {name: archive.read(name) for name in filter(RUN_FILE.fullmatch, archive.namelist())}
    owner = json.loads(unpacked["card.json"])["owner"]
    job = {"config": json.loads(unpacked["config.json"]), "starter": owner, "asked": [owner], "crashes": 0, "until": 0}
    for name, each in (unpacked | {"job.json": json_bytes(job)}).items():
        files.makedirs(f"{target}/{name}".rpartition("/")[0], exist_ok=True)
        files.pipe_file(f"{target}/{name}", each)
