from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import DamagedRun, InvalidSetting, NeedsText, TextError
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language, language_of, negation_data, own_task, split_by_class
from explorer.tasks.text import corpora
from explorer.tasks.text.rows import drop_text_data

ROWS = [
    (f"the {thing} is {adj}", label)
    for thing in ("film", "plot", "cast", "end", "start")
    for adj, label in (("good", "yes"), ("not good", "no"))
]
TABLE = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)


@pytest.fixture
def config() -> NegationConfig:
    return own_task(corpora.store_text(TABLE))


def test_the_settings_and_the_parts_of_a_file_follow_from_it(config: NegationConfig) -> None:
    assert (config.corpus, config.classes, config.train_size) == ("own", 2, 8)
    assert negation_data(config).classes == ("no", "yes")
    for seed in range(5):
        data = negation_data(replace(config, data_seed=seed))
        train, test = set(data.sample("train", 0)), set(data.sample("test", 0))
        assert not train & test and train | test == set(range(10))
        assert {data.labels[i] for i in test} == {data.labels[i] for i in train} == {0, 1}
        assert sum(s.probability for s in data.sentences) == pytest.approx(1)
        assert sum(s.train_probability for s in data.sentences) == pytest.approx(1)


def test_the_vocabulary_the_rows_and_the_sample_of_the_training_part(config: NegationConfig) -> None:
    data = negation_data(config)
    words = {word for i in data.sample("train", 0) for word in data.sentences[i].words}
    assert set(data.vocabulary.words) == words
    assert data.vocabulary.encode(("the", "music")) == (0, data.vocabulary.id("the"), len(words) + 2, 1)
    assert data.vocabulary.tokens[-2:] == ("<UNK>", "<PAD>")
    small = negation_data(replace(config, vocabulary=3)).vocabulary.words
    assert len(small) == 3 and {"the", "is"} < set(small)
    assert data.vocabulary.split("What music?") == ("what", "music")  # unknown words can be typed
    assert {len(row.ids) for row in data.rows} == {7}
    padding = data.vocabulary.id("<PAD>")
    assert [row.ids.count(padding) for row in data.rows] == [1, 0] * 5
    assert [s.nots for s in data.sentences] == [0, 1] * 5
    assert data.label_of(("the", "plot", "is", "not", "good")) == 0
    assert data.label_of(("a", "plot")) is None
    assert len(set(data.sample("train", 0))) == 8
    twice = negation_data(replace(config, train_size=20)).sample("train", 0)
    assert {twice.count(i) for i in set(twice)} == {2, 3}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.floats(0.05, 0.5), st.integers(0, 5))
def test_each_class_loses_its_share_but_never_everything(labels: list[int], share: float, seed: int) -> None:
    labels = [*labels, *labels]  # at least two of each
    held_out = split_by_class(labels, share, seed)
    for label in set(labels):
        size, chosen = labels.count(label), sum(labels[i] == label for i in held_out)
        assert 1 <= chosen < size
        assert chosen in (1, size - 1) or abs(chosen - share * size) <= 0.5


def test_only_its_visitor_reads_a_file(config: NegationConfig) -> None:
    sha = corpora.store_text(TABLE.replace("film", "book"), "somebody")
    with pytest.raises(NeedsText):
        own_task(sha)
    with corpora.read_as("somebody"):
        theirs = own_task(sha)
        negation_data(theirs)
    with pytest.raises(NeedsText):  # although the sentences are in memory
        negation_data(theirs)
    drop_text_data(sha)


def test_settings_that_do_not_fit_the_file_are_refused(config: NegationConfig) -> None:
    with pytest.raises(InvalidSetting, match="2 different labels"):
        negation_data(replace(config, classes=3))
    for changes in ({"padding": "eos"}, {"held_out": "destroy"}, {"text": ""}, {"text": "x"}):
        with pytest.raises(ValueError, match="corpus = own"):
            replace(config, **changes)
    with pytest.raises(ValueError, match="corpus = own only"):
        NegationConfig(classes=3)
    with pytest.raises(TextError, match="columns text and label"):
        own_task(corpora.store_text("this is a novel and not a table of sentences"))


def test_the_language_of_a_run_goes_through_json(config: NegationConfig) -> None:
    language = language_of(negation_data(config))
    assert Language.from_json(language.to_json()) == language
    assert Language.from_json("") == Language()
    good = language.to_json()
    changes = (("<PAD>", "<BOS>"), ("sentences", "x"), ('"no"', "7"), ('"no"', '"yes"'), ('"the"', '""'))
    for damaged in ("{}", "7", "[" * 9_000, *(good.replace(*change) for change in changes)):
        assert damaged != good
        with pytest.raises(DamagedRun):
            Language.from_json(damaged)
