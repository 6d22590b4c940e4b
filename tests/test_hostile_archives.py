"""An archive in which any value of any file is another one is refused with a sentence, or read.

`run_store/archive/test_read.py` has a case for each check. Here the card gets the key of the changed configuration, so
that the checks behind that of the key are reached too.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import DamagedRun, LineageError
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive import read, write
from explorer.training.config import key, parse_config

VALUES = (0, -1, 0.5, 1e308, 2**31, 2**63, 10**400, math.nan, math.inf, None, True, [], {}, [[]], [0] * 3_000)
VALUES += ("", "a" * 5_000, "\0\x1b[31m", "\u202e", "\ud800", "../../evil", "own", {"name": {}})
CONFIG, CARD, CURVES = "config.json", "card.json", "curves.safetensors"


@cache
def valid_files() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(write.pack(store.find("negation-single-bag_of_words")))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def replace_one_value(part: Any, data: st.DataObject) -> None:
    """Replace a value somewhere in JSON data, or remove it."""
    place = data.draw(st.sampled_from(list(part) if isinstance(part, dict) else list(range(len(part)))))
    if isinstance(part[place], dict | list) and part[place] and data.draw(st.booleans()):
        replace_one_value(part[place], data)
    elif data.draw(st.integers(0, 5)):
        part[place] = data.draw(st.sampled_from(VALUES))
    else:
        del part[place]


@settings(max_examples=60)
@given(data=st.data())
def test_hostile_values_are_refused_with_a_sentence_or_read(data: st.DataObject) -> None:
    files = dict(valid_files())
    weights = max(name for name in files if name.startswith("snapshots/"))
    name = data.draw(st.sampled_from([CONFIG, CARD, CURVES, weights]))
    end = 8 + int.from_bytes(files[name][:8], "little") if name.endswith(".safetensors") else 0  # of the header
    part = json.loads(files[name][8:end] if end else files[name])
    replace_one_value(part, data)
    text = json.dumps(part).encode()
    files[name] = len(text).to_bytes(8, "little") + text + files[name][end:] if end else text
    if name == CONFIG:
        with contextlib.suppress(LineageError):
            config = parse_config(part)
            fitting = {"key": key(config), "step": config.steps}
            files[CARD] = json.dumps(json.loads(files[CARD]) | fitting).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, value in files.items():
            archive.writestr(path, value)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = store.load(read.unpack(content.getvalue(), Path(folder) / "place", "me", limits.check))
        except DamagedRun as error:
            assert str(error).startswith("Nothing was imported: ") and len(str(error)) < 400
            assert not list(Path(folder).iterdir())
        else:
            run.record()
            write.pack(run)
