"""Pretrained models with taps equal the eager attention of transformers, watched or not, changed or not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.decoding import make_decoder
from explorer.hub import attention
from explorer.hub.architectures import check
from explorer.hub.loading import load
from explorer.hub.pretrained import PARTS, PretrainedModule
from explorer.inspection.attention.attend import attend
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.head_ablation import Ablation
from explorer.inspection.attention.logit_attribution import attribute_logit
from explorer.inspection.attention.patching import Patching, patch_states
from explorer.models.taps import intervene, record
from tests.hub.tiny_models import HEADS, LAYERS, SHOWN, VOCABULARY, random_model, save_random_model

TEXT = (5, 9, 14, 9, 22, 5, 9, 31, 40, 14)
TARGET = (2, 7, 30, 7)
ADDS_UP = ("gpt2", "llama", "gpt_neox", "qwen2", "qwen3", "mistral", "phi3", "opt")  # no norm follows a part


@cache
def _folder_of(name: str, root: str) -> PretrainedModule:
    return load(save_random_model(name, Path(root) / name))


@pytest.fixture
def pretrained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that loads a random model of a family, once for all tests of a process."""
    root = tmp_path_factory.getbasetemp() / "tiny"
    return lambda name: _folder_of(name, str(root))


def _eager(name: str) -> Any:
    """Return the same random model with the attention of transformers itself."""
    model = random_model(name)
    model.set_attn_implementation("eager")
    return model


def _output(model: Any, name: str, **more: Any) -> Any:
    ids = torch.tensor([TEXT])
    if _is_pair(name):
        return model(input_ids=ids, decoder_input_ids=torch.tensor([TARGET]), use_cache=False, **more)
    return model(input_ids=ids, **more)


def _is_pair(name: str) -> bool:
    return name in ("t5", "marian", "bart")


@pytest.mark.parametrize("name", SHOWN)
def test_logits_attention_and_readout_equal_the_eager_path(name: str, pretrained: Any) -> None:
    module, eager = pretrained(name), _eager(name)
    assert module.part().adds_up == (name in ADDS_UP)
    with torch.inference_mode():
        expected = _output(eager, name, output_attentions=True, output_hidden_states=True)
        part = module.part("cross", TARGET)
        with record(module) as trace:
            watched = part.logits(TEXT)
        unwatched = part.logits(TEXT)
    logits = expected.logits if module.predicts else expected.last_hidden_state
    scale = float(logits.abs().max())
    assert float((watched - logits[0]).abs().max()) < 1e-5 * scale
    assert float((unwatched - logits[0]).abs().max()) < 1e-5 * scale
    parts, attentions = [module.part()], [expected.get("attentions")]
    if module.kind == "encoder-decoder":
        parts = [module.part(part, TARGET) for part in PARTS]
        attentions = [expected.encoder_attentions, expected.decoder_attentions, expected.cross_attentions]
    for part, layers in zip(parts, attentions, strict=True):
        assert len(layers) == part.layout.layers
        for layer, weights in enumerate(layers):
            assert weights.shape[1] == part.layout.heads == HEADS
            assert torch.allclose(trace[part.tap(layer, "weights")], weights, atol=1e-5)
        found = attend(part, TEXT, Ablation(zero_ablated=frozenset({(1, 0)}))).weights
        assert isinstance(part, AttentionModel) and found.shape == tuple(torch.stack(layers)[:, 0].shape)
        assert np.allclose(np.nansum(found, axis=-1), 1, atol=1e-5)
    part = module.part("decoder", TARGET)
    if not part.layout.answers:
        with pytest.raises(InvalidSetting, match="only makes vectors"):
            part.readout(torch.zeros(1, 1, 32))
        return
    depths = torch.cat([trace[tap] for tap in part.depth_taps])
    assert float((part.readout(depths[-1:])[0] - watched).abs().max()) < 1e-5 * scale, "the last block gives the logits"
    assert part.readout(depths[:, :1]).shape == (len(part.depth_taps), 1, VOCABULARY)
    assert torch.equal(part.logits(TEXT), unwatched), "nothing is left behind"


@pytest.mark.parametrize("name", [name for name in SHOWN if not _is_pair(name)])
def test_the_residual_stream_equals_the_hidden_states_and_what_the_blocks_give(name: str, pretrained: Any) -> None:
    part = pretrained(name).part()
    with torch.inference_mode():
        expected = _output(_eager(name), name, output_hidden_states=True).hidden_states
        with record(part.module) as trace:
            part.logits(TEXT)
        for tap, hidden in list(zip(part.depth_taps, expected, strict=True))[:-1]:  # the last one is normalized
            assert torch.allclose(trace[tap], hidden, atol=1e-4 * float(hidden.abs().max()))
        x, blocks = part.embed_and_blocks(torch.tensor([TEXT]))
        assert len(blocks) == LAYERS
        rows = x.expand(3, -1, -1)  # more rows than were read
        for block, tap in zip(blocks, part.depth_taps[1:], strict=True):
            rows = block(rows)
            assert torch.allclose(rows, trace[tap].expand_as(rows), atol=1e-5 * float(trace[tap].abs().max()))


