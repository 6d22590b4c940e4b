from __future__ import annotations

import hashlib
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from explorer.tasks.seq2seq import dates
from explorer.tasks.seq2seq.config import source_ids, source_text, target_ids, target_text
from explorer.tasks.seq2seq.dates import DATE_FORMATS, FIRST_DAY, DatesConfig, format_date, parse_date, split_days


def test_every_format_of_a_day(snapshot: SnapshotAssertion) -> None:
    days = [date(1999, 1, 31), date(2001, 12, 1), date(2004, 2, 22), date(1950, 5, 11), date(1950, 5, 12)]
    assert {way: [format_date(day, way) for day in days] for way in DATE_FORMATS} == snapshot


@settings(max_examples=30)
@given(st.dates(FIRST_DAY, dates.LAST_DAY), st.sampled_from(list(DATE_FORMATS)))
def test_formatted_dates_parse_in_any_case_and_spacing(day: date, way: str) -> None:
    text = format_date(day, way)
    assert parse_date(text).day == day
    assert parse_date(f"  {text.upper().replace(' ', '  ')} ").day == day
    assert parse_date(text).error == ""
    ids = source_ids(DatesConfig(), f" {text.upper()} ")
    assert source_text(DatesConfig(), ids) == text
    right = target_ids(DatesConfig(), ids)
    assert right is not None and target_text(DatesConfig(), right) == day.isoformat()


def test_parse_errors_are_explained(snapshot: SnapshotAssertion) -> None:
    texts = (
        "1.1.49", "1.1.50", "29.2.2000", "29.2.1999", "31 february 1997", "00/03/1997", "03/13/1997", "3 march 1949",
        "3 march 2050", "3th of march 1997", "tuesday 3 march 1997", "thu, 3 mar 1997", "03 march 1997",
        "march 1997", "３ march 1997", "",
    )  # fmt: skip
    assert {text: parse_date(text).error or str(parse_date(text).day) for text in texts} == snapshot


def test_held_out_days_are_deterministic() -> None:
    trained, held_out = split_days(DatesConfig())
    assert sorted((*trained, *held_out)) == [FIRST_DAY + timedelta(i) for i in range(36_525)]
    assert len(held_out) == 3_628
    digest = hashlib.sha256(" ".join(day.isoformat() for day in held_out).encode()).hexdigest()
    assert digest[:16] == "bc775c0de8df3e31"
    assert split_days(DatesConfig(split_seed=1))[1] != held_out
    assert len(split_days(DatesConfig(held_out=0.5))[1]) == pytest.approx(36_525 / 2, rel=0.02)
