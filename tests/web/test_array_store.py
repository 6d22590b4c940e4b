from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from starlette.requests import Request

from explorer.web import array_store
from explorer.web.array_store import ROUTES, drop_array, pack, register_array
from tests import needs

ASSETS = Path(__file__).parents[2] / "explorer" / "static"
READ = """
import { readFileSync } from "node:fs";
import { unpackArrays as unpack } from "%s";
const bytes = readFileSync(process.argv[1]);
const found = unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const told = Object.entries(found).map(([name, { shape, data }]) => [name, [shape, [...data]]]);
console.log(JSON.stringify(Object.fromEntries(told)));
"""


@needs.node
def test_the_browser_reads_what_the_server_packs(tmp_path: Path) -> None:
    arrays = {
        "small": np.array([[1, 2, 255]], dtype=np.uint8),
        "odd": np.arange(3, dtype=np.uint16),
        "ids": np.array([[7], [-1]], dtype=np.int32),
        "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not in one piece of memory
    }
    file = tmp_path / "arrays"
    file.write_bytes(pack(arrays))
    script = READ % (ASSETS / "shared/runtime/array_store.js").as_uri()
    done = subprocess.run(
        [str(needs.NODE), "--input-type=module", "-e", script, "--", str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found == {name: [list(array.shape), array.ravel().tolist()] for name, array in arrays.items()}


def fetched(address: str) -> bytes | None:
    """What a browser gets from an address; None: nothing is there."""
    answer = ROUTES[0].endpoint(Request({"type": "http", "path_params": {"name": address.rpartition("/")[2]}}))
    return answer.body if answer.status_code == 200 else None


def test_what_is_offered_is_found_under_its_content_until_it_is_forgotten() -> None:
    one, other = register_array(b"one", ("run", "sha")), register_array(b"other", ("run",))
    assert register_array(b"one", ("run", "sha")) == one != other
    assert (fetched(one), fetched(other), fetched("/packed/nothing")) == (b"one", b"other", None)
    drop_array("sha")
    assert (fetched(one), fetched(other)) == (None, b"other")


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    array_store.reset()
    monkeypatch.setattr(array_store, "MAX_BYTES", 10)
    a, b = register_array(b"aaaa"), register_array(b"bbbb")
    assert register_array(b"aaaa") == a  # asked for again: it is the newer one now
    c = register_array(b"cccc")
    assert [fetched(each) for each in (a, b, c)] == [b"aaaa", None, b"cccc"]
    assert fetched(register_array(b"x" * 20)) == b"x" * 20  # what is larger than all room is there alone
