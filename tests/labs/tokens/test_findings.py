"""Every sentence agrees with the numbers that it was made from."""

from __future__ import annotations

import math
from typing import Any

import pytest

from explorer.inspection.language.batch_preview import BatchPreview, PreviewRow, PreviewToken
from explorer.inspection.language.split_leakage import LeakageGap, UnknownWords
from explorer.inspection.language.tokenizers import Kind, TrainedTokenizer, train_tokenizers
from explorer.labs.tokens.findings import (
    batch_finding,
    describe_leak,
    describe_unknown_words,
    epoch_finding,
    leakage_finding,
    merges_finding,
    origin_finding,
    ratio,
    tokenizers_finding,
)
from explorer.tasks.text.config import TextConfig
from explorer.ui.wording import percentage
from tests.words import assert_mentions, assert_states

PER_TOKEN: dict[Kind, float] = {"char": 1.0, "word": 3.81, "bpe": 2.49, "bytes": 1.92}
NONE: dict[Kind, float] = dict.fromkeys(PER_TOKEN, 0.0)


def test_percentages_and_ratios_are_formatted() -> None:
    assert [percentage(share) for share in (0.0, 0.0001, 0.2158, 1.0, math.nan)] == [
        "none",
        "< 0.1\u00a0%",
        "21.6\u00a0%",
        "100.0\u00a0%",
        "–",
    ]
    assert [ratio(value) for value in (2.4912, math.nan)] == ["2.49", "–"]


def test_the_finding_on_tokenizers_names_characters_per_token_and_losses() -> None:
    sentence = tokenizers_finding("Tiny Shakespeare", PER_TOKEN, {**NONE, "word": 0.2158}, 500)
    assert_mentions(sentence, "BPE token has 2.49 characters … a word vocabulary of 500 lacks 21.6 % of the words")
    assert tokenizers_finding("Toy", PER_TOKEN, NONE, 2).endswith("a word vocabulary of 2 lacks no word.")


def test_the_finding_on_merges_has_their_counts() -> None:
    bpe: TrainedTokenizer = train_tokenizers(TextConfig(corpus="brackets", size=5_000))["bpe"]
    sentence = merges_finding(bpe, bpe.min_vocabulary + 10)
    assert f"{bpe.merge_uses[0]:,} times" in sentence
    assert f"After 10 merges the text has {bpe.lengths[10]:,} tokens instead of {bpe.lengths[0]:,}." in sentence
    assert "merge" not in merges_finding(bpe, 2).split("become")[0].split("tokens of the")[-1]
    assert "nothing is merged" in merges_finding(train_tokenizers(TextConfig(corpus="toy", size=1_000))["char"], 9)


def make_preview(in_loss: list[list[bool]], positions: list[int], **more: Any) -> BatchPreview:
    batch = tuple(
        PreviewRow(
            position, tuple(PreviewToken("a" if each or t == 0 else "", "b" * each, each) for t, each in enumerate(row))
        )
        for position, row in zip(positions, in_loss, strict=True)
    )
    return BatchPreview((batch,) * 3, **{"tokens": 100, "rows": 7, "targets": 70, "rows_continue": False, **more})


def test_targets_and_padding_are_counted() -> None:
    every = make_preview([[True] * 4] * 2, [3, 9])
    assert batch_finding(every, "blocks", 4).startswith("Two rows, 8 positions, 8 targets: every position")
    some = make_preview([[True, True, False, False]], [3])
    assert_states(batch_finding(some, "sentences", 4), "One row, 4 … 2 … every token … line … next … 2 … padding")
    last = make_preview([[False, False, True]], [3])
    assert_mentions(batch_finding(last, "prefixes", 3), "1 … only the last … row … 1 … padding")
    assert_mentions(epoch_finding(every, "blocks"), "70 targets … 7 rows … 10.0 targets")
    assert "in 7 rows: one target per row." in epoch_finding(every, "prefixes")


def test_the_origin_of_rows_is_described_for_both_orders() -> None:
    assert_mentions(
        origin_finding(make_preview([[True]], [1_234])), "Row 1 … token 1,234, 1,234 and 1,234 … every step"
    )
    assert "continues where it ended" in origin_finding(make_preview([[True]], [3], rows_continue=True))


@pytest.mark.parametrize(
    ("honest", "leaky", "sentence"),
    [
        (2.19, 0.82, "0.82 bits … character … 2.19 … leak"),
        (2.19, 0.82, "n-gram look 63% better."),
        (2.00, 1.99, "hardly matters"),
        (2.00, 2.50, "harder here, by 25%."),
        (0.004, 0.001, "hardly matters"),
    ],
)
def test_a_leak_is_described_as_measured(honest: float, leaky: float, sentence: str) -> None:
    assert_mentions(describe_leak(LeakageGap("blocks", honest, leaky)), sentence)


def test_the_headline_names_the_largest_leak_or_that_there_is_none() -> None:
    large, none = LeakageGap("blocks", 2.19, 0.82), LeakageGap("sentences", 2.0, 2.0)
    assert "With overlapping windows" in leakage_finding([large, none])
    assert_mentions(leakage_finding([none, large]), "0.82 bits … character … 2.19")
    assert "no leak makes the n-gram" in leakage_finding([none, LeakageGap("blocks", problem="too short")])
    assert "no leak makes the n-gram" in leakage_finding([LeakageGap("blocks", 0.034, 0.031)])
    assert "too short" in leakage_finding([LeakageGap("blocks", problem="x")])
    assert_states(
        describe_leak(LeakageGap("sentences", problem="No line is long.")), "No line is long … leak cannot be measured"
    )


def test_a_tokenizer_leaks_if_it_knows_more_words_of_held_out_lines() -> None:
    assert_states(
        describe_unknown_words(UnknownWords(0.001, 0.027)),
        "can leak … held-out lines 0.1 % … unknown … 20,000 words … all lines … 2.7 % … training lines only",
    )
    assert_states(
        describe_unknown_words(UnknownWords(0.01, 0.01)), "leaks nothing … 1.0 % … 20,000 … all lines … 1.0 %"
    )
