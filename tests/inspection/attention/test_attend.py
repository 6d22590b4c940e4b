from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch import Generator, nn

from explorer.errors import InvalidSetting, TextError, UnknownWords
from explorer.inspection.attention.attend import (
    FULL_SCALE,
    Ablation,
    attend,
    check_attention,
    has_attention,
    interventions,
    pack_weights,
    runs_with_attention,
    tokenize_input,
    unpack_weights,
)
from explorer.inspection.load_model import load_model
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.models.taps import intervene, record
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.text import Tokenizer, from_json, train
from explorer.training.config import RunConfig, default_config, with_settings

LAYERS, HEADS, WIDTH = 3, 3, 12
IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8)  # longer than the decoder's fast path allows
SENTENCE = VOCABULARY.encode(("human", "not", "preserve", "nature"))
PADDED = (*SENTENCE, *[VOCABULARY.id("<PAD>")] * 2)
EVERY_HEAD = frozenset(product(range(LAYERS), range(HEADS)))
POSITIONS = ("learned", "sinusoidal", "rotary", "none")


def decoder(positions: str = "rotary", **settings: object) -> TransformerDecoder:
    small = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "hidden": 11, "start": "usual", "norm_place": "pre"}
    config = TransformerTextConfig(**{**small, "positions": positions, **settings})
    return TransformerDecoder(config, 13, 21, Generator().manual_seed(1)).eval().requires_grad_(False)


def encoder() -> TransformerEncoder:
    config = TransformerEncoderConfig(width=WIDTH, heads=HEADS, layers=LAYERS, hidden=11, window=9, start=1.0)
    padding = VOCABULARY.id("<PAD>")
    model = TransformerEncoder(config, len(VOCABULARY.tokens), 2, padding, Generator().manual_seed(1))
    return model.eval().requires_grad_(False)


MODELS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    **{f"decoder, {positions}": (decoder(positions), IDS) for positions in POSITIONS},
    "decoder, norm after": (decoder("learned", norm_place="post", biases=True), IDS),
    "decoder, no norm": (decoder("rotary", norm="none"), IDS),
    "encoder": (encoder(), SENTENCE),
    "encoder, padded": (encoder(), PADDED),
}
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)


def log_probabilities(model: nn.Module, ids: tuple[int, ...]) -> np.ndarray:
    """Return the log-probabilities of a plain forward pass."""
    logits = model(torch.tensor([ids]))
    return logits.view(-1, logits.shape[-1]).log_softmax(-1).numpy()


def zero_output_weights(model: nn.Module, heads: frozenset[tuple[int, int]]) -> nn.Module:
    """Return the same model with the output weights of these heads at zero."""
    other = type(model)(*constructor_arguments(model))
    other.load_state_dict(model.state_dict())
    for layer, head in heads:
        each = WIDTH // HEADS
        other.blocks[layer].attention.output.weight.data[:, head * each : (head + 1) * each] = 0
    return other.requires_grad_(False)


def constructor_arguments(model: nn.Module) -> tuple[object, ...]:
    if isinstance(model, TransformerDecoder):
        return model.config, 13, 21, Generator()
    config = TransformerEncoderConfig(width=WIDTH, heads=HEADS, layers=LAYERS, hidden=11, window=9)
    return config, len(VOCABULARY.tokens), 2, model.padding, Generator()


@cache
def find_pretrained(name: str) -> tuple[RunConfig, Tokenizer | None]:
    run = store.find(name)
    return run.config, from_json(run.tokenizer) if run.tokenizer else None


# ---- tokens


def test_runs_with_attention_are_listed() -> None:
    assert has_attention(store.find("text-best").config)
    assert has_attention(store.find("negation-single-transformer").config)
    for model in ("gru", "ngram", "feedforward"):
        assert not has_attention(default_config("text", model))
    assert {"text-best", "text-assignment", "text-transformer"} <= set(runs_with_attention("text"))
    assert "negation-double-transformer" in runs_with_attention()
    assert not any("negation" in name or name in ("text-gru", "text-ngram") for name in runs_with_attention("text"))


def test_a_run_without_attention_is_rejected_and_alternatives_are_named() -> None:
    with pytest.raises(InvalidSetting, match=r"“LSTM”, which has no attention .* text-assignment, text-best, .* more"):
        check_attention(store.find("text-lstm").config)
    with pytest.raises(InvalidSetting, match="one that has: negation-double-transformer"):
        check_attention(default_config("negation", "rnn"))
    check_attention(default_config("text", "transformer"))
    with pytest.raises(InvalidSetting, match="has no attention"):
        attend(load_model(store.find("negation-single-gru")).single_replica(0), SENTENCE)


