"""The blocks of a real model beside those of ours: every part with its sizes, from the embedding up to the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer import ui
from explorer.charts import Drawing
from explorer.charts.style import INK, PAGE, RULE, SOFT, annotation, css_colour, escape_markup
from explorer.labs.block import findings
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.structure import ModelStructure, StackStructure
from explorer.number_format import format_count


def real_model_blocks(model: RealModel) -> None:
    """Draw the diagrams of both models and the finding above them."""
    ui.show(
        "block-real", ui.structures_call(model), blocks_view, waiting=f"{model.title} is being loaded …", height=900
    )


def blocks_view(document: ui.Document, compared: ui.ComparedStructures) -> None:
    """Write how the real model differs in size and design, and the diagrams of its stacks and of ours."""
    real, own = compared.real, compared.own
    document.finding(findings.size_finding(compared.title, real, own))
    document.text(findings.design_finding(compared.title, real, own))
    shown = [(compared.title, COLOUR, real)]
    if len(real.stacks) == 1:  # an encoder and a decoder fill the row
        shown.append(("Trained here", "--m-transformer", own))
    height = max(diagram_height(structure, stack) for *_, structure in shown for stack in structure.stacks)
    panels = [
        _diagram_panel(title, colour, structure, index, height)
        for title, colour, structure in shown
        for index in range(len(structure.stacks))
    ]
    document.figures("block-real-figure", panels, height=height, columns=2)
    document.caption(
        "From the bottom to the top. The line on the left is the residual stream; + adds the output of a part to it."
    )


def _diagram_panel(title: str, colour: str, model: ModelStructure, index: int, height: int) -> ui.Panel:
    stack = model.stacks[index]
    name = f"{title}: {stack.name}" if len(model.stacks) > 1 else title
    diagram = stack_diagram(name, model, stack, colour, height)
    return ui.Panel(f"block-{title}-{stack.name}", diagram, title=name, colour=colour)


# ---- the diagram of a stack


PART_HEIGHT, NORM_HEIGHT, SUM_HEIGHT = 56, 24, 20  # pixels
_GAP = 6
_TITLE_HEIGHT = 20  # of the frame around a block
_LEFT, _RIGHT = 0.15, 0.93  # of a box, as a share of the width
_STREAM, _READ, _ADD = 0.05, 0.10, 0.97  # x of the residual stream, of what a part reads, of what it adds


@dataclass(frozen=True)
class _Row:
    kind: str  # "part", "norm" or "sum"
    title: str = ""
    detail: str = ""
    reads: bool = False  # a branch of the residual stream begins here
    adds: bool = False  # the output of this row is added to the stream
    inside: bool = True  # whether it is in the block, or before or after all blocks
    on_stream: bool = False  # whether the stream itself passes through it

    @property
    def height(self) -> int:
        return {"part": PART_HEIGHT, "norm": NORM_HEIGHT, "sum": SUM_HEIGHT}[self.kind]


def diagram_height(model: ModelStructure, stack: StackStructure) -> int:
    """Return the height of a diagram in pixels."""
    rows = _rows(model, stack)
    return sum(row.height + _GAP for row in rows) + _TITLE_HEIGHT + 2 * _GAP


def stack_diagram(name: str, model: ModelStructure, stack: StackStructure, colour: str, height: int) -> Drawing:
    """Return the diagram of one stack, from the bottom of a figure of this height (pixels).

    The line on the left is the residual stream; + adds what comes to it.
    """
    rows = _rows(model, stack)
    inside = [i for i, row in enumerate(rows) if row.inside]
    spans: list[tuple[float, float]] = []
    y = bottom = top = 0.0
    for i, row in enumerate(rows):
        if i == inside[0]:
            bottom, y = y, y + _GAP
        spans.append((y, y + row.height))
        y += row.height + _GAP
        if i == inside[-1]:
            top = y + _TITLE_HEIGHT
            y = top + _GAP
    title = "one block" if stack.layers == 1 else f"{stack.layers} such blocks"
    end = spans[-1][0] if rows[-1].kind == "part" else y  # at the output layer, or where an encoder ends
    shapes = [
        _rectangle(0.0, 1.0, bottom, top, RULE, "rgba(0,0,0,0)", "4px,4px"),
        _line(_STREAM, _STREAM, spans[0][1], end, colour, 3.0),
    ]
    labels = [annotation(f"<b>{title}</b>", 0.99, top - 0.5 * _TITLE_HEIGHT, xanchor="right")]
    for row, (low, high) in zip(rows, spans, strict=True):
        if row.kind != "sum":
            left = _LEFT if row.inside and not row.on_stream else 0.0
            fill = css_colour(colour, 0.16) if row.kind == "part" else PAGE
            shapes.append(_rectangle(left, _RIGHT, low, high, css_colour(colour), fill))
            detail = f"<br><span style='color:{SOFT}'>{escape_markup(row.detail)}</span>" if row.detail else ""
            text = f"<b>{escape_markup(row.title)}</b>{detail}"
            labels.append(annotation(text, (left + _RIGHT) / 2, (low + high) / 2, xanchor="center"))
    _draw_branches(rows, spans, shapes, labels)
    words = (
        f"Diagram of {name}, {stack.layers} blocks: {_attention_detail(model, stack)}; feedforward part "
        f"{_feedforward_detail(model, stack)}; {stack.norm} {stack.norm_place} each part."
    )
    nothing = {"type": "scatter", "x": [0], "y": [0], "mode": "markers", "marker": {"opacity": 0}, "hoverinfo": "skip"}
    layout = {
        "xaxis": {"range": [-0.01, 1.01], "visible": False},
        "yaxis": {"range": [-4, height - 4], "visible": False},
        "shapes": shapes,
        "annotations": labels,
        "font": {"color": INK},
        "margin": {"l": 2, "r": 2, "t": 2, "b": 2},
    }
    return Drawing(words, [nothing], layout)


def _draw_branches(
    rows: list[_Row], spans: list[tuple[float, float]], shapes: list[dict[str, Any]], labels: list[dict[str, Any]]
) -> None:
    """Draw what each part reads from the residual stream and what it adds to it."""
    reads: list[tuple[float, float]] = []  # the branch point, and the height of the box that reads
    adds: list[float] = []
    branch = 0.0
    for i, (row, (low, high)) in enumerate(zip(rows, spans, strict=True)):
        if row.reads:
            branch = low - _GAP / 2 if not reads else branch
            reads.append((branch, (low + high) / 2))
        elif (
            row.kind != "sum" and rows[i - 1].kind != "sum" and row.inside and not row.on_stream and rows[i - 1].inside
        ):
            shapes.append(_line(0.54, 0.54, spans[i - 1][1], low, SOFT, 1.5))  # from a norm to its part, or back
        if row.adds:
            adds.append((low + high) / 2)
        if row.kind == "sum":
            middle = (low + high) / 2
            for begin, end in reads:
                shapes.append(_line(_STREAM, _READ, begin, begin, SOFT, 1.5))
                shapes.append(_line(_READ, _READ, begin, end, SOFT, 1.5))
                shapes.append(_line(_READ, _LEFT, end, end, SOFT, 1.5))
            for end in adds:
                shapes.append(_line(_RIGHT, _ADD, end, end, SOFT, 1.5))
                shapes.append(_line(_ADD, _ADD, end, middle, SOFT, 1.5))
            shapes.append(_line(_STREAM, _ADD, middle, middle, SOFT, 1.5))
            labels.append(
                annotation("<b>+</b>", _STREAM, middle, xanchor="center")
                | {"bgcolor": PAGE, "bordercolor": SOFT, "borderwidth": 1, "borderpad": 2}
            )
            reads, adds = [], []


def _rows(model: ModelStructure, stack: StackStructure) -> list[_Row]:
    rows = [_Row("part", "Embedding", _embedding_detail(model), inside=False)]
    before, after = stack.norm_place in ("before", "before and after"), stack.norm_place == "before and after"
    parts = [("Self-attention", _attention_detail(model, stack))]
    if stack.cross:
        parts.append(("Cross-attention", "queries from here, keys and values from the encoder"))
    parts.append(("Feedforward", _feedforward_detail(model, stack)))
    for title, detail in parts:
        closes = not (stack.parallel and title == "Self-attention")  # else the next part adds at the same place
        if before:
            rows.append(_Row("norm", stack.norm, reads=True))
        rows.append(_Row("part", title, detail, reads=not before, adds=not after))
        if after:
            rows.append(_Row("norm", stack.norm, adds=True))
        if closes:
            rows.append(_Row("sum"))
        if stack.norm_place == "after":
            rows.append(_Row("norm", stack.norm, on_stream=True))
    if before:
        rows.append(_Row("norm", f"Last {stack.norm}", inside=False))
    if stack is model.stacks[-1]:
        rows.append(_Row("part", "Output layer" if model.outcomes else "Vectors", _output_detail(model), inside=False))
    return rows


def _attention_detail(model: ModelStructure, stack: StackStructure) -> str:
    heads = f"{'one head' if stack.heads == 1 else f'{stack.heads} heads'} of {stack.head_width}"
    shared = f", {stack.key_heads} for keys and values" * (stack.key_heads < stack.heads)
    return f"{heads}{shared}, {'causal' if stack.causal else 'no mask'}"


def _feedforward_detail(model: ModelStructure, stack: StackStructure) -> str:
    gate = ", gated" if stack.gated else ""
    width = format_count(model.width)
    return f"{width} → {format_count(stack.hidden)} → {width}, {stack.activation}{gate}"


def _embedding_detail(model: ModelStructure) -> str:
    positions = {"rotary": "rotary positions", "none": "no positions", "relative": "relative positions"}
    return (
        f"{format_count(model.vocabulary)} tokens × {format_count(model.width)}, "
        f"{positions.get(model.positions, f'{model.positions} positions')}"
    )


def _output_detail(model: ModelStructure) -> str:
    if not model.outcomes:
        return f"{format_count(model.width)} numbers for each token"
    tied = ", same weights as the embedding" if model.tied else ""
    return f"{format_count(model.width)} → {format_count(model.outcomes)}{tied}"


def _line(x0: float, x1: float, y0: float, y1: float, colour: str, width: float) -> dict[str, Any]:
    line = {"color": css_colour(colour) if colour.startswith("--") else colour, "width": width}
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, "layer": "below"}


def _rectangle(
    x0: float, x1: float, y0: float, y1: float, colour: str, fill: str, dash: str = "solid"
) -> dict[str, Any]:
    line = {"color": colour, "width": 1.5, "dash": dash}
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, "fillcolor": fill, "layer": "below"}
