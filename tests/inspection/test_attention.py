from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch import Generator, nn

from explorer.errors import InvalidSetting, TextError, UnknownWords
from explorer.inspection.attention import (
    FULL,
    Touch,
    anatomy,
    attend,
    attending,
    check_attention,
    has_attention,
    interventions,
    packed_weights,
    read,
    unpacked,
)
from explorer.inspection.opening import open_model
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.models.taps import intervene, record
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.text import Tokenizer, from_json, train
from explorer.training import store
from explorer.training.config import RunConfig, changed, default

LAYERS, HEADS, WIDTH = 3, 3, 12
IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8)  # more than the decoder's short way takes
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


def plain(model: nn.Module, ids: tuple[int, ...]) -> np.ndarray:
    """What a model answers when nobody looks."""
    logits = model(torch.tensor([ids]))
    return logits.view(-1, logits.shape[-1]).log_softmax(-1).numpy()


def without(model: nn.Module, heads: frozenset[tuple[int, int]]) -> nn.Module:
    """The same model, but nothing of these heads passes the matrix behind them."""
    other = type(model)(*made_of(model))
    other.load_state_dict(model.state_dict())
    for layer, head in heads:
        each = WIDTH // HEADS
        other.blocks[layer].attention.output.weight.data[:, head * each : (head + 1) * each] = 0
    return other.requires_grad_(False)


def made_of(model: nn.Module) -> tuple[object, ...]:
    if isinstance(model, TransformerDecoder):
        return model.config, 13, 21, Generator()
    config = TransformerEncoderConfig(width=WIDTH, heads=HEADS, layers=LAYERS, hidden=11, window=9)
    return config, len(VOCABULARY.tokens), 2, model.padding, Generator()


@cache
def shipped(name: str) -> tuple[RunConfig, Tokenizer | None]:
    run = store.find(name)
    return run.config, from_json(run.tokenizer) if run.tokenizer else None


# Reading.


def test_runs_with_attention_are_known() -> None:
    assert has_attention(store.find("text-best").config)
    assert has_attention(store.find("negation-single-transformer").config)
    for model in ("gru", "ngram", "feedforward"):
        assert not has_attention(default("text", model))
    assert {"text-best", "text-assignment", "text-transformer"} <= set(attending("text"))
    assert "negation-double-transformer" in attending()
    assert not any("negation" in name or name in ("text-gru", "text-ngram") for name in attending("text"))


def test_a_run_without_attention_is_refused_with_some_that_have_it() -> None:
    with pytest.raises(InvalidSetting, match=r"“LSTM”, which has no attention .* text-assignment, text-best, .* more"):
        check_attention(store.find("text-lstm").config)
    with pytest.raises(InvalidSetting, match="one that has: negation-double-transformer"):
        check_attention(default("negation", "rnn"))
    check_attention(default("text", "transformer"))
    with pytest.raises(InvalidSetting, match="has no attention"):
        attend(open_model(store.find("negation-single-gru")).alone(0), SENTENCE)


def test_the_end_of_a_long_text_is_read_and_the_rest_is_named() -> None:
    config, tokenizer = shipped("text-transformer")
    text = "".join(f"{i} men! ".replace("3", "") for i in range(40))
    known = "".join(char for char in text if char in tokenizer.tokens)
    found = read(config, tokenizer, text)
    assert len(found.ids) == len(found.tokens) == 64
    assert found.cut + "".join(found.tokens) == known
    assert found.tokens == tuple(known[-64:])
    assert (found.cut_at, found.unknown, found.lowered) == ("start", (), False)
    assert found.dropped == tuple(dict.fromkeys(char for char in text if char not in tokenizer.tokens)) != ()


def test_a_short_text_is_read_whole() -> None:
    found = read(*shipped("text-transformer"), "To be")
    assert (found.tokens, found.cut, found.cut_at, found.dropped) == (("T", "o", " ", "b", "e"), "", "", ())


