"""Attention of all kinds of models as inspection sees them, under ablations, and the tokens that they read."""

from __future__ import annotations

import copy
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import InvalidSetting, TextError, UnknownWords
from explorer.inspection.attention import attend as module
from explorer.inspection.attention.attend import FULL_SCALE, attend, is_causal, tokenize_input
from explorer.inspection.attention.attention_model import AttentionModel, attention_model, normalize_linearly
from explorer.inspection.attention.head_ablation import Ablation
from explorer.inspection.load_model import load_model
from explorer.models.structure import AttentionLayout
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.text import Tokenizer, from_json, train
from explorer.training.config import RunConfig, default_config, with_settings
from tests.inspection.attention.small import (
    HEADS,
    LAYERS,
    POSITIONS,
    WIDTH,
    WORDS,
    decoder,
    encoder,
    tagger,
    unpack_weights,
)

IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8)  # longer than the decoder's fast path allows
PADDING = WORDS - 1
EVERY_HEAD = frozenset(product(range(LAYERS), range(HEADS)))
MODELS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    **{f"decoder, {positions}": (decoder(positions=positions), IDS) for positions in POSITIONS},
    "decoder, norm after": (decoder(positions="learned", norm_place="post", biases=True), IDS),
    "decoder, no norm": (decoder(norm="none"), IDS),
    "encoder": (encoder(), IDS[:9]),
    "encoder, padded": (encoder(), (*IDS[:6], PADDING, PADDING)),
    "tagger": (tagger(positions="learned"), IDS[:9]),
    "tagger, padded": (tagger(positions="rotary"), (*IDS[:6], PADDING, PADDING)),
}
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)
PRETRAINED = (
    *("text-assignment", "text-best", "text-transformer", "text-through-training", "text-gru", "text-lstm"),
    *("text-warmup-post-warm-0.01", "negation-double-transformer", "negation-single-gru"),
)


def log_probabilities(model: nn.Module, ids: tuple[int, ...]) -> np.ndarray:
    """Return the log-probabilities of a plain forward pass."""
    logits = model(torch.tensor([ids]))
    return logits.view(-1, logits.shape[-1]).log_softmax(-1).numpy()


def zero_output_weights(model: nn.Module, heads: frozenset[tuple[int, int]]) -> nn.Module:
    """Return the same model with the output weights of these heads at zero."""
    other, each = copy.deepcopy(model), WIDTH // HEADS
    for layer, head in heads:
        other.blocks[layer].attention.output.weight.data[:, head * each : (head + 1) * each] = 0
    return other


@cache
def find_pretrained(name: str) -> tuple[RunConfig, Tokenizer | None]:
    run = store.find(name)
    return run.config, from_json(run.tokenizer) if run.tokenizer else None


def test_runs_without_attention_are_refused_and_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.has_attention(store.find("negation-single-transformer").config)
    monkeypatch.setattr(store, "pretrained_folders", lambda: {Path(name): name for name in PRETRAINED})
    assert not module.has_attention(default_config("text", "ngram"))
    agreement = default_config("agreement", "transformer")
    assert module.has_attention(agreement) and not module.has_attention(with_settings(agreement, {"attention": False}))
    listed = [name for name in PRETRAINED if name.startswith("text") and name not in ("text-gru", "text-lstm")]
    assert module.runs_with_attention("text") == tuple(listed)
    assert module.runs_with_attention() == (*listed, "negation-double-transformer") and len(listed) == 5
    named = rf"“LSTM”, which has no attention .*: {', '.join(listed[:4])}, and 1 more\."
    with pytest.raises(InvalidSetting, match=named):
        module.check_attention(store.find("text-lstm").config)
    with pytest.raises(InvalidSetting, match=r"one that has: negation-double-transformer\."):
        module.check_attention(default_config("negation", "rnn"))
    with pytest.raises(InvalidSetting, match="here one sees the attention of runs that learned"):
        module.check_attention(default_config("recall", "transformer"))
    with pytest.raises(InvalidSetting, match="has no attention"):
        attend(load_model(store.find("negation-single-gru")).single_replica(0), IDS[:5])


def test_short_texts_and_a_long_one_which_is_truncated_at_the_start() -> None:
    config, tokenizer = find_pretrained("text-transformer")
    assert tokenizer is not None
    for text, tokens, dropped in (("To be", tuple("To be"), ()), ("", ("\n",), ()), ("日本", ("\n",), ("日", "本"))):
        ids, empty = tuple(map(tokenizer.tokens.index, tokens)), text != "To be"
        expected = module.TokenizedInput(ids, tokens, "", "", dropped, (), False, empty)
        assert tokenize_input(config, tokenizer, text) == expected
    text = "".join(f"{i} men! ".replace("3", "") for i in range(40))
    known_characters = "".join(char for char in text if char in tokenizer.tokens)
    tokenized = tokenize_input(config, tokenizer, text)
    assert tokenized.truncated == known_characters[:-64] and tokenized.tokens == tuple(known_characters[-64:])
    assert (len(tokenized.ids), tokenized.truncated_at, tokenized.unknown) == (64, "start", ())
    assert tokenized.dropped == tuple(dict.fromkeys(char for char in text if char not in tokenizer.tokens)) != ()
    with pytest.raises(TextError, match="half a character"):
        tokenize_input(config, tokenizer, "\ud800")


