"""The cache of everything large that can be computed again: opened models, readings, figures and results for pages.

All of it together has one ceiling in bytes, so that the memory of a server does not depend on how long it runs. What
was used longest ago is dropped first.
"""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache
from cachetools.keys import hashkey

_P = ParamSpec("_P")
_R = TypeVar("_R")
_K = TypeVar("_K")
MAX_BYTES = 64_000_000  # of all values together
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, threading.Thread)
_ARRAYS = (("numpy", "ndarray"), ("torch", "Tensor"))
_values: LRUCache[Hashable, tuple[Any, int]] = LRUCache(MAX_BYTES, getsizeof=lambda value: value[1])
_lock = threading.RLock()  # a value that is dropped may drop others when it ends


def count_bytes(value: object) -> int:
    """Return the bytes of an object and of all that it refers to, except classes, functions and modules."""
    # A process without arrays or tensors does not import them.
    array, tensor = (getattr(sys.modules.get(name), kind, ()) for name, kind in _ARRAYS)
    seen: set[object] = set()
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _SHARED):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)  # of an array with its values, unless it is a view
        if isinstance(one, array):
            waiting += one.ravel().tolist() if one.dtype.hasobject else [one.base]
        elif isinstance(one, tensor):
            storage = one.untyped_storage()
            total += 0 if ("storage", storage.data_ptr()) in seen else storage.nbytes()
            seen.add(("storage", storage.data_ptr()))
        else:
            waiting += gc.get_referents(one)
    return total


def get(key: Hashable) -> Any:
    """Return the value that is kept under a key, or None."""
    with _lock:
        return _values.get(key, (None,))[0]


def keep(key: Hashable, value: object, size: int) -> None:
    """Keep a value of so many bytes. Above the ceiling, what was used longest ago is dropped."""
    with _lock:
        _values[key] = value, min(size, MAX_BYTES)


def drop_where(condition: Callable[[Any], bool]) -> None:
    """Drop the values of all keys for which the condition holds; what is being computed for one is not kept."""
    with _lock:
        for cache in (_values, _turns):
            for key in [key for key in cache if condition(key)]:
                cache.pop(key, None)


def items() -> list[tuple[Any, Any]]:
    """Return all keys with their values."""
    with _lock:
        return [(key, value) for key, (value, _) in _values.items()]


def get_or_compute(key: Hashable, make: Callable[[], _R]) -> _R:
    """Return the value of a key; if it is missing, `make` computes it, once, however many threads ask for it.

    An error of `make` is not kept.
    """
    with _lock:
        if key in _values:
            return _values[key][0]
        turn = _turns.setdefault(key, _Turn())
    with turn.lock:  # the threads that wait here find the value of the first one
        with _lock:
            if key in _values:
                return _values[key][0]
        value = make()
        size = count_bytes((key, value))
        with _lock:
            if _turns.get(key) is turn:  # the key was not dropped meanwhile
                keep(key, value, size)
        return value


def cached(key: Callable[..., Hashable] = hashkey) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that keeps the results of a function as long as there is room for them.

    key: returns a hashable key for the arguments of a call; by default the arguments themselves are hashable.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def look_up(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            return get_or_compute((function, key(*args, **kwargs)), lambda: function(*args, **kwargs))

        return look_up

    return decorate


class Once(Generic[_K, _R]):
    """Values that are computed once, however many threads ask for them, and whose keys can be dropped together."""

    def get(self, key: _K, make: Callable[[], _R]) -> _R:
        """Return the value of a key; see `get_or_compute`."""
        return get_or_compute((self, key), make)

    def drop_where(self, condition: Callable[[_K], bool]) -> None:
        """Forget the values of all keys for which the condition holds."""
        drop_where(lambda key: key[0] is self and condition(key[1]))


class _Turn:
    """What the threads that ask for the same missing value share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[Hashable, _Turn] = WeakValueDictionary()
