"""The training slider of the attention page with the published checkpoints of Pythia; tiny models stand for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

from explorer.hub import memory, opened
from explorer.inspection.attention.attend import attend, pack_weights
from explorer.ui.training.pretrained_models import find_pretrained
from explorer.web import results
from tests import needs
from tests.pages.screen import component_data, page, wait_until_ready, warnings_of

pytestmark = needs.transformers


@pytest.fixture(autouse=True)
def pythia(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tests.hub.fake_cache import write_pythia_cache

    write_pythia_cache(tmp_path / "hf", monkeypatch)
    opened.open_model("pythia-70m")
    yield
    memory.reset()


def test_the_slider_has_the_checkpoints_on_this_machine() -> None:
    at = wait_until_ready(page("attention.py", {"model": "hub:pythia-70m", "say": "a cat"}))
    assert warnings_of(at) == []
    (data,) = component_data(at, "attention_heads")
    assert data["snapshots"]["steps"] == [0, 1, 512, 1000, 143_000] and data["step"] == 143_000
    assert data["snapshots"]["curve"] == {"steps": [], "losses": []}
    section = results.find(data["snapshots"]["address"].rpartition("/")[2])
    assert isinstance(section, results.Section)
    futures = section.submit()
    for future in futures.values():
        future.result()
    answer = section.draw(futures)
    assert isinstance(answer, dict)
    arrays = results.find(str(answer["address"]).rpartition("/")[2])
    assert isinstance(arrays, results.Arrays)
    weights = load(arrays.content)["weights"]
    model = find_pretrained("hub:pythia-70m")
    ids = model.tokenize("a cat").ids
    for row, step in zip(weights, model.snapshot_steps, strict=True):
        part, _ = model.attention_part("", ids, 0, step)
        np.testing.assert_array_equal(row, pack_weights(attend(part, ids).weights, causal=True))
    json.dumps(data)


def test_a_step_in_the_url_is_shown_and_another_one_is_explained() -> None:
    address = {"model": "hub:pythia-70m", "say": "a cat", "step": "512"}
    (data,) = component_data(wait_until_ready(page("attention.py", address)), "attention_heads")
    (last,) = component_data(wait_until_ready(page("attention.py", address | {"step": ""})), "attention_heads")
    assert data["step"] == 512 and last["step"] == 143_000 and data["answers"] != last["answers"]
    at = wait_until_ready(page("attention.py", address | {"step": "7"}))
    assert any("no weights of step 7" in warning for warning in warnings_of(at))
