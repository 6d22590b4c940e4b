"""Memory: how long does a net remember?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.training.recall_runs import CONTESTANTS, RATES
from explorer.ui import recall_findings as findings
from explorer.ui import runs, training_controls
from explorer.ui.memory import Memory
from explorer.ui.memory_exploding import exploding_section
from explorer.ui.memory_gates import gates_section
from explorer.ui.memory_race import by_architecture, lengths_part, outcomes, race_part, results
from explorer.ui.memory_string import string_section
from explorer.ui.memory_sweep import sweep_section
from explorer.ui.memory_trap import trap_section
from explorer.ui.memory_why import why_section
from explorer.ui.page import code_section, explanation, lead, page_head, papers, plain, problems
from explorer.ui.session import PageSession, bound, race_session, write_address
from explorer.ui.training_controls import Asked

PAPERS = (
    (
        "Vanishing gradients",
        "Bengio, Simard and Frasconi 1994, Learning long-term dependencies with gradient descent is difficult",
        "https://doi.org/10.1109/72.279181",
    ),
    (
        "Exploding gradients",
        "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
        "https://arxiv.org/abs/1211.5063",
    ),
    (
        "Forget gate",
        "Gers, Schmidhuber and Cummins 2000, Learning to forget: continual prediction with LSTM",
        "https://doi.org/10.1162/089976600300015015",
    ),
    (
        "Open gates (chrono)",
        "Tallec and Ollivier 2018, Can recurrent neural networks warp time?",
        "https://arxiv.org/abs/1804.11188",
    ),
    (
        "Rotations",
        "Saxe, McClelland and Ganguli 2013, Exact solutions to the nonlinear dynamics of learning in deep linear "
        "neural networks",
        "https://arxiv.org/abs/1312.6120",
    ),
)


def who_row(session: PageSession[Memory]) -> None:
    """Who races: each architecture with its starts."""
    with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
        for model, names in by_architecture(CONTESTANTS).items():
            chosen = [name for name in names if name in session.state.who]
            others = tuple(name for name in CONTESTANTS if name not in names)

            def make(memory: Memory, here: list[str], others: tuple[str, ...] = others) -> Memory:
                return memory.with_who({*here, *(name for name in memory.who if name in others)})

            ties = bound(session, f"memory.who-{model}", chosen, make)
            st.pills(
                MODELS[model].title,
                names,
                format_func=lambda name: CONTESTANTS[name].label,
                selection_mode="multi",
                wrap=True,
                width="content",
                **ties,
            )


def settings_row(session: PageSession[Memory]) -> None:
    """Over which sequences, with which step size, how many seeds."""
    memory = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "memory.length", memory.length, lambda m, v: m.racing(length=v))
        st.number_input("Symbols to read (T)", 1, 1_000_000, step=10, width=150, **ties)
        ties = bound(session, "memory.symbols", memory.symbols, lambda m, v: m.racing(symbols=v))
        st.number_input("Different symbols", 2, 26, step=1, width=150, **ties)
        rates = sorted({0.0, *RATES, memory.rate})
        ties = bound(session, "memory.rate", memory.rate, lambda m, v: m.racing(rate=v))
        st.selectbox("Step size", rates, format_func=lambda r: f"{r:g}" if r else "as usual", width=150, **ties)
        ties = bound(session, "memory.seeds", memory.seeds, lambda m, v: m.racing(seeds=v))
        st.number_input("Seeds", 1, 32, step=1, width=110, **ties)
        ties = bound(session, "memory.steps", memory.steps, lambda m, v: m.racing(steps=v))
        st.number_input("Steps (0: as usual)", 0, 1_000_000, step=100, width=170, **ties)
        ties = bound(session, "memory.seed", memory.seed, lambda m, v: m.racing(seed=v))
        st.number_input("First seed", 0, 2**31 - 1, step=1, width=120, **ties)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda m: m.reset()),
            disabled=memory == memory.reset(),
        )


def page(session: PageSession[Memory]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How long does a net remember?")
    lead(
        "A net reads random symbols, one by one. At the end it is asked for the first. Nothing can be guessed, and at "
        "every step the sequences are fresh: whoever answers has carried it all the way."
    )
    who_row(session)
    settings_row(session)
    problems(session.problems)
    memory, asked = session.state, Asked.of("recall")
    who, configs = memory.contestants, memory.configs
    lanes = runs.lanes(configs, asked.raced)
    problems(asked.problems)
    training_controls.offer_missing(lanes, asked, lambda names: findings.who([who[name] for name in names]))
    found = outcomes(who, lanes)
    if found:
        st.subheader(plain(findings.verdict(found, memory.length)), anchor=False)
        explanation(plain(findings.budgets(found)))
        lengths_part(memory, who, found)
        for sentence in findings.elsewhere(found, memory.length):
            explanation(plain(sentence))
        results(memory, who, found, lanes)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        training_controls.run_button(asked, configs.values(), lanes, "recall")
    race_part(memory, who, lanes, asked)
    sweep_section(session)
    why_section(session, lanes)
    gates_section(session, lanes)
    exploding_section(session)
    trap_section()
    string_section(session)
    st.header("The code", anchor=False)
    code_section({model: configs[names[0]] for model, names in by_architecture(who).items()}.values(), "memory.code")
    st.header("The papers", anchor=False)
    papers(MODELS[model] for model in by_architecture(who))
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


session = race_session("memory", Memory)
page(session)
write_address(session)
