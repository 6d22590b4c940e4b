"""Decodes the curves of an archive that an earlier version exported (`events.parquet`), in a process of limited memory.

Nothing that pyarrow tells of a parquet file before it decodes it limits its size: the footer may state any sizes, and
pyarrow allocates what the header of each page asks for. A file of 15 KB whose footer states 200 bytes takes 460 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_TOO_LARGE = 3  # exit status
_MOST_SECONDS = 60.0


def decode_parquet(content: bytes, memory: int) -> pa.Table:
    """Return a table, decoded with so many bytes of memory; on Linux only. Raises MemoryError or ValueError."""
    import pyarrow as pa

    command = [sys.executable, "-P", str(Path(__file__)), str(memory)]
    try:
        decoded = subprocess.run(command, input=content, capture_output=True, timeout=_MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ValueError("decoding takes too long") from error
    if decoded.returncode == _TOO_LARGE:
        raise MemoryError
    if decoded.returncode:
        raise ValueError(decoded.stderr.decode(errors="replace"))
    with pa.ipc.open_stream(decoded.stdout) as stream:
        return stream.read_all()


def _main(memory: int) -> None:
    """Decode standard input, and write the table to standard output in Arrow's format for streams."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the others reserve more address space than they use
    import resource

    import pyarrow as pa
    import pyarrow.parquet as pq

    content = sys.stdin.buffer.read()
    used = int(Path("/proc/self/statm").read_text("utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    try:
        with pq.ParquetFile(pa.BufferReader(content), pre_buffer=False) as parquet:
            table = parquet.read(use_threads=False)
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
            stream.write_table(table)
    except MemoryError:
        sys.exit(_TOO_LARGE)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