def test_text_is_lowercased_unknown_characters_are_listed_and_prefixes_are_padded() -> None:
    config, tokenizer = find_pretrained("text-assignment")
    assert tokenizer is not None
    tokenized = tokenize_input(config, tokenizer, "O king, the Queen日" + " and the king" * 9)
    assert (tokenized.lowercased, tokenized.dropped, tokenized.unknown) == (True, (), ("日",))
    assert len(tokenized.ids) == 15 and tokenizer.decode(tokenized.ids) == "".join(tokenized.tokens).strip()
    assert tokenized.truncated_at == "start" and tokenized.truncated.startswith("o king")
    words = tokenize_input(config, tokenizer, "the king")
    assert not words.lowercased
    prefixes = with_settings(config, {"rows": "prefixes", "split": "sentences"})
    padded = tokenize_input(prefixes, tokenizer, "the king")
    assert len(padded.ids) == 15 and padded.ids[: len(words.ids)] == words.ids
    config = with_settings(default_config("text", "transformer"), {"tokenizer": "bytes"})
    tokenized = tokenize_input(config, train("bytes", "some letters and nothing else", 260), "a€b")
    assert tokenized.tokens == ("a", r"\xe2", r"\x82", "€", "b")


def test_sentences_have_markers_a_window_and_padding() -> None:
    config, _ = find_pretrained("negation-single-transformer")
    words = ("<BOS>", "human", "not", "preserve", "nature", "<EOS>")
    ids = tuple(map(VOCABULARY.id, words))
    expected = module.TokenizedInput(ids, words, "", "", (), (), True)
    assert tokenize_input(config, None, "Human NOT preserve nature!") == expected
    long = tokenize_input(config, None, "human not not not preserve nature")
    assert long.tokens == ("<BOS>", "human", "not", "not", "not", "preserve")
    assert (long.truncated, long.truncated_at, long.lowercased) == ("nature <EOS>", "end", False)
    with pytest.raises(UnknownWords, match="whales"):
        tokenize_input(config, None, "human preserve whales")
    agreement = default_config("agreement", "transformer")
    most = agreement.task.max_length  # type: ignore[union-attr]
    found = tokenize_input(agreement, None, "The " + "king " * most)
    assert found.tokens == ("the", *["king"] * (most - 1))
    assert (found.truncated, found.truncated_at, found.lowercased) == ("king", "end", True)


@EVERY_MODEL
def test_attention_and_predictions_equal_those_of_the_model(name: str) -> None:
    model, ids = MODELS[name]
    attention = attend(model, ids)
    with record(model) as trace:
        model(torch.tensor([ids]))
    own = torch.stack([trace[f"blocks.{layer}.attention.weights"][0] for layer in range(LAYERS)]).numpy()
    visible = ~np.isnan(attention.weights)
    np.testing.assert_array_equal(attention.weights[visible], own[visible])
    np.testing.assert_allclose(attention.log_probabilities, log_probabilities(model, ids), atol=1e-5)
    assert not attention.weights.flags.writeable
    real = 6 if "padded" in name else len(ids)
    np.testing.assert_allclose(np.nansum(attention.weights, axis=-1)[..., :real], 1, atol=1e-5)
    hidden = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1) & ("decoder" in name)
    hidden[:, real:] = True
    hidden[real:] |= "encoder" in name  # padding is no query of a classifier
    np.testing.assert_array_equal(~visible, np.broadcast_to(hidden, visible.shape))
    assert is_causal(attention.weights) == ("decoder" in name)
    if "decoder" in name:
        assert attend(model, (3,)).weights.tolist() == [[[[1.0]]] * HEADS] * LAYERS


@EVERY_MODEL
def test_ablated_heads(name: str) -> None:
    model, ids = MODELS[name]
    plain = attend(model, ids)
    for heads in (frozenset({(0, 1), (2, 2)}), EVERY_HEAD):
        attention = attend(model, ids, Ablation(zero_ablated=heads))
        other = attend(zero_output_weights(model, heads), ids)
        np.testing.assert_allclose(attention.log_probabilities, other.log_probabilities, atol=1e-5)
        np.testing.assert_allclose(attention.weights, other.weights, atol=1e-5)
        assert np.abs(attention.log_probabilities - plain.log_probabilities).max() > 1e-3
    uniform = attend(model, ids, Ablation(uniform_attention=frozenset({(1, 0), (1, 2)}))).weights
    may = ~np.isnan(plain.weights[0, 0])
    even = np.where(may, may / np.maximum(may.sum(axis=-1, keepdims=True), 1), np.nan)
    np.testing.assert_allclose(uniform[1, [0, 2]], [even, even], atol=1e-6)
    np.testing.assert_array_equal(uniform[1, 1], plain.weights[1, 1])
    np.testing.assert_array_equal(uniform[0], plain.weights[0])
    assert np.nanmax(np.abs(uniform[2] - plain.weights[2])) > 1e-4
    attend(model, ids, Ablation(EVERY_HEAD, EVERY_HEAD, "decoder" in name, "none" not in name))
    np.testing.assert_array_equal(attend(model, ids).log_probabilities, plain.log_probabilities)


