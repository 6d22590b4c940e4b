from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.tasks.meanings import HOMOGRAPHS
from explorer.training.config import key
from explorer.training.labelling_runs import CONTESTANTS
from explorer.training.store import find
from explorer.ui import address
from explorer.ui.sentences import EXAMPLES, MOST, Sentences, read


def test_an_address_holds_everything_and_comes_back() -> None:
    state = Sentences(task="gist", layers=1, seeds=2, steps=10, rate=0.01, word="bat", who="alone", layer=0, chosen=3)
    state = state.saying("the bank\nthe bark / is by the dog")
    assert address.read(Sentences, address.write(state)) == (state, ())
    assert address.write(Sentences()) == {}


def test_bad_parts_are_named_and_the_rest_is_kept() -> None:
    state, problems = address.read(Sentences, {"word": "dog", "layers": "7", "task": "gist", "layer": "-5"})
    assert state == Sentences(task="gist") and len(problems) == 3
    assert problems[0] == "There is no map of “dog”. There is bank, bat, bark, spring."


def test_who_is_trained_follows_the_task_and_the_depth() -> None:
    assert Sentences().names == ("gloss-two", "gloss-alone") and Sentences(layers=1).names[0] == "gloss-one"
    configs = Sentences(task="gist").configs
    assert configs == {name: CONTESTANTS[name].config() for name in ("gist-two", "gist-alone")}
    other = Sentences(seeds=2, seed=7, steps=9, rate=0.02).configs["gloss-two"]
    assert (other.replicas, other.seed, other.steps, other.optimiser.learning_rate) == (2, 7, 9, 0.02)
    with pytest.raises(InvalidSetting):
        Sentences().racing(steps=10**9)


def test_a_run_in_the_address_is_shown_where_it_can_be() -> None:
    assert Sentences(run=find("gist-one").key).with_run() == Sentences(task="gist", layers=1)
    with pytest.raises(InvalidSetting, match="stands on another page: Positions"):
        Sentences(run=find("echo-none").key).with_run()
    with pytest.raises(InvalidSetting, match="no encoder of one or two layers with attention"):
        Sentences(run=key(CONTESTANTS["gloss-alone"].config())).with_run()


def test_what_is_typed_is_never_lost() -> None:
    many = "\n".join(["the bank"] * 12)
    state = Sentences(chosen=9).saying(many)
    assert state.text == many
    found = read(state.lines)
    assert len(found.words) == MOST and found.problems == (
        "12 sentences are more than are read. The first 10 are; leave the others out.",
    )
    assert Sentences().saying("") == Sentences() and Sentences().saying("\n".join(EXAMPLES)).say == ""
    assert Sentences(chosen=9).saying("the bank").chosen == 0


def test_every_bad_sentence_is_said_and_the_others_are_read() -> None:
    found = read(("the bnak is near", "the Bark.", "!!", " ".join(["the"] * 60)))
    assert found.words == {1: ("the", "bark")}
    assert found.problems[0].startswith(
        "Sentence 1 is left out: the language does not have all its words. Nearest: for “bnak” bank"
    )
    assert [problem.split(".")[0] for problem in found.problems[1:]] == [
        "Sentence 3 is left out",
        "Sentence 4 is left out",
    ]


def test_the_examples_can_be_read_and_show_both_senses_of_every_homograph() -> None:
    found = read(EXAMPLES)
    assert len(found.words) == len(EXAMPLES) == MOST and found.problems == ()
    for word in HOMOGRAPHS:
        assert sum(word in words for words in found.words.values()) >= 2


def test_defaults_come_back_and_what_was_typed_stays() -> None:
    state = Sentences(layers=1, seeds=2, steps=4).saying("the bank")
    assert state.reset() == Sentences().saying("the bank")
