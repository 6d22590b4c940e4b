from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
import streamlit as st

from explorer.errors import DamagedRun, UnknownRun
from explorer.experiments.pretraining import shipped_configs
from explorer.jobs.service import service
from explorer.run_store import index, store
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.config import default_config, key, with_settings
from explorer.training.recorder import record_run
from explorer.ui.training import stored_models

OWN = "the cat sat on the mat and the dog sat on the log. " * 60


@pytest.fixture(autouse=True)
def visitor_ada(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run each test as the visitor “ada” and delete her jobs afterwards."""
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))
    st.session_state["lineage.visitor"] = "ada"
    yield
    service.reset()


def test_a_shipped_run_has_its_name_whether_found_by_name_or_key() -> None:
    by_name = stored_models.find_run("text-transformer")
    assert by_name.name == stored_models.find_run(by_name.run.key).name == "text-transformer"
    assert by_name.title == "Transformer"
    assert stored_models.find_run("text-best").title == "Larger Transformer"
    assert stored_models.find_run("text-window-8").title == "Feedforward text-window-8"
    assert by_name.tokenizer and stored_models.find_run("negation-single-transformer").tokenizer is None


def test_a_model_is_loaded_once_per_step() -> None:
    stored_model = stored_models.find_run("text-through-training")
    assert stored_model.module() is stored_models.find_run("text-through-training").module()
    assert stored_model.module(step=8) is not stored_model.module(step=16)
    with pytest.raises(DamagedRun, match="no weights of step 7"):
        stored_model.module(step=7)


def test_a_stored_run_is_listed_until_it_is_deleted() -> None:
    config = with_settings(
        default_config("text", "rnn"), {"corpus": "toy", "size": 2_000, "iterations": 2, "hidden": 8, "width": 8}
    )
    run = store.save_run(record_run(config), store.run_folder(config))
    index.refresh()
    names = stored_models.model_titles(("text",))
    assert names[run.key] == f"RNN {run.key}"
    assert next(iter(names)) == "text-ngram"
    included = {name for name, config in shipped_configs().items() if isinstance(config.task, TextConfig)}
    assert {"text-rnn", "tuned-text-rnn"} < names.keys() - {run.key} <= included
    assert run.key not in stored_models.model_titles(("negation",), ("transformer",))
    assert stored_models.find_run(run.key).module() is not None
    shutil.rmtree(run.folder)
    with pytest.raises(UnknownRun, match=f"There is no model “{run.key}” to ask: its run was deleted"):
        stored_models.find_run(run.key)


@pytest.mark.parametrize("name", ["", "../runs", "abcdefghijkl", "x" * 500])
def test_an_unknown_name_raises_an_error_with_advice(name: str) -> None:
    with pytest.raises(UnknownRun, match=r"Choose another one, or train it here\."):
        stored_models.find_run(name)


def test_a_run_on_a_visitors_text_is_private_and_not_cached() -> None:
    sha = corpora.store_text(OWN, "ada")
    config = with_settings(
        default_config("text", "rnn"),
        {"corpus": "own", "text": sha, "iterations": 2, "hidden": 8, "width": 8, "context": 8, "batch_size": 4},
    )
    service.jobs.tab_opened("ada")
    job = service.submit(config, "ada")
    while not job.view().done:
        service.add_watcher(key(config), "ada")
    assert job.view().state == "finished", job.view().problem
    assert stored_models.model_titles(("text",))[key(config)] == "RNN on your text"
    stored_model = stored_models.find_run(key(config))
    assert sha in stored_model.cache_key
    assert stored_model.module() is not stored_model.module()
    st.session_state["lineage.visitor"] = "eve"
    assert key(config) not in stored_models.model_titles(("text",))
    with pytest.raises(UnknownRun, match="There is no model"):
        stored_models.find_run(key(config))
