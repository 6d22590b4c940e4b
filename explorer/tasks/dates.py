"""Dates: a day, written in one of many ways, becomes ISO 8601: "the 3rd of march 1997" is 1997-03-03.

The source is read letter by letter, in small letters, and the target is written digit by digit. Where a month is a
number the day comes first, as in Europe. Years run from 1950 to 2049, a hundred of them, so two digits name one year.
The task is that of Andrew Ng's course "Sequence models" (2018), with other ways of writing. Needs only the standard
library.
"""

from __future__ import annotations

import calendar
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType

from explorer.models.settings import setting

VERSION = 1
FIRST = date(1950, 1, 1)
LAST = date(2049, 12, 31)
# Not taken from the calendar module: its names change with the language of the machine.
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# The ways of writing, by name; `written` says what the parts are. A name is how 3 March 1997 is written.
WAYS: Mapping[str, str] = MappingProxyType(
    {
        "3 march 1997": "{day} {month} {year}",
        "3rd of march 1997": "{nth} of {month} {year}",
        "the 3rd of march, 1997": "the {nth} of {month}, {year}",
        "march 3, 1997": "{month} {day}, {year}",
        "march 3rd, 1997": "{month} {nth}, {year}",
        "march the 3rd, 1997": "{month} the {nth}, {year}",
        "3 mar 1997": "{day} {mon} {year}",
        "mar 3, 1997": "{mon} {day}, {year}",
        "3-mar-97": "{day}-{mon}-{yy}",
        "3 march '97": "{day} {month} '{yy}",
        "3.3.1997": "{day}.{m}.{year}",
        "3.3.97": "{day}.{m}.{yy}",
        "03/03/1997": "{dd}/{mm}/{year}",
        "1997, march 3": "{year}, {month} {day}",
        "monday 3 march 1997": "{weekday} {day} {month} {year}",
        "mon, 3 mar 1997": "{wd}, {day} {mon} {year}",
        "monday the 3rd of march 1997": "{weekday} the {nth} of {month} {year}",
    }
)
CHARACTERS = tuple(" ',-./0123456789abcdefghijlmnoprstuvwy")  # all that any of these ways writes


@dataclass(frozen=True)
class DatesConfig:
    """Which days training never sees."""

    held_out: float = setting(
        0.1, "Share of the days from 1950 to 2049 that training never sees, in any way of writing.", 0.01, 0.5
    )
    split_seed: int = setting(0, "Seed of which days these are.", 0, 2**31 - 1)


@dataclass(frozen=True)
class Understood:
    """What a strict reader of the ways that were taught finds in a text: a day, or why there is none."""

    day: date | None
    why: str = ""  # one sentence, where there is no day


@lru_cache(maxsize=8)
def days(config: DatesConfig) -> tuple[tuple[date, ...], tuple[date, ...]]:
    """The days that training draws from, and those it never sees: each by the hash of its name, in order of time."""
    every = (FIRST + timedelta(after) for after in range((LAST - FIRST).days + 1))
    trained: list[date] = []
    held_out: list[date] = []
    for day in every:
        digest = hashlib.sha256(f"dates/{config.split_seed}/{day.isoformat()}".encode()).digest()
        hidden = int.from_bytes(digest[:8], "big") < config.held_out * 2**64
        (held_out if hidden else trained).append(day)
    return tuple(trained), tuple(held_out)


def written(day: date, way: str) -> str:
    """A day in one of the WAYS, in small letters."""
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    return WAYS[way].format(
        day=day.day,
        dd=f"{day.day:02}",
        nth=_nth(day.day),
        m=day.month,
        mm=f"{day.month:02}",
        month=month,
        mon=month[:3],
        year=day.year,
        yy=f"{day.year % 100:02}",
        weekday=weekday,
        wd=weekday[:3],
    )


def understood(text: str) -> Understood:
    """What stands in a text, which has to follow one of the WAYS to the letter; capitals do not matter."""
    text = " ".join(text.lower().split())
    for way in WAYS:
        if found := _pattern(way).fullmatch(text):
            return _read(found.groupdict())
    return Understood(None, "This is none of the ways of writing a date that were taught.")


def _nth(day: int) -> str:
    end = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{end}"


_PARTS = {
    "day": r"[1-9]\d?",
    "dd": r"\d\d",
    "nth": r"[1-9]\d?(?:st|nd|rd|th)",
    "m": r"[1-9]\d?",
    "mm": r"\d\d",
    "month": "|".join(MONTHS),
    "mon": "|".join(month[:3] for month in MONTHS),
    "year": r"\d{4}",
    "yy": r"\d\d",
    "weekday": "|".join(WEEKDAYS),
    "wd": "|".join(weekday[:3] for weekday in WEEKDAYS),
}


@lru_cache(maxsize=len(WAYS))
def _pattern(way: str) -> re.Pattern[str]:
    """A regular expression with a group for each part of a way of writing."""
    named = {name: f"(?P<{name}>{part})" for name, part in _PARTS.items()}
    return re.compile(re.escape(WAYS[way]).replace(r"\{", "{").replace(r"\}", "}").format(**named), re.ASCII)


def _read(parts: Mapping[str, str]) -> Understood:
    """From the parts that a text names to the day, if there is one."""
    number = int((parts.get("day") or parts.get("dd") or parts["nth"]).rstrip("stndrh"))
    month = _month(parts)
    year = int(parts["year"]) if "year" in parts else 1950 + (int(parts["yy"]) - 50) % 100
    if not 1 <= month <= 12:
        return Understood(None, f"There is no month {month}: the day comes first, then the month, from 1 to 12.")
    if not FIRST.year <= year <= LAST.year:
        return Understood(None, f"The year {year} was not taught: only {FIRST.year} to {LAST.year}.")
    last, name = calendar.monthrange(year, month)[1], MONTHS[month - 1]
    if not 1 <= number <= last:
        return Understood(None, f"There is no such date: {name} {year} has {last} days, not {number}.")
    if "nth" in parts and parts["nth"] != _nth(number):
        return Understood(None, f"“{parts['nth']}” is not how it was taught: “{_nth(number)}”.")
    day = date(year, month, number)
    weekday = WEEKDAYS[day.weekday()]
    said = parts.get("weekday") or parts.get("wd") or weekday
    if not weekday.startswith(said):
        named = next(each for each in WEEKDAYS if each.startswith(said))
        return Understood(None, f"There is no such date: {number} {name} {year} is a {weekday}, not a {named}.")
    return Understood(day)


def _month(parts: Mapping[str, str]) -> int:
    if named := parts.get("month") or parts.get("mon"):
        return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(named))
    return int(parts.get("m") or parts["mm"])
