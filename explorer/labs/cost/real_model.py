"""Parameters, multiplications and memory of a real model beside those of a Transformer that is trained here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.figures.transformer.cost import ROW_HEIGHT, parameter_bars
from explorer.labs.cost import findings
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.structure import PARTS, ModelStructure, Part
from explorer.number_format import format_count, format_percent
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.result_section import result_section
from explorer.ui.training.compared_structures import ComparedStructures, structure_requests

_CONTEXTS = (128, 1_024, 8_192)  # tokens
_OWN_COLOUR = "--m-transformer"


def real_model_costs(model: RealModel) -> None:
    """Draw where the parameters of both models are, and what a token costs."""
    result_section("cost-real", structure_requests(model), _draw, f"{model.title} is being loaded …", 640)


def _draw(document: Document, results: Mapping[str, ComparedStructures]) -> None:
    compared = results["structures"]
    real, own = compared.real, compared.own
    document.finding(findings.real_parameters_finding(compared.title, real, own))
    parts = [part for part in PARTS if any(each.parameters.get(part) for each in (real, own))]
    panels = [_panel(compared.title, COLOUR, real, parts), _panel("Trained here", _OWN_COLOUR, own, parts)]
    add_plot_frame(document, panels, key="cost-real-figure", height=ROW_HEIGHT * len(parts) + 20, columns=2)
    _add_cost_table(document, compared)
    if note := findings.cache_finding(compared.title, real):
        document.text(note)


def _panel(title: str, colour: str, model: ModelStructure, parts: Sequence[Part]) -> Panel:
    """Return the parameters of parts of a model, a bar for each."""
    rows = []
    for part in parts:
        count = model.parameters.get(part, 0)
        is_tied = part == "output" and model.tied
        share = "the weights of the embedding" if is_tied and not count else format_percent(count / model.total)
        rows.append((findings.part_title(part, model), count, share))
    each = "; ".join(f"{name} {count:,}" for name, count, _ in rows)
    return Panel(
        f"cost-real-{title}",
        parameter_bars(rows, colour),
        f"Parameters of {title}: {each}.",
        title=title,
        colour=colour,
        value=format_count(model.total),
    )


def _add_cost_table(document: Document, compared: ComparedStructures) -> None:
    """Add what one token costs in contexts of several lengths, a row for each."""
    columns = [
        column("tokens", "context"),
        column("real", f"{compared.title}: multiplications", "number", wrap=True),
        column("real_kept", "its keys and values", "number", wrap=True),
        column("own", "trained here: multiplications", "number", wrap=True),
        column("own_kept", "its keys and values", "number", wrap=True, minor=True),
    ]
    longest = compared.context or _CONTEXTS[-1]
    rows = []
    for tokens in sorted({min(each, longest) for each in _CONTEXTS}):
        cells = {"tokens": f"{tokens:,} tokens"}
        for key, model in (("real", compared.real), ("own", compared.own)):
            cells[key] = findings.multiplications_text(model.multiplications(tokens))
            cells[f"{key}_kept"] = findings.memory_text(model.cache_bytes(tokens))
        rows.append(cells)
    add_table(
        document,
        columns,
        rows,
        key="cost-real-table",
        label="Cost of one token in a context",
        caption=findings.cost_caption(compared.real),
    )
