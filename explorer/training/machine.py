"""The kind of machine on which a training runs. On one kind of processor, a configuration gives the same curve, bit
for bit."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from explorer.errors import InvalidSetting
from explorer.lazy_libraries import torch
from explorer.training import device as devices

_LONGEST = 120  # characters of the name of a processor


@lru_cache(maxsize=16)
def machine_kind(device: torch.device | None = None) -> str:
    """Return processor architecture, name of the processor and version of torch, separated by commas.

    device: on which the training computes; with a GPU, its name and the version of its platform replace the processor

    Two processors of the same kind execute the same instructions, so a training is the same on both. On two kinds, sums
    of 32-bit numbers may be rounded differently, and such differences grow with every step. On a GPU even two trainings
    may differ, because some operations add in an order that is not fixed.
    """
    name = _processor_name()
    if device is not None and device.type == "cuda":
        platform_version = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {torch.version.hip}"
        name = f"{_clean(torch.cuda.get_device_name(device))}, {platform_version}"
    elif device is not None and device.type == "mps":
        name = f"GPU of {name}"
    return f"{platform.machine() or 'unknown architecture'}, {name}, torch {torch.__version__}"


def local_kinds() -> set[str]:
    """Return the kinds of machine of trainings in this process: of the processor, and of the device if it is here."""
    try:
        return {machine_kind(), machine_kind(devices.training_device())}
    except InvalidSetting:  # the device of LINEAGE_DEVICE is on the machines of a cluster
        return {machine_kind()}


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
    return _clean(name or platform.processor()) or "unnamed processor"


def _clean(name: str) -> str:
    return " ".join(re.sub(r"[^\x20-\x7e]", " ", name).split())[:_LONGEST]
