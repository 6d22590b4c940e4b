"""QR codes of the addresses that a class needs."""

from __future__ import annotations

from functools import lru_cache

import segno


@lru_cache(maxsize=256)
def qr_code(url: str) -> dict[str, object]:
    """Return a QR code as one SVG path, one unit per module, with the required quiet zone of four modules."""
    modules = segno.make(url, error="m", micro=False).matrix
    dark = [f"M{x + 4} {y + 4}h1v1h-1z" for y, row in enumerate(modules) for x, module in enumerate(row) if module]
    return {"size": len(modules) + 8, "path": "".join(dark)}
