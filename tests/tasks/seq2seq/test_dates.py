from __future__ import annotations

import dataclasses
import hashlib
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tasks.seq2seq.dates import (
    CHARACTERS,
    DATE_FORMATS,
    FIRST_DAY,
    LAST_DAY,
    DatesConfig,
    format_date,
    parse_date,
    split_days,
)

DAYS = st.dates(FIRST_DAY, LAST_DAY)


def test_released_defaults_do_not_change() -> None:
    assert dataclasses.asdict(DatesConfig()) == {"held_out": 0.1, "split_seed": 0}


def test_a_format_is_named_by_an_example() -> None:
    assert len(DATE_FORMATS) >= 12
    for way in DATE_FORMATS:
        assert format_date(date(1997, 3, 3), way) == way


@pytest.mark.parametrize(
    ("day", "way", "text"),
    [
        (date(2001, 12, 1), "3rd of march 1997", "1st of december 2001"),
        (date(2001, 12, 2), "the 3rd of march, 1997", "the 2nd of december, 2001"),
        (date(1950, 5, 11), "march 3rd, 1997", "may 11th, 1950"),
        (date(1950, 5, 12), "march the 3rd, 1997", "may the 12th, 1950"),
        (date(2049, 9, 13), "monday the 3rd of march 1997", "monday the 13th of september 2049"),
        (date(2004, 2, 29), "mon, 3 mar 1997", "sun, 29 feb 2004"),
        (date(2004, 2, 21), "3.3.97", "21.2.04"),
        (date(2004, 2, 23), "03/03/1997", "23/02/2004"),
        (date(2004, 2, 22), "3-mar-97", "22-feb-04"),
        (date(1999, 1, 31), "3 march '97", "31 january '99"),
    ],
)
def test_format_date_of_worked_examples(day: date, way: str, text: str) -> None:
    assert format_date(day, way) == text


@given(DAYS, st.sampled_from(list(DATE_FORMATS)))
def test_formatted_dates_parse_in_any_case_and_spacing(day: date, way: str) -> None:
    text = format_date(day, way)
    assert parse_date(text).day == day
    assert parse_date(f"  {text.upper().replace(' ', '  ')} ").day == day
    assert parse_date(text).error == ""
    assert set(text) <= set(CHARACTERS)


def test_no_two_days_have_the_same_text() -> None:
    leap_year = [date(2000, 1, 1) + timedelta(i) for i in range(366)]
    others = [date(year, 12, 1) for year in range(1950, 2050) if year != 2000]
    for way in DATE_FORMATS:
        assert len({format_date(day, way) for day in leap_year + others}) == 366 + 99


def test_every_character_occurs_in_some_format() -> None:
    every = (date(year, month, day) for year in (1950, 1976) for month in range(1, 13) for day in (1, 2, 3, 4, 28))
    assert {each for day in every for way in DATE_FORMATS for each in format_date(day, way)} == set(CHARACTERS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("31 february 1997", "There is no such date: february 1997 has 28 days, not 31."),
        ("29.2.2000", ""),
        ("29.2.1999", "There is no such date: february 1999 has 28 days, not 29."),
        ("00/03/1997", "There is no such date: march 1997 has 31 days, not 0."),
        ("03/13/1997", "There is no month 13: the day comes first, then the month, from 1 to 12."),
        ("3 march 1949", "The year 1949 was not taught: only 1950 to 2049."),
        ("3 march 2050", "The year 2050 was not taught: only 1950 to 2049."),
        ("3th of march 1997", "“3th” is not how it was taught: “3rd”."),
        ("tuesday 3 march 1997", "There is no such date: 3 march 1997 is a monday, not a tuesday."),
        ("thu, 3 mar 1997", "There is no such date: 3 march 1997 is a monday, not a thursday."),
        ("03 march 1997", "This is none of the ways of writing a date that were taught."),
        ("march 1997", "This is none of the ways of writing a date that were taught."),
        ("３ march 1997", "This is none of the ways of writing a date that were taught."),
        ("", "This is none of the ways of writing a date that were taught."),
    ],
)
def test_parse_errors_are_explained(text: str, why: str) -> None:
    found = parse_date(text)
    assert (found.day is None, found.error) == (bool(why), why)


@pytest.mark.slow
@given(st.text(st.sampled_from(CHARACTERS), max_size=60) | st.text(max_size=60))
def test_any_text_is_parsed_or_has_an_error(text: str) -> None:
    found = parse_date(text)
    assert (found.day is None) == bool(found.error)


def test_two_digits_identify_one_year() -> None:
    assert parse_date("1.1.49").day == LAST_DAY.replace(month=1, day=1)
    assert parse_date("1.1.50").day == FIRST_DAY


def test_held_out_days_are_deterministic() -> None:
    trained, held_out = split_days(DatesConfig())
    assert sorted((*trained, *held_out)) == [FIRST_DAY + timedelta(i) for i in range(36_525)]
    assert len(held_out) == 3_628
    digest = hashlib.sha256(" ".join(day.isoformat() for day in held_out).encode()).hexdigest()
    assert digest[:16] == "bc775c0de8df3e31"
    assert split_days(DatesConfig(split_seed=1))[1] != held_out
    assert len(split_days(DatesConfig(held_out=0.5))[1]) == pytest.approx(36_525 / 2, rel=0.02)
