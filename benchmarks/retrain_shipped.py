"""Whether the shipped runs can be trained again: the same key, and the same curves bit for bit.

    python -m benchmarks.retrain_shipped [NAME ...] [--runs 20] [--seconds 10] [--json FILE]

Trains runs of `pretrained/` again, those with the shortest training first, and compares every loss, metric, answer,
signal and sample with the stored curves. Runs on Tiny Shakespeare need it (LINEAGE_DATA_DIR). Equal bits need the
version of torch on the card and the same kernels: the shipped runs were trained with AVX2 or with AVX-512. A run that
differs with the kernels of this processor is trained once more with AVX2 (ATEN_CPU_CAPABILITY).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from explorer.errors import LineageError
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.run_store.curves_table import from_table, to_table
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves

CAPABILITY = "ATEN_CPU_CAPABILITY"
ROOT = Path(__file__).parents[1]


def retrain(config: RunConfig) -> Curves:
    """Train a configuration and return its curves as a run folder stores them (metrics in single precision)."""
    from explorer.training.recorder import record_run

    return from_table(to_table(record_run(config).curves), config)


def curve_differences(one: Curves, other: Curves) -> list[str]:
    """Return the names of the series in which two curves differ, bit for bit. Seconds are not compared."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in ("losses", "tokens", "evaluated")}
    different = ["samples"] if one.samples != other.samples else []
    for part in ("metrics", "answers", "signals"):
        mine, others = getattr(one, part), getattr(other, part)
        different += [f"{part}: {name}" for name in mine.keys() ^ others.keys()]
        pairs |= {f"{part}: {name}": (mine[name], others[name]) for name in mine.keys() & others.keys()}
    return different + [name for name, (a, b) in pairs.items() if np.asarray(a).tobytes() != np.asarray(b).tobytes()]


def compare(name: str, config: RunConfig) -> dict[str, Any]:
    """Train one shipped run again and compare its curves, here and, if they differ, with AVX2 in a process of its own.

    Returns `different` (names of series, empty if equal), `seconds` and `kernels`.
    """
    start, kernels = time.perf_counter(), os.environ.get(CAPABILITY, "")
    try:
        different = curve_differences(store.load(store.PRETRAINED / name).curves, retrain(config))
    except LineageError as error:
        different = [str(error)]
    result = {"different": different, "seconds": time.perf_counter() - start, "kernels": kernels or "of this processor"}
    return _compare_with_avx2(name) if different and not kernels else result


def _compare_with_avx2(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [sys.executable, "-m", "benchmarks.retrain_shipped", name, "--json", str(file)]
        subprocess.run(command, cwd=ROOT, env=os.environ | {CAPABILITY: "avx2"}, capture_output=True, check=False)
        result: dict[str, Any] = json.loads(file.read_text())["retrained"][name]
        return result


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Names of shipped runs. Default: all.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Train at most this many runs.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Skip runs whose training took longer on their card.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Train shipped runs again and compare their keys and curves. Exit with 1 if any differs."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, torch {store.TORCH}")
    configs = shipped_configs()
    stored = {name: store.load(store.PRETRAINED / name) for name in names or configs}
    same_key = {name: run.key == key(run.config) == key(configs[name]) for name, run in stored.items()}
    print(f"keys: {sum(same_key.values())} of {len(same_key)} runs have the key of their configuration")
    chosen = sorted(stored, key=lambda name: stored[name].card.seconds)
    chosen = [name for name in chosen if seconds is None or stored[name].card.seconds < seconds][:runs]
    results: dict[str, dict[str, Any]] = {}
    for name in chosen:
        result = results[name] = compare(name, configs[name])
        outcome = ", ".join(result["different"]) or f"equal, kernels: {result['kernels']}"
        print(f"  {stored[name].key}  {name:44}{result['seconds']:8.1f} s  {outcome}", flush=True)
    equal = sum(not result["different"] for result in results.values())
    print(f"curves: {equal} of {len(results)} retrained runs are equal bit for bit")
    if json_file:
        json_file.write_text(json.dumps({"same_key": same_key, "retrained": results}, indent=2) + "\n")
    if equal < len(results) or not all(same_key.values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
