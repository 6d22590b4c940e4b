"""A cache whose values are computed once, however many threads ask for them at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from cachetools import LRUCache

_K = TypeVar("_K")
_V = TypeVar("_V")


class Once(Generic[_K, _V]):
    """A thread-safe LRU cache. If several threads need a missing value, one of them computes it and the others wait."""

    def __init__(self, max_entries: int) -> None:
        self._slots: LRUCache[_K, _Slot[_V]] = LRUCache(max_entries)
        self._lock = threading.Lock()

    def get(self, key: _K, make: Callable[[], _V]) -> _V:
        """Return the value of a key; `make` computes it if it is missing. An error of `make` is not cached."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if not slot.values:
                slot.values.append(make())
            return slot.values[0]

    def drop_where(self, condition: Callable[[_K], bool]) -> None:
        """Forget the values of all keys for which the condition holds."""
        with self._lock:
            for key in [key for key in self._slots if condition(key)]:
                del self._slots[key]

    def reset(self) -> None:
        """Forget every value."""
        self.drop_where(lambda key: True)


class _Slot(Generic[_V]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[_V] = []
