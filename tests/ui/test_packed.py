from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from explorer.ui.packed import pack

ASSETS = Path(__file__).parents[2] / "explorer" / "ui" / "assets"
NODE = shutil.which("node")
READ = """
import { readFileSync } from "node:fs";
import { unpack } from "%s";
const bytes = readFileSync(process.argv[1]);
const found = unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const told = Object.entries(found).map(([name, { shape, data }]) => [name, [shape, [...data]]]);
console.log(JSON.stringify(Object.fromEntries(told)));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed: the scripts of the browser are not tested here")
def test_the_browser_reads_what_the_server_packs(tmp_path: Path) -> None:
    arrays = {
        "small": np.array([[1, 2, 255]], dtype=np.uint8),
        "odd": np.arange(3, dtype=np.uint16),
        "ids": np.array([[7], [-1]], dtype=np.int32),
        "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not in one piece of memory
    }
    file = tmp_path / "arrays"
    file.write_bytes(pack(arrays))
    script = READ % (ASSETS / "packed.js").as_uri()
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script, "--", str(file)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found == {name: [list(array.shape), array.ravel().tolist()] for name, array in arrays.items()}
