"""Random generators by seed and purpose. Nothing draws from the global generator, which threads share."""

from __future__ import annotations

import hashlib

from explorer.lazy_libraries import torch


def generator(seed: int, purpose: str) -> torch.Generator:
    """Return the generator of one seed and one purpose (for example "start" or "order")."""
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
