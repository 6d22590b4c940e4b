"""How a field of a page's state is declared: once, with everything that its widget and its URL parameter need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from explorer.errors import InvalidSetting, LineageError, NeedsText, shorten
from explorer.tasks.text.config import SHA256_PATTERN


def setting(
    default: Any,
    label: str = "",
    *,
    low: float | None = None,
    high: float | Callable[[Any], int] | None = None,
    step: float | None = None,
    help: str = "",
    options: Sequence[Any] | Mapping[Any, str] | None = None,
    longest: int | None = None,
    check: Callable[[object], None] | None = None,
    in_url: bool = True,
) -> Any:
    """Return a dataclass field whose metadata contains the arguments that are given.

    default: the value that is left out of the URL
    label: the label of the widget; empty where it depends on the state, or where a component shows the field
    low, high: the smallest and the largest number (inclusive); `high` may be a function of the state
    step: increment of the widget
    help: explanation beside the label
    options: the values that can be selected, or the text that is shown for each value
    longest: characters of a text; a longer URL parameter is not written
    check: raises LineageError if a value is invalid
    in_url: whether the field is a URL parameter
    """
    given = {
        "label": label,
        "low": low,
        "high": high,
        "step": step,
        "help": help,
        "options": options,
        "longest": longest,
        "check": check,
    }
    metadata = {name: value for name, value in given.items() if value is not None and value != ""}
    return field(default=default, metadata=metadata if in_url else {**metadata, "in_url": False})


def check_fingerprint(text: object) -> None:
    """Raise InvalidSetting if a URL parameter is not the SHA-256 of a visitor's own text; it may be empty."""
    if not re.fullmatch(f"({SHA256_PATTERN})?", str(text)):
        raise InvalidSetting(
            f"text = {shorten(text)} is not possible: it is the SHA-256 of your own text, 64 digits from 0 to f. "
            "Paste or upload the text again."
        )


def one_of(options: Iterable[object]) -> Callable[[object], None]:
    """Return a check that a value, or each value of a tuple, is among the options."""
    possible = list(options)

    def check(given: object) -> None:
        for value in given if isinstance(given, tuple) else (given,):
            if value not in possible:
                raise InvalidSetting(f"There is no “{shorten(value)}” here. There is {', '.join(map(str, possible))}.")

    return check


def at_most(characters: int) -> Callable[[object], None]:
    """Return a check that a text is not longer."""

    def check(given: object) -> None:
        if len(text := str(given)) > characters:
            raise InvalidSetting(
                f"A text has at most {characters:,} characters here; “{shorten(text)}” has {len(text):,}. Shorten it."
            )

    return check


def missing_table_message(error: LineageError, sha: str) -> str:
    """Return the message for a visitor whose address names an own table that cannot be read.

    error: the error of reading the file
    sha: the SHA-256 of the file
    """
    if not isinstance(error, NeedsText):
        return str(error)
    return (
        f"The address of this page needs your table whose SHA-256 begins with {sha[:12]}. This server keeps a table "
        "only during the visit in which it was given. Paste or upload the same table again."
    )


@dataclass(frozen=True)
class PageState:
    """The state of a page. A subclass declares each field with `setting`; a field is a URL parameter."""

    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = ()  # fields that components of the page set, by `apply_message`

    @classmethod
    def url_base(cls) -> Self:
        """Return the state that the parameters of a URL change, if it has any; without any the default state is shown.

        A page whose default has changed returns the old default here, so that shared addresses open as before.
        """
        return cls()

    def with_field(self, name: str, value: Any) -> Self:
        """Return the state after the visitor has changed one field. Raises InvalidSetting."""
        return replace(self, **{name: value})

    @property
    def component_state(self) -> dict[str, object]:
        """The fields that the components of the page set."""
        return {name: getattr(self, name) for name in self.COMPONENT_FIELDS}

    def with_defaults(self, *names: str) -> Self:
        """Return the state with the default values of these fields."""
        return replace(self, **{each.name: each.default for each in fields(self) if each.name in names})

    def reset(self) -> Self:
        """Return the state with the default settings."""
        return type(self)()
