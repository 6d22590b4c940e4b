"""Parameters, multiplications and memory of a real model beside those of a Transformer that is trained here."""

from __future__ import annotations

from collections.abc import Sequence

from explorer import charts, ui
from explorer.labs.cost import findings
from explorer.labs.cost.parameter_count import ROW_HEIGHT, parameter_chart
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.structure import PARTS, ModelStructure, Part
from explorer.number_format import format_count, format_percent
from explorer.ui.training.compared_structures import ComparedStructures, structures_call

_CONTEXTS = (128, 1_024, 8_192)  # tokens
_OWN_COLOUR = "--m-transformer"


def real_model_costs(model: RealModel) -> None:
    """Draw where the parameters of both models are, and what a token costs."""
    ui.show("cost-real", structures_call(model), costs_view, waiting=f"{model.title} is being loaded …", height=640)


def costs_view(document: ui.Document, compared: ComparedStructures) -> None:
    """Write where the parameters of both models are, what a token costs, and what the real one saves."""
    real, own = compared.real, compared.own
    document.finding(findings.real_parameters_finding(compared.title, real, own))
    parts = [part for part in PARTS if any(each.parameters.get(part) for each in (real, own))]
    panels = [_panel(compared.title, COLOUR, real, parts), _panel("Trained here", _OWN_COLOUR, own, parts)]
    document.figures("cost-real-figure", panels, height=ROW_HEIGHT * len(parts) + 20, columns=2)
    document.table("cost-real-table", cost_table(compared))
    document.text(findings.cache_finding(compared.title, real))


def _panel(title: str, colour: str, model: ModelStructure, parts: Sequence[Part]) -> ui.Panel:
    """Return the parameters of parts of a model, a bar for each."""
    rows = []
    for part in parts:
        count = model.parameters.get(part, 0)
        is_tied = part == "output" and model.tied
        share = "the weights of the embedding" if is_tied and not count else format_percent(count / model.total)
        rows.append((findings.part_title(part, model), count, share))
    chart = parameter_chart(title, rows, colour)
    return ui.Panel(f"cost-real-{title}", chart, title=title, colour=colour, value=format_count(model.total))


def cost_table(compared: ComparedStructures) -> charts.Table:
    """Return what one token costs in contexts of several lengths, a row for each."""
    columns = {
        "tokens": charts.Column("context"),
        "real": charts.Column(f"{compared.title}: multiplications", "number", wrap=True),
        "real_kept": charts.Column("its keys and values", "number", wrap=True),
        "own": charts.Column("trained here: multiplications", "number", wrap=True),
        "own_kept": charts.Column("its keys and values", "number", wrap=True, minor=True),
    }
    longest = compared.context or _CONTEXTS[-1]
    rows = []
    for tokens in sorted({min(each, longest) for each in _CONTEXTS}):
        cells = {"tokens": f"{tokens:,} tokens"}
        for key, model in (("real", compared.real), ("own", compared.own)):
            cells[key] = findings.multiplications_text(model.multiplications(tokens))
            cells[f"{key}_kept"] = findings.memory_text(model.cache_bytes(tokens))
        rows.append(cells)
    return charts.Table(columns, rows, "Cost of one token in a context", findings.cost_caption(compared.real))
