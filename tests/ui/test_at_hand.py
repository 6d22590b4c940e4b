from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
import streamlit as st

from explorer.errors import DamagedRun, UnknownRun
from explorer.tasks import corpora
from explorer.training import index, store
from explorer.training.config import changed, default, key
from explorer.training.jobs import service
from explorer.training.recorder import record_run
from explorer.ui import at_hand

OWN = "the cat sat on the mat and the dog sat on the log. " * 60


@pytest.fixture(autouse=True)
def ada(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever asks is called Ada, and no job of hers stays."""
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))
    st.session_state["lineage.visitor"] = "ada"
    yield
    service.close()
    service._jobs.clear()


def test_a_shipped_run_is_called_by_its_name_however_it_was_asked_for() -> None:
    by_name = at_hand.find("text-transformer")
    assert by_name.name == at_hand.find(by_name.kept.key).name == "text-transformer"
    assert by_name.title == "Transformer"
    assert at_hand.find("text-best").title == "Larger Transformer"
    assert at_hand.find("text-window-8").title == "Feedforward text-window-8"
    assert by_name.tokenizer and at_hand.find("negation-single-transformer").tokenizer is None


def test_a_model_is_opened_once_for_all_and_each_seed_and_step_is_another() -> None:
    hand = at_hand.find("text-through-training")
    assert hand.model() is at_hand.find("text-through-training").model()
    assert hand.model(step=1) is not hand.model(step=2)
    with pytest.raises(DamagedRun, match="no weights of step 7"):
        hand.model(step=7)


def test_a_run_of_this_machine_is_offered_until_it_is_deleted() -> None:
    config = changed(default("text", "rnn"), {"corpus": "toy", "size": 2_000, "iterations": 2, "hidden": 8, "width": 8})
    run = store.save_run(record_run(config), store.place_of(config))
    index.refresh()
    names = at_hand.offered(("text",))
    assert names[run.key] == f"RNN {run.key}"
    assert next(iter(names)) == "text-ngram"
    assert all(name.startswith("text-") or name == run.key for name in names)
    assert run.key not in at_hand.offered(("negation",), ("transformer",))
    assert at_hand.find(run.key).model() is not None
    shutil.rmtree(run.folder)
    with pytest.raises(UnknownRun, match=f"There is no model “{run.key}” to ask: its run was deleted"):
        at_hand.find(run.key)


@pytest.mark.parametrize("name", ["", "../runs", "abcdefghijkl", "x" * 500])
def test_a_name_of_nothing_is_answered_with_what_to_do(name: str) -> None:
    with pytest.raises(UnknownRun, match=r"Choose another one, or train it here\."):
        at_hand.find(name)


def test_a_run_on_an_own_text_is_for_its_visitor_alone_and_in_no_cache() -> None:
    sha = corpora.keep(OWN)
    config = changed(
        default("text", "rnn"),
        {"corpus": "own", "text": sha, "iterations": 2, "hidden": 8, "width": 8, "context": 8, "batch_size": 4},
    )
    service.arrive("ada")
    job = service.submit(config, "ada")
    while not job.view().done:
        service.watch(key(config), "ada")
    assert job.view().state == "finished", job.view().problem
    assert at_hand.offered(("text",))[key(config)] == "RNN on your text"
    hand = at_hand.find(key(config))
    assert sha in hand.stamp
    assert hand.model() is not hand.model()
    st.session_state["lineage.visitor"] = "eve"
    assert key(config) not in at_hand.offered(("text",))
    with pytest.raises(UnknownRun, match="There is no model"):
        at_hand.find(key(config))
