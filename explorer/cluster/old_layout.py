"""The layout that LINEAGE_RUNS had at first, and its conversion, on any fsspec file system.

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
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from explorer.atomic_files import json_bytes
from explorer.run_store.storage import RUN_FILE
from explorer.training.config import KEY

log = logging.getLogger(__name__)
_VERSION = re.compile("[0-9a-f]{32}")


def convert(files: Any, root: str) -> None:
    """Convert what there is of the old layout in a folder. The next call goes on with what is interrupted.

    Runs and trainings that cannot be read stay as they are.
    """
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