def test_a_long_text_is_truncated_at_the_start() -> None:
    config, tokenizer = find_pretrained("text-transformer")
    text = "".join(f"{i} men! ".replace("3", "") for i in range(40))
    known_characters = "".join(char for char in text if char in tokenizer.tokens)
    tokenized = tokenize_input(config, tokenizer, text)
    assert len(tokenized.ids) == len(tokenized.tokens) == 64
    assert tokenized.truncated + "".join(tokenized.tokens) == known_characters
    assert tokenized.tokens == tuple(known_characters[-64:])
    assert (tokenized.truncated_at, tokenized.unknown, tokenized.lowercased) == ("start", (), False)
    assert tokenized.dropped == tuple(dict.fromkeys(char for char in text if char not in tokenizer.tokens)) != ()


def test_a_short_text_is_not_truncated() -> None:
    text = tokenize_input(*find_pretrained("text-transformer"), "To be")
    assert (text.tokens, text.truncated, text.truncated_at, text.dropped) == (
        ("T", "o", " ", "b", "e"),
        "",
        "",
        (),
    )


@pytest.mark.parametrize("text", ["", "日本"])
def test_an_empty_text_becomes_a_line_end(text: str) -> None:
    tokenized = tokenize_input(*find_pretrained("text-transformer"), text)
    assert tokenized.tokens == ("\n",)
    assert tokenized.dropped == tuple(text)


def test_text_is_lowercased_and_unknown_characters_are_listed() -> None:
    config, tokenizer = find_pretrained("text-assignment")
    tokenized = tokenize_input(config, tokenizer, "O king, the Queen日" + " and the king" * 9)
    assert tokenized.lowercased
    assert (tokenized.dropped, tokenized.unknown) == ((), ("日",))
    assert len(tokenized.ids) == 15
    assert tokenizer.decode(tokenized.ids) == "".join(tokenized.tokens).strip()
    assert tokenized.truncated_at == "start" and tokenized.truncated.startswith("o king")
    assert not tokenize_input(config, tokenizer, "o king").lowercased


def test_a_token_that_adds_no_text_shows_its_name() -> None:
    tokenizer = train("bytes", "some letters and nothing else", 260)
    tokenized = tokenize_input(
        with_settings(default_config("text", "transformer"), {"tokenizer": "bytes"}), tokenizer, "a€b"
    )
    assert tokenized.tokens[0] == "a" and tokenized.tokens[-1] == "b"
    assert "€" in tokenized.tokens and r"\xe2" in tokenized.tokens


def test_half_a_character_is_rejected() -> None:
    with pytest.raises(TextError, match="half a character"):
        tokenize_input(*find_pretrained("text-transformer"), "\ud800")


def test_a_prefix_model_gets_padding() -> None:
    config, tokenizer = find_pretrained("text-assignment")
    tokenized = tokenize_input(with_settings(config, {"rows": "prefixes", "split": "sentences"}), tokenizer, "the king")
    words = tokenize_input(config, tokenizer, "the king")
    assert len(tokenized.ids) == 15
    assert tokenized.ids[: len(words.ids)] == words.ids
    assert set(tokenized.tokens[len(words.ids) :]) == {"<pad>"}


def test_a_sentence_is_enclosed_in_markers() -> None:
    text = tokenize_input(*find_pretrained("negation-single-transformer"), "Human NOT preserve nature!")
    assert text.tokens == ("<BOS>", "human", "not", "preserve", "nature", "<EOS>")
    assert (text.ids, text.truncated, text.truncated_at, text.lowercased) == (
        SENTENCE,
        "",
        "",
        True,
    )


def test_a_sentence_is_truncated_to_the_window() -> None:
    tokenized = tokenize_input(*find_pretrained("negation-single-transformer"), "human not not not preserve nature")
    assert tokenized.tokens == ("<BOS>", "human", "not", "not", "not", "preserve")
    assert (tokenized.truncated, tokenized.truncated_at, tokenized.lowercased) == ("nature <EOS>", "end", False)


def test_a_sentence_can_be_padded() -> None:
    config, _ = find_pretrained("negation-single-transformer")
    assert tokenize_input(config, None, "human destroy nature", length=6).tokens[-2:] == ("<EOS>", "<PAD>")
    assert len(tokenize_input(config, None, "human destroy nature", length=99).ids) == 6
    with pytest.raises(UnknownWords, match="whales"):
        tokenize_input(config, None, "human preserve whales")


