"""Bits per byte of the compared language models: a figure that can be compared between tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer import ui
from explorer.errors import LineageError
from explorer.inspection.language import bits_per_byte
from explorer.labs.compare.comparison import ComparedRun
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import can_compare_bits, comparability
from explorer.web.background import submit

PENDING = "…"


@dataclass(frozen=True)
class BitsPerByte:
    """The bits per byte of each run, as text, and what they mean."""

    texts: tuple[str, ...]
    note: str  # empty if the losses per token can be compared as well

    @property
    def pending(self) -> bool:
        """Whether a held-out text is still being counted."""
        return PENDING in self.texts


def runs_bits_per_byte(runs: Sequence[ComparedRun]) -> BitsPerByte | None:
    """Return the bits per byte of language models; None if theirs cannot be compared, or for other runs."""
    configs = [run.config for run in runs]
    if not runs or not all(isinstance(config.task, TextConfig) for config in configs):
        return None
    differences = comparability(configs, "val_loss")
    if not can_compare_bits(differences):
        return None
    reasons = {each.reason for each in differences}
    note = ""
    if "token" in reasons:
        note = "Bits per byte, in the table, are those of the text as it is, so they can be compared between tokenizers"
        note += ", but not between contexts." if "context" in reasons else "."
    return BitsPerByte(tuple(map(_text, runs)), note)


def _text(run: ComparedRun) -> str:
    """Return the mean over the seeds of the last evaluation on the whole held-out text."""
    task, last = run.config.task_as(TextConfig), run.last("val_loss")
    if last is None or not np.isfinite(last).all() or not corpora.is_available(task):
        return "–"
    call = ui.Call(bits_per_byte.count_held_out_text, task)
    future = submit(call.key, call)
    if not future.done():
        return PENDING
    try:
        counted = None if future.cancelled() else future.result()
    except LineageError:  # a visitor's text that this visitor may not read
        return "–"
    return f"{float(counted.held_out.bits_per_byte(last).mean()):.3f}" if counted else "–"
