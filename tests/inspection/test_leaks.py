from __future__ import annotations

import math
from dataclasses import replace

import pytest

from explorer.errors import NeedsText
from explorer.inspection.leaks import ORDER, leaks
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.training.config import changed, default
from explorer.training.recorder import record_run

REPEATS = TextConfig(corpus="repeats", size=4_000, context=16)


def trained(task: TextConfig) -> float:
    """Bits a character of a run of the n-gram, as any visitor would train it."""
    config = replace(changed(default("text", "ngram"), {"replicas": 1, "n": ORDER}), task=task)
    return float(record_run(config).curves.last("bits_per_char")[0])


def test_the_numbers_are_those_of_runs_of_the_ngram() -> None:
    blocks, lines = leaks(REPEATS)
    assert blocks.honest == pytest.approx(trained(REPEATS), rel=1e-5)
    assert blocks.leaky == pytest.approx(trained(replace(REPEATS, split="windows")), rel=1e-5)
    assert lines.honest == pytest.approx(trained(replace(REPEATS, rows="sentences", split="sentences")), rel=1e-5)
    assert lines.leaky == pytest.approx(trained(replace(REPEATS, rows="sentences", split="pairs")), rel=1e-5)


def test_windows_that_overlap_flatter() -> None:
    blocks, _ = leaks(TextConfig(corpus="brackets", size=10_000))
    assert blocks.leaky < 0.8 * blocks.honest
    assert blocks.seconds > 0


def test_a_text_without_lines_is_a_sentence_and_the_other_pair_is_measured() -> None:
    blocks, lines = leaks(TextConfig(corpus="toy", size=1_000))
    assert not blocks.problem and math.isfinite(blocks.honest)
    assert "No line of this text" in lines.problem and math.isnan(lines.honest)
    assert lines.problem.endswith("need at least two such lines."), "nobody can follow other advice here"


def test_a_text_that_is_not_here_is_no_measurement() -> None:
    with pytest.raises(NeedsText):
        leaks(TextConfig(corpus="own", text="0" * 64))


def test_one_line_is_too_little_for_both() -> None:
    found = leaks(TextConfig(corpus="own", text=corpora.keep("only twenty letters and one line"), context=64))
    assert all(each.problem for each in found)
