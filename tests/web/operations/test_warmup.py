"""The warm-up of a server: a process that ends while daemon threads compute with torch is not aborted."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys, threading, time
from explorer.web.operations import warmup
import torch

def compute():
    weights = torch.randn(300, 300, requires_grad=True)
    while True:
        (weights @ weights).tanh().sum().backward()

warmup.start()
for _ in range(4):
    threading.Thread(target=compute, daemon=True).start()
time.sleep(1)
sys.exit()
"""


def test_the_end_of_a_server_is_no_abort_while_daemon_threads_compute(tmp_path: Path) -> None:
    root, variables = Path(__file__).parents[3], os.environ | {"LINEAGE_HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, env=variables, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
