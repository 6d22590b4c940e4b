from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from explorer.catalogue import models_of
from explorer.errors import TextError
from explorer.inspection.language import context_use as module
from explorer.inspection.language.context_use import ContextUse, measure_context_use
from explorer.models.kneser_ney import Ngram
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.scoring import mean_loss

SIZES: dict[str, dict[str, object]] = {
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3, "batch_norm": True, "dropout": 0.3},
    "rnn": {"width": 4, "hidden": 9, "layers": 2, "dropout": 0.3},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "dropout": 0.3, "model.start": "usual"},
}
BRACKETS: dict[str, object] = {"corpus": "brackets", "size": 3_000, "context": 11}
TEXTS: dict[str, dict[str, object]] = {
    "blocks": BRACKETS,
    "windows": {**BRACKETS, "split": "windows"},
    "lines": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "sentences", "split": "sentences"},
    "pairs": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "sentences", "split": "pairs"},
    "prefixes": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "prefixes", "split": "pairs"},
    "words": {"corpus": "repeats", "size": 5_000, "context": 9, "tokenizer": "word", "vocabulary": 40},
    "bpe": {"corpus": "repeats", "size": 5_000, "context": 9, "tokenizer": "bpe", "vocabulary": 60},
}


def run(model: str, text: dict[str, object] = BRACKETS, **changes: Any) -> RunConfig:
    return with_settings(default_config("text", model), {**text, **SIZES[model], **changes})


def build_and_fit(config: RunConfig) -> nn.Module:
    """Return a model with non-uniform predictions; an n-gram is fitted first."""
    model = build_model(config)
    if isinstance(model, Ngram):
        model.fit(*text_data(config.task_as(TextConfig)).full_training_batch())
    return model.eval().requires_grad_(False)


def measure(config: RunConfig) -> ContextUse:
    return measure_context_use(build_and_fit(config), config)


@pytest.mark.parametrize(
    ("model", "text"),
    [(model, text) for model in models_of("text") for text in TEXTS if (model, text) != ("ngram", "prefixes")],
)
def test_the_binned_losses_average_to_the_held_out_loss(model: str, text: str) -> None:
    config = run(model, TEXTS[text])
    stack, data = build_and_fit(config), text_data(config.task_as(TextConfig))
    use = measure_context_use(stack, config)
    assert use.is_complete and use.targets.sum() == data.held_out_targets
    mean = (use.losses * use.targets).sum(axis=1) / use.targets.sum()
    assert mean == pytest.approx(mean_loss(stack, data.held_out_batches()).numpy(), rel=1e-6)
    assert (use.error >= 0).all() and use.error.max() > 0


@pytest.mark.parametrize("model", [name for name in models_of("text") if name != "ngram"])
def test_losses_of_a_stack_equal_those_of_each_replica(model: str) -> None:
    config = run(model, replicas=3)
    stack = build_and_fit(config)
    use = measure_context_use(stack, config)
    mean = (use.losses * use.targets).sum(axis=1) / use.targets.sum()
    expected = mean_loss(stack, text_data(config.task_as(TextConfig)).held_out_batches(), 3)
    assert mean == pytest.approx(expected.numpy(), rel=1e-6)
    alone = [measure(replace(config, seed=seed, replicas=1)) for seed in range(3)]
    for seed, one in enumerate(alone):
        assert use.losses[seed] == pytest.approx(one.losses[0], rel=1e-4)
    assert use.mean == pytest.approx(np.mean([one.losses[0] for one in alone], axis=0), rel=1e-4)


@pytest.mark.parametrize("model", models_of("text"))
def test_bins_hold_positions_by_tokens_read(model: str) -> None:
    config = run(model)
    stack = build_and_fit(config)
    sums: dict[int, list[float]] = {}
    for batch in text_data(config.task_as(TextConfig)).held_out_batches(rows=1):  # row by row, target by target
        logits = stack(batch.ids).log_softmax(dim=-1)
        for t in range(batch.ids.shape[1]):
            if batch.mask is None or batch.mask[0, t]:
                sums.setdefault(t + 1, []).append(-float(logits[0, t, batch.targets[0, t]]))
    use = measure_context_use(stack, config)
    assert use.bin_ends.tolist() == [1, 2, 3, 4, 6, 8, 11]
    groups = [[1], [2], [3], [4], [5, 6], [7, 8], [9, 10, 11]]
    expected = [float(np.mean([loss for place in group for loss in sums[place]])) for group in groups]
    assert use.losses[0] == pytest.approx(expected, rel=1e-4)
    assert use.targets.tolist() == [sum(len(sums[place]) for place in group) for group in groups]


