from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS
from explorer.generation.generate import prompt_ids
from explorer.labs.text.samples import CAPTION, SampleTexts, samples_data
from explorer.tokenization.text import train as tokenizer
from explorer.training.config import default_config, with_settings
from explorer.training.record import Curves
from explorer.training.recorder import record_run

GRU = SampleTexts("gru", "GRU", "--m-gru", (0, 100), (4.17, math.nan), ("<b>a</b>", "to be\n  or not"))
SHORT = {"corpus": "repeats", "size": 2_000, "context": 8, "width": 4, "hidden": 9, "replicas": 2, "sample": 12}
LOOP = {"iterations": 6, "batch_size": 2, "evaluate_every": 3, "evaluation_size": 64}


def app(rows: tuple[object, ...], live: dict[str, object] | None) -> None:
    from explorer.labs.text.samples import draw_samples

    draw_samples(rows, key="written", live=live)


def drawn(*rows: SampleTexts, live: dict[str, object] | None = None) -> dict[str, Any]:
    """The data of the instrument, as they travel to the browser."""
    at = AppTest.from_function(app, args=(rows, live), default_timeout=600).run()
    assert [error.value for error in at.exception] == []
    (element,) = at.get("bidi_component")
    assert element.proto.component_name == "lineage_text_samples"
    found: dict[str, Any] = json.loads(element.proto.json)
    return found


def test_every_text_travels_with_its_step_and_its_loss() -> None:
    data = drawn(GRU)
    (model,) = data["models"]
    assert model == {
        "name": "gru",
        "title": "GRU",
        "colour": "--m-gru",
        "steps": [0, 100],
        "losses": [4.17, None],
        "texts": ["<b>a</b>", "to be\n  or not"],
        "counted": False,
    }
    assert (data["live"], data["caption"], data["file"]) == (None, CAPTION, "written")


def test_the_caption_names_the_token_that_each_text_begins_after() -> None:
    shakespeare, begins = "What ho! I come.\nWho's there?\n", {}
    for kind in ("char", "word", "bpe", "bytes"):
        made = tokenizer(kind, shakespeare, 300)
        begins[kind] = made.decode(prompt_ids(made, "\n")[0].tolist())
    assert begins == {"char": "\n", "word": "\n", "bpe": "!", "bytes": "\n"}
    assert (
        "begins after a line break, or, where that is no token, after the first token there is, such as “!”" in CAPTION
    )


def test_where_it_changes_is_told_and_what_is_asked_there_is_the_same() -> None:
    there = {"address": "/live/abc", "seconds": 0.5}
    data = drawn(GRU, live=there)
    assert data["live"] == there
    assert samples_data([GRU]) == {"samples": {"models": data["models"]}}
    assert drawn()["models"] == []


@pytest.mark.parametrize("model", ["gru", "ngram"])
def test_the_texts_of_a_training_are_those_of_its_first_seed(model: str) -> None:
    loop = {} if model == "ngram" else {**SHORT, **LOOP}
    task = {name: SHORT[name] for name in ("corpus", "size", "context", "sample")}
    curves = record_run(with_settings(default_config("text", model), {**task, **loop})).curves
    written = SampleTexts.from_curves(MODELS[model], curves)
    assert list(written.steps) == curves.evaluated.tolist()
    assert list(written.texts) == [texts[0] for texts in curves.samples] and written.texts[-1]
    assert written.losses[-1] == pytest.approx(curves.metrics["val_loss"][-1][0])
    assert written.losses[0] == pytest.approx(curves.metrics["val_loss_part"][0][0])
    assert all(map(math.isfinite, written.losses))
    assert (written.title, written.colour) == (MODELS[model].title, MODELS[model].colour)
    assert written.counted == (model == "ngram")


def test_without_a_training_there_is_no_text_and_without_texts_neither() -> None:
    none, one = np.zeros(0), np.zeros((1, 1))
    begun = Curves(0, np.zeros((0, 1)), np.zeros(1), np.zeros(1), none.astype(int), {})
    silent = replace(begun, evaluated=np.array([0]), metrics={"val_loss": one, "val_loss_part": one})
    for curves in (None, begun, silent):
        written = SampleTexts.from_curves(MODELS["rnn"], curves)
        assert list(written.steps) == list(written.losses) == list(written.texts) == []
