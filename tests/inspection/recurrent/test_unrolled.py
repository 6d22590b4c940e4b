from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection.load_model import LoadedModel, load_model
from explorer.inspection.recurrent.unrolled import (
    unroll_classifier,
    unroll_generation,
    unroll_language_model,
    unroll_tagger,
    unroll_translation,
)
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.seq2seq.config import source_ids
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig
from explorer.tokenization.text import from_json

WORDS = ("human", "not", "consume", "nature")


def load(name: str) -> LoadedModel:
    return load_model(store.find(name))


def test_the_last_output_equals_that_of_the_classifier() -> None:
    loaded = load("negation-single-rnn")
    net = unroll_classifier(loaded, 1, WORDS)
    probabilities = loaded.single_replica(1)(torch.tensor([VOCABULARY.encode(WORDS)])).softmax(dim=-1)[0]
    assert net.steps[-1].top_answers[0][1] == pytest.approx(float(probabilities.max()), abs=1e-5)
    assert [step.used for step in net.steps] == [False] * 5 + [True]
    assert [step.reads for step in net.steps] == ["<BOS>", *WORDS, "<EOS>"]


def test_states_follow_from_the_weights() -> None:
    loaded = load("negation-single-rnn")
    net, model = unroll_classifier(loaded, 0, WORDS), loaded.single_replica(0)
    x = model.embedding(torch.tensor(VOCABULARY.encode(WORDS)))
    for t in range(1, len(net.steps)):
        before = torch.tensor(np.array(net.steps[t - 1].state))
        after = torch.tanh(model.cell.input(x[t]) + model.cell.recurrent(before))
        assert net.steps[t].state == pytest.approx(after.numpy(), abs=1e-5)
    by_name = {each.name: each for each in net.weights}
    assert (by_name["W_xh"].rows, by_name["W_xh"].columns, by_name["W_xh"].count) == (24, 8, 24 * 8 + 24)
    assert by_name["W_hh"].count == 24 * 24 + 24 and by_name["W_hy"].count == 2 * 24 + 2


def test_a_tagger_labels_every_word_from_earlier_words() -> None:
    loaded, vocabulary = load("gloss-gru"), WordSenseConfig().vocabulary
    short = unroll_tagger(loaded, 0, ("by", "the", "water"), vocabulary, SENSE_LABELS)
    long = unroll_tagger(loaded, 0, ("by", "the", "water", "we", "saw"), vocabulary, SENSE_LABELS)
    assert all(step.used and len(step.top_answers) == 3 for step in long.steps)
    for one, other in zip(short.steps, long.steps, strict=False):
        assert one.state == pytest.approx(other.state, abs=1e-6)
    assert [step.top_answers[0][0] for step in long.steps] == ["by", "the", "water", "we", "saw"]


def test_generation_feeds_outputs_back() -> None:
    run = store.find("text-rnn")
    tokens = from_json(run.tokenizer).tokens
    loaded, first = load_model(run), tokens.index("T")
    net = unroll_generation(loaded, 0, first, tokens, 6)
    assert [step.fed_back for step in net.steps] == [False] + [True] * 5
    assert [step.reads for step in net.steps[1:]] == [step.top_answers[0][0] for step in net.steps[:-1]]
    again = unroll_language_model(loaded, 0, [tokens.index(step.reads) for step in net.steps], tokens)
    assert [step.top_answers for step in again.steps] == [step.top_answers for step in net.steps]
    assert not any(step.fed_back for step in again.steps)


def test_translation_reads_the_source_before_it_generates() -> None:
    config = DatesConfig()
    text = "3rd of march 1997"
    net = unroll_translation(load("dates-vector"), 0, config, source_ids(config, text))
    reading, writing = net.steps[: len(text)], net.steps[len(text) :]
    assert "".join(step.reads for step in reading) == text
    assert not any(step.top_answers or step.used for step in reading)
    assert "".join(step.top_answers[0][0] for step in writing) == "1997-03-03<EOS>"
    assert writing[0].reads == "<BOS>" and not writing[0].fed_back and all(step.fed_back for step in writing[1:])
    assert {each.half for each in net.weights} == {"reads", "writes"}