def test_without_the_causal_mask_a_decoder_attends_to_later_tokens() -> None:
    attention = attend(decoder(), IDS, Ablation(uniform_attention=frozenset({(0, 0)}), no_causal_mask=True))
    np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(attention.weights[0, 0], 1 / len(IDS), atol=1e-6)
    one, other = (attend(decoder(), ids, Ablation(no_causal_mask=True)) for ids in (IDS, (*IDS[:-1], 0)))
    assert np.abs(one.log_probabilities[0] - other.log_probabilities[0]).max() > 1e-4


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_removing_positions_equals_a_model_without_positions(positions: str) -> None:
    model, bare = decoder(positions=positions), decoder(positions="none")
    bare.load_state_dict({name: value for name, value in model.state_dict().items() if name != "position.weight"})
    attention, expected = attend(model, IDS, Ablation(no_positions=True)), attend(bare, IDS)
    np.testing.assert_allclose(attention.log_probabilities, expected.log_probabilities, atol=1e-5)
    np.testing.assert_allclose(attention.weights, expected.weights, atol=1e-5)
    bags = [(IDS[0], *words) for words in (IDS[1:6], IDS[5:0:-1])]  # without positions an encoder reads bags of words
    one, other = (attend(encoder(), ids, Ablation(no_positions=True)).log_probabilities for ids in bags)
    np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "ablation", "message"),
    [
        (decoder(), Ablation(frozenset({(3, 0)})), "no head 0 in layer 3. Give a layer from 0 to 2 and a head from 0"),
        (decoder(), Ablation(uniform_attention=frozenset({(0, 3)})), r"no head 3 in layer 0\. .* from 0 to 2\."),
        (encoder(), Ablation(frozenset({(0, -1)})), "no head -1 in layer 0"),
        (encoder(), Ablation(no_causal_mask=True), "no causal mask that can be removed"),
        (decoder(positions="none"), Ablation(no_positions=True), "no positions"),
    ],
)
def test_impossible_ablations_are_rejected(model: nn.Module, ablation: Ablation, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        attend(model, IDS[:5], ablation)


def test_weights_are_packed_row_by_row() -> None:
    weights = np.array([[[[1, np.nan, np.nan], [0.25, 0.75, np.nan], [0.5, 0, 0.5]]]], dtype=np.float32)
    assert module.pack_weights(weights, causal=True).tolist() == [[[FULL_SCALE, 16384, 49151, 32768, 0, 32768]]]
    assert module.pack_weights(weights[..., :2], causal=False).tolist() == [[[FULL_SCALE, 0, 16384, 49151, 32768, 0]]]
    two = module.pack_weights(weights[..., :2], causal=False)
    np.testing.assert_allclose(unpack_weights(two, 3, causal=False), np.nan_to_num(weights[..., :2]), atol=1e-5)
    assert is_causal(weights) and not is_causal(weights[..., :2]) and not is_causal(np.ones((2, 2)))
    weights = attend(decoder(), IDS).weights
    packed = module.pack_weights(weights, causal=True)
    assert packed.dtype == np.uint16 and packed.shape == (LAYERS, HEADS, 190)
    np.testing.assert_allclose(unpack_weights(packed, len(IDS), True), weights, atol=0.51 / FULL_SCALE, rtol=0)


def test_layout_and_norms() -> None:
    model = attention_model(decoder())
    assert isinstance(model, AttentionModel) and attention_model(model) is model
    assert attention_model(decoder(positions="rotary")).layout == AttentionLayout(LAYERS, HEADS, True, True)
    assert attention_model(tagger(positions="none")).layout == AttentionLayout(LAYERS, HEADS, False, False)
    assert attention_model(encoder()).layout == AttentionLayout(LAYERS, HEADS, False, True, answers_every_token=False)
    with pytest.raises(TypeError, match="BatchNorm1d is no norm of a Transformer"):
        normalize_linearly(nn.BatchNorm1d(2), torch.ones(1, 2), torch.ones(2))
    for model in (nn.Linear(2, 2), tagger(positions="none", attention=False)):
        with pytest.raises(InvalidSetting, match=f"{type(model).__name__} has no attention"):
            attention_model(model)
