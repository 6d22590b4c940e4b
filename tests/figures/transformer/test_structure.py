"""The diagram of a block shows its parts in their order, with their sizes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from explorer.figures.transformer.structure import diagram_height, stack_diagram
from explorer.models.structure import ModelStructure, StackStructure

STACK = StackStructure(
    name="decoder",
    layers=30,
    heads=9,
    key_heads=3,
    head_width=64,
    hidden=1_536,
    norm="RMSNorm",
    norm_place="before",
    activation="SiLU",
    gated=True,
    parallel=False,
    causal=True,
    cross=False,
    windows=(0,) * 30,
)


def _model(stack: StackStructure = STACK, outcomes: int = 49_152) -> ModelStructure:
    return ModelStructure(576, 49_152, "rotary", (stack,), outcomes, True, {"embedding": 10, "attention": 20}, 30)


def _titles(stack: StackStructure, outcomes: int = 49_152) -> list[str]:
    """Return the titles of the boxes from the bottom to the top."""
    model = _model(stack, outcomes)
    drawn = stack_diagram(model, stack, "--m-transformer", diagram_height(model, stack))
    labels = sorted(drawn.layout.annotations, key=lambda each: each.y)
    found = [re.search(r"<b>(.*?)</b>", each.text) for each in labels]
    return [match[1] for match in found if match]


def test_norms_come_before_each_part_or_after_each_sum() -> None:
    first = ["Embedding", "RMSNorm", "Self-attention", "+", "RMSNorm", "Feedforward", "+"]
    assert _titles(STACK) == [*first, "30 such blocks", "Last RMSNorm", "Output layer"]
    after = _titles(replace(STACK, norm_place="after", norm="LayerNorm", layers=1), outcomes=0)
    parts = ["Self-attention", "+", "LayerNorm", "Feedforward", "+", "LayerNorm"]
    assert after == ["Embedding", *parts, "one block", "Vectors"]


def test_parallel_parts_are_added_at_one_place() -> None:
    assert _titles(replace(STACK, parallel=True)).count("+") == 1
    assert _titles(replace(STACK, cross=True)).count("+") == 3


def test_sizes_are_written() -> None:
    drawn = stack_diagram(_model(), STACK, "--m-transformer", 500)
    text = " ".join(each.text for each in drawn.layout.annotations)
    for words in (
        "9 heads of 64, 3 for keys and values, causal",
        "576 → 1,536 → 576, SiLU, gated",
        "49,152 tokens × 576, rotary positions",
        "576 → 49,152, same weights as the embedding",
    ):
        assert words in text


def test_every_box_is_in_the_figure_and_none_overlaps_another() -> None:
    for stack in (STACK, replace(STACK, norm_place="after"), replace(STACK, parallel=True, cross=True)):
        model = _model(stack)
        height = diagram_height(model, stack)
        drawn = stack_diagram(model, stack, "--m-transformer", height)
        boxes = sorted(
            (shape.y0, shape.y1) for shape in drawn.layout.shapes if shape.type == "rect" and shape.line.dash == "solid"
        )
        assert boxes[0][0] >= 0 and boxes[-1][1] <= height
        assert all(upper[0] > lower[1] for lower, upper in pairwise(boxes))
