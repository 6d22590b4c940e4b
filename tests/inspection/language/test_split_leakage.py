from __future__ import annotations

import math
from dataclasses import replace

import pytest

from explorer.errors import NeedsText
from explorer.inspection.language.split_leakage import ORDER, UnknownWords, measure_split_leakage, measure_unknown_words
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

REPEATS = TextConfig(corpus="repeats", size=4_000, context=16)


def ngram_loss(task: TextConfig) -> float:
    """Return the bits per character of an n-gram run that is trained as on the page."""
    config = replace(with_settings(default_config("text", "ngram"), {"replicas": 1, "n": ORDER}), task=task)
    return float(record_run(config).curves.last("bits_per_char")[0])


def test_the_losses_equal_those_of_ngram_runs() -> None:
    blocks, lines = measure_split_leakage(REPEATS)
    assert blocks.clean_bits == pytest.approx(ngram_loss(REPEATS), rel=1e-5)
    assert blocks.leaky_bits == pytest.approx(ngram_loss(replace(REPEATS, split="windows")), rel=1e-5)
    assert lines.clean_bits == pytest.approx(
        ngram_loss(replace(REPEATS, rows="sentences", split="sentences")), rel=1e-5
    )
    assert lines.leaky_bits == pytest.approx(ngram_loss(replace(REPEATS, rows="sentences", split="pairs")), rel=1e-5)


def test_overlapping_windows_lower_the_loss() -> None:
    blocks, _ = measure_split_leakage(TextConfig(corpus="brackets", size=10_000))
    assert blocks.leaky_bits < 0.8 * blocks.clean_bits
    assert blocks.seconds > 0


def test_a_text_without_lines_is_reported_and_blocks_are_measured() -> None:
    blocks, lines = measure_split_leakage(TextConfig(corpus="toy", size=1_000))
    assert not blocks.problem and math.isfinite(blocks.clean_bits)
    assert "No line of this text" in lines.problem and math.isnan(lines.clean_bits)
    assert lines.problem.endswith("need at least two such lines."), "nobody can follow other advice here"


def test_a_missing_text_raises() -> None:
    with pytest.raises(NeedsText):
        measure_split_leakage(TextConfig(corpus="own", text="0" * 64))


def test_a_single_line_is_too_short_for_both_splits() -> None:
    leakage = measure_split_leakage(
        TextConfig(corpus="own", text=corpora.store_text("only twenty letters and one line"), context=64)
    )
    assert all(each.problem for each in leakage)


def test_words_of_held_out_lines_are_unknown_to_a_tokenizer_of_training_lines() -> None:
    lines = [f"common words stand here with rare{number}" for number in range(20)]
    text = corpora.store_text("\n".join(lines))
    found = measure_unknown_words(TextConfig(corpus="own", text=text))
    # The targets of the two held-out lines are all words but the first; the last one occurs in no other line.
    assert found == UnknownWords(0.0, 1 / 5)


def test_unknown_words_need_lines_and_the_text() -> None:
    assert measure_unknown_words(TextConfig(corpus="toy", size=1_000)) is None
    with pytest.raises(NeedsText):
        measure_unknown_words(TextConfig(corpus="own", text="0" * 64))
