"""Statistics of generated texts by temperature: diversity, repetition and likelihood, compared with the corpus."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer import charts, ui
from explorer.generation import sampling
from explorer.inspection.compare import mean_and_range
from explorer.labs.generation import findings
from explorer.labs.generation.findings import MeasuredTexts
from explorer.labs.generation.models import encode_prompt, id_tensor, limit_length, sampling_settings
from explorer.labs.generation.state import GenerationState
from explorer.model.model import Model
from explorer.number_format import format_number

SEEDS = 8  # texts of a model at each temperature
_NAMES = {"distinct4": "Distinct-4", "repetition8": "Repetition", "log_probability": "Log-probability"}


def section(session: ui.PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw three statistics of eight texts at every temperature."""
    ui.explanation(
        "**Distinct-4** is the share of sequences of four tokens that are distinct. **Repetition** is the share of "
        "sequences of eight tokens that occurred earlier in the text. **Log-probability** is how probable the model "
        "finds its own text, in nats per token."
    )
    state = limit_length(session.state, models)
    settings = sampling_settings(state)
    ui.show_each(
        "studio-measures",
        {name: ui.Call(measure, model, state.prompt, state.tokens, settings) for name, model in models.items()},
        statistics_view,
        models,
        state.without_path(),
        waiting="Every model generates eight texts at eleven temperatures; with a large one that takes a minute …",
        height=360,
        pool="patient",
    )


def statistics_view(
    document: ui.Document,
    measured: Mapping[str, MeasuredTexts],
    models: Mapping[str, Model],
    state: GenerationState,
) -> None:
    """Write how varied, repetitive and probable the texts of every model are, by temperature."""
    named = [(models[name].title, each) for name, each in measured.items()]
    document.finding(findings.repetition_finding(named))
    if not state.greedy and state.top_k != 1:  # then no temperature changes anything
        document.text(findings.corpus_finding(named))
    panels = [
        ui.Panel(f"studio-{name}", statistic_chart(name, models, measured, state.t), title=title, rest=float(state.t))
        for name, title in _NAMES.items()
    ]
    document.figures("studio-measures", panels, height=300, columns=3)
    document.caption(findings.statistics_caption(named, state))


def measure(stored_model: Model, prompt_text: str, tokens: int, settings: sampling.Sampling) -> MeasuredTexts:
    """Compute the statistics of a model's texts and of its corpus, in a second or two. Raises LineageError."""
    from explorer.generation.text_statistics import compute_statistics
    from explorer.generation.text_statistics import compute_statistics_by_temperature as over_temperatures

    generator, corpus = stored_model.text_generator(), stored_model.corpus_tokens()
    prompt = id_tensor(encode_prompt(stored_model, prompt_text).ids)
    written = over_temperatures(generator, prompt, tokens, settings, seeds=SEEDS)
    if corpus is None:
        return MeasuredTexts(written, None, False)
    ids, held_out = corpus
    starts = np.linspace(0, max(0, len(ids) - tokens - 2), findings.CORPUS_PIECES).astype(int)
    rows = []
    for start in starts.tolist():
        piece = ids[start : start + 1 + tokens].astype(np.int64).tolist()
        if len(piece) > 1:
            one = compute_statistics(generator, id_tensor(piece[:1]), id_tensor(piece[1:]))
            rows.append([one.distinct4, one.repetition8, one.log_probability])
    return MeasuredTexts(written, np.mean(rows, axis=0) if rows else None, held_out)


def statistic_chart(
    name: str, models: Mapping[str, Model], measured: Mapping[str, MeasuredTexts], temperature: float
) -> charts.LineChart:
    """Return a statistic (`name`: a field of StatisticsByTemperature), with a line for each model.

    A dashed line is the same statistic of human text: one if it is the same for all models, else one in the colour of
    each.
    """
    lines: list[charts.Line] = []
    for model, each in ((models[key], each) for key, each in measured.items()):
        again = any(line.colour == model.colour for line in lines)  # two models of one architecture
        x, values = np.array(each.generated.temperatures), mean_and_range(getattr(each.generated, name))
        dash = "2px,4px" if again else model.dash
        lines.append(
            charts.Line("", model.title, model.colour, dash, x, values, "", 2.5, statistic="mean", name=model.title)
        )
    which = list(_NAMES).index(name)
    human = [
        (models[key].colour, float(each.corpus[which])) for key, each in measured.items() if each.corpus is not None
    ]
    if len(human) == len(measured) and len({value for _, value in human}) == 1:
        human = [("--ink", human[0][1])]
    lowest = min(float(line.values.min()) for line in lines)
    low, high = (-0.02, 1.04) if which < 2 else (min(lowest, *(value for _, value in human), -0.5) * 1.05, 0.0)
    rules = [charts.selection(temperature)]
    # Labels alternate between both ends and both sides of the line: those of several models lie close together.
    for i, (colour, value) in enumerate(human):
        below = (value < low + 0.85 * (high - low)) == (i > 1)
        rules.append(charts.level(value, f"people {format_number(value)}", colour, below=below, right=i == 0))
    return charts.LineChart(
        f"{_NAMES[name]} by temperature",
        lines,
        charts.Axis("temperature", (0, 2), ticks=(0, 0.5, 1, 1.5, 2)),
        charts.Axis(span=(low, high), ticks=4),
        rules,
        labels="none",
        digits=3,
    )
