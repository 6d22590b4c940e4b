"""A text follows from model, prompt, settings and seed: not from what is written beside it, or how it is computed."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from explorer.generation import writing
from explorer.generation.decoding import decoder, window_start
from explorer.generation.sampling import Sampling, cut, dice, gumbel
from explorer.generation.writing import Writer, continued, padding_of, prompt_ids, write, written
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.tasks.text import TextConfig
from explorer.tokenization.text import Tokenizer, train
from tests.generation.small import CONTEXT, FEW, VOCABULARY, model, texts

TOKENS = 15
CUT = Sampling(0.9, top_k=7, top_p=0.95, min_p=0.01, seed=5)


def slowly(of: nn.Module, prompt: Tensor, tokens: int, sampling: Sampling, sample: int) -> list[int]:
    """One sample by whole forwards, with nothing kept but the text."""
    noise, text = gumbel(dice(sampling.seed, sample), tokens, VOCABULARY), prompt.tolist()
    for step in range(tokens):
        first = window_start(len(text), CONTEXT) if isinstance(of, TransformerDecoder) else 0
        with torch.no_grad():
            logits = of(torch.tensor([text[first:]]))[0, -1]
        if sampling.temperature == 0:
            text.append(int(logits.argmax()))
        else:
            text.append(int((cut(logits, sampling) / sampling.temperature + noise[step]).argmax()))
    return text[len(prompt) :]


@pytest.mark.parametrize(
    ("name", "sampling"),
    [
        *((name, CUT) for name in FEW),
        *(("transformer rotary layer pre", other) for other in (Sampling(seed=3), Sampling(2.5), Sampling(0.0))),
    ],
    ids=str,
)
def test_the_text_is_that_of_whole_forwards(name: str, sampling: Sampling) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    expected = [slowly(lm, prompt, TOKENS, sampling, sample) for sample in range(3)]
    assert write(Writer(lm, CONTEXT), prompt, TOKENS, sampling, 3).tolist() == expected


@pytest.mark.parametrize("name", [name for name in FEW if not name.startswith("ngram")])
@pytest.mark.parametrize("first", [3, 9], ids=["short", "longer than the context"])
def test_where_rows_were_padded_the_answer_stands_at_the_last_place(name: str, first: int) -> None:
    lm, prompt, padding = model(name), texts(1, first)[0], VOCABULARY - 1
    text, reader = prompt.tolist(), decoder(lm, CONTEXT, 2, padding)
    for step in range(TOKENS):
        seen = text[window_start(len(text), CONTEXT) :]
        with torch.no_grad():
            logits = lm(torch.tensor([seen + [padding] * (CONTEXT - len(seen))]))[0, -1]
        said = reader.step(torch.tensor(text[-1:] * 2)) if step else reader.read(prompt[None])
        torch.testing.assert_close(said, logits.expand(2, -1))
        text.append(int(logits.argmax()))
    found = write(Writer(lm, CONTEXT, padding), prompt, TOKENS, Sampling(0.0), 2)
    assert found.tolist() == [text[first:]] * 2


@pytest.mark.parametrize("name", FEW)
def test_a_sample_does_not_know_how_many_are_written_beside_it(name: str) -> None:
    lm, prompt, sampling = model(name), texts(1, 3)[0], Sampling(seed=8)
    eight = write(Writer(lm, CONTEXT), prompt, TOKENS, sampling, 8)
    for samples in (1, 2, 5):
        assert torch.equal(write(Writer(lm, CONTEXT), prompt, TOKENS, sampling, samples), eight[:samples])
    assert len({tuple(text) for text in eight.tolist()}) == 8


@pytest.mark.parametrize("name", FEW)
def test_a_longer_text_begins_with_the_shorter_one(name: str) -> None:
    lm, prompt = model(name), texts(1, 12)[0]
    long = write(Writer(lm, CONTEXT), prompt, TOKENS, Sampling(), 2)
    assert torch.equal(write(Writer(lm, CONTEXT), prompt, 6, Sampling(), 2), long[:, :6])


@pytest.mark.parametrize("name", FEW)
def test_another_seed_writes_another_text(name: str) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    seeds = [write(Writer(lm, CONTEXT), prompt, TOKENS, Sampling(seed=seed))[0].tolist() for seed in range(5)]
    assert len({tuple(text) for text in seeds}) == 5


def test_noise_drawn_a_few_steps_at_a_time_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, prompt = model("gru"), texts(1, 3)[0]
    text = write(Writer(lm), prompt, TOKENS, Sampling(), 2)
    monkeypatch.setattr(writing, "_DRAWN", 2 * VOCABULARY * 3)
    assert torch.equal(write(Writer(lm), prompt, TOKENS, Sampling(), 2), text)


def test_tokens_come_one_by_one_and_one_may_stop() -> None:
    lm, prompt = model("transformer rotary layer pre"), texts(1, 3)[0]
    text = write(Writer(lm), prompt, TOKENS, Sampling(), 2)
    steps = written(Writer(lm), prompt, TOKENS, Sampling(), 2)
    first = list(itertools.islice(steps, 4))
    steps.close()
    assert torch.equal(torch.stack(first, dim=1), text[:, :4])
    assert not torch.is_inference_mode_enabled()


def test_what_is_written_can_be_learned_from() -> None:
    lm = model("transformer rotary layer pre")
    step = next(written(Writer(lm), texts(1, 3)[0], 1, Sampling(), 2))
    assert not step.is_inference()
    lm(write(Writer(lm), texts(1, 3)[0], 5, Sampling(), 2)).sum().backward()


def test_nobody_elses_random_numbers_are_taken() -> None:
    before = torch.get_rng_state()
    write(Writer(model("lstm")), texts(1, 3)[0], 5, Sampling())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["transformer rotary layer pre", "transformer learned rms post"])
def test_without_a_context_it_looks_back_as_far_as_it_can(name: str) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    most = CONTEXT if name.split()[1] == "learned" else 1_000
    assert torch.equal(
        write(Writer(lm), prompt, TOKENS, Sampling()), write(Writer(lm, most), prompt, TOKENS, Sampling())
    )


def test_nothing_is_written_when_nothing_is_asked_for() -> None:
    assert write(Writer(model("rnn")), texts(1, 3)[0], 0, Sampling(), 2).shape == (2, 0)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt is empty"):
        write(Writer(model("rnn")), texts(1, 0)[0], 5, Sampling())


TEXT = "the cat sat on the mat\nthe dog sat on the log\n" * 3


@pytest.mark.parametrize(
    ("kind", "prompt", "read", "unknown"),
    [
        ("char", "the cat", "the cat", ()),
        ("char", "The cät sat äT", "he ct sat ", ("T", "ä")),  # dropped, and named once each
        ("char", "ÄÖÜ", "\n", ("Ä", "Ö", "Ü")),  # nothing is left
        ("char", "", "\n", ()),
        ("word", "the whale sat", "the <unk> sat", ("whale",)),
        ("word", "", "\n", ()),
        ("bpe", "the cat\u4e2d", None, ("\u4e2d",)),
        ("bytes", "the \u4e2d", "the \u4e2d", ()),
        ("bytes", "", "\n", ()),
    ],
)
def test_a_prompt_as_a_model_reads_it(kind: str, prompt: str, read: str | None, unknown: tuple[str, ...]) -> None:
    tokenizer = train(kind, TEXT, 300)
    ids, named = prompt_ids(tokenizer, prompt)
    assert named == unknown
    assert ids.dtype == torch.int64
    if read is not None:
        assert tokenizer.decode(ids.tolist()) == read
    else:
        assert tokenizer.unknown in ids.tolist()


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
@pytest.mark.parametrize("prompt", ["", " ", "\n"])
def test_there_is_always_something_to_start_from(kind: str, prompt: str) -> None:
    tokenizer: Tokenizer = train(kind, "one two, three", 300)  # it has no line end
    ids, _ = prompt_ids(tokenizer, prompt)
    assert len(ids) >= 1
    assert (prompt and tokenizer.encode(prompt).size) or not {tokenizer.unknown, tokenizer.padding} & set(ids.tolist())


def test_only_rows_of_prefixes_are_padded() -> None:
    pieces, characters = train("bpe", TEXT, 300), train("char", TEXT, 300)
    prefixes = TextConfig(rows="prefixes", split="pairs")
    assert padding_of(prefixes, pieces) == pieces.padding is not None
    assert padding_of(prefixes, characters) == 0  # as in its rows: any token will do where there is no padding
    assert padding_of(TextConfig(rows="sentences", split="pairs"), pieces) is padding_of(TextConfig(), pieces) is None


def test_a_prompt_is_read_as_the_text_was() -> None:
    small, usual = TextConfig(lower=True, context=7), TextConfig(context=7)
    text = "the cat sat on the mat\nthe dog sat on the log, so it was\n"
    tokenizer, lm = train("word", text, VOCABULARY), model("gru")
    said = continued(lm, tokenizer, small, "The CAT sat", 4, Sampling(), 2)
    assert (said.prompt, said.lowered, said.dropped, said.unknown) == ("the cat sat", True, (), ())
    assert said.whole == tuple(f"{said.prompt} {text}" for text in said.texts)  # its blank between
    assert len(said.texts) == 2
    said = continued(lm, tokenizer, usual, "The cat sat", 4, Sampling())
    assert (said.prompt, said.lowered, said.dropped, said.unknown) == ("<unk> cat sat", False, (), ("The",))
    letters = train("char", "the cat sat on m\n", 0)
    said = continued(lm, letters, usual, "The cat", 4, Sampling())
    assert (said.prompt, said.lowered, said.dropped, said.unknown) == ("he cat", False, ("T",), ())
    assert said.whole == (said.prompt + said.texts[0],)
