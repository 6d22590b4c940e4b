"""Published checkpoints of the training of Pythia (Biderman et al. 2023) that are on this machine.

EleutherAI/pythia-… has the weights after 154 steps as branches step0, step1, step2, step4, …, step143000; the main
branch has those of step 143,000. Checkpoints are found in the cache of huggingface_hub and among the downloads.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from cachetools import TTLCache, cached

from explorer.errors import InvalidSetting
from explorer.hub import download, files, memory, pretrained
from explorer.hub.allowed import COMMIT, Repository, pinned_revision
from explorer.hub.card import ModelCard
from explorer.hub.packages import is_installed
from explorer.lazy_libraries import huggingface_hub

FINAL_STEP = 143_000  # of all sizes
_PYTHIA = re.compile(r"EleutherAI/pythia-[a-z0-9.-]+", re.IGNORECASE)
_SECONDS = 5.0  # for which the list of the files is kept
_STEP = re.compile(r"step(0|[1-9]\d{0,6})")


def training_step(card: ModelCard) -> int | None:
    """Return the training step after which the weights of a model were published; None if it is not known."""
    if card.from_folder or not _PYTHIA.fullmatch(card.source) or not is_installed():
        return None
    commits = _known_commits(card.source)
    found = next((step for step, commit in commits.items() if commit == card.revision), None)
    if found is not None:
        return found
    return (
        FINAL_STEP
        if card.revision in (pinned_revision(card.source), _read_commit(_places(card.source)[0] / "refs" / "main"))
        else None
    )


def checkpoint_steps(card: ModelCard) -> tuple[int, ...]:
    """Return the steps whose weights are on this machine, in order, up to that of the model itself, which is the last.

    Empty if there are no others. New files are seen after some seconds.
    """
    last = training_step(card)
    if last is None:
        return ()
    earlier = [step for step in _complete_steps(card.source, *_places(card.source)) if step < last]
    return (*earlier, last) if earlier else ()


@cached(TTLCache(64, _SECONDS), lock=threading.Lock())
def _complete_steps(source: str, *places: Path) -> tuple[int, ...]:
    commits = _known_commits(source)
    return tuple(sorted(step for step, commit in commits.items() if _find_folder(source, commit) is not None))


def load_checkpoint(card: ModelCard, step: int) -> pretrained.PretrainedModule:
    """Return a model after an earlier step. Only the last of these stays in memory, beside the opened models.

    Raises InvalidSetting if these weights are not on this machine, or are those of another model.
    """
    commit = _known_commits(card.source).get(step, "")
    folder = _find_folder(card.source, commit) if commit else None
    if folder is None:
        raise InvalidSetting(f"The weights of {card.name} after step {step:,} are not on this machine.")
    facts = files.inspect_folder(folder)
    module = memory.load_folder(folder, facts.fingerprint, 4 * facts.numbers, is_checkpoint=True)
    config = module.model.config
    if (config.num_hidden_layers, config.num_attention_heads, module.vocabulary) != (
        card.layers,
        card.heads,
        card.vocabulary,
    ):
        raise InvalidSetting(f"The weights of step {step:,} belong to another model than {card.name}.")
    return module


def _find_folder(source: str, commit: str) -> Path | None:
    return download.find_local(Repository("", source, commit), commit)


def _places(source: str) -> tuple[Path, Path]:
    cache = Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--{source.replace('/', '--')}"
    return cache, download.download_folder(source, "")


def _known_commits(source: str) -> dict[int, str]:
    """Return the commits of the checkpoints that the cache and the downloads know, by step."""
    cache, downloads = _places(source)
    named = [(file.name, _read_commit(file)) for file in cache.glob("refs/step*")]
    downloaded = [download.read_source(file.parent) for file in downloads.glob(f"*/{download.SOURCE}")]
    named += [(about.get("revision", ""), about.get("commit", "")) for about in downloaded]
    matches = ((_STEP.fullmatch(name), commit) for name, commit in named)
    return {int(match[1]): commit for match, commit in matches if match and COMMIT.fullmatch(commit)}


def _read_commit(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