@pytest.mark.parametrize("text", ["", "日本"])
def test_where_nothing_is_left_a_text_starts_as_writing_does(text: str) -> None:
    found = read(*shipped("text-transformer"), text)
    assert found.tokens == ("\n",)
    assert found.dropped == tuple(text)


def test_pieces_of_words_are_read_in_small_letters_with_what_is_unknown() -> None:
    config, tokenizer = shipped("text-assignment")
    found = read(config, tokenizer, "O king, the Queen日" + " and the king" * 9)
    assert found.lowered
    assert (found.dropped, found.unknown) == ((), ("日",))
    assert len(found.ids) == 15
    assert tokenizer.decode(found.ids) == "".join(found.tokens).strip()
    assert found.cut_at == "start" and found.cut.startswith("o king")
    assert not read(config, tokenizer, "o king").lowered


def test_a_token_that_adds_nothing_has_a_name() -> None:
    tokenizer = train("bytes", "some letters and nothing else", 260)
    found = read(changed(default("text", "transformer"), {"tokenizer": "bytes"}), tokenizer, "a€b")
    assert found.tokens[0] == "a" and found.tokens[-1] == "b"
    assert "€" in found.tokens and r"\xe2" in found.tokens


def test_half_a_character_is_refused() -> None:
    with pytest.raises(TextError, match="half a character"):
        read(*shipped("text-transformer"), "\ud800")


def test_a_model_of_padded_prefixes_is_given_its_padding() -> None:
    config, tokenizer = shipped("text-assignment")
    found = read(changed(config, {"rows": "prefixes", "split": "sentences"}), tokenizer, "the king")
    words = read(config, tokenizer, "the king")
    assert len(found.ids) == 15
    assert found.ids[: len(words.ids)] == words.ids
    assert set(found.tokens[len(words.ids) :]) == {"<pad>"}


def test_a_sentence_stands_between_its_markers() -> None:
    found = read(*shipped("negation-single-transformer"), "Human NOT preserve nature!")
    assert found.tokens == ("<BOS>", "human", "not", "preserve", "nature", "<EOS>")
    assert (found.ids, found.cut, found.cut_at, found.lowered) == (SENTENCE, "", "", True)


def test_what_stands_beyond_the_window_is_cut_off() -> None:
    found = read(*shipped("negation-single-transformer"), "human not not not preserve nature")
    assert found.tokens == ("<BOS>", "human", "not", "not", "not", "preserve")
    assert (found.cut, found.cut_at, found.lowered) == ("nature <EOS>", "end", False)


def test_padding_can_be_asked_for() -> None:
    config, _ = shipped("negation-single-transformer")
    assert read(config, None, "human destroy nature", length=6).tokens[-2:] == ("<EOS>", "<PAD>")
    assert len(read(config, None, "human destroy nature", length=99).ids) == 6
    with pytest.raises(UnknownWords, match="whales"):
        read(config, None, "human preserve whales")


# Looking.


@EVERY_MODEL
def test_what_is_seen_is_what_the_model_computed(name: str) -> None:
    model, ids = MODELS[name]
    seen = attend(model, ids)
    with record(model) as trace:
        model(torch.tensor([ids]))
    for layer in range(LAYERS):
        own = trace[f"blocks.{layer}.attention.weights"][0].numpy()
        shown = ~np.isnan(seen.weights[layer])
        np.testing.assert_array_equal(seen.weights[layer][shown], own[shown])
    np.testing.assert_allclose(seen.answers, plain(model, ids), atol=1e-5)
    assert not seen.weights.flags.writeable


@EVERY_MODEL
def test_rows_sum_to_one_and_what_is_masked_is_empty(name: str) -> None:
    model, ids = MODELS[name]
    seen = attend(model, ids).weights
    real = len(SENTENCE) if "padded" in name else len(ids)
    np.testing.assert_allclose(np.nansum(seen, axis=-1)[..., :real], 1, atol=1e-5)
    hidden = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1) & ("decoder" in name)
    hidden[real:] = hidden[:, real:] = True
    for layer, head in EVERY_HEAD:
        np.testing.assert_array_equal(np.isnan(seen[layer, head]), hidden)


