"""The dates task: convert a date in one of many formats to ISO 8601, as "the 3rd of march 1997" to 1997-03-03.

Source and target are sequences of characters in lower case. In numeric formats the day precedes the month, as in
Europe. Years run from 1950 to 2049, so two digits identify a year. The task follows Andrew Ng's course "Sequence
models" (2018) with other formats. Needs only the standard library.
"""

from __future__ import annotations

import calendar
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from explorer.models.settings import setting

VERSION = 1
FIRST_DAY = date(1950, 1, 1)
LAST_DAY = date(2049, 12, 31)
# Not from the calendar module, whose names depend on the locale.
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# The formats by name; `format_date` fills in the parts. The name of a format is 3 March 1997 in this format.
DATE_FORMATS: Mapping[str, str] = {
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
CHARACTERS = tuple(" ',-./0123456789abcdefghijlmnoprstuvwy")  # of all formats


@dataclass(frozen=True)
class DatesConfig:
    """Which days are held out from training."""

    held_out: float = setting(
        0.1, "Share of the days that training never sees.", 0.01, 0.5, label="Share of the days that is held out"
    )
    split_seed: int = setting(0, "Seed of which days these are.", 0, 2**31 - 1)


@dataclass(frozen=True)
class ParsedDate:
    """The result of parsing a date: a day, or the reason why there is none."""

    day: date | None
    error: str = ""  # one sentence if `day` is None


@lru_cache(maxsize=8)
def split_days(config: DatesConfig) -> tuple[tuple[date, ...], tuple[date, ...]]:
    """Return training days and held-out days in chronological order; a hash of the day decides."""
    every = (FIRST_DAY + timedelta(after) for after in range((LAST_DAY - FIRST_DAY).days + 1))
    trained: list[date] = []
    held_out: list[date] = []
    for day in every:
        digest = hashlib.sha256(f"dates/{config.split_seed}/{day.isoformat()}".encode()).digest()
        hidden = int.from_bytes(digest[:8], "big") < config.held_out * 2**64
        (held_out if hidden else trained).append(day)
    return tuple(trained), tuple(held_out)


def format_date(day: date, format_name: str) -> str:
    """Return a day in one of the DATE_FORMATS, in lower case."""
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    return DATE_FORMATS[format_name].format(
        day=day.day,
        dd=f"{day.day:02}",
        nth=_ordinal(day.day),
        m=day.month,
        mm=f"{day.month:02}",
        month=month,
        mon=month[:3],
        year=day.year,
        yy=f"{day.year % 100:02}",
        weekday=weekday,
        wd=weekday[:3],
    )


def parse_date(text: str) -> ParsedDate:
    """Parse a text that strictly follows one of the DATE_FORMATS, ignoring case and repeated spaces."""
    text = " ".join(text.lower().split())
    for format_name in DATE_FORMATS:
        if found := _format_pattern(format_name).fullmatch(text):
            return _parse_parts(found.groupdict())
    return ParsedDate(None, "This is none of the ways of writing a date that were taught.")


def _ordinal(day: int) -> str:
    end = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{end}"


_PART_PATTERNS = {
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


@lru_cache(maxsize=len(DATE_FORMATS))
def _format_pattern(format_name: str) -> re.Pattern[str]:
    """Return a regular expression with a group for each part of a format."""
    named = {name: f"(?P<{name}>{part})" for name, part in _PART_PATTERNS.items()}
    return re.compile(
        re.escape(DATE_FORMATS[format_name]).replace(r"\{", "{").replace(r"\}", "}").format(**named), re.ASCII
    )


def _parse_parts(parts: Mapping[str, str]) -> ParsedDate:
    """Return the day given by the parts of a date, or the reason why there is none."""
    number = int((parts.get("day") or parts.get("dd") or parts["nth"]).rstrip("stndrh"))
    named = parts.get("month") or parts.get("mon")
    month = [each[: len(named)] for each in MONTHS].index(named) + 1 if named else int(parts.get("m") or parts["mm"])
    year = int(parts["year"]) if "year" in parts else 1950 + (int(parts["yy"]) - 50) % 100
    if not 1 <= month <= 12:
        return ParsedDate(None, f"There is no month {month}: the day comes first, then the month, from 1 to 12.")
    if not FIRST_DAY.year <= year <= LAST_DAY.year:
        return ParsedDate(None, f"The year {year} was not taught: only {FIRST_DAY.year} to {LAST_DAY.year}.")
    last, name = calendar.monthrange(year, month)[1], MONTHS[month - 1]
    if not 1 <= number <= last:
        return ParsedDate(None, f"There is no such date: {name} {year} has {last} days, not {number}.")
    if "nth" in parts and parts["nth"] != _ordinal(number):
        return ParsedDate(None, f"“{parts['nth']}” is not how it was taught: “{_ordinal(number)}”.")
    day = date(year, month, number)
    weekday = WEEKDAYS[day.weekday()]
    weekday_name = parts.get("weekday") or parts.get("wd") or weekday
    if not weekday.startswith(weekday_name):
        named = next(each for each in WEEKDAYS if each.startswith(weekday_name))
        return ParsedDate(None, f"There is no such date: {number} {name} {year} is a {weekday}, not a {named}.")
    return ParsedDate(day)
