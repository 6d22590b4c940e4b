from __future__ import annotations

import math

import pytest
import torch

from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.objectives.negation import NegationObjective


@pytest.mark.parametrize("replicas", [1, 2])
def test_equal_probabilities_have_the_loss_ln_2_at_every_step(replicas: int) -> None:
    config = with_settings(default_config("negation", "rnn"), {"replicas": replicas, "epochs": 1})
    model = build_model(config).requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    objective = NegationObjective(config, model)
    for step in range(config.steps):
        losses, tokens = objective.losses(step)
        assert torch.allclose(losses, torch.tensor(math.log(2))) and tokens > config.batch_size
