from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.opening import OpenedModel, open_model
from explorer.inspection.shapes import labels, next_tokens, one_answer, translated, written
from explorer.tasks.dates import DatesConfig
from explorer.tasks.gloss import MEANINGS, GlossConfig
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.translation import spelled
from explorer.tokenization.text import from_json
from explorer.training import store

WORDS = ("human", "not", "consume", "nature")


def opened(name: str) -> OpenedModel:
    return open_model(store.find(name))


def test_the_one_answer_is_that_of_the_classifier() -> None:
    found = opened("negation-single-rnn")
    net = one_answer(found, 1, WORDS)
    usual = found.alone(1)(torch.tensor([VOCABULARY.encode(WORDS)])).softmax(dim=-1)[0]
    assert net.steps[-1].best[0][1] == pytest.approx(float(usual.max()), abs=1e-5)
    assert [step.used for step in net.steps] == [False] * 5 + [True]
    assert [step.reads for step in net.steps] == ["<BOS>", *WORDS, "<EOS>"]


def test_the_states_obey_the_weights_that_are_shown() -> None:
    found = opened("negation-single-rnn")
    net, model = one_answer(found, 0, WORDS), found.alone(0)
    x = model.embedding(torch.tensor(VOCABULARY.encode(WORDS)))
    for t in range(1, len(net.steps)):
        before = torch.tensor(np.array(net.steps[t - 1].state))
        after = torch.tanh(model.cell.input(x[t]) + model.cell.recurrent(before))
        assert net.steps[t].state == pytest.approx(after.numpy(), abs=1e-5)
    by_name = {each.name: each for each in net.weights}
    assert (by_name["W_xh"].rows, by_name["W_xh"].columns, by_name["W_xh"].count) == (24, 8, 24 * 8 + 24)
    assert by_name["W_hh"].count == 24 * 24 + 24 and by_name["W_hy"].count == 2 * 24 + 2


def test_a_tagger_answers_every_word_and_knows_nothing_of_later_ones() -> None:
    found, vocabulary = opened("gloss-gru"), GlossConfig().vocabulary
    short = labels(found, 0, ("by", "the", "water"), vocabulary, MEANINGS)
    long = labels(found, 0, ("by", "the", "water", "we", "saw"), vocabulary, MEANINGS)
    assert all(step.used and len(step.best) == 3 for step in long.steps)
    for one, other in zip(short.steps, long.steps, strict=False):
        assert one.state == pytest.approx(other.state, abs=1e-6)
    assert [step.best[0][0] for step in long.steps] == ["by", "the", "water", "we", "saw"]


def test_a_writer_reads_its_own_answers() -> None:
    run = store.find("text-rnn")
    tokens = from_json(run.tokenizer).tokens
    found, first = open_model(run), tokens.index("T")
    net = written(found, 0, first, tokens, 6)
    assert [step.fed_back for step in net.steps] == [False] + [True] * 5
    assert [step.reads for step in net.steps[1:]] == [step.best[0][0] for step in net.steps[:-1]]
    again = next_tokens(found, 0, [tokens.index(step.reads) for step in net.steps], tokens)
    assert [step.best for step in again.steps] == [step.best for step in net.steps]
    assert not any(step.fed_back for step in again.steps)


def test_a_translator_reads_first_and_writes_then() -> None:
    config = DatesConfig()
    text = "3rd of march 1997"
    net = translated(opened("dates-vector"), 0, config, spelled(config, text))
    reading, writing = net.steps[: len(text)], net.steps[len(text) :]
    assert "".join(step.reads for step in reading) == text
    assert not any(step.best or step.used for step in reading)
    assert "".join(step.best[0][0] for step in writing) == "1997-03-03<EOS>"
    assert writing[0].reads == "<BOS>" and not writing[0].fed_back and all(step.fed_back for step in writing[1:])
    assert {each.half for each in net.weights} == {"reads", "writes"}
