"""Losses on the test split, by the stride of windows, with train/test leakage, and by tokenizer."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator, nn

from explorer.errors import NeedsText, TextError
from explorer.inspection.language.final_losses import DEFAULT_TEST_SHARE, final_test_loss, with_test_split
from explorer.inspection.language.perplexity import held_out_tokens, losses_by_stride, windowed_surprisals
from explorer.inspection.language.split_leakage import ORDER, UnknownWords, measure_split_leakage, measure_unknown_words
from explorer.inspection.language.tokenizer_losses import measure_tokenizer_loss
from explorer.inspection.load_model import load_model
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.recorder import record_run
from explorer.training.scoring import mean_loss


def small_run(model: str, **settings: object) -> RunConfig:
    usual: dict[str, object] = {"corpus": "repeats", "size": 2_000, "context": 8, "held_out": 0.2, "sample": 0}
    if model == "gru":
        usual |= {"width": 4, "hidden": 6, "iterations": 2, "batch_size": 2, "replicas": 2}
    return with_settings(default_config("text", model), usual | settings)


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_both_halves_of_the_held_out_part_have_the_loss_of_the_run_as_their_mean(model: str, tmp_path: Path) -> None:
    run = store.save_run(record_run(small_run(model)), tmp_path / "run")
    losses = final_test_loss(run)
    assert losses.task.test == DEFAULT_TEST_SHARE and not losses.reserved
    counts = [text_data(losses.task, part).held_out_targets for part in ("validation", "test")]
    whole = run.curves.last("val_loss")
    # Rows begin elsewhere in the second half, and so do the contexts of its targets: the mean is the same but for that.
    mean = (counts[0] * losses.validation + counts[1] * losses.test) / sum(counts)
    assert sum(counts) == text_data(run.config.task_as(TextConfig)).held_out_targets
    assert mean == pytest.approx(whole, rel=0.02)
    assert losses.test.shape == whole.shape and not np.allclose(losses.validation, losses.test, rtol=1e-4)


def test_a_reserved_test_split_is_the_one_of_the_run(tmp_path: Path) -> None:
    run = store.save_run(record_run(small_run("ngram", test=0.5)), tmp_path / "run")
    losses = final_test_loss(run)
    assert losses.reserved and losses.task == run.config.task
    assert losses.validation == pytest.approx(run.curves.last("val_loss"), rel=1e-5)
    half = final_test_loss(record_run(small_run("ngram")))  # the same parts, of which training evaluated both
    assert losses.test == pytest.approx(half.test, rel=1e-5)
    assert with_test_split(TextConfig()) == replace(TextConfig(), test=0.5)


TASK = TextConfig(corpus="brackets", size=2_000, context=8)


def transformer() -> nn.Module:
    """Return a Transformer with large random weights, so that the context changes its predictions."""
    settings = {"corpus": "brackets", "size": 2_000, "context": 8, "width": 16, "heads": 2, "layers": 1, "hidden": 16}
    model = build_model(with_settings(default_config("text", "transformer"), settings), text_data(TASK).vocabulary)
    model.eval().requires_grad_(False)
    for number, weight in enumerate(model.parameters()):
        weight.copy_(torch.randn(weight.shape, generator=Generator().manual_seed(number)))
    return model


def ngram() -> Ngram:
    model = Ngram(NgramTextConfig(n=4), text_data(TASK).vocabulary, 8, Generator())
    model.fit(*text_data(TASK).full_training_batch())
    return model


@pytest.mark.parametrize("make", [transformer, ngram])
@pytest.mark.parametrize(("window", "stride"), [(8, 8), (8, 3), (8, 1), (60, 20)])
def test_windows_agree_with_a_loop_over_targets(make: object, window: int, stride: int) -> None:
    model = make()  # type: ignore[operator]
    tokens = held_out_tokens(TASK, 45)
    ids = torch.from_numpy(tokens.astype(np.int64))
    expected = []
    for target in range(len(ids) - 1):
        start = 0
        while start + window <= target:
            start += stride  # the first window that contains the target
        last = model(ids[None, start : target + 1]).log_softmax(-1)[0, -1]
        expected.append(-float(last[ids[target + 1]]))
    np.testing.assert_allclose(windowed_surprisals(model, tokens, window, stride), expected, rtol=1e-4, atol=1e-5)


def test_windows_without_overlap_are_blocks_and_impossible_ones_are_refused() -> None:
    data, model = text_data(TASK), ngram()
    found = windowed_surprisals(model, held_out_tokens(TASK, 10_000), TASK.context, TASK.context)
    assert len(found) == data.held_out_targets
    assert found.mean() == pytest.approx(float(mean_loss(model, data.held_out_batches())), rel=1e-6)
    for stride in (0, 9):
        with pytest.raises(ValueError, match="stride"):
            windowed_surprisals(model, held_out_tokens(TASK, 20), 8, stride)
    with pytest.raises(TextError, match="held-out end"):
        held_out_tokens(replace(TASK, split="windows"), 20)


def test_each_seed_has_a_loss_for_each_stride() -> None:
    loaded, tokens = load_model(record_run(small_run("gru", corpus="brackets"))), held_out_tokens(TASK, 100)
    found = losses_by_stride(loaded, tokens, 8, [8, 2])
    assert found.shape == (2, 2) and len(np.unique(found)) == 4
    second = windowed_surprisals(loaded.single_replica(1), tokens, 8, 2).mean()
    assert found[1, 1] == pytest.approx(second, rel=1e-6)


REPEATS = TextConfig(corpus="repeats", size=2_000, context=16)


def ngram_loss(task: TextConfig) -> float:
    """Return the bits per character of an n-gram run that is trained as on the page."""
    config = replace(with_settings(default_config("text", "ngram"), {"replicas": 1, "n": ORDER}), task=task)
    return float(record_run(config).curves.last("bits_per_char")[0])


def test_the_losses_equal_those_of_ngram_runs() -> None:
    blocks, lines = measure_split_leakage(REPEATS)
    sentences = replace(REPEATS, rows="sentences", split="sentences")
    assert (blocks.rows, lines.rows) == ("blocks", "sentences")
    assert blocks.clean_bits == pytest.approx(ngram_loss(REPEATS), rel=1e-5)
    assert blocks.leaky_bits == pytest.approx(ngram_loss(replace(REPEATS, split="windows")), rel=1e-5)
    assert lines.clean_bits == pytest.approx(ngram_loss(sentences), rel=1e-5)
    assert lines.leaky_bits == pytest.approx(ngram_loss(replace(sentences, split="pairs")), rel=1e-5)


def test_texts_without_lines_or_that_are_missing() -> None:
    blocks, lines = measure_split_leakage(TextConfig(corpus="toy", size=1_000))
    assert not blocks.problem and math.isfinite(blocks.clean_bits) and blocks.seconds > 0
    assert "No line of this text" in lines.problem and math.isnan(lines.clean_bits)
    short = TextConfig(corpus="own", text=corpora.store_text("only twenty letters and one line"), context=64)
    assert all(each.problem for each in measure_split_leakage(short))
    assert measure_unknown_words(TextConfig(corpus="toy", size=1_000)) is None
    missing = TextConfig(corpus="own", text="0" * 64)
    for measure in (measure_unknown_words, measure_split_leakage):
        with pytest.raises(NeedsText):
            measure(missing)


def test_words_of_held_out_lines_are_unknown_to_a_tokenizer_of_training_lines() -> None:
    lines = [f"common words stand here with rare{number}" for number in range(20)]
    text = corpora.store_text("\n".join(lines))
    found = measure_unknown_words(TextConfig(corpus="own", text=text))
    # The targets of the two held-out lines are all words but the first; the last one occurs in no other line.
    assert found == UnknownWords(0.0, 1 / 5)


@pytest.mark.parametrize("tokenizer", ["char", "word"])
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
