"""A function with its arguments, which are also the key of its result."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, ParamSpec, TypeVar

from explorer.web.background import Key, own_texts

P = ParamSpec("P")
Result = TypeVar("Result")


class Call(Generic[Result]):
    """A pure function with hashable arguments, for `background.submit`; runs and models count by their `cache_key`."""

    def __init__(self, function: Callable[P, Result], /, *arguments: P.args, **named: P.kwargs) -> None:
        self.function, self.arguments, self.named = function, arguments, named

    def __call__(self) -> Result:
        return self.function(*self.arguments, **self.named)

    @property
    def key(self) -> Key:
        """The name of the function, its arguments, and the SHA-256 of each text of a visitor that they contain."""
        given = (*self.arguments, *self.named.values())
        parts = (*map(_key_part, self.arguments), *((name, _key_part(each)) for name, each in self.named.items()))
        return (f"{self.function.__module__}.{self.function.__qualname__}", parts, *sorted(own_texts(given)))


class KeyedCall(Call[Result]):
    """A call whose key says more than its function and arguments, such as which model is measured."""

    def __init__(self, key: Key, function: Callable[P, Result], /, *arguments: P.args, **named: P.kwargs) -> None:
        super().__init__(function, *arguments, **named)
        self._key = key

    @property
    def key(self) -> Key:
        return self._key


def _key_part(argument: object) -> Hashable:
    if isinstance(argument, tuple):
        return tuple(map(_key_part, argument))
    found: Hashable = getattr(argument, "cache_key", argument)
    return found
