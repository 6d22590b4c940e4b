"""Generation studio: what does temperature change?"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.errors import LineageError
from explorer.ui import at_hand, studio_findings, studio_measures, studio_texts, studio_tree, studio_writing, texts
from explorer.ui.at_hand import AtHand
from explorer.ui.page import empty_panel, explanation, lead, page_head, plain, problems, source
from explorer.ui.session import PageSession, bound, page_session, write_address
from explorer.ui.slowly import latest
from explorer.ui.studio import LONGEST_PROMPT, MOST_MODELS, Studio
from explorer.ui.studio_models import check_writes, focused
from explorer.ui.studio_texts import Place, Texts, Work

PROMPTS = ("Romeo", "ROMEO:", "To be, or not to be", "The king ", "")
FILES = {
    "Choosing a token": "generation/sampling.py",
    "41 temperatures at once": "generation/scrubbing.py",
    "Writing": "generation/writing.py",
    "In the browser": "ui/assets/sampling.js",
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


def prompt_row(session: PageSession[Studio]) -> None:
    """What the models go on from, and how they choose."""
    studio = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "studio.prompt", studio.prompt, lambda s, p: s.writing(prompt=p))
        st.text_input("Prompt", width=330, max_chars=LONGEST_PROMPT, placeholder="from a line end", **ties)
        models_field(session)
        cuts(session)
    shown = studio.prompt if studio.prompt in PROMPTS else None
    ties = bound(session, "studio.pick", shown, lambda s, p: s if p is None else s.writing(prompt=p))
    st.pills(
        "Take a prompt",
        PROMPTS,
        format_func=lambda p: p.strip() or "nothing",
        label_visibility="collapsed",
        wrap=True,
        width="content",
        **ties,
    )


def cuts(session: PageSession[Studio]) -> None:
    """Which tokens may be chosen, the dice, and how long the text is."""
    studio = session.state
    with st.popover(studio_findings.cuts(studio) or "Cut and dice", icon=":material/casino:"):
        ties = bound(session, "studio.greedy", studio.greedy, lambda s, on: s.writing(greedy=on))
        st.toggle("Greedy: always the likeliest", **ties)
        ties = bound(session, "studio.top_k", studio.top_k, lambda s, v: s.writing(top_k=v))
        st.number_input("top-k: so many of the likeliest (0: all)", 0, 20_000, step=1, disabled=studio.greedy, **ties)
        ties = bound(session, "studio.top_p", float(studio.top_p), lambda s, v: s.writing(top_p=v))
        st.slider("top-p: the likeliest that reach this together", 0.0, 1.0, step=0.01, disabled=studio.greedy, **ties)
        ties = bound(session, "studio.min_p", float(studio.min_p), lambda s, v: s.writing(min_p=v))
        st.slider("min-p: this share of the likeliest", 0.0, 1.0, step=0.01, disabled=studio.greedy, **ties)
        ties = bound(session, "studio.seed", studio.seed, lambda s, v: s.writing(seed=v))
        st.number_input("Seed of the dice", 0, 2**31 - 1, step=1, **ties)
        ties = bound(session, "studio.tokens", studio.tokens, lambda s, v: s.writing(tokens=v))
        st.slider("Tokens", 20, 400, step=10, **ties)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: Studio(models=s.models, prompt=s.prompt)),
        )


def models_field(session: PageSession[Studio]) -> None:
    """Who writes."""
    titles = at_hand.offered(("text",))
    here = list(session.state.models)
    titles = {**{name: name for name in here if name not in titles}, **titles}
    ties = bound(session, "studio.models", here, lambda s, models: s.with_models(models))
    st.multiselect(
        f"Who writes, up to {MOST_MODELS} side by side",
        list(titles),
        format_func=titles.__getitem__,
        max_selections=MOST_MODELS,
        width=420,
        **ties,
    )


def hands_of(session: PageSession[Studio]) -> dict[str, AtHand]:
    """The models that can be asked; for each that cannot, one sentence."""
    found, said = {}, []
    for name in session.state.models:
        try:
            hand = at_hand.find(name)
            check_writes(hand)
            found[name] = hand
        except LineageError as error:
            said.append(str(error))
    problems(said)
    return found


def texts_part(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> Mapping[str, Texts]:
    """The slider, the texts, the distribution; returns the texts that are shown, as far as they are new."""
    before, shown = session.state, dict[str, Texts]()

    def wanted() -> Mapping[str, Work]:
        studio_texts.hear(session, hands)
        return studio_texts.wanted(hands, session.state)

    def draw(found: Mapping[str, Texts | Place], old: frozenset[str]) -> None:
        studio_texts.show(session, hands, found, old)
        if session.state != before:
            st.rerun()  # the rest of the page follows
        shown.update({name: one for name, one in found.items() if name not in old and isinstance(one, Texts)})

    latest("studio-texts", wanted, draw, "The models are writing at 41 temperatures; that takes a moment …", 560)
    return shown


def why_part(studio: Studio, hands: Mapping[str, AtHand], shown: Mapping[str, Texts]) -> None:
    """What the slider does, as a formula, with the numbers of the place that is shown."""
    st.header("Why the same luck gives another text", anchor=False)
    explanation(
        "A model gives every token a number, its logit. Temperature divides all of them before they become "
        "probabilities: below 1 the differences grow, above 1 they shrink. The dice are thrown beforehand, one number "
        "for each token and place, and added:"
    )
    st.latex(r"p_i = \frac{e^{l_i / \tau}}{\sum_j e^{l_j / \tau}}")
    st.latex(r"\text{next} = \operatorname*{arg\,max}_i \left( \frac{l_i}{\tau} + g_i \right)")
    st.latex(r"g_i = -\ln(-\ln u_i)")
    focus = focused(hands, studio) if hands else ""
    if focus in shown and studio.at < shown[focus].ids.shape[1]:
        first, second = studio_texts.likeliest(hands[focus], studio, shown[focus])
        named = plain(f"“{first}” and “{second}”")
        explanation(f"The two likeliest of the {plain(hands[focus].title)} at the place that is shown above, {named}:")
        for line in studio_texts.formulas(studio, shown[focus]):
            st.latex(line)
    explanation(
        "“next” draws from exactly these probabilities (the Gumbel-max trick). Because the dice do not change with the "
        "temperature, neither does a token until another one overtakes it; then all that follows is another text."
    )


def page(session: PageSession[Studio]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("What does temperature change?")
    lead(
        "The models go on from your words. Drag the temperature: the dice stay, only how boldly they are read changes."
    )
    prompt_row(session)
    problems(session.problems)
    hands = hands_of(session)
    shown: Mapping[str, Texts] = {}
    if hands:
        shown = texts_part(session, hands)
    else:
        empty_panel("Choose a model above: it writes at once.", 560)
    if hands:
        studio_tree.section(session, hands)
        studio_writing.section(session, hands)
        studio_measures.section(session, hands)
    why_part(session.state, hands, shown)
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="Choosing a token", key="studio.code", label_visibility="collapsed")
    file = FILES[name or "Choosing a token"]
    st.caption(f"explorer/{file}")
    st.code(source(file), language="javascript" if file.endswith("js") else "python", height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


session = page_session("studio", Studio)
session.state = session.state.settled(at_hand.wanted(("text",)))
texts.remember()
page(session)
write_address(session)
