"""A real model translates the visitor's text, with the alignment from its cross-attention."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer import charts, ui
from explorer.errors import InvalidSetting
from explorer.hub.files import CONFIG, read_json
from explorer.inspection.pretrained import translation
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.state import TranslationState
from explorer.model.real_model import RealModel
from explorer.ui.state.widgets import draw_examples
from explorer.ui.wording import join_words, visible_whitespace

_MOST_ROWS, _MOST_COLUMNS = 24, 36  # tokens that are drawn
_ROW, _AROUND = 24, 76  # pixels of a written token, and of the names of the source
_PLACEHOLDER = 420
_LONGEST_PREFIX = 60  # characters


def real_translation(session: ui.PageSession[TranslationState], model: RealModel) -> None:
    """Draw the field for the text, the translation and its alignment."""
    state, examples = session.state, model.example_texts
    text = state.read or examples[0]
    layers = model.card.layers
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "read",
            st.text_input,
            update=lambda s, new: s.with_field("read", "" if new.strip() == examples[0] else new.strip()),
            placeholder=examples[0],
            width=420,
        )
        options = {0: "all layers", **{i: f"layer {i}" for i in range(1, layers + 1)}}
        ui.bind_widget(session, "depth", st.selectbox, shown=min(state.depth, layers), options=options, width=150)

        def with_example(state: TranslationState, new: str) -> TranslationState:
            return state.with_field("read", "" if new == examples[0] else new)

        draw_examples(session, "real_pick", "Example texts", text, examples, with_example, width="content")
        st.page_link(
            "attention.py",
            label="All heads",
            icon=":material/arrow_forward:",
            query_params={"model": model.name, "say": text},
        )
    if prefixes := _task_prefixes(model):
        quoted = join_words([f"“{each}”" for each in prefixes])
        ui.caption(ui.escape_markdown(f"The model was trained with a task at the beginning of each text: {quoted}."))
    call, context = ui.Call(RealModel.align_translation, model, text), (model.title, text, min(state.depth, layers))
    waiting = f"{model.title} translates the text …"
    ui.show("translation-real", call, translation_view, *context, waiting=waiting, height=_PLACEHOLDER)


def _task_prefixes(model: RealModel) -> tuple[str, ...]:
    """Return the beginnings of texts with which a model was trained, from its config.json."""
    try:
        tasks = read_json(Path(model.card.folder) / CONFIG).get("task_specific_params")
    except InvalidSetting:  # the result below says that the files are gone
        return ()
    settings = tasks.values() if isinstance(tasks, dict) else ()
    found = (each.get("prefix") for each in settings if isinstance(each, dict))
    return tuple(prefix for prefix in found if isinstance(prefix, str) and 0 < len(prefix) <= _LONGEST_PREFIX)


def translation_view(
    document: ui.Document, found: translation.PretrainedTranslation, title: str, text: str, depth: int
) -> None:
    """Write the translation and its alignment by the heads of one layer, counted from 1, or of all (0)."""
    depth = min(depth, len(found.weights))  # a decoder may have fewer layers than its encoder
    layer = depth - 1 if depth else None
    head = found.best_head(layer)
    document.finding(findings.real_translation_finding(title, text, found.text))
    source = [visible_whitespace(each) for each in found.source[:_MOST_COLUMNS]]
    target = [visible_whitespace(each) for each in found.target[:_MOST_ROWS]]
    panels = []
    for name, shown, weights in (
        ("mean", f"Mean of all heads, {f'layer {depth}' if depth else 'all layers'}", found.mean_weights(layer)),
        ("best", f"Best head: layer {head[0] + 1}, head {head[1] + 1}", found.weights[head]),
    ):
        drawn = weights[:_MOST_ROWS, :_MOST_COLUMNS]
        chart = charts.HeatMap(
            shown,
            "attention",
            target,
            source,
            drawn,
            charts.tile_texts(drawn, 0.15),
            most_labels=_MOST_ROWS,
            words=f"{shown}: {findings.alignment_text(found.source, found.target, weights)}",
        )
        panels.append(ui.Panel(f"translation-{name}", chart, title=shown))
    height = _ROW * len(target) + _AROUND
    document.figures("translation-real-figure", panels, height=height, columns=2)
    document.caption(
        "Rows: tokens that the decoder writes. Columns: tokens of the source. The stronger the colour, the larger the "
        "attention weight. The best head is the one whose attention says most about which token is being written "
        "(mutual information)." + findings.omitted_text(len(found.target), _MOST_ROWS, len(found.source), _MOST_COLUMNS)
    )
    if not found.has_end:
        document.problems(
            [f"The model has not ended its answer after {len(found.target)} tokens; it is cut off there."]
        )
    if found.omitted:
        document.problems([f"The model reads no more tokens: “{found.omitted[:60]}” is left out. Shorten the text."])
