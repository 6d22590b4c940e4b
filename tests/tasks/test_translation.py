from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidSetting
from explorer.tasks.dates import FIRST, LAST, WAYS, DatesConfig, written
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.translation import (
    MOST_TYPED,
    longest_answer,
    read_back,
    right_answer,
    said,
    source_tokens,
    spelled,
    target_tokens,
)


def test_vocabularies_never_change() -> None:
    assert "".join(source_tokens(ReverseConfig())) == "0123456789<PAD>"
    assert "".join(target_tokens(CopyConfig(symbols=3))) == "012<BOS><EOS>"
    assert "".join(source_tokens(DatesConfig())) == " ',-./0123456789abcdefghijlmnoprstuvwy<PAD>"
    assert "".join(target_tokens(DatesConfig())) == "0123456789-<BOS><EOS>"


@given(st.text("0123456789", min_size=1, max_size=MOST_TYPED))
def test_digits_there_and_back(text: str) -> None:
    for config, answer in ((ReverseConfig(), text[::-1]), (CopyConfig(), text)):
        ids = spelled(config, " ".join(text))
        assert read_back(config, ids) == text
        right = right_answer(config, ids)
        assert right is not None
        assert said(config, right) == answer
        assert len(right) < longest_answer(config, len(ids))


@given(st.dates(FIRST, LAST), st.sampled_from(list(WAYS)))
def test_dates_there_and_back(day, way) -> None:  # type: ignore[no-untyped-def]
    config = DatesConfig()
    ids = spelled(config, f" {written(day, way).upper()} ")
    assert read_back(config, ids) == written(day, way)
    right = right_answer(config, ids)
    assert right is not None
    assert said(config, right) == day.isoformat()


def test_what_is_no_date_has_no_right_answer() -> None:
    config = DatesConfig()
    assert right_answer(config, spelled(config, "31 february 1997")) is None


def test_said_ends_at_eos_and_padding_is_not_read_back() -> None:
    config = ReverseConfig()
    assert said(config, [1, 2, 11, 11]) == "12"
    assert said(config, [1, 10, 2]) == "1<BOS>2"
    assert read_back(config, [1, 2, 10, 10]) == "12"


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
def test_what_cannot_be_read_is_one_sentence(config, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidSetting) as raised:
        spelled(config, text)
    assert str(raised.value) == message


def test_longer_than_trained_can_be_typed() -> None:
    assert len(spelled(ReverseConfig(longest=3), "3141592")) == 7
