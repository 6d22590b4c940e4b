"""Random streams by purpose: no code here draws from a global generator, since threads share it."""

from __future__ import annotations

import hashlib

from torch import Generator


def generator(seed: int, purpose: str) -> Generator:
    """A generator of its own for one replica's seed and one purpose ("start", "order")."""
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    made = Generator()
    made.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return made
