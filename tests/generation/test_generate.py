"""A generated text depends only on model, prompt, settings and seed, not on the batch or the decoder."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from explorer.generation import generate
from explorer.generation.decoding import make_decoder
from explorer.generation.generate import (
    TextGenerator,
    continue_text,
    generate_ids,
    generate_tokens,
    padding_token,
    prompt_ids,
)
from explorer.generation.sampling import Sampling, gumbel_noise, noise_generator, truncate_logits
from explorer.models.context_window import window_start
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer, train
from tests.generation.small import CONTEXT, FEW, VOCABULARY, model, texts

TOKENS = 15
TRUNCATED = Sampling(0.9, top_k=7, top_p=0.95, min_p=0.01, seed=5)


def generate_slowly(lm: nn.Module, prompt: Tensor, tokens: int, sampling: Sampling, sample: int) -> list[int]:
    """Generate one sample by whole forward passes, without cached state."""
    noise, text = gumbel_noise(noise_generator(sampling.seed, sample), tokens, VOCABULARY), prompt.tolist()
    for step in range(tokens):
        first = window_start(len(text), CONTEXT) if isinstance(lm, TransformerDecoder) else 0
        with torch.no_grad():
            logits = lm(torch.tensor([text[first:]]))[0, -1]
        if sampling.temperature == 0:
            text.append(int(logits.argmax()))
        else:
            text.append(int((truncate_logits(logits, sampling) / sampling.temperature + noise[step]).argmax()))
    return text[len(prompt) :]


@pytest.mark.parametrize(
    ("name", "sampling"),
    [
        *((name, TRUNCATED) for name in FEW),
        *(("transformer rotary layer pre", other) for other in (Sampling(seed=3), Sampling(2.5), Sampling(0.0))),
    ],
    ids=str,
)
def test_the_text_is_that_of_whole_forwards(name: str, sampling: Sampling) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    expected = [generate_slowly(lm, prompt, TOKENS, sampling, sample) for sample in range(3)]
    assert generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS, sampling, 3).tolist() == expected


@pytest.mark.parametrize("name", [name for name in FEW if not name.startswith("ngram")])
@pytest.mark.parametrize("first", [3, 9], ids=["short", "longer than the context"])
def test_padded_models_predict_from_the_last_position(name: str, first: int) -> None:
    lm, prompt, padding = model(name), texts(1, first)[0], VOCABULARY - 1
    text, decoder = prompt.tolist(), make_decoder(lm, CONTEXT, 2, padding)
    for step in range(TOKENS):
        window = text[window_start(len(text), CONTEXT) :]
        with torch.no_grad():
            logits = lm(torch.tensor([window + [padding] * (CONTEXT - len(window))]))[0, -1]
        found = decoder.step(torch.tensor(text[-1:] * 2)) if step else decoder.read(prompt[None])
        torch.testing.assert_close(found, logits.expand(2, -1))
        text.append(int(logits.argmax()))
    found = generate_ids(TextGenerator(lm, CONTEXT, padding), prompt, TOKENS, Sampling(0.0), 2)
    assert found.tolist() == [text[first:]] * 2


@pytest.mark.parametrize("name", FEW)
def test_a_sample_does_not_depend_on_the_number_of_samples(name: str) -> None:
    lm, prompt, sampling = model(name), texts(1, 3)[0], Sampling(seed=8)
    eight = generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS, sampling, 8)
    for samples in (1, 2, 5):
        assert torch.equal(generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS, sampling, samples), eight[:samples])
    assert len({tuple(text) for text in eight.tolist()}) == 8


@pytest.mark.parametrize("name", FEW)
def test_a_longer_text_begins_with_the_shorter_one(name: str) -> None:
    lm, prompt = model(name), texts(1, 12)[0]
    long = generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS, Sampling(), 2)
    assert torch.equal(generate_ids(TextGenerator(lm, CONTEXT), prompt, 6, Sampling(), 2), long[:, :6])


@pytest.mark.parametrize("name", FEW)
def test_another_seed_gives_another_text(name: str) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    seeds = [
        generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS, Sampling(seed=seed))[0].tolist() for seed in range(5)
    ]
    assert len({tuple(text) for text in seeds}) == 5


def test_the_size_of_noise_batches_does_not_change_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, prompt = model("gru"), texts(1, 3)[0]
    text = generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling(), 2)
    monkeypatch.setattr(generate, "_NOISE_BATCH_SIZE", 2 * VOCABULARY * 3)
    assert torch.equal(generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling(), 2), text)


def test_tokens_come_one_by_one_and_one_may_stop() -> None:
    lm, prompt = model("transformer rotary layer pre"), texts(1, 3)[0]
    text = generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling(), 2)
    steps = generate_tokens(TextGenerator(lm), prompt, TOKENS, Sampling(), 2)
    first = list(itertools.islice(steps, 4))
    steps.close()
    assert torch.equal(torch.stack(first, dim=1), text[:, :4])
    assert not torch.is_inference_mode_enabled()


def test_generated_ids_work_with_autograd() -> None:
    lm = model("transformer rotary layer pre")
    step = next(generate_tokens(TextGenerator(lm), texts(1, 3)[0], 1, Sampling(), 2))
    assert not step.is_inference()
    lm(generate_ids(TextGenerator(lm), texts(1, 3)[0], 5, Sampling(), 2)).sum().backward()


def test_the_global_random_state_is_unchanged() -> None:
    before = torch.get_rng_state()
    generate_ids(TextGenerator(model("lstm")), texts(1, 3)[0], 5, Sampling())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["transformer rotary layer pre", "transformer learned rms post"])
def test_without_a_context_all_tokens_are_attended_to(name: str) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    most = CONTEXT if name.split()[1] == "learned" else 1_000
    assert torch.equal(
        generate_ids(TextGenerator(lm), prompt, TOKENS, Sampling()),
        generate_ids(TextGenerator(lm, most), prompt, TOKENS, Sampling()),
    )


def test_zero_tokens_give_an_empty_text() -> None:
    assert generate_ids(TextGenerator(model("rnn")), texts(1, 3)[0], 0, Sampling(), 2).shape == (2, 0)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt is empty"):
        generate_ids(TextGenerator(model("rnn")), texts(1, 0)[0], 5, Sampling())


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
    ids, reported = prompt_ids(tokenizer, prompt)
    assert reported == unknown
    assert ids.dtype == torch.int64
    if expected is not None:
        assert tokenizer.decode(ids.tolist()) == expected
    else:
        assert tokenizer.unknown in ids.tolist()


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
@pytest.mark.parametrize("prompt", ["", " ", "\n"])
def test_prompt_ids_are_never_empty(kind: str, prompt: str) -> None:
    tokenizer: Tokenizer = train(kind, "one two, three", 300)  # it has no line end
    ids, _ = prompt_ids(tokenizer, prompt)
    assert len(ids) >= 1
    assert (prompt and tokenizer.encode(prompt).size) or not {tokenizer.unknown, tokenizer.padding} & set(ids.tolist())


def test_only_rows_of_prefixes_are_padded() -> None:
    pieces, characters = train("bpe", TEXT, 300), train("char", TEXT, 300)
    prefixes = TextConfig(rows="prefixes", split="pairs")
    assert padding_token(prefixes, pieces) == pieces.padding is not None
    assert padding_token(prefixes, characters) == 0  # as in its rows: any token will do where there is no padding
    assert (
        padding_token(TextConfig(rows="sentences", split="pairs"), pieces)
        is padding_token(TextConfig(), pieces)
        is None
    )


def test_a_prompt_is_read_as_the_text_was() -> None:
    small, unchanged_case = TextConfig(lower=True, context=7), TextConfig(context=7)
    text = "the cat sat on the mat\nthe dog sat on the log, so it was\n"
    tokenizer, lm = train("word", text, VOCABULARY), model("gru")
    result = continue_text(lm, tokenizer, small, "The CAT sat", 4, Sampling(), 2)
    assert (result.prompt, result.lowered, result.dropped, result.unknown) == (
        "the cat sat",
        True,
        (),
        (),
    )
    assert result.whole == tuple(f"{result.prompt} {text}" for text in result.texts)  # with a space between them
    assert len(result.texts) == 2
    result = continue_text(lm, tokenizer, unchanged_case, "The cat sat", 4, Sampling())
    assert (result.prompt, result.lowered, result.dropped, result.unknown) == (
        "<unk> cat sat",
        False,
        (),
        ("The",),
    )
    letters = train("char", "the cat sat on m\n", 0)
    result = continue_text(lm, letters, unchanged_case, "The cat", 4, Sampling())
    assert (result.prompt, result.lowered, result.dropped, result.unknown) == (
        "he cat",
        False,
        ("T",),
        (),
    )
    assert result.whole == (result.prompt + result.texts[0],)
