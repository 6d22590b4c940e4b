"""The sentence encoder: how does a word come to mean what its sentence means?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.tasks.meanings import FRAMES, NOUNS, SENSES, SYNONYMS
from explorer.ui import runs, training_controls
from explorer.ui.findings import listed
from explorer.ui.page import code_section, explanation, lead, page_head, papers, plain, problems
from explorer.ui.sentences import MOST, Sentences, read
from explorer.ui.sentences_curves import curves_section, limits_part, race_part
from explorer.ui.sentences_map import map_section
from explorer.ui.session import PageSession, bound, race_session, write_address
from explorer.ui.training_controls import Asked

TASKS = {"gloss": "Gloss", "gist": "Gist"}
ABOUT = {
    "gloss": "Gloss: every word has to say what it means; “bank” has to choose between money and river.",
    "gist": "Gist: one word is hidden, and every word has to say which. Nobody tells the encoder what “bank” means.",
}


def choices(session: PageSession[Sentences]) -> None:
    """What is learned, and by how deep an encoder."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "sentences.task", state.task, lambda s, task: s.racing(task=task or s.task))
        st.segmented_control("Task", list(TASKS), format_func=TASKS.__getitem__, **ties)
        ties = bound(
            session,
            "sentences.layers",
            state.layers,
            lambda s, new: replace(s.racing(layers=new or s.layers), layer=-1),
        )
        st.segmented_control("Layers", [1, 2], **ties)
        with st.popover("Settings", icon=":material/tune:"):
            settings(session)
    st.caption(plain(ABOUT[state.task]))


def settings(session: PageSession[Sentences]) -> None:
    """How both are trained."""
    state = session.state
    ties = bound(session, "sentences.seeds", state.seeds, lambda s, v: s.racing(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, **ties)
    ties = bound(session, "sentences.steps", state.steps, lambda s, v: s.racing(steps=v))
    st.number_input("Steps (0: as usual)", 0, 100_000, step=50, **ties)
    ties = bound(session, "sentences.rate", state.rate, lambda s, v: s.racing(rate=v))
    st.number_input("Step size (0: as usual)", 0.0, 1.0, step=0.001, format="%.4f", **ties)
    ties = bound(session, "sentences.seed", state.seed, lambda s, v: s.racing(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, **ties)
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        disabled=state == state.reset(),
        on_click=lambda: session.change(lambda s: s.reset()),
    )


def writing(session: PageSession[Sentences]) -> None:
    """The visitor's sentences, and the words that there are."""
    state = session.state
    ties = bound(session, "sentences.say", state.text, lambda s, text: s.saying(text))
    st.text_area(f"Your sentences, one a line, at most {MOST}", height=282, **ties)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Back to the examples",
            icon=":material/undo:",
            disabled=not state.say,
            on_click=lambda: session.change(lambda s: replace(s, say="", chosen=0)),
        )
        with st.popover("All words of the language", icon=":material/menu_book:"):
            for topic, nouns in NOUNS.items():
                word = next(word for word, topics in SENSES.items() if topic in topics)
                st.markdown(f"**{word}: {topic}**, synonym “{SYNONYMS[topic]}”. {', '.join(nouns)}")
            st.caption("The last two of each eight never stand beside the homograph in training: the new cues.")
            small = sorted({word for frame in FRAMES for word in frame} - {"X", "A", "B"})
            st.markdown(f"And {listed(small)}.")


def why_part(state: Sentences) -> None:
    """What a block does to a word's vector."""
    st.header("Why", anchor=False)
    explanation(
        "A word starts as its own embedding and a vector for its place, the same in every sentence. Each block adds a "
        "weighted sum of what the other words offer, then changes every word by itself:"
    )
    st.latex(
        r"\begin{aligned} a &= \mathrm{softmax}(QK^\top / \sqrt{d_k})\,V \\ x &\leftarrow \mathrm{LayerNorm}(x + a) \\"
        r" f &= W_2 \max(0,\, W_1 x + b_1) + b_2 \\ x &\leftarrow \mathrm{LayerNorm}(x + f) \end{aligned}"
    )
    config = state.configs[state.names[0]].model
    width, heads, hidden = (getattr(config, name) for name in ("width", "heads", "hidden"))
    explanation(
        f"Here x has {width} numbers, {heads} heads of d_k = {width // heads} each, {hidden} hidden units, and "
        "positions are sines. The feedforward part (f) sees one word at a time; only attention (a) can bring “river” "
        "into “bank”, and where it is taken out, nothing can. All topics share the frames of the sentences, so that "
        "neither the place of a word nor the small words give its sense away."
    )


def page(session: PageSession[Sentences]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How does a word come to mean what its sentence means?")
    lead(
        "“Bank” has one embedding and two senses. A small Transformer encoder reads sentences of a generated language; "
        "write your own, and watch the word move from layer to layer."
    )
    choices(session)
    problems(session.problems)
    state, asked = session.state, Asked.of(f"sentences-{session.state.task}")
    lanes = runs.lanes(state.configs, asked.raced)
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    curves_section(state, lanes)
    limits_part(state, lanes)
    map_section(session, lanes, read(state.lines), writing)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        training_controls.run_button(asked, session.state.configs.values(), lanes, "sentences")
    race_part(state, lanes, asked)
    why_part(state)
    st.header("The code", anchor=False)
    code_section(state.configs.values(), "sentences.code")
    st.header("The papers", anchor=False)
    papers([next(iter(lanes.values())).row])


session = race_session("sentences", Sentences)
page(session)
write_address(session)
