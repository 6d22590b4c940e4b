"""Large arrays on their way to a browser: once, under an address that names their content, not in every message.

The arrays travel as safetensors (float32, int32, uint16 or uint8), which `assets/packed.js` reads without copying.
Streamlit's media files keep them: for as long as a page of this visitor names them, then they are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy import ndarray
from safetensors.numpy import save
from streamlit import runtime


def pack(arrays: Mapping[str, ndarray]) -> bytes:
    """Named arrays as one file."""
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def offer(content: bytes, place: str) -> str:
    """The address at which this visitor's browser finds it, until another run of the page leaves this place out.

    `place` names where it is drawn: what is offered there next takes its room.
    """
    files = runtime.get_instance().media_file_mgr
    return files.add(content, "application/octet-stream", f"lineage.{place}")
