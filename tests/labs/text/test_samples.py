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
from tests.words import assert_mentions

GRU = SampleTexts("gru", "GRU", "--m-gru", (0, 100), (4.17, math.nan), ("<b>a</b>", "to be\n  or not"))
SHORT = {"corpus": "repeats", "size": 2_000, "context": 8, "width": 4, "hidden": 9, "replicas": 2, "sample": 12}
LOOP = {"iterations": 6, "batch_size": 2, "evaluate_every": 3, "evaluation_size": 64}


def app(rows: tuple[object, ...], live: dict[str, object] | None) -> None:
    from explorer.labs.text.samples import draw_samples

    draw_samples(rows, key="written", live=live)


def draw(*rows: SampleTexts, live: dict[str, object] | None = None) -> dict[str, Any]:
    """Return the data that the component sends to the browser."""
    at = AppTest.from_function(app, args=(rows, live), default_timeout=600).run()
    assert [error.value for error in at.exception] == []
    (element,) = at.get("bidi_component")
    assert element.proto.component_name == "lineage_text_samples"
    found: dict[str, Any] = json.loads(element.proto.json)
    return found


def test_every_text_is_sent_with_its_step_and_loss() -> None:
    data = draw(GRU)
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
    assert_mentions(CAPTION, "line break … no token … first token … “!”")


def test_the_address_of_live_samples_is_sent_and_they_have_the_same_format() -> None:
    live_source = {"address": "/live/abc", "seconds": 0.5}
    data = draw(GRU, live=live_source)
    assert data["live"] == live_source
    assert samples_data([GRU]) == {"samples": {"models": data["models"]}}
    assert draw()["models"] == []


@pytest.mark.parametrize("model", ["gru", "ngram"])
def test_the_texts_of_a_training_are_those_of_its_first_seed(model: str) -> None:
    loop = {} if model == "ngram" else {**SHORT, **LOOP}
    task = {name: SHORT[name] for name in ("corpus", "size", "context", "sample")}
    curves = record_run(with_settings(default_config("text", model), {**task, **loop})).curves
    sample_texts = SampleTexts.from_curves(MODELS[model], curves)
    assert list(sample_texts.steps) == curves.evaluated.tolist()
    assert list(sample_texts.texts) == [texts[0] for texts in curves.samples] and sample_texts.texts[-1]
    assert sample_texts.losses[-1] == pytest.approx(curves.metrics["val_loss"][-1][0])
    assert sample_texts.losses[0] == pytest.approx(curves.metrics["val_loss_part"][0][0])
    assert all(map(math.isfinite, sample_texts.losses))
    assert (sample_texts.title, sample_texts.colour) == (MODELS[model].title, MODELS[model].colour)
    assert sample_texts.counted == (model == "ngram")


def test_there_are_no_samples_without_curves_or_texts() -> None:
    none, one = np.zeros(0), np.zeros((1, 1))
    begun = Curves(0, np.zeros((0, 1)), np.zeros(1), np.zeros(1), none.astype(int), {})
    silent = replace(begun, evaluated=np.array([0]), metrics={"val_loss": one, "val_loss_part": one})
    for curves in (None, begun, silent):
        sample_texts = SampleTexts.from_curves(MODELS["rnn"], curves)
        assert list(sample_texts.steps) == list(sample_texts.losses) == list(sample_texts.texts) == []
