"""What holds for every model: replicas are independent of each other, and recording changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from explorer.models.layers import replica, stack
from explorer.models.taps import record


def assert_stack_equals_single_models(models: Sequence[nn.Module], *inputs: Tensor) -> None:
    """Compare each replica of a stack, recorded or not, and taken out of it, with its single model.

    inputs: of the models, with the replicas as the first axis.
    """
    stacked_model = stack(models)
    answers = stacked_model(*inputs)
    with record(stacked_model):
        recorded_answers = stacked_model(*inputs)
    for r, model in enumerate(models):
        single_inputs = [value[r] for value in inputs]
        expected = model(*single_inputs)
        torch.testing.assert_close(answers[r], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(recorded_answers[r], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(stacked_model, r)(*single_inputs), expected)


def assert_recording_changes_nothing(models: Sequence[nn.Module], *inputs: Tensor) -> None:
    """Compare the logits and gradients of a stack while it is recorded with those while it is not."""
    model = stack(models)

    def logits_and_gradients() -> list[Tensor]:
        logits = model(*inputs)
        weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
        return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]

    expected = logits_and_gradients()
    with record(model) as trace:
        recorded = logits_and_gradients()
    assert len(trace) > 0
    for one, other in zip(expected, recorded, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
