"""Translation: how much fits into one vector, and what changes when one may look back?"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.tasks.dates import WAYS
from explorer.training.translation_runs import CONTESTANTS
from explorer.ui import runs, training_controls
from explorer.ui import translation_findings as findings
from explorer.ui.findings import listed
from explorer.ui.page import code_section, explanation, lead, page_head, plain, problems
from explorer.ui.session import PageSession, bound, race_session, write_address
from explorer.ui.training_controls import Asked
from explorer.ui.translation import Translation
from explorer.ui.translation_alignment import alignment_section
from explorer.ui.translation_alignment_findings import additive_formula, vector_formula
from explorer.ui.translation_answers import answers_section
from explorer.ui.translation_copying import copying_section
from explorer.ui.translation_findings import Translated
from explorer.ui.translation_race import exact_part, outcomes, race_part, results
from explorer.ui.translation_steps import steps_section
from explorer.ui.translation_touch import touch_section

TASKS = {"reverse": "Reverse", "copy": "Copy", "dates": "Dates"}
ABOUT = {
    "reverse": "Digits are read as a whole, then written from the last to the first.",
    "copy": "Digits are read as a whole, then written once more.",
    "dates": f"A day between 1950 and 2049, written in one of {len(WAYS)} ways, becomes year, month and day. Where a "
    "month is a number, the day comes first.",
}


def choices(session: PageSession[Translation]) -> None:
    """Which task, who races, and how."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "translation.task", state.task, lambda s, task: s.on(task or s.task))
        st.segmented_control("Task", list(TASKS), format_func=TASKS.__getitem__, **ties)
        ties = bound(session, "translation.who", list(state.who), lambda s, who: s.with_who(who))
        st.pills(
            "Who translates",
            list(CONTESTANTS),
            format_func=lambda name: CONTESTANTS[name].title,
            selection_mode="multi",
            wrap=True,
            **ties,
        )
        with st.popover("Settings", icon=":material/tune:"):
            settings(session)
    st.caption(ABOUT[state.task])


def settings(session: PageSession[Translation]) -> None:
    """How they are trained."""
    state = session.state
    if state.task != "dates":
        ties = bound(session, "translation.longest", state.longest, lambda s, v: s.racing(longest=v))
        st.number_input("Digits in the longest source that is trained", 1, 40, step=1, **ties)
    ties = bound(session, "translation.seeds", state.seeds, lambda s, v: s.racing(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, **ties)
    ties = bound(session, "translation.steps", state.steps, lambda s, v: s.racing(steps=v))
    st.number_input("Steps of each (0: as usual)", 0, 1_000_000, step=100, **ties)
    ties = bound(session, "translation.rate", state.rate, lambda s, v: s.racing(rate=v))
    st.number_input("Step size (0: as usual)", 0.0, 1.0, step=0.001, format="%.4f", **ties)
    ties = bound(session, "translation.seed", state.seed, lambda s, v: s.racing(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, **ties)
    st.button("Back to the defaults", icon=":material/undo:", on_click=lambda: session.change(lambda s: s.reset()))


def why_part(state: Translation, found: Mapping[str, Translated]) -> None:
    """What stands between the two halves, as formulas, with the numbers of this race."""
    st.header("Why: what stands between the two halves", anchor=False)
    explanation("With one vector the half that writes knows the source only by the last state of the half that reads:")
    st.latex(vector_formula())
    explanation("With attention it asks at every step, and gets a sum of all states, weighted by how well each fits:")
    st.latex(additive_formula())
    one = found.get("vector")
    width = getattr(state.configs["vector"].model, "hidden", 0) if one else 0
    explanation(plain(findings.room(state.settings, one, width)))


def page(session: PageSession[Translation]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How much fits into one vector?")
    lead(
        "One net reads a source to its end, another one writes the answer. Between them stands a single vector, or the "
        "chance to look back at every step."
    )
    choices(session)
    problems(session.problems)
    state, asked = session.state, Asked.of(f"translation-{session.state.task}")
    lanes = runs.lanes(state.configs, asked.raced)
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    answers_section(session, lanes)
    found = outcomes(state, lanes)
    if found:
        st.subheader(plain(findings.verdict(found, state.task)), anchor=False)
        exact_part(state, found)
        for sentence in findings.beyond(found):
            explanation(plain(sentence))
        results(state, found, lanes)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        training_controls.run_button(asked, state.configs.values(), lanes, "translation")
    race_part(state, lanes, asked)
    alignment_section(session, lanes)
    steps_section(session, lanes)
    touch_section(state, lanes)
    copying_section()
    why_part(state, found)
    st.header("The code", anchor=False)
    shown = {config.title: config for config in state.configs.values()}
    code_section(shown.values(), "translation.code")
    st.header("The papers", anchor=False)
    for title, paper, link in dict.fromkeys((each.title, each.paper, each.link) for each in state.contestants.values()):
        st.markdown(f"**{title}** · [{paper}]({link})")


session = race_session("translation", Translation)
page(session)
write_address(session)
