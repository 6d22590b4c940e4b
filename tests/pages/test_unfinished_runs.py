"""No page draws a conclusion from a training that has not ended."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace

import pytest

from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig
from tests.pages.screen import headings, page

find_finished = store.find_by_config
FILES = ("negation.py", "compare.py", "masks.py", "positions.py", "word_vectors.py", "induction.py", "gates.py")
# Words of a comparison or of an outcome. A page may still say what holds without any training.
VERDICT = re.compile(
    r"\b(best|better|worse|beats?|higher|lower|larger|largest|fewer|most|least|different|alike|same|"
    r"solved?|learns?|learned|right|wrong|(every|all|of) \w+ seeds?)\b"
)


def find_stopped(
    config: RunConfig, excluded: Container[tuple[str, str]] = (), unfinished: bool = False, visitor: str = ""
) -> StoredRun | None:
    """Return the run as if it had been stopped at its first evaluation."""
    run = find_finished(config, excluded, unfinished, visitor) if unfinished else None
    if run is None:
        return None
    curves = run.curves.up_to(max(1, int(run.curves.evaluated[run.curves.evaluated > 0][0])))
    card = run.card.model_copy(update={"state": "stopped", "step": curves.step})
    return replace(run, card=card, curves=curves)


def all_headings(file: str) -> list[str]:
    """Return the headings of a page with all its sections unfolded."""
    folds = [str(fold.key).removeprefix("fold.") for fold in page(file).expander]
    return headings(page(file, {"unfold": ",".join(folds)}))


@pytest.mark.parametrize("file", FILES)
def test_a_stopped_training_is_no_basis_for_a_finding(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = all_headings(file)
    monkeypatch.setattr(store, "find_by_config", find_stopped)
    found = [heading for heading in all_headings(file) if heading not in usual]
    assert [heading for heading in found if VERDICT.search(heading)] == []
