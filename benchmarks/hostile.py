"""Hostile addresses, hostile archives, and the nine attacks of issue 21: what they do to a server.

    python -m benchmarks.hostile [--addresses 10000] [--archives 2000] [--rows] [--seed 0]

Without an option all three are run. An archive or an address is made from a seed and its number, so that each one that
does harm can be made again: `--first NUMBER --archives 1`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated

import typer

from benchmarks.attacks import addresses, archives, rows
from benchmarks.classroom import serve_app
from benchmarks.load.server_state import read_log, read_state

SLICE = 1_000  # addresses between two lines about the server's memory


def report_archives(count: int, first: int, seed: int, kind: str) -> int:
    """Import hostile archives in one process, print what came of it, and return the number of problems."""
    start = time.monotonic()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:  # its memory is that of imports alone
        outcome = pool.submit(archives.run_in_own_home, range(first, first + count), seed, kind).result()
    print(f"{outcome.counts.total()} archives in {time.monotonic() - start:.0f} s")
    print(f"  refused with a sentence                 {outcome.counts['refused']}")
    print(f"  imported as valid                       {outcome.counts['imported']}")
    print(f"  other exceptions, stuck                 {outcome.counts['errors']}, {outcome.counts['stuck']}")
    print(f"  longest import                          {outcome.slowest[0]:.2f} s ({outcome.slowest[1]})")
    print(f"  largest peak of memory                  {outcome.largest[0]:.0f} MB ({outcome.largest[1]})")
    held = f"{outcome.resident:.0f} MB with what the allocator holds for later"
    print(f"  memory before, after                    {outcome.before:.0f} MB, {outcome.after:.0f} MB ({held})")
    for megabytes, name in reversed(outcome.kept):
        print(f"    {megabytes:5.0f} MB kept by {name}")
    for reason, times in outcome.reasons.most_common(12):
        print(f"    {times:5} {reason}")
    for problem in outcome.problems[:40]:
        print(f"  {problem}")
    return len(outcome.problems)


def report_addresses(count: int, first: int, seed: int, rest: float) -> int:
    """Open hostile addresses at one server, print what came of it, and return the number of problems."""
    outcome, valid = addresses.Outcome(), addresses.Outcome()
    with serve_app() as server:
        asyncio.run(addresses.open_valid(server, 100, valid))
        time.sleep(rest)
        before, start = read_state(server), time.monotonic()
        for begin in range(first, first + count, SLICE):
            numbers = range(begin, min(begin + SLICE, first + count))
            asyncio.run(addresses.attack(server, numbers, seed, outcome))
            state = read_state(server)
            print(f"  {numbers.stop - first:6} addresses {time.monotonic() - start:6.0f} s {state}", flush=True)
        seconds = time.monotonic() - start
        time.sleep(rest)
        after, log = read_state(server), read_log(server)
    print(f"{count} hostile addresses in {seconds:.0f} s: " + ", ".join(f"{n} {k}" for k, n in outcome.counts.items()))
    print(f"  statuses                                {dict(sorted(outcome.statuses.items()))}")
    print(f"  tracebacks in the log                   {after.traces - before.traces}")
    print(f"  lines of the log                        {len(log.splitlines())}")
    print(f"  memory before, after                    {before.megabytes:.0f} MB, {after.megabytes:.0f} MB")
    print(f"  open files and threads before, after    {before.files}, {before.threads}; {after.files}, {after.threads}")
    for problem in (*valid.problems, *outcome.problems[:60]):
        print(f"  {problem}")
    return len(outcome.problems)


def main(
    addresses_count: Annotated[int, typer.Option("--addresses", help="How many hostile addresses are opened.")] = 0,
    archives_count: Annotated[int, typer.Option("--archives", help="How many hostile archives are imported.")] = 0,
    with_rows: Annotated[bool, typer.Option("--rows", help="Repeat the nine attacks of issue 21.")] = False,
    row: Annotated[str, typer.Option(help="Only the attacks whose name begins with this.")] = "",
    seed: Annotated[int, typer.Option(help="Decides every address and archive.")] = 0,
    first: Annotated[int, typer.Option(help="Number of the first address and archive.")] = 0,
    rest: Annotated[float, typer.Option(help="Seconds until the server has forgotten those who left.")] = 150,
    kind: Annotated[str, typer.Option(help="Only archives whose name contains this.")] = "",
) -> None:
    """Attack; the exit code is 1 if something does harm."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    problems = 0
    if with_rows or row:
        rows.run_rows(row)
    if archives_count:
        problems += report_archives(archives_count, first, seed, kind)
    if addresses_count:
        problems += report_addresses(addresses_count, first, seed, rest)
    raise typer.Exit(1 if problems else 0)


if __name__ == "__main__":
    typer.run(main)
