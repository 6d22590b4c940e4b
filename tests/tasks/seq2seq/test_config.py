from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidSetting
from explorer.tasks.seq2seq.config import (
    MAX_SOURCE_TOKENS,
    max_answer_length,
    source_ids,
    source_text,
    source_vocabulary,
    target_ids,
    target_text,
    target_vocabulary,
)
from explorer.tasks.seq2seq.dates import DATE_FORMATS, FIRST_DAY, LAST_DAY, DatesConfig, format_date
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig


def test_vocabularies_do_not_change() -> None:
    assert "".join(source_vocabulary(ReverseConfig())) == "0123456789<PAD>"
    assert "".join(target_vocabulary(CopyConfig(symbols=3))) == "012<BOS><EOS>"
    assert "".join(source_vocabulary(DatesConfig())) == " ',-./0123456789abcdefghijlmnoprstuvwy<PAD>"
    assert "".join(target_vocabulary(DatesConfig())) == "0123456789-<BOS><EOS>"


@given(st.text("0123456789", min_size=1, max_size=MAX_SOURCE_TOKENS))
def test_digits_round_trip(text: str) -> None:
    for config, answer in ((ReverseConfig(), text[::-1]), (CopyConfig(), text)):
        ids = source_ids(config, " ".join(text))
        assert source_text(config, ids) == text
        right = target_ids(config, ids)
        assert right is not None
        assert target_text(config, right) == answer
        assert len(right) < max_answer_length(config, len(ids))


@given(st.dates(FIRST_DAY, LAST_DAY), st.sampled_from(list(DATE_FORMATS)))
def test_dates_round_trip(day, way) -> None:  # type: ignore[no-untyped-def]
    config = DatesConfig()
    ids = source_ids(config, f" {format_date(day, way).upper()} ")
    assert source_text(config, ids) == format_date(day, way)
    right = target_ids(config, ids)
    assert right is not None
    assert target_text(config, right) == day.isoformat()


def test_a_text_that_is_no_date_has_no_target() -> None:
    config = DatesConfig()
    assert target_ids(config, source_ids(config, "31 february 1997")) is None


def test_target_text_ends_at_eos_and_source_text_drops_padding() -> None:
    config = ReverseConfig()
    assert target_text(config, [1, 2, 11, 11]) == "12"
    assert target_text(config, [1, 10, 2]) == "1<BOS>2"
    assert source_text(config, [1, 2, 10, 10]) == "12"


@pytest.mark.parametrize(
    ("config", "text", "message"),
    [
        (ReverseConfig(), "", "The source is empty. Give digits from 0 to 9."),
        (ReverseConfig(), "  ", "The source is empty. Give digits from 0 to 9."),
        (ReverseConfig(), "12a4", "The source has “a”, which the model never saw. Give digits from 0 to 9."),
        (CopyConfig(symbols=2), "0120", "The source has “2”, which the model never saw. Give digits from 0 to 1."),
        (ReverseConfig(), "٣", "The source has “٣”, which the model never saw. Give digits from 0 to 9."),
        (ReverseConfig(), "1" * 51, "The source has 51 tokens. Give at most 50."),
        (
            DatesConfig(),
            "kwanza 1997",
            "The source has “k”, which the model never saw. Give a date in small letters, such as “3rd of march 1997”.",
        ),
        (DatesConfig(), "", "The source is empty. Give a date in small letters, such as “3rd of march 1997”."),
    ],
)
def test_unreadable_sources_raise_one_sentence(config, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidSetting) as raised:
        source_ids(config, text)
    assert str(raised.value) == message


def test_sources_may_be_longer_than_in_training() -> None:
    assert len(source_ids(ReverseConfig(longest=3), "3141592")) == 7
