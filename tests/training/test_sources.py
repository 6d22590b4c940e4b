"""Source files taken apart: what is left of them is the same program, and no more than is needed."""

from __future__ import annotations

import pytest

from explorer.training.sources import Selection, Source, pruned

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


def left(**facts: bool) -> str:
    return pruned(TEXT, {f"kind == '{kind}'": holds for kind, holds in facts.items()})


@pytest.mark.parametrize("kind", ["a", "b", "c", "d"])
def test_a_pruned_source_does_the_same(kind: str) -> None:
    whole: dict[str, object] = {}
    short: dict[str, object] = {}
    exec(TEXT, whole)
    exec(left(**{each: each == kind for each in "abc"}), short)
    for size in (2, 5):
        assert short["answer"](kind, size) == whole["answer"](kind, size)  # type: ignore[operator]


def test_nothing_is_left_out_that_is_not_known() -> None:
    assert left() == TEXT
    assert pruned(TEXT, {"size > 4": True}) == TEXT


def test_what_is_never_entered_is_left_out_with_its_comment() -> None:
    assert (
        left(a=False, b=False, c=False)
        == '''
def answer(kind, size):
    """What it is."""
    # About the first case.
    # Otherwise.
    for _ in range(size):
        size += 1
    ä = size if size > 3 else "none"
    return ä
'''
    )


def test_what_stands_after_a_return_is_left_out() -> None:
    assert (
        left(a=False, b=True)
        == '''
def answer(kind, size):
    """What it is."""
    # About the first case.
    return -1  # never a
'''
    )


def test_a_branch_that_goes_moves_to_the_left_with_its_comments() -> None:
    assert left(a=True).startswith('''
def answer(kind, size):
    """What it is."""
    # About the first case.
    # Inside.
    first = size
    if size > 3:
        return first
    ä = ''')


def selected(text: str, left_out: frozenset[str] = frozenset()) -> str:
    found = Selection(Source("explorer.training.script", text), {}, frozenset(), left_out)
    return "\n".join([found.import_lines(), *(code for _, _, code in found.sections())])


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


def test_only_what_is_used_is_taken_with_its_comments() -> None:
    text = selected(SCRIPT)
    assert text.startswith(
        "import math\nfrom dataclasses import field\nfrom typing import Any\n\nfrom torch import nn\n"
    )
    assert "def setting(" in text
    assert "    # About it.\n    def called(self)" in text
    assert "# The way in.\ndef main():\n    setting\n" in text
    for name in ("idle", "json", "Tensor", "# About another", "described", "StepTap"):
        assert name not in text
    assert "class Other" in text


def test_a_union_has_no_names_that_are_left_out() -> None:
    text = selected(SCRIPT, frozenset({"Other"}))
    assert "Other" not in text
    assert "-> Used:" in text


def test_two_definitions_of_one_name_are_refused() -> None:
    script = "from explorer.models.layers import Linear\n\ndef own():\n    pass\n\ndef main():\n    Linear, own\n"
    with pytest.raises(ValueError, match=r"both define own: one file has room for one"):
        selected(script)