def test_other_families_are_refused_with_a_reason() -> None:
    attention.register()
    for name, reason in (("gpt_neo", "way of its own"), ("albert", "one block"), ("gemma2", "softcap")):
        with pytest.raises(InvalidSetting, match=reason):
            check({"model_type": name})
        model = random_model(name)
        model.set_attn_implementation(attention.NAME)
        with pytest.raises(InvalidSetting, match=reason):  # also without the list
            PretrainedModule(model, "decoder", True)


def test_watched_and_unwatched_visitors_at_once_get_the_same_numbers(pretrained: Any) -> None:
    part = pretrained("llama").part()
    quiet = part.logits(TEXT)
    off = {part.tap(0, "mixed"): lambda value, step: torch.zeros_like(value)}

    def watch(intervenes: bool) -> torch.Tensor:
        with torch.inference_mode(), intervene(part.module, off) if intervenes else nullcontext():
            return part.logits(TEXT)

    with ThreadPoolExecutor(4) as visitors:
        for intervenes, logits in zip([True, False] * 8, visitors.map(watch, [True, False] * 8), strict=True):
            assert torch.equal(logits, quiet) == (not intervenes)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "qwen3", "mistral", "opt", "gemma3_text"])
def test_decoding_step_by_step_equals_the_forward_pass(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    with pytest.raises(InvalidSetting, match="does not continue texts"):
        make_decoder(pretrained("bert"), context=12)
    decoder = make_decoder(module, context=12, samples=2)
    expected = module(torch.tensor([TEXT]))[0]
    assert torch.allclose(decoder.read(torch.tensor([TEXT[:4]]))[1], expected[3], atol=1e-4)
    for position in range(4, len(TEXT)):
        found = decoder.step(torch.tensor([TEXT[position], TEXT[position]]))
        assert torch.allclose(found[0], expected[position], atol=1e-4 * float(expected.abs().max()))
    for _ in range(6):  # past the end of the window, which moves on
        found = decoder.step(torch.tensor([7, 8]))
    assert found.shape == (2, VOCABULARY) and not torch.equal(found[0], found[1])


@pytest.mark.parametrize("name", ["t5", "marian", "bart"])
def test_greedy_translation_equals_that_of_transformers(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    pad = module.model.config.pad_token_id
    expected = _eager(name).generate(
        torch.tensor([TEXT]), max_new_tokens=9, num_beams=1, do_sample=False, bad_words_ids=[[pad]],
        forced_eos_token_id=None,
    )[0, 1:].tolist()  # fmt: skip
    assert list(module.translate(TEXT, 9)) == expected


CLEAN, CHANGED = (5, 9, 14, 9, 22, 5, 31), (5, 9, 14, 40, 22, 5, 31)
FIRST = 3  # position at which they differ


def assert_predicts(log_probabilities: np.ndarray, found: Patching, part: AttentionModel, changes: Any) -> None:
    """Check the log-probabilities against a whole forward pass with these interventions."""
    with torch.inference_mode(), intervene(part.module, changes):
        expected = part.logits(CHANGED)[found.position].log_softmax(dim=-1)
    np.testing.assert_allclose(log_probabilities, expected[list(found.outcomes)], atol=1e-3)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma3_text", "modernbert"])
def test_every_state_gives_what_a_whole_forward_pass_with_this_intervention_gives(name: str, pretrained: Any) -> None:
    part = pretrained(name).part()
    found = patch_states(part, CLEAN, CHANGED)
    with torch.inference_mode(), record(part.module) as clean:
        part.logits(CLEAN)
    is_causal = name != "modernbert"
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


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "qwen2", "phi3", "opt"])
def test_the_parts_of_a_logit_add_up(name: str, tmp_path: Path) -> None:
    module = load(save_random_model(name, tmp_path / name))
    for parameter in module.parameters():
        if parameter.dim() < 2:  # the biases are 0 and the gains 1 otherwise
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    for contrast in (None, 3):
        found = attribute_logit(module, CLEAN, outcome=7, contrast=contrast)
        parts = [value for _, value in found.parts()]
        assert sum(parts) == pytest.approx(found.logit, abs=1e-4 * max(map(abs, parts)))
    assert (name in ("llama", "phi3", "qwen2")) == (not found.attention_bias.any())


def test_what_cannot_be_patched_or_divided_is_refused(pretrained: Any) -> None:
    for name in ("encoder", "cross"):
        with pytest.raises(InvalidSetting, match=r"only makes vectors|answers in another"):
            patch_states(pretrained("bart").part(name), CLEAN, CHANGED)
    with pytest.raises(InvalidSetting, match="cannot be divided"):
        attribute_logit(pretrained("bert"), CLEAN)