def test_a_single_token_sees_itself() -> None:
    assert attend(decoder(), (3,)).weights.tolist() == [[[[1.0]]] * HEADS] * LAYERS


# Touching.


@EVERY_MODEL
@pytest.mark.parametrize(
    "off", [{(0, 1)}, {(2, 2)}, {(0, 0), (1, 2), (2, 1)}, {(1, h) for h in range(HEADS)}, EVERY_HEAD], ids=len
)
def test_a_head_that_is_off_might_as_well_have_no_output_weights(name: str, off: set[tuple[int, int]]) -> None:
    model, ids = MODELS[name]
    found = attend(model, ids, Touch(off=frozenset(off)))
    other = without(model, frozenset(off))
    np.testing.assert_allclose(found.answers, plain(other, ids), atol=1e-5)
    np.testing.assert_allclose(found.weights, attend(other, ids).weights, atol=1e-5)
    assert np.abs(found.answers - plain(model, ids)).max() > 1e-3


@EVERY_MODEL
def test_a_flat_head_looks_at_all_it_may_alike(name: str) -> None:
    model, ids = MODELS[name]
    before, after = attend(model, ids), attend(model, ids, Touch(flat=frozenset({(1, 0), (1, 2)})))
    may = ~np.isnan(before.weights[0, 0])
    even = np.where(may, may / np.maximum(may.sum(axis=-1, keepdims=True), 1), np.nan)
    for head in (0, 2):
        np.testing.assert_allclose(after.weights[1, head], even, atol=1e-6)
    np.testing.assert_array_equal(after.weights[1, 1], before.weights[1, 1])
    np.testing.assert_array_equal(after.weights[0], before.weights[0])
    assert np.nanmax(np.abs(after.weights[2] - before.weights[2])) > 1e-4


def test_without_its_mask_a_decoder_looks_ahead() -> None:
    lifted = Touch(unmasked=True)
    seen = attend(decoder(), IDS, lifted)
    assert not np.isnan(seen.weights).any()
    np.testing.assert_allclose(seen.weights.sum(axis=-1), 1, atol=1e-5)
    other = attend(decoder(), (*IDS[:-1], 0), lifted)
    assert np.abs(seen.answers[0] - other.answers[0]).max() > 1e-4
    masked, other = attend(decoder(), IDS), attend(decoder(), (*IDS[:-1], 0))
    np.testing.assert_allclose(masked.answers[:-1], other.answers[:-1], atol=1e-6)


def test_a_flat_head_without_a_mask_looks_everywhere_alike() -> None:
    seen = attend(decoder(), IDS, Touch(flat=frozenset({(0, 0)}), unmasked=True))
    np.testing.assert_allclose(seen.weights[0, 0], 1 / len(IDS), atol=1e-6)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_without_positions_it_is_the_model_that_never_had_any(positions: str) -> None:
    model, bare = decoder(positions), decoder("none")
    bare.load_state_dict({name: value for name, value in model.state_dict().items() if name != "position.weight"})
    found = attend(model, IDS, Touch(unplaced=True))
    np.testing.assert_allclose(found.answers, plain(bare, IDS), atol=1e-5)
    np.testing.assert_allclose(found.weights, attend(bare, IDS).weights, atol=1e-5)
    assert np.abs(found.answers - plain(model, IDS)).max() > 1e-3


def test_an_encoder_without_positions_reads_a_bag_of_words() -> None:
    swapped = (SENTENCE[0], *reversed(SENTENCE[1:]))
    one, other = (attend(encoder(), ids, Touch(unplaced=True)).answers for ids in (SENTENCE, swapped))
    np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.abs(plain(encoder(), SENTENCE) - plain(encoder(), swapped)).max() > 1e-3


