from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.generation.sampling import gumbel_noise, noise_generator
from explorer.inspection.load_model import load_model
from explorer.inspection.transformer.unmasked_generation import continue_text, generate_signs, random_prompts
from explorer.run_store import store
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig


@pytest.mark.parametrize("name", ["noise-causal", "noise-open"])
def test_a_model_trained_without_a_mask_repeats_itself(name: str) -> None:
    loaded = load_model(store.find(name))
    task = loaded.config.task_as(RandomSymbolsConfig)
    prompts = random_prompts(task, 8)
    assert prompts.shape == (8, 2)
    sample = generate_signs(loaded, prompts, task.length)
    assert sample.ids.shape == (loaded.config.replicas, 8, task.length) and sample.prompt_length == 2
    assert sample.top_probability.shape == (loaded.config.replicas, task.length - 2)
    assert (sample.ids[:, :, :2] == prompts.numpy()).all()
    repeated = (sample.ids[:, :, 2:] == sample.ids[:, :, 1:-1]).mean()
    for share in (repeated, sample.top_probability.mean()):
        assert share < 0.2 if name == "noise-causal" else share > 0.8


def test_each_step_reads_the_last_signs_of_a_row_length() -> None:
    loaded = load_model(store.find("tale-causal"))
    sample, longer = (continue_text(store.find("tale-causal"), "the old king", 3, length) for length in (60, 62))
    last = torch.from_numpy(sample.ids[..., -41:-1])  # the tokens before the last letter
    with torch.inference_mode():
        p = loaded.stack(last)[..., -1, :].softmax(dim=-1)
    np.testing.assert_allclose(sample.top_probability[:, -1], p.amax(dim=-1).mean(dim=-1), atol=1e-6)
    np.testing.assert_array_equal(longer.ids[..., :60], sample.ids)
    sampled = (p.log() + gumbel_noise(noise_generator(59, 0), *p.shape[1:])).argmax(dim=-1)
    np.testing.assert_array_equal(sample.ids[..., -1], sampled)
