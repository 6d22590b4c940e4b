from __future__ import annotations

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from explorer.models.configs import ConvolutionConfig
from explorer.models.convolution import ConvolutionalClassifier
from explorer.models.layers import stack
from explorer.models.taps import record, tap_names

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


def test_logits_worked_by_hand() -> None:
    model = convolution(ConvolutionConfig(width=2, filters=1, narrowest=2, widest=2))
    for parameter in model.parameters():
        parameter.data.zero_()
    model.embedding.weight.data[4] = torch.tensor([1.0, 0.0])
    model.embedding.weight.data[7] = torch.tensor([0.0, 2.0])
    filters = model.convolutions[0].filters
    filters.weight.data = torch.tensor([[3.0, -1.0, 0.5, 2.0]])  # of the first token, then of the second
    filters.bias.data = torch.tensor([-4.0])
    model.readout.weight.data = torch.tensor([[0.0], [10.0]])
    # Windows of 4 7 4: (4, 7) gives 3 + 4 - 4 = 3;  (7, 4) gives -2 + 0.5 - 4 < 0;  (4, end) gives 3 - 4 < 0
    with record(model) as trace:
        torch.testing.assert_close(model(torch.tensor([[4, 7, 4]])), torch.tensor([[0.0, 30.0]]))
    torch.testing.assert_close(trace["convolutions.0.responses"][0, :, 0], torch.tensor([3.0, -5.5, -1.0]))
    torch.testing.assert_close(trace["convolutions.0.feature_map"][0, :, 0], torch.tensor([3.0, 0.0, 0.0]))


def test_only_the_order_inside_a_window_matters() -> None:
    narrow = convolution(dataclasses.replace(CONFIG, widest=1))
    one, other = torch.tensor([[0, 2, 5, 1]]), torch.tensor([[0, 5, 2, 1]])
    torch.testing.assert_close(narrow(one), narrow(other))
    assert not torch.allclose(convolution()(one), convolution()(other), atol=1e-3)
    # Windows of two tokens see the same pairs in both orders of the two parts, and each pair counts once.
    pairs = convolution(dataclasses.replace(CONFIG, narrowest=2, widest=2))
    torch.testing.assert_close(pairs(torch.tensor([[3, 1, 2, 3, 4, 3]])), pairs(torch.tensor([[3, 4, 3, 1, 2, 3]])))
    repeated = torch.tensor([[3, 1, 2, 3, 1, 2, 3, 4, 3]])
    torch.testing.assert_close(pairs(repeated), pairs(torch.tensor([[3, 1, 2, 3, 4, 3]])))


def test_nothing_is_read_from_padding() -> None:
    model = convolution()
    ids = torch.tensor([[0, 2, 5, PADDING, PADDING]])
    model.embedding.weight.data[PADDING] = 1e6
    torch.testing.assert_close(model(ids), model(ids[:, :3]))


def test_tap_names_are_part_of_the_file_format() -> None:
    names = sorted(tap_names(convolution()).values())
    own = [f"convolutions.{i}.{tap}" for i in range(4) for tap in ("feature_map", "responses")]
    assert names == [*own, "embedded", "pooled"]


def test_the_widest_filter_is_not_narrower_than_the_narrowest() -> None:
    with pytest.raises(ValueError, match="narrowest = 3 is more than widest = 2"):
        ConvolutionConfig(narrowest=3, widest=2)