@pytest.mark.parametrize(
    ("model", "touch", "said"),
    [
        (decoder(), Touch(off=frozenset({(3, 0)})), "no head 0 in layer 3. Give a layer from 0 to 2 and a head"),
        (decoder(), Touch(flat=frozenset({(0, 3)})), "no head 3 in layer 0"),
        (encoder(), Touch(off=frozenset({(-1, 0)})), "no head 0 in layer -1"),
        (encoder(), Touch(unmasked=True), "no mask to lift"),
        (decoder("none"), Touch(unplaced=True), "no positions"),
    ],
)
def test_what_a_model_does_not_have_cannot_be_touched(model: nn.Module, touch: Touch, said: str) -> None:
    with pytest.raises(InvalidSetting, match=said):
        attend(model, IDS[:5], touch)


@EVERY_MODEL
def test_nobody_else_notices_a_touch(name: str) -> None:
    model, ids = MODELS[name]
    before, weights = plain(model, ids), {key: value.clone() for key, value in model.state_dict().items()}
    attend(model, ids, Touch(off=EVERY_HEAD, flat=EVERY_HEAD, unmasked="decoder" in name, unplaced="none" not in name))
    np.testing.assert_array_equal(plain(model, ids), before)
    assert all(torch.equal(value, weights[key]) for key, value in model.state_dict().items())
    assert interventions(model, Touch()) == {}


def test_touches_fit_a_batch_too() -> None:
    model, touch = decoder("learned"), Touch(off=frozenset({(0, 1)}), flat=frozenset({(1, 1)}), unplaced=True)
    rows = torch.tensor([IDS, IDS[::-1]])
    with intervene(model, interventions(model, touch)):
        both = model(rows).log_softmax(-1).numpy()
    for row, ids in zip(both, (IDS, IDS[::-1]), strict=True):
        np.testing.assert_allclose(row, attend(model, ids, touch).answers, atol=1e-5)


def test_anatomy() -> None:
    found = anatomy(decoder())
    assert (found.layers, found.heads, found.causal, found.positions) == (LAYERS, HEADS, True, True)
    assert not anatomy(decoder("none")).positions
    assert (anatomy(encoder()).causal, anatomy(encoder()).positions) == (False, True)


# Packed.


@pytest.mark.parametrize("name", ["text-transformer", "text-best", "text-assignment", "text-through-training"])
def test_packed_weights_are_those_of_the_model(name: str) -> None:
    config, tokenizer = shipped(name)
    ids = read(config, tokenizer, "the king, and the queen of the world! " * 9).ids
    seen = attend(open_model(store.find(name)).alone(0), ids).weights
    packed = packed_weights(seen, causal=True)
    assert packed.dtype == np.uint16
    assert packed.shape == (*seen.shape[:2], len(ids) * (len(ids) + 1) // 2)
    back = unpacked(packed, len(ids), causal=True)
    np.testing.assert_allclose(back, seen, atol=1e-3, rtol=0)
    np.testing.assert_allclose(back, seen, atol=0.51 / FULL, rtol=0)
    np.testing.assert_allclose(np.nansum(back, axis=-1), 1, atol=1e-3)


def test_packed_cells_stand_row_by_row() -> None:
    seen = np.array([[[[1, np.nan, np.nan], [0.25, 0.75, np.nan], [0.5, 0, 0.5]]]], dtype=np.float32)
    assert packed_weights(seen, causal=True).tolist() == [[[FULL, 16384, 49151, 32768, 0, 32768]]]
    assert packed_weights(seen[..., :2], causal=False).tolist() == [[[FULL, 0, 16384, 49151, 32768, 0]]]
    np.testing.assert_allclose(
        unpacked(packed_weights(seen[..., :2], causal=False), 3, causal=False), np.nan_to_num(seen[..., :2]), atol=1e-5
    )