def test_the_padding_of_a_prefix_is_not_counted() -> None:
    lines, prefixes = measure(run("gru", TEXTS["pairs"])), measure(run("gru", TEXTS["prefixes"]))
    assert prefixes.bin_ends.tolist() == lines.bin_ends.tolist() and len(lines.bin_ends) > 5
    assert prefixes.targets.tolist() == lines.targets.tolist()


class Remembers(nn.Module):
    """Predict how `abca abca …` continues, but only after a given number of tokens."""

    NEXT: ClassVar = {"ab": "c", "bc": "a", "ca": " ", "a ": "a", " a": "b"}

    def __init__(self, config: RunConfig, needs: int) -> None:
        super().__init__()
        self.tokens = text_data(config.task_as(TextConfig)).tokenizer.tokens
        self.needs, self.readout = needs, nn.Identity()

    def features(self, ids: torch.Tensor) -> tuple[torch.Tensor, tuple[()]]:
        logits = torch.zeros(*ids.shape, len(self.tokens))
        for row, read in zip(logits, ids.tolist(), strict=True):
            text = "".join(self.tokens[id] for id in read)
            for place in range(max(self.needs, 2) - 1, len(text)):
                following = self.NEXT.get(text[place - 1 : place + 1])
                if following:
                    row[place, self.tokens.index(following)] = 5
        return logits, ()


@pytest.mark.parametrize(("needs", "bin"), [(2, 2), (4, 4), (13, 16), (17, 24), (25, 32)])
def test_the_sufficient_context_is_found(needs: int, bin: int) -> None:
    config = run("transformer", {"corpus": "toy", "size": 20_000, "context": 32})
    use = measure_context_use(Remembers(config, needs), config)
    assert use.sufficient_context == bin
    assert use.gains_until_end == (bin == 32)
    needed_bin = int(np.searchsorted(use.bin_ends, needs))
    assert use.mean[needed_bin] - use.mean[-1] == pytest.approx(0, abs=0.01)
    assert use.mean[0] - use.mean[-1] == pytest.approx(1.36, abs=0.1)


def test_a_bigram_model_uses_one_token() -> None:
    toy: dict[str, object] = {"corpus": "toy", "size": 20_000, "context": 32}
    longer, shorter = measure(run("ngram", toy, n=6)), measure(run("ngram", toy, n=2))
    assert (longer.limit, shorter.limit) == (5, 1)
    assert (longer.sufficient_context, shorter.sufficient_context) == (5, 1)
    assert longer.mean[0] - longer.mean[-1] > 0.5
    assert shorter.mean[0] - shorter.mean[-1] == pytest.approx(0, abs=0.05)


def test_the_limit_is_the_architectures_context() -> None:
    limits = {name: measure(run(name)).limit for name in models_of("text")}
    assert limits == {"ngram": 2, "feedforward": 3, "rnn": None, "lstm": None, "gru": None, "transformer": None}
    assert measure(run("feedforward", window=11)).limit is None
    assert measure(run("ngram", n=1)).limit == 0


def context_use_of(gain: list[float], error: float = 0.001, limit: int | None = None) -> ContextUse:
    bins = len(gain)
    last, losses = np.array([1, 2, 4, 8, 16])[:bins], np.linspace(3, 2, bins)[None]
    return ContextUse(
        last, np.full(bins, 100), losses, np.full(bins, error), np.array(gain), np.full(bins, error), limit
    )


def test_the_sufficient_context_is_where_the_last_significant_gain_ends() -> None:
    assert context_use_of([0.9, 0.4, 0.2, 0.1, 0]).sufficient_context == 16
    assert context_use_of([0.9, 0.4, 0.2, 0.1, 0]).gains_until_end
    assert context_use_of([0.9, 0.4, 0.003, 0.002, 0]).sufficient_context == 4, "a trifle"
    assert context_use_of([0.9, 0.4, 0.2, 0.1, 0], error=0.1).sufficient_context == 4, "chance"
    assert context_use_of([0.9, 0.001, 0.2, 0.001, 0]).sufficient_context == 8
    assert context_use_of([0.0, 0.0, 0.0, 0.0, 0]).sufficient_context == 1
    assert context_use_of([0.9, 0.4, 0.2, 0.1, 0], limit=5).sufficient_context == 5, (
        "beyond what it can see there is only chance"
    )
    assert not context_use_of([0.9, 0.4, 0.2, 0.1, 0], limit=5).gains_until_end
    assert context_use_of([0.0], limit=0).sufficient_context == 1


