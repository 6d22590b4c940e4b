from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import NeedsText
from explorer.inspection import adapting
from explorer.inspection.adapting import read_on, stand_still
from explorer.inspection.opening import open_model
from explorer.models.ngram import Ngram
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import Batch, text_data
from explorer.training.building import build
from explorer.training.config import RunConfig, changed, default
from explorer.training.recorder import record_run
from explorer.training.scoring import loss_over

SIZES: dict[str, dict[str, object]] = {
    "feedforward": {"width": 4, "hidden": 9, "window": 3, "batch_norm": True, "dropout": 0.5},
    "rnn": {"width": 4, "hidden": 9, "layers": 2, "dropout": 0.5},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "dropout": 0.5},
}
TASK: dict[str, object] = {"corpus": "brackets", "size": 3_000, "context": 8}
LINES: dict[str, object] = {"corpus": "repeats", "rows": "sentences", "split": "sentences"}
WAYS: list[tuple[str, dict[str, object]]] = [
    *((model, {}) for model in SIZES),
    ("gru", {"batches": "contiguous"}),
    ("lstm", {"batches": "contiguous", "layers": 2}),
    ("transformer", LINES),
    ("feedforward", {**LINES, "rows": "prefixes", "split": "pairs"}),
    ("rnn", {"split": "windows"}),
]


def untrained(model: str, **changes: Any) -> tuple[RunConfig, nn.Module]:
    """A model as a run begins with it, opened as kept ones are."""
    config = changed(default("text", model), {**TASK, **SIZES[model], "replicas": 1, **changes})
    return config, build(config).eval().requires_grad_(False)


def task(config: RunConfig) -> TextConfig:
    return config.on(TextConfig)


def rows(config: RunConfig) -> Iterator[Batch]:
    """The held-out rows in order, one after the other."""
    data = text_data(task(config))
    carries = task(config).batches == "contiguous"
    return data.held_out_lanes(1, task(config).context) if carries else data.held_out(rows=1)


def targets(batch: Batch) -> int:
    return batch.targets.numel() if batch.mask is None else int(batch.mask.sum())


@pytest.mark.parametrize(("model", "changes"), WAYS, ids=[f"{m}-{'-'.join(map(str, c.values()))}" for m, c in WAYS])
def test_at_rate_zero_both_are_the_loss_of_a_model_that_stands_still(model: str, changes: dict[str, object]) -> None:
    config, frozen = untrained(model, **changes)
    read = read_on(frozen, task(config), 0.0)
    assert read.learning.losses == pytest.approx(read.still.losses, abs=1e-6)
    assert np.array_equal(read.learning.tokens, read.still.tokens)
    assert read.moved == 0
    assert read.tokens == read.held_out == text_data(task(config)).held_out_targets, "all of it: it is short"
    assert read.carried == (task(config).batches == "contiguous")
    wanted = loss_over(frozen, rows(config), carries=read.carried)
    assert read.still.losses[-1] == pytest.approx(float(wanted), abs=1e-5)


@pytest.mark.parametrize("carried", ["random", "contiguous"])
def test_every_piece_is_scored_before_it_is_learned(carried: str) -> None:
    config, frozen = untrained("gru", batches=carried)
    still, learning = (read_on(frozen, task(config), rate) for rate in (0.0, 0.3))
    assert learning.learning.losses[0] == still.still.losses[0], "nobody has learned yet"
    assert learning.learning.losses[1] != still.still.losses[1]
    first = next(rows(config))
    assert learning.learning.losses[0] == pytest.approx(float(loss_over(frozen, [first])), abs=1e-5)


@pytest.mark.parametrize("model", SIZES)
def test_the_model_itself_does_not_move_and_twice_is_the_same(model: str) -> None:
    config, frozen = untrained(model)
    before = {name: value.clone() for name, value in frozen.state_dict().items()}
    one, two = (read_on(frozen, task(config), 0.1) for _ in range(2))
    assert all(torch.equal(value, before[name]) for name, value in frozen.state_dict().items())
    assert not any(p.requires_grad or p.grad is not None for p in frozen.parameters())
    assert one.moved > 0
    for each in ("still", "learning"):
        assert np.array_equal(getattr(one, each).losses, getattr(two, each).losses)
    assert np.array_equal(one.norms, two.norms)


