"""Run the JavaScript of a component in node, to compare what it computes with Python."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from explorer.program_files import PACKAGE, component_folders
from tests import needs

HEAD = """
import { readFileSync } from "node:fs";
const m = await import(process.argv[1]), given = JSON.parse(readFileSync(0, "utf8"));
"""


def run_in_node(module: str, script: str, given: object = None) -> Any:
    """Run a script that has the module (COMPONENT/FILE) as `m` and `given`; return what it writes as JSON."""
    component, file = module.split("/")
    process = subprocess.run(
        [
            str(needs.NODE),
            "--input-type=module",
            "-e",
            HEAD + script,
            (PACKAGE / component_folders()[component] / file).as_uri(),
        ],
        input=json.dumps(given, allow_nan=False),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
