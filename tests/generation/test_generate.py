"""A generated text depends only on model, prompt, settings and seed, not on the batch, the decoder or the chunks."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from explorer.generation import generate
from explorer.generation.generate import TextGenerator, generate_ids, generate_with_logits
from explorer.generation.sampling import Sampling, gumbel_noise, noise_generator, truncate_logits
from explorer.generation.streaming import stream_chunks
from explorer.models.context_window import window_start
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer, train
from tests.generation.small import CONTEXT, FEW, VOCABULARY, model, texts

TOKENS = 15
TRUNCATED = Sampling(0.9, top_k=7, top_p=0.95, min_p=0.01, seed=5)


def generate_slowly(
    lm: nn.Module, prompt: Tensor, sampling: Sampling, sample: int, padding: int | None = None
) -> list[int]:
    """Generate one sample by whole forward passes, without cached state."""
    noise, text = gumbel_noise(noise_generator(sampling.seed, sample), TOKENS, VOCABULARY), prompt.tolist()
    for step in range(TOKENS):
        limited = padding is not None or isinstance(lm, TransformerDecoder)
        window = text[window_start(len(text), CONTEXT) if limited else 0 :]
        if padding is not None:
            window += [padding] * (CONTEXT - len(window))
        with torch.no_grad():
            logits = lm(torch.tensor([window]))[0, -1]
        logits = truncate_logits(logits, sampling) / (sampling.temperature or 1)
        text.append(int((logits + noise[step] * (sampling.temperature > 0)).argmax()))
    return text[len(prompt) :]


@pytest.mark.parametrize(
    ("name", "sampling", "padding"),
    [
        *((name, TRUNCATED, None) for name in FEW),
        *((FEW[0], other, None) for other in (Sampling(seed=3), Sampling(2.5), Sampling(0.0))),
        *((name, TRUNCATED, VOCABULARY - 1) for name in ("gru", *FEW[:2])),
    ],
    ids=str,
)
@pytest.mark.parametrize("first", [3, CONTEXT + 2])
def test_the_text_is_that_of_whole_forwards(name: str, sampling: Sampling, padding: int | None, first: int) -> None:
    lm, prompt = model(name), texts(1, first)[0]
    expected = [generate_slowly(lm, prompt, sampling, sample, padding) for sample in range(2)]
    assert generate_ids(TextGenerator(lm, CONTEXT, padding), prompt, TOKENS, sampling, 2).tolist() == expected


@pytest.mark.parametrize("name", ["ngram 4", "gru", *FEW[:2]])
def test_a_text_depends_on_the_seed_and_not_on_the_other_samples_or_its_length(name: str) -> None:
    generator, prompt = TextGenerator(model(name), CONTEXT), texts(1, 12)[0]
    random_state = torch.get_rng_state()
    eight = generate_ids(generator, prompt, TOKENS, Sampling(seed=8), 8)
    assert torch.equal(generate_ids(generator, prompt, 6, Sampling(seed=8), 2), eight[:2, :6])
    other_seed = generate_ids(generator, prompt, TOKENS, Sampling(seed=9))
    assert len({tuple(text) for text in [*eight.tolist(), *other_seed.tolist()]}) == 9
    assert torch.equal(torch.get_rng_state(), random_state)


@pytest.mark.parametrize(("size", "batches"), [(2 * VOCABULARY * 3, [3, 2]), (1, [1] * 5), (10**6, [5])])
def test_noise_is_drawn_in_batches(size: int, batches: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = torch.stack([gumbel_noise(noise_generator(4, sample), 5, VOCABULARY) for sample in range(2)], dim=1)
    drawn = []

    def draw(generator: torch.Generator, steps: int, vocabulary: int) -> Tensor:
        drawn.append(steps)
        return gumbel_noise(generator, steps, vocabulary)

    monkeypatch.setattr(generate, "_NOISE_BATCH_SIZE", size)
    monkeypatch.setattr(generate, "gumbel_noise", draw)
    assert torch.equal(torch.stack(list(generate.sampling_noise(4, 2, 5, VOCABULARY))), expected)
    assert drawn[::2] == batches  # once for each sample


def test_tokens_come_one_by_one_and_can_be_used_with_autograd() -> None:
    lm, prompt = model("transformer rotary layer pre"), texts(1, 3)[0]
    text = generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling(), 2)
    steps = generate.generate_tokens(TextGenerator(lm), prompt, TOKENS, Sampling(), 2)
    first = list(itertools.islice(steps, 4))
    steps.close()
    assert torch.equal(torch.stack(first, dim=1), text[:, :4])
    assert not torch.is_inference_mode_enabled() and not first[0].is_inference()
    lm(text).sum().backward()


@pytest.mark.parametrize(("name", "most"), [(FEW[0], 1_000), (FEW[1], CONTEXT)])
def test_without_a_context_all_tokens_are_attended_to(name: str, most: int) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    text = generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling())
    assert torch.equal(text, generate_ids(TextGenerator(lm, most), prompt, TOKENS, Sampling()))


def test_empty_texts_and_padded_rows() -> None:
    generator = TextGenerator(model("rnn"))
    assert generate_ids(generator, texts(1, 3)[0], 0, Sampling(), 2).shape == (2, 0)
    with pytest.raises(ValueError, match="prompt is empty"):
        generate_ids(generator, texts(1, 0)[0], 5, Sampling())
    pieces, characters = train("bpe", TEXT, 300), train("char", TEXT, 300)
    prefixes, sentences = TextConfig(rows="prefixes", split="pairs"), TextConfig(rows="sentences", split="pairs")
    assert generate.padding_token(prefixes, pieces) == pieces.padding is not None
    assert (
        generate.padding_token(prefixes, characters) == 0
    )  # as in its rows: any token will do where there is no padding
    assert generate.padding_token(sentences, pieces) is generate.padding_token(TextConfig(), pieces) is None


TEXT = "the cat sat on the mat\nthe dog sat on the log\n" * 3


@pytest.mark.parametrize(
    ("kind", "prompt", "expected", "unknown"),
    [
        ("char", "the cat", "the cat", ()),
        ("char", "The cät sat äT", "he ct sat ", ("T", "ä")),  # dropped characters are listed once
        ("char", "ÄÖÜ", "\n", ("Ä", "Ö", "Ü")),  # no known character remains
        ("char", "", "\n", ()),
        ("word", "the whale sat", "the <unk> sat", ("whale",)),
        ("word", "", "\n", ()),
        ("bpe", "the cat\u4e2d", None, ("\u4e2d",)),
        ("bytes", "the \u4e2d", "the \u4e2d", ()),
        ("bytes", "", "\n", ()),
    ],
)
def test_prompt_ids_contain_only_known_tokens(
    kind: str, prompt: str, expected: str | None, unknown: tuple[str, ...]
) -> None:
    tokenizer = train(kind, TEXT, 300)
    ids, reported = generate.prompt_ids(tokenizer, prompt)
    assert reported == unknown
    assert ids.dtype == torch.int64
    if expected is not None:
        assert tokenizer.decode(ids.tolist()) == expected
    else:
        assert tokenizer.unknown in ids.tolist()


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
@pytest.mark.parametrize("prompt", ["", "\n"])
def test_a_prompt_without_a_line_end_in_the_vocabulary_is_the_first_token_of_text(kind: str, prompt: str) -> None:
    tokenizer: Tokenizer = train(kind, "one two, three", 300)
    ids, _ = generate.prompt_ids(tokenizer, prompt)
    assert len(ids) == 1
    assert (prompt and tokenizer.encode(prompt).size) or ids.item() not in (tokenizer.unknown, tokenizer.padding)
    if kind == "char":
        assert ids.tolist() == [0]


def test_a_prompt_is_read_as_the_text_was() -> None:
    text = "the cat sat on the mat\nthe dog sat on the log, so it was\n"
    words, characters = train("word", text, VOCABULARY), train("char", "the cat sat on m\n", 0)
    cases: list[tuple[Tokenizer, TextConfig, str, tuple[object, ...]]] = [
        (words, TextConfig(lower=True, context=7), "The CAT sat", ("the cat sat", True, (), ())),
        (words, TextConfig(context=7), "The cat sat", ("<unk> cat sat", False, (), ("The",))),
        (characters, TextConfig(context=7), "The cat", ("he cat", False, ("T",), ())),
    ]
    for tokenizer, task, prompt, expected in cases:
        generator = TextGenerator.for_task(model("gru"), task, tokenizer)
        result = generate.continue_prompt(generator, tokenizer, prompt, 4, Sampling(), 2, task.lower)
        assert (result.prompt, result.lowered, result.dropped, result.unknown) == expected
        space = " " if tokenizer is words else ""
        assert result.whole == tuple(f"{result.prompt}{space}{text}" for text in result.texts)
        assert len(result.texts) == 2
        ids, _ = generate.prompt_ids(tokenizer, prompt.lower() if task.lower else prompt)
        generated = generate_ids(TextGenerator(model("gru"), 7), ids, 4, Sampling(), 2).tolist()
        assert list(result.texts) == [tokenizer.decode(row) for row in generated]


LETTERS = train("char", "abcdefghijk", 0)


@pytest.mark.parametrize("padding", [None, 10])
@pytest.mark.parametrize("seconds", [0.0, 0.001, math.inf])
def test_the_chunks_are_the_text(padding: int | None, seconds: float) -> None:
    generator = TextGenerator(model("transformer learned rms post"), CONTEXT, padding)
    prompt, sampling = texts(1, 3)[0], Sampling(0.9, top_p=0.95, seed=2)
    chunks = list(stream_chunks(generator, LETTERS, prompt, 15, sampling, seconds=seconds))
    ids = [id for chunk in chunks for id in chunk.ids]
    assert ids == generate_ids(generator, prompt, 15, sampling)[0].tolist()
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == LETTERS.decode(ids)
    generated = generate_with_logits(generator, prompt, 15, sampling)
    expected = [-logits.log_softmax(-1)[0, ids].item() for logits, _, ids in generated]
    assert [nats for chunk in chunks for nats in chunk.surprisal] == pytest.approx(expected, abs=1e-4)
    assert len(chunks[0].ids) == 1  # as soon as there is one
    if seconds in (0, math.inf):
        assert len(chunks) == (2 if seconds else 15)


def test_the_last_piece_ends_a_character_that_no_token_completed() -> None:
    tokenizer, lm = train("bytes", "😀", 256), model("ngram 1")
    first = int(tokenizer.encode("😀")[0])  # the first of its four bytes, which the model repeats
    lm.vocabulary, lm.base, lm.unigrams = 256, 257, torch.full((256,), 1e-9)
    lm.unigrams[first] = 1.0
    chunks = stream_chunks(TextGenerator(lm), tokenizer, torch.tensor([65]), 3, Sampling(0.0))
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == tokenizer.decode([first] * 3) == "���"


def test_closing_the_stream_leaves_inference_mode_and_zero_tokens_give_no_chunk() -> None:
    generator, prompt = TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0]
    stream = stream_chunks(generator, LETTERS, prompt, 15, Sampling())
    next(stream)
    assert not torch.is_inference_mode_enabled()
    stream.close()
    assert list(stream_chunks(generator, LETTERS, prompt, 0, Sampling())) == []
