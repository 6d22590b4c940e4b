"""Activation patching and direct logit attribution of pretrained models."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.hub.loading import load
from explorer.hub.pretrained import PretrainedModule
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.logit_attribution import attribute_logit
from explorer.inspection.attention.patching import Patching, patch_states
from explorer.models.taps import intervene, record
from tests import needs
from tests.hub.real_models import smollm2_folder
from tests.hub.tiny_models import HEADS, LAYERS, save_random_model

CLEAN, CHANGED = (5, 9, 14, 9, 22, 5, 31), (5, 9, 14, 40, 22, 5, 31)
FIRST = 3  # position at which they differ


@cache
def load_once(name: str, root: str) -> PretrainedModule:
    return load(save_random_model(name, Path(root) / name))


@pytest.fixture
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that loads a random model of a family, once for all tests of a process."""
    root = tmp_path_factory.getbasetemp() / "tiny-patching"
    return lambda name: load_once(name, str(root))


def assert_predicts(log_probabilities: np.ndarray, found: Patching, part: AttentionModel, changes: Any) -> None:
    """Check the log-probabilities against a whole forward pass with these interventions."""
    with torch.inference_mode(), intervene(part.module, changes):
        expected = part.logits(CHANGED)[found.position].log_softmax(dim=-1)
    np.testing.assert_allclose(log_probabilities, expected[list(found.outcomes)], atol=1e-3)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "gemma3_text", "bert", "modernbert"])
def test_every_state_gives_what_a_whole_forward_pass_with_this_intervention_gives(name: str, pretrained: Any) -> None:
    part = pretrained(name).part()
    found = patch_states(part, CLEAN, CHANGED)
    with torch.inference_mode(), record(part.module) as clean:
        part.logits(CLEAN)
    is_causal = name not in ("bert", "modernbert")
    assert found.positions == tuple(range(FIRST if is_causal else 0, len(CLEAN)))
    np.testing.assert_allclose(found.residual[0, found.positions.index(FIRST)], found.clean, atol=1e-3)
    for depth, tap in enumerate(part.depth_taps):
        for column, at in enumerate(found.positions):
            keep = torch.arange(len(CLEAN))[:, None] != at
            state = {tap: lambda value, step, tap=tap, keep=keep: torch.where(keep, value, clean[tap])}
            assert_predicts(found.residual[depth, column], found, part, state)
    for layer in range(LAYERS):
        tap = part.tap(layer, "mixed")
        for head in range(HEADS):
            keep = torch.arange(HEADS)[:, None, None] != head
            state = {tap: lambda value, step, tap=tap, keep=keep: torch.where(keep, value, clean[tap])}
            assert_predicts(found.heads[layer, head], found, part, state)
        assert_predicts(found.layers[layer, 0], found, part, {tap: clean[tap]})
    assert np.isnan(found.layers[:, 1:]).any() != part.adds_up


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox"])
def test_the_parts_of_a_logit_add_up(name: str, tmp_path: Path) -> None:
    module = load(save_random_model(name, tmp_path / name))
    for parameter in module.parameters():
        if parameter.dim() < 2:  # the biases are 0 and the gains 1 otherwise
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    for contrast in (None, 3):
        found = attribute_logit(module, CLEAN, outcome=7, contrast=contrast)
        parts = [value for _, value in found.parts()]
        assert sum(parts) == pytest.approx(found.logit, abs=1e-4 * max(map(abs, parts)))
    assert (name == "llama") == (not found.attention_bias.any())


def test_what_cannot_be_patched_or_divided_is_refused(pretrained: Any) -> None:
    for name in ("encoder", "cross"):
        with pytest.raises(InvalidSetting, match=r"only makes vectors|answers in another"):
            patch_states(pretrained("bart").part(name), CLEAN, CHANGED)
    with pytest.raises(InvalidSetting, match="cannot be divided"):
        attribute_logit(pretrained("bert"), CLEAN)


@needs.smollm2
@pytest.mark.slow
def test_one_head_of_smollm2_carries_the_name_of_the_country_to_the_answer() -> None:
    from transformers import AutoTokenizer

    folder = smollm2_folder()
    tokenizer, module = AutoTokenizer.from_pretrained(folder), load(folder)
    clean, changed = (tokenizer(f"The capital of {name} is")["input_ids"] for name in ("France", "Germany"))
    found = patch_states(module, clean, changed)
    assert [tokenizer.decode(outcome) for outcome in found.outcomes[:2]] == [" Paris", " Berlin"]
    assert found.positions == (3, 4)
    shares, heads = found.share(found.residual), found.share(found.heads)
    assert shares[:20, 0].min() > 0.9 and shares[:20, 1].max() < 0.1, "first it is at the name of the country"
    assert shares[26:, 0].max() < 0.1 and shares[26:, 1].min() > 0.9, "then at the last token"
    assert np.unravel_index(heads.argmax(), heads.shape) == (23, 4) and heads.max() > 0.7
    parts = attribute_logit(module, clean, None, *found.outcomes[:2])
    assert np.unravel_index(parts.heads.argmax(), parts.heads.shape) == (23, 4)
