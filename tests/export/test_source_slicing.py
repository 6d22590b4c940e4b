"""The source slicer: the sliced program does the same, and contains no more than it needs."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.export.source_slicing import Selection, Source, prune

TEXT = '''
def answer(kind, size):
    """What it is."""
    # About the first case.
    if kind == "a":
        # Inside.
        first = size
        if size > 3:
            return first
    elif kind == "b":
        return -1  # never a
    else:
        # Otherwise.
        for _ in range(size):
            if kind == "c":
                continue
            size += 1
    ä = "ä" if kind == "b" else size if size > 3 else "none"
    return ä
'''


def prune_by_kind(**facts: bool) -> str:
    return prune(TEXT, {f"kind == '{kind}'": holds for kind, holds in facts.items()})


@pytest.mark.parametrize("kind", ["a", "b", "c", "d"])
def test_a_pruned_source_does_the_same(kind: str) -> None:
    original: dict[str, object] = {}
    short: dict[str, object] = {}
    exec(TEXT, original)
    exec(prune_by_kind(**{each: each == kind for each in "abc"}), short)
    for size in (2, 5):
        assert short["answer"](kind, size) == original["answer"](kind, size)  # type: ignore[operator]


def test_unknown_conditions_stay() -> None:
    assert prune_by_kind() == TEXT == prune(TEXT, {"size > 4": True})


def test_branches_never_entered_are_dropped_and_entered_ones_dedented_with_their_comments(
    snapshot: SnapshotAssertion,
) -> None:
    facts = ({"a": False, "b": False, "c": False}, {"a": False, "b": True}, {"a": True})
    assert {str(each): prune_by_kind(**each) for each in facts} == snapshot


def selected(text: str, left_out: frozenset[str] = frozenset()) -> str:
    selection = Selection(Source("explorer.training.script", text), {}, frozenset(), left_out)
    return "\n".join([selection.import_lines(), *(code for _, _, code in selection.sections())])


SCRIPT = """
import math, json
from torch import Tensor, nn
from explorer.models import settings as described

class Used:
    one = 1

    # About it.
    def called(self) -> Used | Other:
        return math.pi

    # About another.
    @property
    def idle(self) -> str:
        return json.dumps(idle)

    def forward(self):
        return nn.ReLU()

class Other:
    pass

def idle():
    pass

# The way in.
def main():
    described.setting
    return Used().called()
"""


def test_only_used_definitions_are_selected_with_their_comments() -> None:
    text = selected(SCRIPT)
    assert text.startswith(
        "import math\nfrom dataclasses import field\nfrom typing import Any\n\nfrom torch import nn\n"
    )
    assert "def setting(" in text and "class Other" in text
    assert "    # About it.\n    def called(self)" in text
    assert "# The way in.\ndef main():\n    setting\n" in text
    for name in ("idle", "json", "Tensor", "# About another", "described", "StepTap"):
        assert name not in text
    text = selected(SCRIPT, frozenset({"Other"}))
    assert "Other" not in text
    assert "-> Used:" in text


def test_two_definitions_of_one_name_are_rejected() -> None:
    imports = "from explorer.models.layers import Linear\n\n"
    script = imports + "def child_generator():\n    pass\n\ndef main():\n    Linear, child_generator\n"
    with pytest.raises(ValueError, match=r"both define child_generator, and both definitions are needed"):
        selected(script)
