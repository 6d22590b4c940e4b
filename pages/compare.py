"""Compare: any runs side by side, on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.training import estimate, index, limits, store
from explorer.training.config import Optimiser, branched
from explorer.training.config import key as run_key
from explorer.training.estimate import duration
from explorer.training.index import Query
from explorer.training.jobs import service
from explorer.ui import comparing, comparison_results, shelf
from explorer.ui.comparing import AXES, MEASURES, MOST, Comparison, Entrant
from explorer.ui.page import empty_panel, explanation, lead, page_head, plain, problems
from explorer.ui.session import PageSession, arrived, bound, focus, page_session, run_in_focus, write_address
from explorer.ui.training_controls import crowd
from explorer.ui.visitors import visitor


def choice(session: PageSession[Comparison]) -> None:
    """Which runs stand here."""
    labels = {e.key: f"{shelf.named(e)} · {shelf.unusual(e)} · {e.key}" for e in index.search(Query())}
    here = list(session.state.shown)
    labels = {key: labels.get(key, key) for key in [*here, *labels]}
    ties = bound(session, "compare.runs", here, lambda s, runs: s.with_runs(runs))
    st.multiselect(
        "Runs",
        list(labels),
        format_func=labels.__getitem__,
        max_selections=MOST,
        placeholder="Look for a model, a name, a setting, a key",
        **ties,
    )


def controls(session: PageSession[Comparison]) -> None:
    """How they are drawn."""
    entrants, _ = comparing.entrants(session.state.shown)
    state = comparing.fitting(session.state, entrants)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "compare.x", state.x, lambda s, x: replace(s, x=x or s.x))
        st.segmented_control("Along", list(AXES), format_func=AXES.__getitem__, **ties)
        ties = bound(session, "compare.y", state.y, lambda s, y: replace(s, y=y, target=None))
        st.selectbox("What", comparing.offered(entrants), format_func=MEASURES.__getitem__, width=340, **ties)
        ties = bound(session, "compare.smooth", state.smooth, lambda s, v: replace(s, smooth=v))
        st.slider("Smoothing", 0.0, 0.99, step=0.01, width=180, help="What each point keeps of those before.", **ties)
        for name, label in (("log_x", "log x"), ("log_y", "log y")):
            ties = bound(session, f"compare.{name}", getattr(state, name), partial(switched, name))
            st.toggle(label, **ties)


def switched(name: str, state: Comparison, on: bool) -> Comparison:
    """An axis, logarithmic or not."""
    return replace(state, log_x=on) if name == "log_x" else replace(state, log_y=on)


def curves(session: PageSession[Comparison]) -> None:
    """The figure and what came out of it; while a run trains, drawn twice a second."""
    entrants, _ = comparing.entrants(session.state.shown)
    live = any(e.lane.live for e in entrants)

    @st.fragment(run_every=0.5 * crowd() if live else None)
    def panel() -> None:
        entrants, _ = comparing.entrants(session.state.shown)
        state = comparing.fitting(session.state, entrants)
        target = comparing.usual_target(state, entrants) if state.target is None else state.target
        st.subheader(plain(comparison_results.winners_finding(state, entrants, target)), anchor=False)
        moved = comparing.draw(state, entrants, target)
        if moved is not None and moved != state.target:
            session.state = replace(state, target=moved)
            st.rerun()
        comparison_results.results(state, entrants, target)
        if live and not any(e.lane.live for e in entrants):
            st.rerun()

    panel()


def why_section(entrants: Sequence[Entrant]) -> None:
    """Why three axes may have three winners, with the numbers of these runs."""
    st.header("Why the three axes can disagree", anchor=False)
    for line in comparison_results.price_formulas(entrants):
        st.latex(line)
    explanation(
        plain(comparison_results.why_finding(entrants))
        + " Seconds are those of this machine, as they were when a run was trained; the turns of other trainings do "
        "not count. A stack of seeds costs little more than one, so compare seconds between runs of equally many seeds."
    )


def differences_section(entrants: Sequence[Entrant]) -> None:
    """What was not the same, and what was."""
    st.header("What differs", anchor=False)
    comparison_results.differences_table(entrants)
    same = comparison_results.start_finding(entrants)
    if same:
        st.markdown("**The same start.** " + " ".join(same[:6]))
        if len(same) > 6:
            st.caption(f"And {len(same) - 6} pairs more.")
    else:
        st.caption("No two of these runs are known to start from the same weights.")


def branch_section(session: PageSession[Comparison], entrants: Sequence[Entrant]) -> None:
    """Go on from a step of a run, with something changed."""
    st.header("Go on from here, differently", anchor=False)
    explanation(
        "Take a run at one of its steps, change the learning rate, its schedule or the order of the batches, and train "
        "on. The branch starts exactly on its parent's curve; nothing changed gives the same curve again, bit for bit."
    )
    parents = {e.key: e for e in entrants if e.lane.stored}
    if not parents:
        empty_panel("A branch needs a finished run above.", 80)
        return
    with st.container(border=True):
        key = st.selectbox("From", list(parents), format_func=lambda k: parents[k].title, key="branch.from")
        run = parents[key].lane.stored
        if run is None:
            return
        steps = [step for step in run.checkpoint_steps() if step < run.config.steps]
        if not steps:
            st.markdown(
                "This run keeps its weights for looking only, so that it is small. Train it here once, in about "
                f"{duration(max(estimate.seconds(run.config), 0.1))}, to the same curve: then it can be branched from."
            )
            st.button("Train it here", icon=":material/play_arrow:", on_click=train_here, args=(session, run))
            return
        branch_form(session, run, steps)


def train_here(session: PageSession[Comparison], run: store.StoredRun) -> None:
    """The same run once more, with everything kept to go on from."""
    shelf.attempt(session, lambda: service.submit(run.config, visitor().id))


def branch_form(session: PageSession[Comparison], run: store.StoredRun, steps: Sequence[int]) -> None:
    """Where it leaves its parent, and what changes there."""
    config, usual = run.config, run.config.optimiser
    about = {f: Optimiser.__dataclass_fields__[f].metadata for f in ("learning_rate", "schedule")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = steps[0]
        if len(steps) > 1:  # a slider needs two ends
            step = st.select_slider("At step", steps, steps[len(steps) // 2], key=f"branch.{run.key}.step", width=320)
        rate = st.number_input(
            "Learning rate",
            1e-6,
            1.0,
            usual.learning_rate,
            step=usual.learning_rate / 2,
            format="%g",
            width=150,
            help=about["learning_rate"]["help"],
        )
        shapes = ("constant", "linear", "cosine")
        schedule = st.selectbox(
            "Schedule", shapes, shapes.index(usual.schedule), width=150, help=about["schedule"]["help"]
        )
        counted = "iterations" if config.iterations else "epochs"
        label, most = ("Steps in all", 1_000_000) if config.iterations else ("Epochs in all", 2_000)
        length = st.number_input(label, 1, most, getattr(config, counted), width=130)
        order = st.number_input(
            "Order of batches", 0, 2**31 - 1, config.order, width=150, help="Another number draws another order."
        )
    changes = {"learning_rate": rate, "schedule": schedule, counted: length, "order": order}
    try:
        child = limits.check(branched(config, step, changes))
    except LineageError as error:
        problems([str(error)])
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Train the branch", icon=":material/fork_right:") and shelf.attempt(
            session, lambda: service.submit(child, visitor().id)
        ):
            session.state = session.state.with_runs((*session.state.shown, run_key(child)))
            st.rerun()
        st.caption(
            f"{child.steps - step:,} steps, about {duration(max(estimate.seconds(child), 0.1))}. Its first point is "
            "its parent's, on every axis."
        )


def page(session: PageSession[Comparison]) -> None:
    """The whole screen."""
    page_head("Who learns fastest, and is the difference real?")
    lead("Drag the target: who is there first? By step, by token and by second it need not be the same run.")
    problems(session.problems)
    choice(session)
    entrants, missing = comparing.entrants(session.state.shown)
    problems(missing)
    if not entrants:
        empty_panel("Choose runs above, or tick some on the Runs page.", 320)
        return
    controls(session)
    curves(session)
    why_section(entrants)
    differences_section(entrants)
    branch_section(session, entrants)


session = page_session("compare", Comparison)
state = session.state
if state.run or (arrived() and run_in_focus() and not state.runs):  # one run named by an address, or on another page
    asked = state.run or run_in_focus()
    session.state = replace(state, runs=tuple(dict.fromkeys((asked, *state.runs))), run="")
if len(session.state.runs) > MOST:
    session.problems = (f"{len(session.state.runs)} runs were asked for; {MOST} fit side by side.",)
    session.state = replace(session.state, runs=session.state.runs[:MOST])
if len(session.state.runs) == 1:
    focus(session.state.runs[0])
try:
    page(session)
except LineageError as error:
    problems([str(error)])
write_address(session)
