"""Gates and states of recurrent networks over one sequence."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import LoadedModel, load_model
from explorer.inspection.recurrent import gates, unrolled
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import source_ids
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig
from explorer.tokenization.text import from_json
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

IDS = (0, 1, 1, 0)


def build_untrained(model: str, **settings: object) -> LoadedModel:
    config = with_settings(default_config("recall", model), {"length": 6, "replicas": 2, **settings})
    return LoadedModel(config, build_model(config).requires_grad_(False), None)


@pytest.mark.parametrize(
    ("model", "titles"),
    [
        ("lstm", "forget gate, input gate, output gate, candidate, cell, hidden state"),
        ("gru", "update gate, reset gate, candidate, hidden state"),
        ("rnn", "hidden state"),
    ],
)
def test_traces_satisfy_the_equations_of_the_cell(model: str, titles: str) -> None:
    loaded = build_untrained(model)
    reading = gates.read_gates(loaded, IDS, 1)
    assert ", ".join(part.title for part in reading.traces) == titles
    assert [part.title for part in reading.traces if not part.signed] == [t for t in titles.split(", ") if "gate" in t]
    traces = {part.title: part.values for part in reading.traces}
    assert all(values.shape == (16, 4) for values in traces.values())
    assert reading.answers.sum(axis=-1) == pytest.approx(np.ones(4))
    before = {title: np.pad(values, ((0, 0), (1, 0)))[:, :-1] for title, values in traces.items()}
    if model == "lstm":
        cell = traces["forget gate"] * before["cell"] + traces["input gate"] * traces["candidate"]
        assert traces["cell"] == pytest.approx(cell, abs=1e-6)
        assert traces["hidden state"] == pytest.approx(traces["output gate"] * np.tanh(traces["cell"]), abs=1e-6)
    if model == "gru":
        z = traces["update gate"]
        expected = z * before["hidden state"] + (1 - z) * traces["candidate"]
        assert traces["hidden state"] == pytest.approx(expected, abs=1e-6)
    assert gates.has_keep_gate(loaded) == (reading.half_lives is not None) == (model != "rnn")
    probabilities = loaded.stack(torch.tensor([[IDS], [IDS]])).softmax(dim=-1)[1, 0]
    assert reading.answers[-1] == pytest.approx(probabilities.numpy(), abs=1e-6)


def test_half_lives_by_hand_and_keep_rates_of_open_gates_follow_from_the_bias() -> None:
    shares = np.array([0.5, 0.9, 0.99])
    assert shares ** gates.half_lives(np.log(shares)) == pytest.approx([0.5] * 3)
    assert gates.half_lives(np.array([0.0])).tolist() == [math.inf]
    loaded = build_untrained("lstm", start="forget-3")
    shares = gates.mean_keep_rates(loaded)
    assert shares.shape == (2, 16)
    assert shares.mean() == pytest.approx(1 / (1 + math.exp(-3)), abs=0.02)
    assert gates.mean_keep_rates(build_untrained("lstm")).mean() == pytest.approx(0.5, abs=0.05)
    one = gates.read_gates(loaded, IDS, 0)
    forget = one.traces[0].values.astype(float)
    assert one.half_lives == pytest.approx(np.log(0.5) / np.log(forget).mean(axis=1))
    single = build_untrained("gru", replicas=1)
    assert gates.mean_keep_rates(single).shape == (1, 16) and gates.read_gates(single, IDS, 0).answers.shape == (4, 2)


def test_unknown_letters_are_rejected() -> None:
    assert gates.parse_symbols("a B\nba", 2) == (0, 1, 1, 0)
    assert gates.parse_symbols("", 2) == ()
    with pytest.raises(InvalidSetting, match=r"“c” is no symbol of this task\. It has 2: a, b"):
        gates.parse_symbols("abc", 2)
    config = RecallConfig(6, 3)
    assert len(gates.parse_symbols(gates.random_sequence(config), 3)) == 6


WORDS = ("human", "not", "consume", "nature")


def load(name: str) -> LoadedModel:
    return load_model(store.find(name))


def test_the_steps_of_a_classifier_follow_from_its_weights() -> None:
    loaded = load("negation-single-rnn")
    net, model = unrolled.unroll_classifier(loaded, 1, WORDS), loaded.single_replica(1)
    ids = torch.tensor(VOCABULARY.encode(WORDS))
    probabilities = model(ids[None]).softmax(dim=-1)[0]
    assert net.steps[-1].top_answers[0][1] == pytest.approx(float(probabilities.max()), abs=1e-5)
    assert [step.used for step in net.steps] == [False] * 5 + [True]
    assert [step.reads for step in net.steps] == ["<BOS>", *WORDS, "<EOS>"]
    x = model.embedding(ids)
    for t in range(1, len(net.steps)):
        before = torch.tensor(np.array(net.steps[t - 1].state))
        after = torch.tanh(model.cell.input(x[t]) + model.cell.recurrent(before))
        assert net.steps[t].state == pytest.approx(after.numpy(), abs=1e-5)
    by_name = {each.name: each for each in net.weights}
    assert (by_name["W_xh"].rows, by_name["W_xh"].columns, by_name["W_xh"].count) == (24, 8, 24 * 8 + 24)
    assert by_name["W_hh"].count == 24 * 24 + 24 and by_name["W_hy"].count == 2 * 24 + 2


def test_a_tagger_labels_every_word_from_earlier_words() -> None:
    loaded, vocabulary = load("gloss-gru"), WordSenseConfig().vocabulary
    words = ("by", "the", "water", "we", "saw")
    short, long = (unrolled.unroll_tagger(loaded, 0, words[:n], vocabulary, SENSE_LABELS) for n in (3, 5))
    assert all(step.used and len(step.top_answers) == 3 for step in long.steps)
    for one, other in zip(short.steps, long.steps, strict=False):
        assert one.state == pytest.approx(other.state, abs=1e-6)
    assert [step.top_answers[0][0] for step in long.steps] == list(words)


def test_generation_feeds_outputs_back() -> None:
    run = store.find("text-rnn")
    tokens = from_json(run.tokenizer).tokens
    loaded, first = load_model(run), tokens.index("T")
    net = unrolled.unroll_generation(loaded, 0, first, tokens, 6)
    assert [step.fed_back for step in net.steps] == [False] + [True] * 5
    assert [step.reads for step in net.steps[1:]] == [step.top_answers[0][0] for step in net.steps[:-1]]
    again = unrolled.unroll_language_model(loaded, 0, [tokens.index(step.reads) for step in net.steps], tokens)
    assert [step.top_answers for step in again.steps] == [step.top_answers for step in net.steps]
    assert not any(step.fed_back for step in again.steps)


def test_translation_reads_the_source_before_it_generates() -> None:
    config, text = DatesConfig(), "3rd of march 1997"
    net = unrolled.unroll_translation(load("dates-vector"), 0, config, source_ids(config, text))
    reading, writing = net.steps[: len(text)], net.steps[len(text) :]
    assert "".join(step.reads for step in reading) == text
    assert not any(step.top_answers or step.used for step in reading)
    assert "".join(step.top_answers[0][0] for step in writing) == "1997-03-03<EOS>"
    assert writing[0].reads == "<BOS>" and not writing[0].fed_back and all(step.fed_back for step in writing[1:])
    assert {each.half for each in net.weights} == {"reads", "writes"}
