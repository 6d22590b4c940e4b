"""A network with the configuration of a pretrained model and random weights: the control of what training has made."""

from __future__ import annotations

import copy
from typing import Any

import torch

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.hub import memory
from explorer.hub.pretrained import PretrainedModule
from explorer.models.structure import BYTES
from explorer.seeds import generator


def random_network(module: PretrainedModule, seed: int = 0) -> PretrainedModule:
    """Return an untrained copy of a model. Raises InvalidSetting if it does not fit into the memory for models.

    Weight matrices are drawn from a normal distribution with the standard deviation of the model's configuration
    (`initializer_range`, otherwise 0.02); the gains of norms are 1, and biases 0.
    """
    size = sum(weight.numel() for weight in module.model.parameters()) * BYTES
    if max(memory.loaded_bytes(), size) + size > environment().models_memory:
        raise InvalidSetting(
            f"A random network of the same size needs {size / 1e9:.1f} GB more than this server has for models, so it "
            "is not shown. Choose a smaller model."
        ).for_operator("The limit is LINEAGE_MODELS_MEMORY (bytes).")
    config = copy.deepcopy(module.model.config)
    model: Any = type(module.model)(config)
    model.set_attn_implementation(module.model.config._attn_implementation)
    spread = float(getattr(config.get_text_config(), "initializer_range", None) or 0.02)
    draws = generator(seed, "random network")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, spread, generator=draws)
            else:
                weight.fill_(0.0 if name.endswith("bias") else 1.0)
    return PretrainedModule(model, module.kind, module.predicts)
