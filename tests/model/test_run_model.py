"""What is known of a run as a model, what it reads, and what it predicts."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import load_model
from explorer.inspection.words.negation_sentences import class_probabilities
from explorer.model.predictions import Distribution, Translation, predict
from explorer.model.run_model import RunModel
from explorer.run_store import store


def model_of(name: str) -> RunModel:
    return RunModel(store.find(name))


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("text-transformer", ("letter", "", 64, True, True)),
        ("text-assignment", ("token", "", 15, True, True)),
        ("negation-single-transformer", ("word", " ", 6, False, False)),
        ("agreement-heads", ("word", " ", 13, True, False)),
        ("echo-rotary", ("word", " ", 40, True, True)),
    ],
)
def test_facts_follow_from_the_configuration(name: str, facts: tuple[str, str, int, bool, bool]) -> None:
    model = model_of(name)
    found = (model.unit, model.separator, model.context_length, model.is_causal, model.has_rotary_positions)
    assert found == facts
    assert (model.title, model.seeds) == (model.config.title, tuple(model.config.seeds))
    assert model.name == model.run.key and model.cache_key == model.run.cache_key


def test_a_step_is_loaded_once_and_a_seed_is_shared() -> None:
    model = model_of("text-through-training")
    assert (
        model.load_replicas(8)
        is model.load_replicas(8)
        is model_of("text-through-training").load_replicas(8)
        is not model.load_replicas(16)
    )
    assert model.module(step=8) is model_of("text-through-training").module(step=8)


def test_a_tagger_without_attention_reads_nothing_here() -> None:
    with pytest.raises(InvalidSetting, match="which has no attention"):
        model_of("gloss-gru").tokenize("the bank")
    with pytest.raises(InvalidSetting, match="which has no attention to look at"):
        model_of("text-gru").tokenize("the king")
    assert model_of("induction-two").tokenize("abcab").tokens == tuple("abcab")


def test_predictions_are_those_of_the_chosen_seeds() -> None:
    model = model_of("negation-single-rnn")
    words = ("human", "not", "preserve", "nature")
    found = predict(model, " ".join(words), replicas=[2, 0])
    assert isinstance(found, Distribution) and found.tokens == ("<BOS>", *words, "<EOS>")
    expected = class_probabilities(load_model(store.find("negation-single-rnn")), words)
    np.testing.assert_array_equal(found.probabilities, expected[[2, 0]])
    written = predict(model_of("reverse-transformer"), "314")
    assert isinstance(written, Translation) and (written.source, written.expected) == ("314", "413")
    assert [each.text for each in written.outputs] == ["413"] * len(written.outputs)
