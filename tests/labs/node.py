"""Run the JavaScript of a component in node, to compare what it computes with Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests import needs

COMPONENTS = Path(__file__).parents[2] / "explorer" / "static" / "components"
HEAD = """
import { readFileSync } from "node:fs";
const m = await import(process.argv[1]), given = JSON.parse(readFileSync(0, "utf8"));
"""


def run_in_node(module: str, script: str, given: object = None) -> Any:
    """Run a script that has the module as `m` and `given`; return what it writes as JSON."""
    process = subprocess.run(
        [str(needs.NODE), "--input-type=module", "-e", HEAD + script, (COMPONENTS / module).as_uri()],
        input=json.dumps(given, allow_nan=False),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