# ---- attention


@EVERY_MODEL
def test_attention_and_predictions_equal_those_of_the_model(name: str) -> None:
    model, ids = MODELS[name]
    attention = attend(model, ids)
    with record(model) as trace:
        model(torch.tensor([ids]))
    for layer in range(LAYERS):
        own = trace[f"blocks.{layer}.attention.weights"][0].numpy()
        visible = ~np.isnan(attention.weights[layer])
        np.testing.assert_array_equal(attention.weights[layer][visible], own[visible])
    np.testing.assert_allclose(attention.log_probabilities, log_probabilities(model, ids), atol=1e-5)
    assert not attention.weights.flags.writeable


@EVERY_MODEL
def test_rows_sum_to_one_and_masked_cells_are_nan(name: str) -> None:
    model, ids = MODELS[name]
    weights = attend(model, ids).weights
    real = len(SENTENCE) if "padded" in name else len(ids)
    np.testing.assert_allclose(np.nansum(weights, axis=-1)[..., :real], 1, atol=1e-5)
    hidden = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1) & ("decoder" in name)
    hidden[real:] = hidden[:, real:] = True
    for layer, head in EVERY_HEAD:
        np.testing.assert_array_equal(np.isnan(weights[layer, head]), hidden)


def test_a_single_token_attends_to_itself() -> None:
    assert attend(decoder(), (3,)).weights.tolist() == [[[[1.0]]] * HEADS] * LAYERS


# ---- ablations


@EVERY_MODEL
@pytest.mark.parametrize(
    "ablated_heads", [{(0, 1)}, {(2, 2)}, {(0, 0), (1, 2), (2, 1)}, {(1, h) for h in range(HEADS)}, EVERY_HEAD], ids=len
)
def test_zero_ablation_equals_zero_output_weights(name: str, ablated_heads: set[tuple[int, int]]) -> None:
    model, ids = MODELS[name]
    attention = attend(model, ids, Ablation(zero_ablated=frozenset(ablated_heads)))
    other = zero_output_weights(model, frozenset(ablated_heads))
    np.testing.assert_allclose(attention.log_probabilities, log_probabilities(other, ids), atol=1e-5)
    np.testing.assert_allclose(attention.weights, attend(other, ids).weights, atol=1e-5)
    assert np.abs(attention.log_probabilities - log_probabilities(model, ids)).max() > 1e-3


@EVERY_MODEL
def test_uniform_attention_spreads_over_visible_tokens(name: str) -> None:
    model, ids = MODELS[name]
    before, after = attend(model, ids), attend(model, ids, Ablation(uniform_attention=frozenset({(1, 0), (1, 2)})))
    may = ~np.isnan(before.weights[0, 0])
    even = np.where(may, may / np.maximum(may.sum(axis=-1, keepdims=True), 1), np.nan)
    for head in (0, 2):
        np.testing.assert_allclose(after.weights[1, head], even, atol=1e-6)
    np.testing.assert_array_equal(after.weights[1, 1], before.weights[1, 1])
    np.testing.assert_array_equal(after.weights[0], before.weights[0])
    assert np.nanmax(np.abs(after.weights[2] - before.weights[2])) > 1e-4


def test_without_the_causal_mask_a_decoder_attends_to_later_tokens() -> None:
    no_mask = Ablation(no_causal_mask=True)
    attention = attend(decoder(), IDS, no_mask)
    assert not np.isnan(attention.weights).any()
    np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
    other = attend(decoder(), (*IDS[:-1], 0), no_mask)
    assert np.abs(attention.log_probabilities[0] - other.log_probabilities[0]).max() > 1e-4
    masked, other = attend(decoder(), IDS), attend(decoder(), (*IDS[:-1], 0))
    np.testing.assert_allclose(masked.log_probabilities[:-1], other.log_probabilities[:-1], atol=1e-6)


def test_uniform_attention_without_a_mask_covers_all_tokens() -> None:
    attention = attend(decoder(), IDS, Ablation(uniform_attention=frozenset({(0, 0)}), no_causal_mask=True))
    np.testing.assert_allclose(attention.weights[0, 0], 1 / len(IDS), atol=1e-6)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_removing_positions_equals_a_model_without_positions(positions: str) -> None:
    model, bare = decoder(positions), decoder("none")
    bare.load_state_dict({name: value for name, value in model.state_dict().items() if name != "position.weight"})
    attention = attend(model, IDS, Ablation(no_positions=True))
    np.testing.assert_allclose(attention.log_probabilities, log_probabilities(bare, IDS), atol=1e-5)
    np.testing.assert_allclose(attention.weights, attend(bare, IDS).weights, atol=1e-5)
    assert np.abs(attention.log_probabilities - log_probabilities(model, IDS)).max() > 1e-3