def test_a_loss_that_rises_with_context_is_detected() -> None:
    use = measure(run("ngram", {"corpus": "brackets", "size": 100_000, "context": 64}, n=6))
    assert use.worsens_with_context and use.mean.argmin() == 1 and use.mean[-1] > use.mean[1] + 0.1
    assert not measure(run("ngram", {"corpus": "repeats", "size": 20_000, "context": 64}, n=6)).worsens_with_context
    losses = np.array([[3, 2, 2.5, 2.5, 2.5]])
    curve = replace(context_use_of([0.5, -0.5, 0, 0, 0]), losses=losses)
    assert curve.worsens_with_context
    assert not replace(curve, gain_error=np.full(5, 0.3)).worsens_with_context, "chance"


def test_errors_and_gains_are_clustered_by_row() -> None:
    # Four rows of three positions; the first position is a bin, the other two are one bin.
    surprisal = np.array([[4.0, 2, 2], [6, 1, 1], [5, 3, 3], [5, 2, 2]])
    bins, rows = np.tile([0, 1, 1], 4), np.repeat(np.arange(4), 3)
    binned = module._bin_losses(surprisal.reshape(1, -1), bins, rows, np.array([1, 3]))
    assert binned.losses.tolist() == [[5, 2]]
    assert binned.error == pytest.approx([surprisal[:, 0].std() / 2, surprisal[:, 1].std() / 2])
    assert binned.gain == pytest.approx([3, 0])
    assert binned.gain_error == pytest.approx([(surprisal[:, 0] - surprisal[:, 1]).std() / 2, 0])


def test_diverged_seeds_are_excluded_and_counted() -> None:
    config = run("transformer", replicas=3)
    stack = build_and_fit(config)
    stack.get_parameter("readout.weight")[1] = math.nan
    use = measure_context_use(stack, config)
    assert (use.losses.shape, use.diverged) == ((2, 7), 1)
    assert np.isfinite(use.mean).all() and np.isfinite(use.error).all()
    stack.get_parameter("readout.weight")[:] = math.nan
    none = measure_context_use(stack, config)
    assert (none.losses.shape, none.diverged) == ((0, 7), 3)
    assert np.isnan(none.mean).all() and none.sufficient_context == 1


def test_a_long_text_is_subsampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run("rnn", TEXTS["prefixes"] | {"size": 20_000})
    complete = measure(config)
    monkeypatch.setattr(module, "MAX_TOKENS", 1 + complete.targets.sum() * 40 // 3)
    part = measure(config)
    assert complete.is_complete and not part.is_complete
    third = [b for i, b in enumerate(text_data(config.task_as(TextConfig)).held_out_batches(rows=64)) if i % 3 == 0]
    assert part.targets.sum() == sum(len(batch.ids) for batch in third)
    mean = (part.losses * part.targets).sum(axis=1) / part.targets.sum()
    assert mean == pytest.approx(mean_loss(build_and_fit(config), third).numpy(), rel=1e-6)
    assert part.bin_ends.tolist() == complete.bin_ends.tolist()


def test_the_batch_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run("lstm")
    complete = measure(config)
    monkeypatch.setattr(module, "_MAX_LOGITS", 400)
    assert measure(config).losses == pytest.approx(complete.losses, rel=1e-5)


def test_rows_of_one_token_have_one_bin() -> None:
    use = measure(run("gru", context=1))
    assert use.bin_ends.tolist() == [1] and use.sufficient_context == 1 and not use.gains_until_end


def test_a_text_shorter_than_the_context_raises() -> None:
    config = run("gru")
    own = TextConfig(corpus="own", text=corpora.store_text("only twenty letters and no more"), context=64)
    with pytest.raises(TextError, match="rows with this context"):
        measure_context_use(build_and_fit(config), replace(config, task=own))


def test_results_are_reproducible_with_dropout() -> None:
    config = run("feedforward")
    stack = build_and_fit(config)
    before = {name: value.clone() for name, value in stack.state_dict().items()}
    assert np.array_equal(measure_context_use(stack, config).losses, measure_context_use(stack, config).losses)
    assert all(torch.equal(value, before[name]) for name, value in stack.state_dict().items())
