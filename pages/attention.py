"""Attention explorer: where does each letter look?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

import streamlit as st

from explorer.catalogue import SENTENCES
from explorer.errors import LineageError, SentenceError
from explorer.tasks.negation import VOCABULARY
from explorer.ui import at_hand, attention_answers, attention_insides, attention_views, texts
from explorer.ui.at_hand import AtHand
from explorer.ui.attention_views import THROUGH, Film, Looked
from explorer.ui.gaze import LONGEST, MOST_TOKENS, Gaze
from explorer.ui.page import empty_panel, lead, page_head, problems, source
from explorer.ui.session import PageSession, bound, page_session, part, write_address
from explorer.ui.slowly import latest

USUAL = Gaze()
SAID = ("gaze-text", "gaze")  # what a new text draws again at once; the rest of the page follows
FILES = {
    "The decoder": "models/transformer_decoder.py",
    "The encoder": "models/transformer_encoder.py",
    "Looking and touching": "models/taps.py",
    "What each head does": "inspection/heads.py",
}
PAPERS = (
    ("Attention", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    (
        "Heads switched off",
        "Michel, Levy and Neubig 2019, Are sixteen heads really better than one?",
        "https://arxiv.org/abs/1905.10650",
    ),
    (
        "Induction",
        "Olsson et al. 2022, In-context learning and induction heads",
        "https://arxiv.org/abs/2209.11895",
    ),
    (
        "Rollout",
        "Abnar and Zuidema 2020, Quantifying attention flow in transformers",
        "https://arxiv.org/abs/2005.00928",
    ),
    (
        "Logit lens",
        "nostalgebraist 2020, Interpreting GPT: the logit lens",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    (
        "A caution",
        "Jain and Wallace 2019, Attention is not explanation",
        "https://arxiv.org/abs/1902.10186",
    ),
)


def text_row(session: PageSession[Gaze], hand: AtHand | None, reader: tuple[str, int]) -> None:
    """What is read, and by whom: `reader` is the model and the seed that the rest of the page shows."""
    gaze = session.state
    if (gaze.model, gaze.seed) != reader:
        st.rerun()  # this part is drawn alone where only the text changes
    titles = at_hand.offered(SENTENCES, ("transformer",))
    titles = {**({} if gaze.model in titles else {gaze.model: gaze.model}), **titles}
    with st.container(horizontal=True, vertical_alignment="top"):
        if hand:
            said = attention_views.text_of(hand, gaze)
            ties = bound(session, "gaze.say", said, lambda g, text: g.saying(text), redraw=SAID)
            st.text_input("Your text", width=330, max_chars=LONGEST, **ties)
        usual = attention_views.examples(hand) if hand else ()
        ties = bound(session, "gaze.model", gaze.model, lambda g, name: g.of_model(name or g.model, usual))
        st.selectbox("Who reads it", list(titles), format_func=titles.__getitem__, width=250, **ties)
        if hand and hand.config.replicas > 1:
            first = hand.config.seed
            ties = bound(session, "gaze.seed", gaze.seed, lambda g, seed: replace(g, seed=seed))
            seeds = range(hand.config.replicas)
            st.selectbox("Seed", seeds, format_func=lambda i: f"seed {first + i}", width=110, **ties)
        if hand:
            examples = attention_views.examples(hand)
            shown = said if said in examples else None
            ties = bound(
                session, "gaze.pick", shown, lambda g, text: g if text is None else g.saying(text), redraw=SAID
            )
            st.pills("or take one", examples, wrap=True, width="content", **ties)


def chosen(session: PageSession[Gaze]) -> tuple[AtHand | None, str]:
    """The model that is looked into, or why there is none."""
    gaze = session.state
    try:
        hand = at_hand.find(gaze.model)
        asked, gaze = gaze, gaze.within(*attention_views.size(hand), MOST_TOKENS)
    except LineageError as error:
        return None, str(error)
    lost = {*asked.off, *asked.flat} - {*gaze.off, *gaze.flat}
    if (gaze.layer, gaze.head) != (asked.layer, asked.head) != (USUAL.layer, USUAL.head):
        lost.add(f"{asked.layer}.{asked.head}")
    if lost:
        layers, heads = attention_views.size(hand)
        session.problems += (
            f"This model has no head {', '.join(sorted(lost))}; it has layers 0 to {layers - 1}, heads 0 to "
            f"{heads - 1}.",
        )
    if gaze.seed >= hand.config.replicas:
        session.problems += (f"This run has no seed {gaze.seed:,}, counted from 0; what is shown is its first.",)
        gaze = replace(gaze, seed=0)
    if gaze.step is not None and gaze.step not in attention_views.steps_of(hand):
        session.problems += (f"There are no weights of step {gaze.step:,}; what is shown is the end.",)
        gaze = replace(gaze, step=None)
    session.state = gaze
    return hand, ""


def page(session: PageSession[Gaze]) -> None:
    """The whole screen, from the question to the papers."""
    hand, refused = chosen(session)
    unit = hand.unit if hand else "letter"
    page_head(f"Where does each {unit} look?")
    lead(
        "Each square is one head: rows ask, columns answer, the stronger the colour the harder it looks. Open one, or "
        "switch it off."
    )
    reader = session.state.model, session.state.seed
    part(session, "gaze-text", lambda: text_row(session, hand, reader))
    problems([*session.problems, *filter(None, [refused])])
    if hand is None:
        empty_panel("Choose a model with attention above.", 600)
    elif readable(session, hand):
        heads_part(session, hand)
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="The decoder", key="gaze.code", label_visibility="collapsed")
    file = FILES[name or "The decoder"]
    st.caption(f"explorer/{file}")
    st.code(source(file), language="python", height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


def readable(session: PageSession[Gaze], hand: AtHand) -> bool:
    """Whether the model can read the text; if not, why, and what is near."""
    text = attention_views.text_of(hand, session.state)
    try:
        if hand.tokenizer is None:
            VOCABULARY.split(text)
        return True
    except SentenceError as error:
        problems([str(error)])
        for word, known in list(getattr(error, "nearest", {}).items())[:3]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(f"{word[:24]} →")
                for near in known:
                    better = VOCABULARY.replaced(text, word, near)
                    st.button(
                        near,
                        key=f"gaze.near.{word[:24]}.{near}",
                        on_click=lambda better=better: session.change(lambda gaze: gaze.saying(better)),
                    )
    empty_panel("The heads are shown for a sentence that the model can read.", 600)
    return False


def heads_part(session: PageSession[Gaze], hand: AtHand) -> None:
    """The grid and everything that follows from it. After a gesture the grid comes first, then the rest of the page."""
    shown, stands, seen = session.state, False, list[Looked]()
    worth = attention_answers.worth_so_far(hand, shown)

    def wanted() -> Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Looked | Film]]]:
        nonlocal stands
        stands = attention_views.hear(session, hand)
        return attention_views.wanted(hand, session.state)

    def draw(found: Mapping[str, Looked | Film], old: frozenset[str]) -> None:
        here = next((one for one in found.values() if isinstance(one, Looked)), None)
        film = None if THROUGH in old else found.get(THROUGH)
        if here is None:
            return
        attention_views.notes(hand, here)
        attention_answers.finding(session.state, hand, here)
        late, behind = bool(old - {THROUGH}), session.state != shown
        film = film if isinstance(film, Film) else None
        attention_views.show(hand, here, film, worth, session.state, late, follow=behind and not stands)
        if behind and stands:
            st.rerun()
        seen.append(here)

    latest("gaze", wanted, draw, "The model is reading …", 640, pool="quick")
    if seen:
        attention_answers.section(session.state, hand, seen[-1])
    attention_insides.section(session, hand)
    attention_insides.download(hand, session.state)
    attention_answers.worth_section(session.state, hand, shown=worth is not None)


session = page_session("attention", Gaze)
session.state = session.state.settled(at_hand.wanted(SENTENCES, ("transformer",)))
texts.remember()
page(session)
write_address(session)
