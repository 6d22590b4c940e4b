"""Large arrays on their way to a browser: once, under an address that names their content, not in every message.

The arrays travel as safetensors (float32, int32, uint16 or uint8), which `assets/packed.js` reads without copying.
What was offered last is kept, up to a number of bytes: a page offers what it shows at each of its runs. (Streamlit's
own media files would do, but they are let go at once when a run of the page is interrupted before it named them anew.)
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

MOST = 200_000_000  # bytes of everything that is offered
_offers: OrderedDict[str, tuple[bytes, tuple[Hashable, ...]]] = OrderedDict()
_lock = threading.Lock()


def pack(arrays: Mapping[str, ndarray]) -> bytes:
    """Named arrays as one file."""
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def offer(content: bytes, of: tuple[Hashable, ...] = ()) -> str:
    """The address at which browsers find it, for as long as there is room. `of` is what it is made of, see `forget`."""
    name = hashlib.sha256(content).hexdigest()
    with _lock:
        _offers.pop(name, None)
        _offers[name] = content, of
        room = MOST - sum(len(kept) for kept, _ in _offers.values())
        while room < 0 and len(_offers) > 1:
            _, (old, _) = _offers.popitem(last=False)
            room += len(old)
    return f"/packed/{name}"


def forget(part: Hashable) -> None:
    """Offer nothing any more that is made of this."""
    with _lock:
        for name in [name for name, (_, of) in _offers.items() if part in of]:
            del _offers[name]


def packed(request: Request) -> Response:
    """GET /packed/NAME. What a name stands for never changes."""
    content, _ = _offers.get(request.path_params["name"], (None, ()))
    if content is None:
        return Response(status_code=404)
    return Response(content, media_type="application/octet-stream", headers={"Cache-Control": "private, immutable"})


ROUTES = [Route("/packed/{name:str}", packed)]
