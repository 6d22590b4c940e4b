from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Generator, nn

from explorer.errors import TextError
from explorer.inspection.language.perplexity import held_out_tokens, losses_by_stride, windowed_surprisals
from explorer.inspection.load_model import load_model
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.recorder import record_run
from explorer.training.scoring import mean_loss

TASK = TextConfig(corpus="brackets", size=2_000, context=8)


def transformer() -> nn.Module:
    """Return a Transformer with large random weights, so that the context changes its predictions."""
    settings = {"corpus": "brackets", "size": 2_000, "context": 8, "width": 16, "heads": 2, "layers": 1, "hidden": 16}
    model = build_model(with_settings(default_config("text", "transformer"), settings), text_data(TASK).vocabulary)
    with torch.no_grad():
        for number, weight in enumerate(model.parameters()):
            weight.copy_(torch.randn(weight.shape, generator=Generator().manual_seed(number)))
    return model.eval()


def ngram() -> Ngram:
    model = Ngram(NgramTextConfig(n=4), text_data(TASK).vocabulary, 8, Generator())
    model.fit(*text_data(TASK).full_training_batch())
    return model


def log_probabilities(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return model(ids).log_softmax(-1)


@pytest.mark.parametrize("make", [transformer, ngram])
@pytest.mark.parametrize(("window", "stride"), [(8, 8), (8, 4), (8, 3), (8, 1), (1, 1), (60, 20)])
def test_windows_agree_with_a_loop_over_targets(make: object, window: int, stride: int) -> None:
    model = make()  # type: ignore[operator]
    tokens = held_out_tokens(TASK, 45)
    ids = torch.from_numpy(tokens.astype(np.int64))
    expected = []
    for target in range(len(ids) - 1):
        start = 0
        while start + window <= target:
            start += stride  # the first window that contains the target
        last = log_probabilities(model, ids[None, start : target + 1])[0, -1]
        expected.append(-float(last[ids[target + 1]]))
    np.testing.assert_allclose(windowed_surprisals(model, tokens, window, stride), expected, rtol=1e-4, atol=1e-5)


def test_windows_without_overlap_are_the_blocks_of_an_evaluation() -> None:
    data, model = text_data(TASK), ngram()
    tokens = held_out_tokens(TASK, 10_000)
    found = windowed_surprisals(model, tokens, TASK.context, TASK.context)
    assert len(found) == data.held_out_targets
    assert found.mean() == pytest.approx(float(mean_loss(model, data.held_out_batches())), rel=1e-6)


@pytest.mark.parametrize("stride", [0, 9])
def test_a_stride_that_skips_targets_is_refused(stride: int) -> None:
    with pytest.raises(ValueError, match="stride"):
        windowed_surprisals(ngram(), held_out_tokens(TASK, 20), 8, stride)


def test_windows_need_a_held_out_end() -> None:
    with pytest.raises(TextError, match="held-out end"):
        held_out_tokens(TextConfig(corpus="brackets", size=2_000, context=8, split="windows"), 20)


def test_each_seed_has_a_loss_for_each_stride() -> None:
    settings = {"corpus": "brackets", "size": 2_000, "context": 8, "width": 4, "hidden": 6, "iterations": 3}
    run = record_run(with_settings(default_config("text", "gru"), {**settings, "batch_size": 4, "replicas": 2}))
    loaded, tokens = load_model(run), held_out_tokens(TASK, 100)
    found = losses_by_stride(loaded, tokens, 8, [8, 2])
    assert found.shape == (2, 2) and len(np.unique(found)) == 4
    second = windowed_surprisals(loaded.single_replica(1), tokens, 8, 2).mean()
    assert found[1, 1] == pytest.approx(second, rel=1e-6)
