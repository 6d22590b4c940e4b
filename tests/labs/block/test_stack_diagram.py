from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from explorer.charts import Drawing
from explorer.labs.block.stack_diagram import diagram_height, stack_diagram
from explorer.models.structure import ModelStructure, StackStructure
from tests.charts.figures import figure_of

STACK = StackStructure(
    "decoder", 30, 9, 3, 64, 1_536, "RMSNorm", "before", "SiLU", gated=True, parallel=False, causal=True, cross=False,
    windows=(0,) * 30,
)  # fmt: skip


def diagram(stack: StackStructure, outcomes: int = 49_152) -> tuple[Drawing, int]:
    parts = {"embedding": 10, "attention": 20}
    model = ModelStructure(576, 49_152, "rotary", (stack,), outcomes, True, parts, 30)
    height = diagram_height(model, stack)
    return stack_diagram("a model", model, stack, "--m-transformer", height), height


FIRST = ["Embedding", "RMSNorm", "Self-attention", "+", "RMSNorm", "Feedforward", "+"]
AFTER = ["Embedding", "Self-attention", "+", "LayerNorm", "Feedforward", "+", "LayerNorm"]


@pytest.mark.parametrize(
    ("changes", "outcomes", "titles"),
    [
        ({}, 49_152, [*FIRST, "30 such blocks", "Last RMSNorm", "Output layer"]),
        ({"norm_place": "after", "norm": "LayerNorm", "layers": 1}, 0, [*AFTER, "one block", "Vectors"]),
        ({"parallel": True}, 49_152, ["+"]),
        ({"cross": True}, 49_152, ["+"] * 3),
        ({"parallel": True, "cross": True}, 49_152, ["+"] * 2),
    ],
)
def test_the_boxes_of_a_block_stand_in_their_order_without_overlap(
    changes: dict[str, Any], outcomes: int, titles: list[str]
) -> None:
    drawing, height = diagram(replace(STACK, **changes), outcomes)
    figure = figure_of(drawing)
    labels = sorted(figure.layout.annotations, key=lambda each: each.y)
    found = [match[1] for each in labels if (match := re.search(r"<b>(.*?)</b>", each.text))]
    assert [title for title in found if len(titles) > 3 or title == "+"] == titles
    shapes = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.line.dash == "solid"]
    boxes = sorted((shape.y0, shape.y1) for shape in shapes)
    assert boxes[0][0] >= 0 and boxes[-1][1] <= height
    assert all(upper[0] > lower[1] for lower, upper in pairwise(boxes))


def test_the_diagram_of_a_block_has_the_sizes_of_its_parts() -> None:
    words = " ".join(each.text for each in figure_of(diagram(STACK)[0]).layout.annotations)
    for part in (
        "9 heads of 64, 3 for keys and values, causal",
        "576 → 1,536 → 576, SiLU, gated",
        "49,152 tokens × 576, rotary positions",
        "576 → 49,152, same weights as the embedding",
    ):
        assert part in words
