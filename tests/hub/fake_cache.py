"""A cache of huggingface_hub with tiny models of the family of Pythia at several steps of their training."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from explorer.hub import checkpoints
from explorer.hub.allowed import pinned_revision
from explorer.hub.checkpoints import FINAL_STEP

SOURCE = "EleutherAI/pythia-70m"
STEPS = (0, 1, 512, 1000)


def commit_of(step: int) -> str:
    return f"{step:040x}"


def save_revision(cache: Path, revision: str, commit: str, seed: int) -> None:
    """Write one revision of the repository into a cache, as huggingface_hub does."""
    import torch

    from tests.hub import tiny_models, tiny_tokenizers

    model = tiny_models.random_model("gpt_neox")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for weight in model.parameters():
            weight.data.normal_(0, 0.4)
    repository = cache / f"models--{SOURCE.replace('/', '--')}"
    snapshot, refs = repository / "snapshots" / commit, repository / "refs"
    model.save_pretrained(snapshot)
    tiny_tokenizers.pieces_of_letters(end=False).save(str(snapshot / "tokenizer.json"))
    refs.mkdir(exist_ok=True)
    if revision:
        (refs / revision).write_text(commit, "utf-8")


@cache
def _written_cache() -> tempfile.TemporaryDirectory[str]:
    """Write four checkpoints and the main branch, whose commit is that of the allow list, once in this process."""
    place = tempfile.TemporaryDirectory()
    for step in STEPS:
        save_revision(Path(place.name), f"step{step}", commit_of(step), step)
    save_revision(Path(place.name), "", pinned_revision(SOURCE), FINAL_STEP)
    return place


def write_pythia_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the checkpoints and the main branch to a place, and use this cache only."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(place))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shutil.copytree(_written_cache().name, place)
    checkpoints._complete_steps.cache.clear()  # type: ignore[attr-defined]
    return place
