"""How much a parquet file unpacks to, before anybody unpacks it.

The footer of a parquet file may lie about sizes; the header of a page cannot, since the reader takes it at
its word. So a file of a few kilobytes that would fill the memory is known by its pages.
"""

from __future__ import annotations

from typing import Any


def unpacked_bytes(content: bytes, column: Any) -> int:
    """Bytes that a column's pages unpack to: parquet's footer may lie about them, the header of a page cannot."""
    starts = (column.dictionary_page_offset, column.data_page_offset)
    at = min(start for start in starts if start)
    end, size = at + column.total_compressed_size, 0
    if not 0 < at <= end <= len(content):
        raise ValueError("a column outside its file")
    while at < end:
        fields, at = _thrift(content, at)
        unpacked, packed = fields[2], fields[3]
        if unpacked < 0 or packed < 0:
            raise ValueError("a page of negative size")
        size, at = size + unpacked, at + packed
    return size


def _thrift(content: bytes, at: int, depth: int = 0) -> tuple[dict[int, int], int]:
    """The whole numbers in a structure of Thrift's compact protocol, and where it ends; the rest is skipped."""
    fields: dict[int, int] = {}
    last = 0
    while head := content[at]:
        at, kind, last = at + 1, head & 15, last + (head >> 4)
        if not head >> 4 or depth > 4:
            raise ValueError("no header of a page")
        if kind in (4, 5, 6, 8):  # i16, i32, i64; bytes with their length
            number = shift = 0
            while content[at] > 127:
                number, shift, at = number | (content[at] & 127) << shift, shift + 7, at + 1
                if shift > 63:
                    raise ValueError("no number")
            number, at = number | content[at] << shift, at + 1
            fields[last] = number >> 1 ^ -(number & 1)
            at += number if kind == 8 else 0
        elif kind in (3, 7):  # a byte, a double
            at += 1 if kind == 3 else 8
        elif kind == 12:
            at = _thrift(content, at, depth + 1)[1]
        elif kind not in (1, 2):  # true, false
            raise ValueError("no header of a page")
    return fields, at + 1
