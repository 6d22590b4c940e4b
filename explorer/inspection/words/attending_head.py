"""The head of a negation Transformer whose attention map a page shows. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.negation import OUTCOME
from explorer.tasks.own_sentences import MARKERS


def find_attending_head(tokens: Sequence[str], weights: Float[ndarray, "heads query key"]) -> int:
    """Return the head that attends most from the answer to “not”; without “not”, to the verb or any word."""
    rows = np.nan_to_num(weights[:, 0])
    named = [i for i, token in enumerate(tokens) if token == "not"]
    named = named or [i for i, token in enumerate(tokens) if token in OUTCOME]
    named = named or [i for i, token in enumerate(tokens) if token not in MARKERS]
    return int(rows[:, named or slice(None)].max(axis=1).argmax())
