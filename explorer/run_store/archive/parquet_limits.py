"""The uncompressed size of a parquet file, computed before anything is decompressed.

The footer of a parquet file may give wrong sizes. The headers of its pages cannot, because the reader allocates what
they say. So a small file that would fill the memory is detected by the headers of its pages.
"""

from __future__ import annotations

from typing import Any


def unpacked_bytes(content: bytes, column: Any) -> int:
    """Return the uncompressed bytes of a column chunk, from its page headers. Raises ValueError or LookupError."""
    starts = (column.dictionary_page_offset, column.data_page_offset)
    position = min(start for start in starts if start)
    end, size = position + column.total_compressed_size, 0
    if not 0 < position <= end <= len(content):
        raise ValueError("a column outside the file")
    while position < end:
        fields, position = _parse_thrift(content, position)
        unpacked, packed = fields[2], fields[3]
        if unpacked < 0 or packed < 0:
            raise ValueError("a page with a negative size")
        size, position = size + unpacked, position + packed
    return size


def _parse_thrift(content: bytes, position: int, depth: int = 0) -> tuple[dict[int, int], int]:
    """Parse a struct of Thrift's compact protocol: return its integers by field number, and the position after it."""
    fields: dict[int, int] = {}
    last = 0
    while head := content[position]:
        position, kind, last = position + 1, head & 15, last + (head >> 4)
        if not head >> 4 or depth > 4:
            raise ValueError("not a page header")
        if kind in (4, 5, 6, 8):  # i16, i32, i64; binary with its length
            number = shift = 0
            while content[position] > 127:
                number, shift, position = number | (content[position] & 127) << shift, shift + 7, position + 1
                if shift > 63:
                    raise ValueError("not a number")
            number, position = number | content[position] << shift, position + 1
            fields[last] = number >> 1 ^ -(number & 1)
            position += number if kind == 8 else 0
        elif kind in (3, 7):  # a byte, a double
            position += 1 if kind == 3 else 8
        elif kind == 12:
            position = _parse_thrift(content, position, depth + 1)[1]
        elif kind not in (1, 2):  # true, false
            raise ValueError("not a page header")
    return fields, position + 1
