"""Serve large arrays to the browser once, under a URL that names their content, instead of in every message.

The arrays are safetensors (float32, int32, uint16 or uint8), which `static/shared/runtime/array_store.js` reads
without copying. The most recently registered arrays are kept, up to `MAX_BYTES`; a page registers its arrays at every
run. Streamlit's own media files are not used because Streamlit drops them when a run of the page is interrupted.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping

import numpy as np
from numpy import ndarray
from safetensors.numpy import save
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MAX_BYTES = 200_000_000  # bytes of all registered arrays together
_arrays: OrderedDict[str, tuple[bytes, tuple[Hashable, ...]]] = OrderedDict()
_lock = threading.Lock()


def pack(arrays: Mapping[str, ndarray]) -> bytes:
    """Return named arrays packed as one safetensors file."""
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def register_array(content: bytes, sources: tuple[Hashable, ...] = ()) -> str:
    """Register packed arrays and return their URL; the oldest are dropped when `MAX_BYTES` is exceeded.

    `sources` names the data that the arrays were computed from, for `drop_array`.
    """
    digest = hashlib.sha256(content).hexdigest()
    with _lock:
        _arrays.pop(digest, None)
        _arrays[digest] = content, sources
        free = MAX_BYTES - sum(len(packed) for packed, _ in _arrays.values())
        while free < 0 and len(_arrays) > 1:
            _, (old, _) = _arrays.popitem(last=False)
            free += len(old)
    return f"/packed/{digest}"


def drop_array(source: Hashable) -> None:
    """Drop every array that was computed from this source."""
    with _lock:
        for name in [name for name, (_, of) in _arrays.items() if source in of]:
            del _arrays[name]


def reset() -> None:
    """Drop every registered array."""
    with _lock:
        _arrays.clear()


def array_endpoint(request: Request) -> Response:
    """GET /packed/NAME: return the arrays with this SHA-256, which never change, or status 404."""
    content, _ = _arrays.get(request.path_params["name"], (None, ()))
    if content is None:
        return Response(status_code=404)
    return Response(content, media_type="application/octet-stream", headers={"Cache-Control": "private, immutable"})


ROUTES = [Route("/packed/{name:str}", array_endpoint)]
