from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.seq2seq_decoding import greedy_decode
from explorer.inspection.load_model import load_model
from explorer.tasks.seq2seq.batches import batch, evaluation_digits
from explorer.tasks.seq2seq.digits import evaluation_lengths
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.objective import objective_class
from explorer.training.recorder import record_run

SMALL: dict[str, dict[str, object]] = {
    "encoder_decoder": {"width": 6, "hidden": 7},
    "transformer_encoder_decoder": {"width": 8, "heads": 2, "hidden": 9, "layers": 1},
}


def short(task: str, model: str, **changes: object) -> RunConfig:
    few = {"iterations": 6, "batch_size": 8, "evaluate_every": 3, "snapshots": 2, **SMALL.get(model, {}), **changes}
    if task != "dates":
        few = {"longest": 4, **few}
    return with_settings(default_config(task, model), few)


def test_the_loss_is_the_mean_over_the_target_tokens() -> None:
    config = short("reverse", "encoder_decoder")
    model = build_model(config)
    losses, total_tokens = objective_class(config.task)(config, model).losses(3)
    examples = batch(config.task, 0, 0, 3, 8)
    expected, tokens = 0.0, 0
    for row in range(8):
        target = examples.targets[row][examples.mask[row]]
        source = examples.source[row][examples.source[row] != 10]
        log_probabilities = model(source[None], examples.decoder_input[row][None, : len(target)])[0].log_softmax(dim=-1)
        expected -= log_probabilities[torch.arange(len(target)), target].sum().item()
        tokens += len(target)
    assert losses.item() == pytest.approx(expected / tokens, abs=1e-5)
    assert total_tokens == tokens + int((examples.source != 10).sum())


def test_exact_match_equals_that_of_greedy_decoding_at_every_length() -> None:
    config = with_settings(
        default_config("copy", "encoder_decoder"),
        {
            "longest": 3,
            "symbols": 2,
            "attention": "additive",
            "iterations": 40,
            "learning_rate": 0.02,
            "hidden": 16,
            "width": 8,
        },
    )
    record = record_run(config)
    recorded_accuracies = record.curves.answers["by_length"][-1, 0]
    lengths = evaluation_lengths(config.task)
    examples = evaluation_digits(config.task, lengths, 100)
    model = load_model(record).stack
    generated = greedy_decode(model, examples.source, examples.targets.shape[1]).ids
    generated = torch.nn.functional.pad(generated, (0, examples.targets.shape[1] - generated.shape[1]), value=model.eos)
    expected_accuracies = (
        ((generated == examples.targets) | ~examples.mask).all(dim=-1).view(len(lengths), 100).float().mean(dim=-1)
    )
    np.testing.assert_allclose(recorded_accuracies, expected_accuracies.numpy(), atol=1e-6)
    assert record.curves.last("exact")[0] == pytest.approx(expected_accuracies[:3].mean().item())
    assert 0 < expected_accuracies[:3].mean() < 1


def test_too_few_positions_are_rejected() -> None:
    with pytest.raises(
        InvalidSetting, match=r"places = 20 is not enough: a target may have 56 tokens\. Give at least 56"
    ):
        build_model(short("reverse", "transformer_encoder_decoder", places=20))
    build_model(short("dates", "transformer_encoder_decoder", places=51))
