"""A function with its arguments, which are also the key of its result."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, ParamSpec, TypeVar

from explorer.tasks.text import corpora
from explorer.web.background import Key

P = ParamSpec("P")
Result = TypeVar("Result")


class Call(Generic[Result]):
    """A pure function with its arguments, for `background.submit(call.key, call)`.

    The arguments are hashable; tuples of them are allowed. For a run or a model, the key contains its `cache_key`.
    """

    def __init__(self, function: Callable[P, Result], /, *arguments: P.args, **named: P.kwargs) -> None:
        self.function, self.arguments, self.named = function, arguments, named

    def __call__(self) -> Result:
        return self.function(*self.arguments, **self.named)

    @property
    def key(self) -> Key:
        """The name of the function, its arguments, and the SHA-256 of each text of a visitor that they contain."""
        given = (*self.arguments, *self.named.values())
        parts = (*map(_key_part, self.arguments), *((name, _key_part(each)) for name, each in self.named.items()))
        return (f"{self.function.__module__}.{self.function.__qualname__}", parts, *sorted(_own_texts(given)))


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


def _own_texts(argument: object) -> set[str]:
    """Return the SHA-256 of each own text of a visitor in an argument: by itself, of a configuration or a run."""
    if isinstance(argument, tuple):
        return set().union(*map(_own_texts, argument))
    config = getattr(argument, "config", argument)
    text = argument if isinstance(argument, str) else getattr(getattr(config, "task", config), "text", "")
    return {text} if isinstance(text, str) and corpora.is_own_text(text) else set()
