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
UNPACK_SCRIPT = """
import { readFileSync } from "node:fs";
import { unpackArrays as unpack } from "%s";
const bytes = readFileSync(process.argv[1]);
const arrays = unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const lists = Object.entries(arrays).map(([name, { shape, data }]) => [name, [shape, [...data]]]);
console.log(JSON.stringify(Object.fromEntries(lists)));
"""


@needs.node
def test_the_browser_unpacks_what_the_server_packed(tmp_path: Path) -> None:
    arrays = {
        "small": np.array([[1, 2, 255]], dtype=np.uint8),
        "odd": np.arange(3, dtype=np.uint16),
        "ids": np.array([[7], [-1]], dtype=np.int32),
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not contiguous in memory
    }
    file = tmp_path / "arrays"
    file.write_bytes(pack(arrays))
    script = UNPACK_SCRIPT % (ASSETS / "shared/runtime/array_store.js").as_uri()
    process = subprocess.run(
        [str(needs.NODE), "--input-type=module", "-e", script, "--", str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    unpacked = json.loads(process.stdout)
    assert unpacked == {name: [list(array.shape), array.ravel().tolist()] for name, array in arrays.items()}


def fetch(address: str) -> bytes | None:
    """Return the body served at an address, or None if nothing is registered there."""
    response = ROUTES[0].endpoint(Request({"type": "http", "path_params": {"name": address.rpartition("/")[2]}}))
    return response.body if response.status_code == 200 else None


def test_an_array_is_served_under_a_hash_of_its_content_until_it_is_dropped() -> None:
    one, other = register_array(b"one", ("run", "sha")), register_array(b"other", ("run",))
    assert register_array(b"one", ("run", "sha")) == one != other
    assert (fetch(one), fetch(other), fetch("/packed/nothing")) == (b"one", b"other", None)
    drop_array("sha")
    assert (fetch(one), fetch(other)) == (None, b"other")


def test_the_least_recently_registered_array_is_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    array_store.reset()
    monkeypatch.setattr(array_store, "MAX_BYTES", 10)
    a, b = register_array(b"aaaa"), register_array(b"bbbb")
    assert register_array(b"aaaa") == a  # registered again: it is now the newest
    c = register_array(b"cccc")
    assert [fetch(each) for each in (a, b, c)] == [b"aaaa", None, b"cccc"]
    assert fetch(register_array(b"x" * 20)) == b"x" * 20  # an array above the limit is stored alone
