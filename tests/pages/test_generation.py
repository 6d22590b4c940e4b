from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS
from explorer.generation.generate import TextGenerator, continue_prompt
from explorer.generation.sampling import Sampling
from explorer.labs.generation.models import text_end, tokenizer_of
from explorer.labs.generation.state import GenerationState
from explorer.labs.generation.temperature_slider import texts_call
from explorer.labs.generation.token_tree import FIRST_TOKENS
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.training.stored_models import find_run
from explorer.web import background
from tests.pages import screen
from tests.words import assert_states

SMALL = {"tokens": "20", "models": "text-ngram,text-rnn"}


def generation_page(address: Mapping[str, str] | None = None) -> AppTest:
    folds = {"unfold": "studio-tree,studio-measures,studio-writing,studio-formulas"}
    return screen.open_page("generation.py", {**SMALL, **(address or {}), **folds})


def temperature(at: AppTest) -> dict[str, Any]:
    return screen.component_data(at, "temperature")[0]


def generate_text(name: str, prompt: str, sampling: Sampling) -> str:
    """Return the text that the command line generates."""
    stored_model = find_run(name)
    assert stored_model.tokenizer
    task, tokenizer = stored_model.config.task_as(TextConfig), stored_model.tokenizer
    generator = TextGenerator.for_task(stored_model.module(), task, tokenizer)
    return continue_prompt(generator, tokenizer, prompt, 20, sampling, lower=task.lower).texts[0]


def test_the_default_state_shows_results() -> None:
    at = screen.open_page("generation.py")
    assert screen.warnings_of(at) == [] and not at.exception
    data = temperature(at)
    assert [model["title"] for model in data["models"]] == ["n-gram", "Transformer"]
    assert [model["colour"] for model in data["models"]] == [MODELS[m].colour for m in ("ngram", "transformer")]
    assert data["focus"] == "text-transformer" and data["position"]["at"] == 0
    assert len(data["temperatures"]) == 41 and screen.url_params(at) == {}
    assert "Code and papers" in screen.headings(at) and temperature(at)["models"][1]["note"] == ""


def test_the_sampled_path_is_the_text_that_the_terminal_generates() -> None:
    sampling_params = {"t": "0.9", "seed": "5", "top_k": "6"}
    expected = generate_text("text-rnn", "Romeo", Sampling(0.9, 6, seed=5))
    at = generation_page(sampling_params)
    tree = screen.component_data(at, "token_tree")[0]
    assert tree["title"] == "RNN" and tree["here"]["candidates"]
    assert "".join(step["piece"] for step in tree["steps"]) == expected[:FIRST_TOKENS]
    assert screen.component_data(generation_page({**sampling_params, "path": ""}), "token_tree")[0]["steps"] == []
    stored_model = find_run("text-rnn")
    assert stored_model.tokenizer
    path = stored_model.tokenizer.encode(expected).tolist()
    at = generation_page({**sampling_params, "path": ",".join(map(str, path))})
    steps = screen.component_data(at, "token_tree")[0]["steps"]
    assert [step["sampled"] for step in steps] == path
    assert "".join(step["piece"] for step in steps) == expected
    assert all(1 <= len(step["candidates"]) <= 8 for step in steps)
    surprisals = [step["surprise"] for step in steps]
    assert screen.component_data(at, "token_tree")[0]["most_surprising"] == int(np.argmax(surprisals))


def test_the_path_that_the_visitor_takes_is_in_the_url_with_the_tokens_sampled_after_it() -> None:
    at = generation_page()

    def take_path(event: object) -> list[int]:
        at.session_state["tree: path"] = event
        screen.wait_until_ready(screen.assert_no_errors(at.run()))
        return [step["id"] for step in screen.component_data(at, "token_tree")[0]["steps"]]

    first = take_path(None)
    assert len(first) == FIRST_TOKENS and "path" not in screen.url_params(at)
    longer = take_path({"path": first, "more": 10})
    assert longer[:FIRST_TOKENS] == first and len(longer) == FIRST_TOKENS + 10
    assert screen.url_params(at)["path"] == ",".join(map(str, longer))
    other = [*first[:3], (first[3] + 1) % 60]
    assert take_path({"path": other, "more": 0}) == other
    assert screen.url_params(at)["path"] == ",".join(map(str, other))
    for invalid in ({"path": [10_000], "more": 0}, {"path": [True], "more": 0}, {"path": [1], "more": -1}, [1], "1"):
        assert take_path(invalid) == other
    assert take_path({"path": first, "more": 0}) == first, "what was sampled after it before is not sampled again"


def test_the_distribution_at_a_position_is_that_after_the_text_before_it() -> None:
    for params in ({"of": "40", "at": "7"}, {"of": "0", "at": "19"}):
        background.reset()  # the texts of the model are not computed yet
        at = generation_page({"models": "text-rnn", **params})
        stored_model, state = find_run("text-rnn"), GenerationState(tokens=20, of=int(params["of"]))
        texts = texts_call(stored_model, state)()
        ids = [*texts.prompt.ids, *texts.ids[state.of, : int(params["at"])].tolist()]
        expected = text_end(tokenizer_of(stored_model).decode(ids))
        assert temperature(at)["position"]["context"] == expected and temperature(at)["position"]["address"]
    assert temperature(generation_page({"at": "20"}))["position"] is None, "the text has 20 tokens"


def test_an_invalid_request_is_reported_and_the_rest_works(snapshot: object) -> None:
    at = generation_page({"path": "3,900", "models": "text-rnn,gone,negation-single-gru"})
    assert screen.warnings_of(at) == snapshot
    assert "RNN" in [model["title"] for model in temperature(at)["models"]]


def test_changes_to_a_prompt_are_reported() -> None:
    for prompt, note in (
        ("日本", "no text to read … line … never … “日” … “本”"),
        ("Röm", "It never saw “ö”: left out."),
        ("x" * 90, "only … last 58 letters … “…xxxxxxxxxxxxxxxxxxxxxxxx” … forgotten"),
    ):
        at = screen.open_page("generation.py", {"tokens": "20", "prompt": prompt, "models": "text-transformer"})
        assert screen.warnings_of(at) == []
        [model] = temperature(at)["models"]
        assert_states(model["note"], note)


def test_text_statistics_are_compared_with_the_corpus() -> None:
    at = generation_page()
    text = re.sub(r"\\(.)", r"\1", screen.page_text(at))
    assert "At temperature 0, " in text and "the mean of eight texts of 20 tokens" in text
    corpus_available = corpora.is_corpus_available("tinyshakespeare")
    assert ("As varied as human text: the n-gram at about" in text) == corpus_available
    assert ("Dashed: human text, held-out text" in text) == corpus_available