@pytest.mark.parametrize(("scale", "long"), [(1.0, False), (30.0, True)])
def test_a_step_is_along_the_gradient_but_never_longer_than_the_rate(scale: float, long: bool) -> None:
    config, frozen = untrained("rnn", corpus="repeats")
    frozen.get_parameter("readout.weight").mul_(scale)
    read = read_on(frozen, task(config), 0.01, most=1)
    (norm,) = read.norms
    assert (norm > adapting.CLIP) == long
    own = math.sqrt(sum(float(p.square().sum()) for p in frozen.parameters()))
    assert read.moved * own == pytest.approx(0.01 * min(norm, 1.0), rel=1e-3)


def test_a_new_phrase_that_comes_again_and_again_is_learned() -> None:
    text = "".join("abc "[i * i % 4] for i in range(3_000)) + "xyzzy; " * 300
    sha = corpora.keep(text)
    task_of_mine = {"corpus": "own", "text": sha, "context": 16, "held_out": 0.4}
    config, frozen = untrained("gru", **task_of_mine)
    trained = open_model(record_run(replace(config, iterations=30))).alone(0)
    for model in (frozen, trained):
        read = read_on(model, task(config), 0.3)
        assert read.learning.losses[-1] < read.still.losses[-1] - 0.5
        assert read.learning.losses[-1] < read.learning.losses[0]
    corpora.forget(sha)
    with pytest.raises(NeedsText):
        read_on(frozen, replace(task(config), context=15), 0.3)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    config, frozen = untrained("gru", size=30_000, context=64)
    read = read_on(frozen, task(config), 0.0, most=1_000)
    assert read.tokens == 1_024 < read.held_out
    begun = loss_over(frozen, islice(rows(config), 16))
    assert read.still.losses[-1] == pytest.approx(float(begun), abs=1e-5)


def test_a_large_model_and_short_pieces_are_read_less_far(monkeypatch: pytest.MonkeyPatch) -> None:
    config, frozen = untrained("gru", size=30_000, context=64)
    parameters = sum(p.numel() for p in frozen.parameters())
    monkeypatch.setattr(adapting, "_WORK", 2_200 * parameters)
    assert 2_200 <= read_on(frozen, task(config), 0.0).tokens < 2_264
    monkeypatch.setattr(adapting, "_WORK", 1)
    assert 2_000 <= read_on(frozen, task(config), 0.0).tokens < 2_064, "some seconds are never nothing"
    monkeypatch.setattr(adapting, "_PIECES", 10)
    assert read_on(frozen, task(config), 0.0).tokens == 640


def test_losses_that_are_no_numbers_end_the_learning_and_nothing_else() -> None:
    config, frozen = untrained("rnn")
    read = read_on(frozen, task(config), 1e38)
    assert read.broken and 1 <= len(read.learning.losses) < len(read.still.losses)
    assert np.isfinite(read.learning.losses).all() and np.isfinite(read.still.losses).all()
    assert len(read.norms) == len(read.learning.losses)


@pytest.mark.parametrize("changes", [{}, {"batches": "contiguous"}, LINES], ids=["cold", "on", "lines"])
def test_an_ngram_stands_still_over_the_same_text(changes: dict[str, object]) -> None:
    config, frozen = untrained("gru", **changes)
    data = text_data(task(config))
    counts = open_model(record_run(replace(counted(3), task=config.task))).alone(0)
    assert isinstance(counts, Ngram)
    found = stand_still(counts, task(config))
    assert np.array_equal(found.tokens, read_on(frozen, task(config), 0.0).still.tokens)
    if changes.get("batches") == "contiguous":  # its context reaches over the pieces: one row
        whole = next(iter(data.held_out_lanes(1, data.held_out_targets)))
        wanted = float(counts.surprise(whole.ids, whole.targets).mean())
    else:
        wanted = float(loss_over(counts, rows(config)))
    assert found.losses[-1] == pytest.approx(wanted, abs=1e-5)


def counted(n: int) -> RunConfig:
    return changed(default("text", "ngram"), {"n": n, "replicas": 1})


def test_the_mean_so_far_is_weighted_by_targets() -> None:
    config, frozen = untrained("transformer", **LINES)
    progress = stand_still(frozen, task(config))
    each = [(targets(row), float(loss_over(frozen, [row]))) for row in rows(config)]
    total = sum(count * loss for count, loss in each) / sum(count for count, _ in each)
    assert progress.losses[-1] == pytest.approx(total, abs=1e-5)
