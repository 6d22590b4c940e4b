"""The kind of machine on which a training runs. On one kind, a configuration gives the same curve, bit for bit."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import lru_cache
from pathlib import Path

_LONGEST = 120  # characters of the name of a processor


@lru_cache(maxsize=4)
def machine_kind() -> str:
    """Return processor architecture, name of the processor and version of torch, separated by commas.

    Two machines of the same kind execute the same instructions, so a training is the same on both. On two kinds, sums
    of 32-bit numbers may be rounded differently, and such differences grow with every step.
    """
    import torch

    return f"{platform.machine() or 'unknown architecture'}, {_processor_name()}, torch {torch.__version__}"


def _processor_name() -> str:
    """Return the name that the processor gives itself. Many ARM processors give none."""
    name = ""
    if platform.system() == "Linux":
        try:
            found = re.search(r"^(?:model name|Model)\s*:(.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
            name = found.group(1) if found else ""
        except OSError:
            pass
    elif platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        name = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False).stdout
    name = " ".join(re.sub(r"[^\x20-\x7e]", " ", name or platform.processor()).split())
    return name[:_LONGEST] or "unnamed processor"
