"""Checkpoints of a training in the cache of huggingface_hub: a fake one with tiny models of the family of Pythia."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from explorer.errors import InvalidSetting
from explorer.hub import checkpoints, memory, opened
from explorer.hub.allowed import pinned_revision
from explorer.hub.checkpoints import FINAL_STEP, checkpoint_steps, load_checkpoint, training_step
from explorer.inspection.attention.attend import attend
from explorer.model.real_model import RealModel
from tests import needs
from tests.hub.fake_cache import SOURCE, STEPS, commit_of, write_pythia_cache

pytestmark = needs.transformers


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A cache with four checkpoints and the main branch, whose commit is the one of the allow list."""
    memory.reset()  # of models of other tests
    return write_pythia_cache(tmp_path / "hf", monkeypatch)


def test_the_checkpoints_of_a_model_are_those_in_the_cache_and_itself_the_last() -> None:
    card = opened.open_model("pythia-70m")
    assert training_step(card) == FINAL_STEP and checkpoint_steps(card) == (*STEPS, FINAL_STEP)
    reader = RealModel(card)
    assert reader.check_step(None) == FINAL_STEP and reader.module(step=FINAL_STEP) is reader.module()
    text = reader.tokenize("a cat")
    every = [attend(reader.attention(text, step=step).model, text.ids).weights for step in reader.steps]
    for step, weights in zip(STEPS, every, strict=False):
        found: Any = load_checkpoint(card, step)
        saved = load_file(Path(card.folder).parent / commit_of(step) / "model.safetensors")["gpt_neox.embed_in.weight"]
        assert torch.equal(found.model.gpt_neox.embed_in.weight, saved)
        assert not np.allclose(np.nan_to_num(weights), np.nan_to_num(every[-1]))
    with pytest.raises(InvalidSetting, match="Give one of 0, 1, 512, 1000, 143000"):
        reader.check_step(2)
    with pytest.raises(InvalidSetting, match="not on this machine"):
        load_checkpoint(card, 2)


def test_only_one_checkpoint_is_kept_in_memory_beside_the_opened_models() -> None:
    card = opened.open_model("pythia-70m")
    final = opened.load_model(card)
    for step in STEPS:
        load_checkpoint(card, step)
        assert memory.loaded_bytes() == 2 * card.memory
    assert opened.load_model(card) is final and load_checkpoint(card, 1000) is load_checkpoint(card, 1000)


def test_a_model_stays_open_after_its_latest_step() -> None:
    early = opened.open_model("pythia-70m", revision="step512")
    assert training_step(early) == 512 and checkpoint_steps(early) == (0, 1, 512)
    last = opened.open_model("pythia-70m", revision=pinned_revision(SOURCE))
    assert training_step(last) == FINAL_STEP and opened.find_card("pythia-70m") == last
    assert opened.open_model("pythia-70m", revision="step1000") == last == opened.find_card("pythia-70m")
    other = opened.open_model("pythia-70m", "early", revision="step1")
    assert opened.find_card("early") == other and checkpoint_steps(other) == (0, 1)


def test_incomplete_and_foreign_checkpoints_are_left_out(cache: Path) -> None:
    repository = cache / f"models--{SOURCE.replace('/', '--')}"
    card = opened.open_model("pythia-70m")
    (repository / "snapshots" / commit_of(512) / "model.safetensors").unlink()
    for name, content in (("step1000", "../../x"), ("step7", "f" * 40), ("step01", commit_of(1)), ("step", "x")):
        (repository / "refs" / name).write_text(content, "utf-8")
    assert checkpoint_steps(card) == (0, 1, FINAL_STEP)
    with pytest.raises(InvalidSetting, match="belong to another model"):
        load_checkpoint(card.model_copy(update={"layers": 4}), 1)


def test_a_model_whose_step_is_not_known_has_no_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    card = opened.open_model("pythia-70m")
    for change in ({"source": "owner/other"}, {"revision": "e" * 40}, {"from_folder": True}):
        other = card.model_copy(update=change)
        assert training_step(other) is None and checkpoint_steps(other) == ()
    monkeypatch.setattr(checkpoints, "is_installed", lambda: False)
    assert checkpoint_steps(card) == ()
