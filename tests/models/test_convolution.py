from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from explorer.models.configs import ConvolutionConfig
from explorer.models.convolution import ConvolutionalClassifier
from explorer.models.layers import stack
from explorer.models.taps import tap_names

VOCABULARY, CLASSES, PADDING = 11, 2, 10
CONFIG = ConvolutionConfig(width=3, filters=5, narrowest=1, widest=4)


def convolution(config: ConvolutionConfig = CONFIG, seed: int = 1) -> ConvolutionalClassifier:
    return ConvolutionalClassifier(config, VOCABULARY, CLASSES, PADDING, Generator().manual_seed(seed))


def reference_logits(model: ConvolutionalClassifier, sentence: Tensor) -> Tensor:
    """Return the logits of one sentence without padding, with torch's own convolution and pooling."""
    e = model.embedding.weight[sentence].T  # (width, time)
    pooled = []
    for size, own in zip(model.sizes, model.convolutions, strict=True):
        layer = nn.Conv1d(e.shape[0], own.filters.weight.shape[0], size)
        layer.weight.data = own.filters.weight.view(-1, size, e.shape[0]).transpose(1, 2)
        layer.bias.data = own.filters.bias
        pooled.append(F.adaptive_max_pool1d(torch.relu(layer(F.pad(e, (0, size - 1)))), 1)[:, 0])
    return F.linear(torch.cat(pooled), model.readout.weight, model.readout.bias)


def test_every_seed_of_a_stack_equals_the_convolution_of_torch() -> None:
    models = [convolution(seed=seed) for seed in range(3)]
    lengths = torch.tensor([[1, 7], [4, 2], [5, 6]])
    ids = torch.randint(PADDING, (3, 2, 7), generator=Generator().manual_seed(4))
    padded = ids.masked_fill(torch.arange(7) >= lengths[..., None], PADDING)
    answers = stack(models)(padded)
    for seed, model in enumerate(models):
        for row, length in enumerate(lengths[seed].tolist()):
            expected = reference_logits(model, ids[seed, row, :length])
            torch.testing.assert_close(answers[seed, row], expected)
            torch.testing.assert_close(model(padded[seed, row : row + 1])[0], expected)


def test_tap_names_are_part_of_the_file_format() -> None:
    names = sorted(tap_names(convolution()).values())
    own = [f"convolutions.{i}.{tap}" for i in range(4) for tap in ("feature_map", "responses")]
    assert names == [*own, "embedded", "pooled"]


def test_the_widest_filter_is_not_narrower_than_the_narrowest() -> None:
    with pytest.raises(ValueError, match="narrowest = 3 is more than widest = 2"):
        ConvolutionConfig(narrowest=3, widest=2)