def test_an_encoder_without_positions_reads_a_bag_of_words() -> None:
    swapped = (SENTENCE[0], *reversed(SENTENCE[1:]))
    one, other = (attend(encoder(), ids, Ablation(no_positions=True)).log_probabilities for ids in (SENTENCE, swapped))
    np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.abs(log_probabilities(encoder(), SENTENCE) - log_probabilities(encoder(), swapped)).max() > 1e-3


@pytest.mark.parametrize(
    ("model", "ablation", "message"),
    [
        (
            decoder(),
            Ablation(zero_ablated=frozenset({(3, 0)})),
            "no head 0 in layer 3. Give a layer from 0 to 2 and a head",
        ),
        (decoder(), Ablation(uniform_attention=frozenset({(0, 3)})), "no head 3 in layer 0"),
        (encoder(), Ablation(zero_ablated=frozenset({(-1, 0)})), "no head 0 in layer -1"),
        (encoder(), Ablation(no_causal_mask=True), "no causal mask that can be removed"),
        (decoder("none"), Ablation(no_positions=True), "no positions"),
    ],
)
def test_impossible_ablations_are_rejected(model: nn.Module, ablation: Ablation, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        attend(model, IDS[:5], ablation)


@EVERY_MODEL
def test_an_ablation_leaves_the_model_unchanged(name: str) -> None:
    model, ids = MODELS[name]
    before, weights = log_probabilities(model, ids), {key: value.clone() for key, value in model.state_dict().items()}
    attend(
        model,
        ids,
        Ablation(
            zero_ablated=EVERY_HEAD,
            uniform_attention=EVERY_HEAD,
            no_causal_mask="decoder" in name,
            no_positions="none" not in name,
        ),
    )
    np.testing.assert_array_equal(log_probabilities(model, ids), before)
    assert all(torch.equal(value, weights[key]) for key, value in model.state_dict().items())
    assert interventions(model, Ablation()) == {}


def test_ablations_apply_to_batches() -> None:
    model, ablation = (
        decoder("learned"),
        Ablation(zero_ablated=frozenset({(0, 1)}), uniform_attention=frozenset({(1, 1)}), no_positions=True),
    )
    rows = torch.tensor([IDS, IDS[::-1]])
    with intervene(model, interventions(model, ablation)):
        log_probabilities_of_rows = model(rows).log_softmax(-1).numpy()
    for row, ids in zip(log_probabilities_of_rows, (IDS, IDS[::-1]), strict=True):
        np.testing.assert_allclose(row, attend(model, ids, ablation).log_probabilities, atol=1e-5)


# ---- packed weights


@pytest.mark.parametrize("name", ["text-transformer", "text-best", "text-assignment", "text-through-training"])
def test_unpacked_weights_equal_those_of_the_model(name: str) -> None:
    config, tokenizer = find_pretrained(name)
    ids = tokenize_input(config, tokenizer, "the king, and the queen of the world! " * 9).ids
    weights = attend(load_model(store.find(name)).single_replica(0), ids).weights
    packed = pack_weights(weights, causal=True)
    assert packed.dtype == np.uint16
    assert packed.shape == (*weights.shape[:2], len(ids) * (len(ids) + 1) // 2)
    unpacked = unpack_weights(packed, len(ids), causal=True)
    np.testing.assert_allclose(unpacked, weights, atol=1e-3, rtol=0)
    np.testing.assert_allclose(unpacked, weights, atol=0.51 / FULL_SCALE, rtol=0)
    np.testing.assert_allclose(np.nansum(unpacked, axis=-1), 1, atol=1e-3)


def test_cells_are_packed_row_by_row() -> None:
    weights = np.array([[[[1, np.nan, np.nan], [0.25, 0.75, np.nan], [0.5, 0, 0.5]]]], dtype=np.float32)
    assert pack_weights(weights, causal=True).tolist() == [[[FULL_SCALE, 16384, 49151, 32768, 0, 32768]]]
    assert pack_weights(weights[..., :2], causal=False).tolist() == [[[FULL_SCALE, 0, 16384, 49151, 32768, 0]]]
    np.testing.assert_allclose(
        unpack_weights(pack_weights(weights[..., :2], causal=False), 3, causal=False),
        np.nan_to_num(weights[..., :2]),
        atol=1e-5,
    )
