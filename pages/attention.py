"""Attention explorer: which earlier words does a Transformer use?"""

from __future__ import annotations

from explorer.labs.attention import (
    controls,
    head_explorer,
    head_importance,
    layer_answers,
    patching,
)
from explorer.labs.attention.controls import ATTENTION_TASKS
from explorer.labs.attention.state import DEFAULT_MODEL, AttentionState
from explorer.model.model import Model
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import LINZEN_2016, LOGIT_LENS, MICHEL_2019, OLSSON_2022, code_and_papers
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.sections import folded_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.training import stored_models

FILES = {
    "The decoder": "models/transformer_decoder.py",
    "The encoder": "models/transformer_encoder.py",
    "The tagger": "models/transformer_tagger.py",
    "Recording and interventions": "models/taps.py",
    "Scores of the heads": "inspection/attention/head_scores.py",
    "Patching": "inspection/attention/patching.py",
    "Attribution": "inspection/attention/logit_attribution.py",
}
PAPERS = (
    ("Attention", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    ("Agreement", *LINZEN_2016),
    ("Heads switched off", *MICHEL_2019),
    ("Induction", *OLSSON_2022),
    (
        "Rollout",
        "Abnar and Zuidema 2020, Quantifying attention flow in transformers",
        "https://arxiv.org/abs/2005.00928",
    ),
    ("Logit lens", *LOGIT_LENS),
    (
        "Patching",
        "Heimersheim and Nanda 2024, How to use and interpret activation patching",
        "https://arxiv.org/abs/2404.15255",
    ),
    (
        "A caution",
        "Jain and Wallace 2019, Attention is not explanation",
        "https://arxiv.org/abs/1902.10186",
    ),
)


def needed_heads(state: AttentionState, stored_model: Model) -> None:
    """Draw the loss without each head, and what each head adds to the answer."""
    head_importance.importance_section(state, stored_model)
    head_importance.attribution_section(state, stored_model)


def page(session: PageSession[AttentionState]) -> None:
    """Draw the whole page."""
    stored_model, problem = controls.selected_model(session)
    second = head_explorer.find_second_model(session)
    unit = stored_model.unit if stored_model else "word"
    lead(
        "Who is proud? Each square is a head, with a row for each query word. **Switch layer 1 off** and read what the "
        "model predicts then."
        if session.state.model == DEFAULT_MODEL
        else f"Each square is a head: the stronger the colour, the more the {unit} of the row attends to the {unit} of "
        "the column. Click one to open it."
    )
    controls.text_row(session, stored_model)
    show_problems([*session.problems, *filter(None, [problem])])
    if stored_model is None:
        empty_panel("Choose a model with attention above.", 600)
    else:
        controls.show_unread(session, stored_model)
        head_explorer.heads_of_both(session, stored_model, second)
        controls.numbers_row(session.state, stored_model)
        folded_section(
            "layers",
            "What would the model predict after each layer?"
            if stored_model.layout.answers
            else "What can reach each token through all layers?",
            lambda: layer_answers.section(session.state, stored_model),
        )
        if stored_model.layout.answers and not stored_model.parts:
            folded_section(
                "patching",
                "Which states carry the answer?",
                lambda: patching.section(session, stored_model),
            )
            folded_section(
                "importance",
                "Which heads does the model need?",
                lambda: needed_heads(session.state, stored_model),
            )
    code_and_papers("gaze.code", FILES, PAPERS)


session = page_session("gaze", AttentionState)
session.state = session.state.normalize(stored_models.model_from_previous_page(ATTENTION_TASKS, ("transformer",)))
visitor_text.remember_text()
page(session)
write_url(session)
