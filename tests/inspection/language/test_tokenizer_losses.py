from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from explorer.inspection.language.tokenizer_losses import measure_tokenizer_loss
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

REPEATS = TextConfig(corpus="repeats", size=4_000, context=16)


@pytest.mark.parametrize("tokenizer", ["char", "bpe", "word"])
def test_the_figures_are_those_of_a_run_of_the_same_ngram(tokenizer: str) -> None:
    task = replace(REPEATS, tokenizer=tokenizer, vocabulary=40)  # type: ignore[arg-type]
    found = measure_tokenizer_loss(task, NgramTextConfig(n=3))
    curves = record_run(replace(with_settings(default_config("text", "ngram"), {"n": 3}), task=task)).curves
    assert found.ngram.loss == pytest.approx(curves.last("val_loss")[0], rel=1e-5)
    assert found.ngram.perplexity == pytest.approx(curves.last("perplexity")[0], rel=1e-5)
    assert found.ngram.bits_per_character == pytest.approx(curves.last("bits_per_char")[0], rel=1e-5)
    assert found.ngram.vocabulary == text_data(task).vocabulary


def test_what_no_token_represents_is_the_difference_of_both_bits_per_byte() -> None:
    words = measure_tokenizer_loss(replace(REPEATS, tokenizer="word", vocabulary=10), NgramTextConfig(n=3))
    assert words.held_out.unknown and words.ngram.unknown_rate > 0.1
    nats = words.ngram.loss * words.held_out.targets
    assert words.predicted_bits_per_byte == pytest.approx(nats / words.held_out.bytes / math.log(2))
    added = (words.held_out.spelling + words.held_out.spacing) / words.held_out.bytes / math.log(2)
    assert words.bits_per_byte - words.predicted_bits_per_byte == pytest.approx(added) and added > 0.5
    characters = measure_tokenizer_loss(REPEATS, NgramTextConfig(n=3))
    assert characters.bits_per_byte == characters.predicted_bits_per_byte
    np.testing.assert_allclose(characters.bits_per_byte, characters.ngram.bits_per_character)
