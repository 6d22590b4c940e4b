from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.load_model import LoadedModel, load_model
from explorer.inspection.transformer.unmasked_generation import (
    GeneratedSigns,
    generate_signs,
    random_prompts,
    text_prompts,
)
from explorer.labs.masks.findings import decode_rows, repetition_rate, share_in_words
from explorer.run_store import store
from explorer.tasks.sequence_labelling.grammar_text import LETTERS
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig


def test_a_model_trained_without_a_mask_repeats_itself() -> None:
    statistics = {}
    for name in ("noise-causal", "noise-open"):
        loaded = load_model(store.find(name))
        task = loaded.config.task_as(RandomSymbolsConfig)
        sample = generate_signs(loaded, random_prompts(task, 16), task.length)
        assert sample.ids.shape == (loaded.config.replicas, 16, task.length)
        assert sample.top_probability.shape == (loaded.config.replicas, task.length - sample.prompt_length)
        np.testing.assert_array_equal(sample.ids, generate_signs(loaded, random_prompts(task, 16), task.length).ids)
        assert (sample.ids[:, :, : sample.prompt_length] == sample.ids[:1, :, : sample.prompt_length]).all(), (
            "all begin alike"
        )
        statistics[name] = (
            repetition_rate(sample.ids, sample.prompt_length).mean(),
            sample.top_probability.mean(),
        )
    assert statistics["noise-causal"][0] < 0.2 < 0.8 < statistics["noise-open"][0]
    assert statistics["noise-causal"][1] < 0.2 < 0.8 < statistics["noise-open"][1]


def generate_tale(name: str, length: int = 90, begin: str = "the old king") -> tuple[LoadedModel, GeneratedSigns]:
    loaded = load_model(store.find(name))
    return loaded, generate_signs(loaded, text_prompts(begin, 3), length)


def test_a_model_trained_with_a_mask_generates_words() -> None:
    (_, causal), (_, without) = generate_tale("tale-causal"), generate_tale("tale-open")
    assert (
        share_in_words(causal.ids, causal.prompt_length)
        > 0.8
        > 0.3
        > share_in_words(without.ids, without.prompt_length)
    )
    assert all(text.startswith("the old king") for text in decode_rows(without.ids[0], LETTERS))


def test_each_step_reads_the_last_signs_of_a_row_length() -> None:
    loaded, sample = generate_tale("tale-causal", length=60)
    last = torch.from_numpy(sample.ids[..., -41:-1])  # the tokens before the last letter
    with torch.inference_mode():
        p = loaded.stack(last)[..., -1, :].softmax(dim=-1)
    np.testing.assert_allclose(sample.top_probability[:, -1], p.amax(dim=-1).mean(dim=-1), atol=1e-6)
    longer = generate_tale("tale-causal", length=62)[1]
    np.testing.assert_array_equal(longer.ids[..., :60], sample.ids)


@pytest.mark.parametrize("begin", ["q", "the. ", "x" * 40])
def test_any_prompt_is_continued(begin: str) -> None:
    sample = generate_tale("tale-open", length=len(begin) + 2, begin=begin)[1]
    assert sample.ids.shape[-1] == len(begin) + 2 and sample.prompt_length == len(begin)
