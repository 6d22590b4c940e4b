from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.inspection.language.final_losses import DEFAULT_TEST_SHARE, final_test_loss, with_test_split
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run


def small_run(model: str, **settings: object) -> RunConfig:
    usual: dict[str, object] = {"corpus": "repeats", "size": 2_000, "context": 8, "held_out": 0.2, "sample": 0}
    if model == "gru":
        usual |= {"width": 4, "hidden": 6, "iterations": 8, "batch_size": 4, "replicas": 2}
    return with_settings(default_config("text", model), usual | settings)


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_both_halves_of_the_held_out_part_of_a_stored_run_have_its_loss_as_their_mean(
    model: str, tmp_path: Path
) -> None:
    run = store.save_run(record_run(small_run(model)), tmp_path / "run")
    losses = final_test_loss(run)
    assert losses.task.test == DEFAULT_TEST_SHARE and not losses.reserved
    counts = [text_data(losses.task, part).held_out_targets for part in ("validation", "test")]
    whole = run.curves.last("val_loss")
    # Rows begin elsewhere in the second half, and so do the contexts of its targets: the mean is the same but for that.
    mean = (counts[0] * losses.validation + counts[1] * losses.test) / sum(counts)
    assert sum(counts) == text_data(run.config.task_as(TextConfig)).held_out_targets
    assert mean == pytest.approx(whole, rel=0.02)
    assert losses.test.shape == whole.shape
    assert not np.allclose(losses.validation, losses.test, rtol=1e-4)


def test_a_reserved_test_split_is_the_one_of_the_run(tmp_path: Path) -> None:
    run = store.save_run(record_run(small_run("ngram", test=0.5)), tmp_path / "run")
    losses = final_test_loss(run)
    assert losses.reserved and losses.task == run.config.task
    assert losses.validation == pytest.approx(run.curves.last("val_loss"), rel=1e-5)
    half = final_test_loss(record_run(small_run("ngram")))  # the same parts, of which training evaluated both
    assert losses.test == pytest.approx(half.test, rel=1e-5)


def test_a_missing_test_split_is_half_of_what_is_held_out() -> None:
    task = TextConfig()
    assert with_test_split(task) == replace(task, test=DEFAULT_TEST_SHARE)
    reserved = replace(task, test=0.3)
    assert with_test_split(reserved) is reserved
