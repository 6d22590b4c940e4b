"""A part of the cache of large values whose keys can be dropped together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from explorer import byte_cache

_K = TypeVar("_K")
_V = TypeVar("_V")


class Once(Generic[_K, _V]):
    """Values that are computed once, however many threads ask for them at the same time; see `byte_cache`."""

    def get(self, key: _K, make: Callable[[], _V]) -> _V:
        """Return the value of a key; `make` computes it if it is missing. An error of `make` is not cached."""
        return byte_cache.get_or_compute((self, key), make)

    def drop_where(self, condition: Callable[[_K], bool]) -> None:
        """Forget the values of all keys for which the condition holds."""
        byte_cache.drop_where(lambda key: key[0] is self and condition(key[1]))

    def reset(self) -> None:
        """Forget every value."""
        self.drop_where(lambda key: True)
