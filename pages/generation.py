"""Generation: what does temperature change?"""

from __future__ import annotations

from functools import partial

from explorer.labs.generation import streaming, temperature_slider, text_statistics, token_tree
from explorer.labs.generation.models import prompt_row, selected_models
from explorer.labs.generation.state import GenerationState
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.training import stored_models

FILES = {
    "Choosing a token": "generation/sampling.py",
    "41 temperatures at once": "generation/temperature_grid.py",
    "Generation": "generation/generate.py",
    "In the browser": "labs/generation/components/temperature/sampling.js",
}
PAPERS = (
    (
        "Gumbel-max",
        "Gumbel 1954, Statistical theory of extreme values; Maddison, Tarlow and Minka 2014, A* sampling",
        "https://arxiv.org/abs/1411.0030",
    ),
    ("top-k", "Fan, Lewis and Dauphin 2018, Hierarchical neural story generation", "https://arxiv.org/abs/1805.04833"),
    (
        "top-p",
        "Holtzman, Buys, Du, Forbes and Choi 2020, The curious case of neural text degeneration",
        "https://arxiv.org/abs/1904.09751",
    ),
    (
        "min-p",
        "Nguyen et al. 2024, Min-p sampling for creative and coherent outputs",
        "https://arxiv.org/abs/2407.01082",
    ),
    (
        "distinct-n",
        "Li, Galley, Brockett, Gao and Dolan 2016, A diversity-promoting objective function",
        "https://arxiv.org/abs/1510.03055",
    ),
    (
        "repetition",
        "Welleck, Kulikov, Roller, Dinan, Cho and Weston 2020, Neural text generation with unlikelihood training",
        "https://arxiv.org/abs/1908.04319",
    ),
)


def page(session: PageSession[GenerationState]) -> None:
    """Draw the whole page, from the question to the papers."""
    lead("Drag the temperature: the random numbers stay the same, but how much they matter changes.")
    show_problems(session.problems)
    models = selected_models(session)
    if models:
        with page_section("studio-texts", "Texts by temperature", heading=False):
            temperature_slider.section(session, models)
        prompt_row(session)
        folded_section(
            "studio-tree", "How is each token chosen, step by step?", partial(token_tree.section, session, models)
        )
        folded_section(
            "studio-measures",
            "At which temperatures does a text repeat itself or become random?",
            partial(text_statistics.section, session, models),
        )
        folded_section("studio-writing", "Generate a longer text", partial(streaming.section, session, models))
        folded_section(
            "studio-formulas",
            "Why do the same random numbers give another text?",
            partial(temperature_slider.formulas_section, session.state, models),
        )
    else:
        empty_panel("Choose a model below.", 560)
        prompt_row(session)
    code_and_papers("studio.code", FILES, PAPERS)


session = page_session("studio", GenerationState)
session.state = session.state.normalize(stored_models.model_from_previous_page(("text",)))
visitor_text.remember_text()
page(session)
write_url(session)
