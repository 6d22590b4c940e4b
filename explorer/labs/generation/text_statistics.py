"""Statistics of generated texts by temperature: diversity, repetition and likelihood, compared with the corpus."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial

import numpy as np

from explorer.figures.language.temperature import TRACES_PER_LINE, TextMeasure, measure_by_temperature
from explorer.labs.generation import findings
from explorer.labs.generation.findings import MeasuredTexts
from explorer.labs.generation.models import encode_prompt, id_tensor, limit_length, sampling_key, sampling_settings
from explorer.labs.generation.state import GenerationState
from explorer.model.model import Model
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession

SEEDS = 8  # texts of a model at each temperature
HEIGHT = 300


def section(session: PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw three statistics of eight texts at every temperature."""
    explanation(
        "**Distinct-4** is the share of sequences of four tokens that are distinct. **Repetition** is the share of "
        "sequences of eight tokens that occurred earlier in the text. **Log-probability** is how probable the model "
        "finds its own text, in nats per token."
    )
    state = limit_length(session.state, models)
    requests = {
        name: (_cache_key(stored_model, state), partial(measure, stored_model, state))
        for name, stored_model in models.items()
    }
    draw = partial(_draw_statistics, models, state.without_path())
    message = "Every model generates eight texts at eleven temperatures; with a large one that takes a minute …"
    result_section("studio-measures", requests, draw, message, HEIGHT + 60, pool="patient")


def _draw_statistics(
    models: Mapping[str, Model],
    state: GenerationState,
    document: Document,
    measured: Mapping[str, MeasuredTexts],
) -> None:
    named = [(models[name].title, each) for name, each in measured.items()]
    document.finding(findings.repetition_finding(named))
    if not state.greedy and state.top_k != 1:  # then no temperature changes anything
        document.text(findings.corpus_finding(named))
    panels = [_panel(i, models, measured, float(state.t)) for i in range(3)]
    add_plot_frame(document, panels, key="studio-measures", height=HEIGHT, columns=3)
    document.caption(findings.statistics_caption(named, state))


def _cache_key(stored_model: Model, state: GenerationState) -> tuple[Hashable, ...]:
    return ("studio-measures", *stored_model.cache_key, state.prompt, state.tokens, *sampling_key(state))


def measure(stored_model: Model, state: GenerationState) -> MeasuredTexts:
    """Compute the statistics of a model's texts and of its corpus, in a second or two. Raises LineageError."""
    from explorer.generation.text_statistics import compute_statistics
    from explorer.generation.text_statistics import compute_statistics_by_temperature as over_temperatures

    generator, corpus = stored_model.text_generator(), stored_model.corpus_tokens()
    prompt = id_tensor(encode_prompt(stored_model, state.prompt).ids)
    written = over_temperatures(generator, prompt, state.tokens, sampling_settings(state), seeds=SEEDS)
    if corpus is None:
        return MeasuredTexts(written, None, False)
    ids, held_out = corpus
    starts = np.linspace(0, max(0, len(ids) - state.tokens - 2), findings.CORPUS_PIECES).astype(int)
    rows = []
    for start in starts.tolist():
        piece = ids[start : start + 1 + state.tokens].astype(np.int64).tolist()
        if len(piece) > 1:
            one = compute_statistics(generator, id_tensor(piece[:1]), id_tensor(piece[1:]))
            rows.append([one.distinct4, one.repetition8, one.log_probability])
    return MeasuredTexts(written, np.mean(rows, axis=0) if rows else None, held_out)


def _panel(which: int, models: Mapping[str, Model], measured: Mapping[str, MeasuredTexts], here: float) -> Panel:
    """Return the panel of one statistic, with a line for each model."""
    title, name = (("distinct-4", "distinct4"), ("repetition", "repetition8"), ("log-probability", "log_probability"))[
        which
    ]
    courses: list[TextMeasure] = []
    for n, each in measured.items():
        row = models[n]
        again = any(course.colour == row.colour for course in courses)  # two models of one architecture
        courses.append(
            TextMeasure(models[n].title, row.colour, "2px,4px" if again else row.dash, getattr(each.generated, name))
        )
    corpus_values = _corpus_values(which, models, measured)
    low = min(float(c.values.min()) for c in courses)
    limits = (-0.02, 1.04) if which < 2 else (min(low, *(height for _, height in corpus_values), -0.5) * 1.05, 0.0)
    temperatures = np.array(next(iter(measured.values())).generated.temperatures)
    return Panel(
        f"studio-{name}",
        measure_by_temperature(courses, temperatures, here, corpus_values, limits),
        alt=f"{title} against temperature.",
        title=title[0].upper() + title[1:],
        rest=here,
        tracks=[
            {
                "trace": TRACES_PER_LINE * i + 2,
                "low": TRACES_PER_LINE * i,
                "high": TRACES_PER_LINE * i + 1,
                "title": c.title,
                "colour": c.colour,
            }
            for i, c in enumerate(courses)
        ],
    )


def _corpus_values(
    which: int, models: Mapping[str, Model], measured: Mapping[str, MeasuredTexts]
) -> list[tuple[str, float]]:
    """Return the statistic of the corpus: one line in ink if it is the same for all models, else one in each model's
    colour.
    """
    each = [(models[n].colour, float(one.corpus[which])) for n, one in measured.items() if one.corpus is not None]
    if len(each) == len(measured) and len({height for _, height in each}) == 1:
        return [("--ink", each[0][1])]
    return each
