"""Pretrained models with taps equal the eager attention of transformers, watched or not, changed or not."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.decoding import make_decoder
from explorer.hub import attention
from explorer.hub.loading import load
from explorer.hub.pretrained import PARTS, PretrainedModule
from explorer.inspection.attention.attend import Ablation, attend
from explorer.inspection.attention.attention_model import AttentionModel, attention_model
from explorer.inspection.attention.logit_lens import logit_lens
from explorer.models.taps import intervene, record, tap_names
from tests.hub.tiny_models import HEADS, LAYERS, REFUSED, SHOWN, VOCABULARY, random_model, save_random_model

TEXT = (5, 9, 14, 9, 22, 5, 9, 31, 40, 14)
TARGET = (2, 7, 30, 7)


@cache
def _folder_of(name: str, root: str) -> PretrainedModule:
    from pathlib import Path

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


def _parts(module: PretrainedModule) -> list[Any]:
    return [module.part(name, TARGET) for name in PARTS] if module.kind == "encoder-decoder" else [module.part()]


@pytest.mark.parametrize("name", SHOWN)
def test_logits_and_attention_equal_the_eager_path(name: str, pretrained: Any) -> None:
    module, eager = pretrained(name), _eager(name)
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
    if module.kind == "encoder-decoder":
        attentions = (expected.encoder_attentions, expected.decoder_attentions, expected.cross_attentions)
    else:
        attentions = (expected.attentions,)
    for part, layers in zip(_parts(module), attentions, strict=True):
        assert len(layers) == part.layout.layers
        for layer, weights in enumerate(layers):
            assert weights.shape[1] == part.layout.heads == HEADS
            assert torch.allclose(trace[part.tap(layer, "weights")], weights, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in SHOWN if not _is_pair(name)])
def test_the_residual_stream_equals_the_hidden_states(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    with torch.inference_mode():
        expected = _output(_eager(name), name, output_hidden_states=True).hidden_states
        with record(module) as trace:
            module.part().logits(TEXT)
    for tap, hidden in list(zip(module.part().depth_taps, expected, strict=True))[:-1]:  # the last one is normalized
        assert torch.allclose(trace[tap], hidden, atol=1e-4 * float(hidden.abs().max()))


@pytest.mark.parametrize("name", SHOWN)
def test_a_head_that_is_switched_off_equals_zeroed_weights(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    layer, head = 1, 2
    for part in _parts(module):
        changed = {part.tap(layer, "mixed"): lambda value, step: value * _all_but(head, value)}
        with torch.inference_mode(), intervene(module, changed):
            found = part.logits(TEXT)
        weight, _ = module.output_projection(part._stack, layer) if part._attention == "attention" else (None, None)
        if weight is None:
            continue  # the output projection of cross-attention is compared below
        width = weight.shape[1] // HEADS
        columns = slice(head * width, (head + 1) * width)
        before = weight[:, columns].clone()
        weight[:, columns] = 0
        try:
            with torch.inference_mode():
                expected = part.logits(TEXT)
        finally:
            weight[:, columns] = before
        assert torch.allclose(found, expected, atol=1e-5 * float(expected.abs().max()))
        with torch.inference_mode():
            assert not torch.allclose(found, part.logits(TEXT), atol=1e-4 * float(expected.abs().max()))


def _all_but(head: int, value: torch.Tensor) -> torch.Tensor:
    gate = torch.ones(value.shape[1], 1, 1)
    gate[head] = 0
    return gate


@pytest.mark.parametrize("name", SHOWN)
def test_the_readout_of_the_last_block_gives_the_logits(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    part = module.part("decoder", TARGET)
    if not part.layout.answers:
        with pytest.raises(InvalidSetting, match="only makes vectors"):
            part.readout(torch.zeros(1, 1, 32))
        return
    with torch.inference_mode():
        with record(module) as trace:
            logits = part.logits(TEXT)
        last = trace[part.depth_taps[-1]]
        assert torch.allclose(part.readout(last)[0], logits, atol=1e-5 * float(logits.abs().max()))
        depths = torch.cat([trace[tap] for tap in part.depth_taps])
        assert part.readout(depths[:, :1]).shape == (len(part.depth_taps), 1, VOCABULARY)
        again = module.part("decoder", TARGET).logits(TEXT)  # nothing is left behind
        assert torch.allclose(again, logits, atol=1e-5 * float(logits.abs().max()))


@pytest.mark.parametrize("name", [name for name in SHOWN if not _is_pair(name)])
def test_blocks_as_functions_give_the_residual_stream(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    part = module.part()
    with torch.inference_mode():
        with record(module) as trace:
            part.logits(TEXT)
        x, blocks = part.embed_and_blocks(torch.tensor([TEXT]))
        assert len(blocks) == LAYERS
        rows = x.expand(3, -1, -1)  # more rows than were read
        for layer, block in enumerate(blocks):
            rows = block(rows)
            expected = trace[part.depth_taps[layer + 1]]
            assert torch.allclose(rows, expected.expand_as(rows), atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "qwen2", "qwen3", "mistral", "phi3", "opt"])
def test_the_parts_add_up_to_the_logit(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    part = module.part()
    assert part.adds_up
    with torch.inference_mode():
        with record(module) as trace:
            logits = part.logits(TEXT)
        stream = [trace[tap][0, -1] for tap in part.depth_taps]
        pieces = [stream[0]]
        for layer in range(LAYERS):
            heads = part.head_outputs(layer, trace[part.tap(layer, "mixed")][0])[:, -1]
            added = heads.sum(dim=0) + part.attention_bias(layer)
            pieces += [*heads, part.attention_bias(layer), stream[layer + 1] - stream[layer] - added]
        found = part.direct_logits(torch.stack(pieces), stream[-1], [3, 50]).sum(dim=0) + part.logit_offset([3, 50])
        assert torch.allclose(found, logits[-1, [3, 50]], atol=1e-4 * float(logits.abs().max()))


@pytest.mark.parametrize("name", ["bert", "distilbert", "roberta", "gemma3_text", "marian", "t5"])
def test_norms_after_a_part_are_noticed(name: str, pretrained: Any) -> None:
    assert not pretrained(name).part().adds_up


@pytest.mark.parametrize("name", REFUSED)
def test_other_families_are_refused_with_a_reason(name: str, tmp_path: Any) -> None:
    with pytest.raises(InvalidSetting, match=r"type|softcap|block"):
        load(save_random_model(name, tmp_path))


def test_families_that_never_ask_for_attention_are_noticed_also_when_their_name_is_not_known() -> None:
    attention.register()
    with pytest.raises((InvalidSetting, ValueError)):
        model = random_model("bloom")
        model.set_attn_implementation(attention.NAME)
        PretrainedModule(model, "decoder", True)


def test_an_unknown_argument_of_the_attention_is_refused() -> None:
    q = torch.zeros(1, 2, 3, 4)
    with pytest.raises(InvalidSetting, match="softcap"):
        attention.attention(torch.nn.Identity(), q, q, q, None, softcap=30.0)


def test_watched_and_unwatched_visitors_at_once_get_the_same_numbers(pretrained: Any) -> None:
    module = pretrained("llama")
    part = module.part()
    with torch.inference_mode():
        quiet = part.logits(TEXT)
    off = {part.tap(0, "mixed"): lambda value, step: torch.zeros_like(value)}
    differences: list[float] = []

    def watch(intervenes: bool) -> None:
        for _ in range(10):
            with torch.inference_mode():
                if intervenes:
                    with intervene(module, off), record(module):
                        part.logits(TEXT)
                else:
                    differences.append(float((part.logits(TEXT) - quiet).abs().max()))

    threads = [threading.Thread(target=watch, args=(i % 2 == 0,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert differences == [0.0] * 40


def test_names_of_taps(pretrained: Any) -> None:
    names = set(tap_names(pretrained("gpt2")).values())
    assert {"embedded", "blocks.0.attention.weights", "blocks.2.output"} <= names
    names = set(tap_names(pretrained("t5")).values())
    assert {"embedded_source", "encoder.2.attention.mixed", "decoder.1.cross.scores", "decoder.0.output"} <= names


@pytest.mark.parametrize("name", SHOWN)
def test_inspection_takes_pretrained_models(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    parts = _parts(module)
    assert all(isinstance(part, AttentionModel) for part in parts)
    for part in parts:
        found = attend(part, TEXT, Ablation(zero_ablated=frozenset({(1, 0)})))
        queries = len(TARGET) if part._stack == "decoder" else len(TEXT)
        keys = len(TARGET) if part._stack == "decoder" and part._attention == "attention" else len(TEXT)
        assert found.weights.shape == (part.layout.layers, HEADS, queries, keys)
        sums = np.nansum(found.weights, axis=-1)
        assert np.allclose(sums, 1, atol=1e-5)
    assert attention_model(module).layout == module.part().layout


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_the_lens_ends_with_the_prediction(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    lens = logit_lens(module, TEXT)
    assert lens.shape == (LAYERS + 1, len(TEXT), VOCABULARY)
    with torch.inference_mode():
        expected = module.part().logits(TEXT).log_softmax(-1).numpy()
    assert np.allclose(lens[-1], expected, atol=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "qwen3", "mistral", "phi3", "opt", "gemma3_text"])
def test_decoding_step_by_step_equals_the_forward_pass(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    decoder = make_decoder(module, context=12, samples=2)
    expected = module(torch.tensor([TEXT]))[0]
    assert torch.allclose(decoder.read(torch.tensor([TEXT[:4]]))[1], expected[3], atol=1e-4)
    for position in range(4, len(TEXT)):
        found = decoder.step(torch.tensor([TEXT[position], TEXT[position]]))
        assert torch.allclose(found[0], expected[position], atol=1e-4 * float(expected.abs().max()))
    for _ in range(6):  # past the end of the window, which moves on
        found = decoder.step(torch.tensor([7, 8]))
    assert found.shape == (2, VOCABULARY) and not torch.equal(found[0], found[1])


def test_an_encoder_writes_no_text(pretrained: Any) -> None:
    with pytest.raises(InvalidSetting, match="does not continue texts"):
        make_decoder(pretrained("bert"), context=12)


@pytest.mark.parametrize("name", ["t5", "marian", "bart"])
def test_greedy_translation_equals_that_of_transformers(name: str, pretrained: Any) -> None:
    module = pretrained(name)
    pad = module.model.config.pad_token_id
    expected = _eager(name).generate(
        torch.tensor([TEXT]), max_new_tokens=9, num_beams=1, do_sample=False, bad_words_ids=[[pad]],
        forced_eos_token_id=None,
    )[0, 1:].tolist()  # fmt: skip
    assert list(module.translate(TEXT, 9)) == expected
