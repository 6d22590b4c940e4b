from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import MODELS
from explorer.labs.text.samples import CAPTION, SampleTexts, samples_data
from explorer.training.config import default_config, with_settings
from explorer.training.record import Curves
from explorer.training.recorder import record_run

GRU = SampleTexts("gru", "GRU", "--m-gru", (0, 100), (4.17, math.nan), ("<b>a</b>", "to be\n  or not"))
SHORT = {"corpus": "repeats", "size": 2_000, "context": 8, "width": 4, "hidden": 9, "replicas": 2, "sample": 12}
LOOP = {"iterations": 6, "batch_size": 2, "evaluate_every": 3, "evaluation_size": 64}


def test_every_text_is_sent_with_its_step_and_loss() -> None:
    data: dict[str, Any] = samples_data([GRU], "written", live=False)
    json.dumps(data, allow_nan=False)
    (model,) = data["models"]
    drawn = {"name": "gru", "title": "GRU", "colour": "--m-gru", "steps": [0, 100], "losses": [4.17, None]}
    assert model == {**drawn, "texts": ["<b>a</b>", "to be\n  or not"], "counted": False}
    assert (data["live"], data["caption"], data["file"]) == (False, CAPTION, "written")
    assert samples_data([], "written", live=True)["live"]


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
