"""Negation: can a model that only counts words understand "not"?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS, models_of
from explorer.errors import DamagedRun, SentenceError, UnknownWords
from explorer.tasks.ceiling import ceiling, cross_entropy_accuracy
from explorer.tasks.negation import VOCABULARY, Negation, grammar_says
from explorer.ui import findings, race, runs, training_controls
from explorer.ui.ceilings import ceiling_formula, ceiling_panel, ceiling_words, finish_panel
from explorer.ui.components import frame, table
from explorer.ui.insides import inside_panels, look_panel
from explorer.ui.page import code_section, empty_panel, explanation, lead, page_head, papers, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import NegationSession, bound, change, lab_session, part, setting
from explorer.ui.speaking import show_verdicts, verdicts_of
from explorer.ui.tables import outcome_cell, results_table, sentences_table, trap_table

WORLDS = {
    "one “not”": {"max_nots": 1, "held_out": "none"},
    "two “not”s": {"max_nots": 2, "held_out": "none"},
    "a pair held out": {"max_nots": 1, "held_out": "destroy"},
}
WORLD_TEXT = {
    "one “not”": "Everything here is said in six sentences. To *preserve* nature sustains it, to *consume* or "
    "*destroy* it lets it collapse, and **not** turns each of these around.",
    "two “not”s": "A second **not** undoes the first: *human not not destroy nature* collapses again. To know the "
    "end, one has to count the “not”s and know which verb they turn.",
    "a pair held out": "Training never shows *destroy* together with **not**; the test does. Whoever has understood "
    "“not” needs no example.",
}

# The parts of the page that depend on the sentence alone: typing draws these again, and nothing else.
SAID = ("sentence", "verdicts", "insides", "trap")

START_NAMES = {0.1: "small", 1.0: "usual"}
START_HELP = (
    "How far from zero the embeddings start: standard deviation 0.1, or PyTorch's usual 1. From the usual start "
    "attention becomes sharp, but some seeds never learn the task; see the race."
)


def current_world(session: NegationSession) -> str | None:
    """The name of the world on screen, or None for a mixture of the visitor's own."""
    task = session.lab.task
    here = {"max_nots": task.max_nots, "held_out": task.held_out}
    return next((name for name, world in WORLDS.items() if world == here), None)


def world_row(session: NegationSession) -> None:
    """What this world can say, and which world it is."""
    here = current_world(session)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        lead(WORLD_TEXT.get(here or "", "A world of your own, with the settings of “The task” below."))
        ties = bound(session, "world", here, lambda lab, w: lab.with_shared(**WORLDS[w]) if w else lab)
        st.segmented_control("The world", list(WORLDS), label_visibility="collapsed", **ties)


def sentence_row(session: NegationSession) -> None:
    """Where a sentence is typed or picked; `session.spoken` holds the words that the models are asked about."""
    lab = session.lab
    sentences = [s.text for s in Negation(lab.task).sentences]

    def label(text: str) -> str:
        return text.removeprefix("human ").removesuffix(" nature")

    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "say", lab.say, lambda lab, text: lab.saying(text), redraw=SAID)
        st.text_input("Type a sentence", width=330, placeholder="human not preserve nature", **ties)
        shown = lab.say if lab.say in sentences else None
        ties = bound(session, "pick", shown, lambda lab, text: lab.saying(text or lab.say), redraw=SAID)
        pick = f"or take one of the {findings.number(len(sentences))}: human … nature"
        st.pills(pick, sentences, format_func=label, wrap=True, width="content", **ties)
    try:
        session.spoken = VOCABULARY.split(lab.say)
    except SentenceError as error:
        st.warning(plain(str(error)), icon=":material/help:")
        if isinstance(error, UnknownWords):
            nearest_words(session, error)
        st.caption(f"Below: the last sentence they could read, “{' '.join(session.spoken)}”.")


def nearest_words(session: NegationSession, error: UnknownWords) -> None:
    """For each unknown word the known ones that are spelled most like it; a click puts one in its place."""
    for word, known in list(error.nearest.items())[:3]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{word[:24]} →")
            for near in known:

                def put(word: str = word, near: str = near) -> None:
                    change(session, lambda lab: lab.saying(VOCABULARY.replaced(lab.say, word, near)), SAID)

                st.button(near, key=f"near.{word[:24]}.{near}", on_click=put)


def insides_section(session: NegationSession, lanes: Mapping[str, Lane]) -> None:
    """How each came to its answer: the sum, the reading, the looking of one seed."""
    count = session.lab.value("replicas")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header("How each came to its answer", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="top"):
            seeds = list(range(count))
            first = session.lab.value("seed")
            ties = bound(session, "look", session.lab.look, lambda lab, i: lab.looking(look=i))
            st.selectbox("Seed", seeds, format_func=lambda i: f"seed {first + i}, one of {count}", width=170, **ties)
            if "transformer" in lanes:
                start = session.lab.value("start", "transformer")
                shown = start if start in START_NAMES else None
                ties = bound(session, "start", shown, lambda lab, v: lab.with_own("transformer", start=v) if v else lab)
                st.segmented_control(
                    "Transformer's start",
                    list(START_NAMES),
                    format_func=START_NAMES.__getitem__,
                    help=START_HELP,
                    **ties,
                )
                head_choice(session, "layer", "Layer", session.lab.value("layers", "transformer"))
                head_choice(session, "head", "Head", session.lab.value("heads", "transformer"))

    def draw() -> None:
        found = [inside_panels(session.lab, model, lane, session.spoken) for model, lane in lanes.items()]
        if panels := [panel for each in found for panel in each]:
            frame(panels, key="negation-insides", height=320, narrow_height=300, columns=3)
        else:
            empty_panel("Train the models to see inside them.", 120)

    part(session, "insides", draw)


def head_choice(session: NegationSession, name: str, label: str, count: int) -> None:
    """Which layer or head the attention map shows, where there are several."""
    if count > 1:
        ties = bound(session, name, getattr(session.lab, name), lambda lab, i: lab.looking(**{name: i}))
        st.selectbox(label, range(count), format_func=lambda i: f"{i + 1} of {count}", width=110, **ties)


def race_section(session: NegationSession) -> None:
    """The race: the models learn side by side, several seeds at once."""
    lab = session.lab
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("The race", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            ties = bound(session, "metric", lab.metric, lambda lab, m: lab.looking(metric=m or lab.metric))
            st.segmented_control("Draw", ["accuracy", "loss"], label_visibility="collapsed", **ties)
            with st.popover("Settings", icon=":material/tune:"):
                race_settings(session)
            training_controls.train_button(session)
    race.live_panel(session)


def race_settings(session: NegationSession) -> None:
    """Who races, with how many seeds, and every setting of each model."""
    titles = {model: MODELS[model].title for model in models_of("negation")}
    ties = bound(session, "models", list(session.lab.models), lambda lab, models: lab.with_models(models))
    st.pills("Who races", list(titles), format_func=titles.__getitem__, selection_mode="multi", wrap=True, **ties)
    for name, label in (("replicas", "Seeds side by side"), ("seed", "First seed"), ("batch_size", "Batch size")):
        setting(session, name, label, place="race")
    model = st.selectbox("Settings of one model", list(titles), format_func=titles.__getitem__, key="settings-of")
    for name in race.OWN_LABELS[model]:
        setting(session, name, race.OWN_LABELS[model][name], model=model, place="race")
    st.button("Back to the defaults", icon=":material/undo:", on_click=lambda: session.change(lambda lab: lab.reset()))


def results_section(session: NegationSession, lanes: Mapping[str, Lane]) -> None:
    """What came out, a row a model, a dot a seed."""
    best = ceiling(Negation(session.lab.task).sentences)
    ends = [(lane.row.title, lane.result.last("exact_accuracy")) for lane in lanes.values() if lane.result]
    st.header("What came out", anchor=False)
    if not ends:
        empty_panel("Nothing has been trained under these settings yet. Press Train.", 120)
        return
    pair = [
        (lane.row.title, lane.result.last("exact_accuracy_held_out"))
        for lane in lanes.values()
        if lane.result and "exact_accuracy_held_out" in lane.result.metrics
    ]
    if pair:
        st.subheader(findings.held_out_finding(session.lab.task.held_out, pair), anchor=False)
    else:
        st.subheader(findings.race_finding(ends, best), anchor=False)
    if verdict := findings.seeds_finding(ends):
        st.markdown(f"{verdict} In brackets: the interval that 19 of 20 draws of seeds hold.")
    results_table(lanes, best)


def why_section(session: NegationSession, lanes: Mapping[str, Lane]) -> None:
    """Why counting cannot work: the ceiling, where training leads, and every sentence of the world."""
    task = session.lab.task
    world = Negation(task)
    best, led = ceiling(world.sentences), cross_entropy_accuracy(world.sentences)
    bag = lanes.get("bag_of_words")
    reached = bag.curves.last("exact_accuracy") if bag and bag.curves else None
    st.header("Why counting cannot work" if best < 1 - 1e-9 else "Where counting is enough", anchor=False)
    st.subheader(findings.counting_finding(best, led, reached), anchor=False)
    left, right = st.columns([10, 12], gap="large")
    with left:
        st.markdown(
            "A sum of word weights gives “not” one weight for every verb. If that weight lifts *consume* and *destroy* "
            "over the line, it lifts *preserve* with them. Some sentence must stay wrong; the best any counting model "
            "can do is to give up the rarest:"
        )
        st.latex(ceiling_formula(task, best))
        st.markdown(ceiling_words(task))
        setting(session, "p_not", "Probability of “not”", place="why")
    with right:
        frame(
            [ceiling_panel(task, best, led, () if reached is None else tuple(reached.tolist()))],
            key="negation-ceiling",
            height=300,
            columns=1,
        )
    ends = tuple(
        (lane.row.title, lane.row.colour, tuple(lane.result.last("exact_accuracy").tolist()))
        for lane in lanes.values()
        if lane.result
    )
    if ends:
        frame(
            [finish_panel(ends, best, led)],
            key="negation-exact",
            height=70 + 48 * len(ends),
            columns=1,
        )
    sentences_table(world, lanes)


def trap_section(session: NegationSession, lanes: Mapping[str, Lane]) -> None:
    """A trap worth seeing: padding that is counted like a word."""
    st.header("A trap worth seeing", anchor=False)
    explanation(
        "Sentences of a batch must be equally long, so short ones are filled up. Ours are filled with `<PAD>`, which "
        "no model ever counts. Many programs fill with `<EOS>`, an ordinary word of the vocabulary. Then what a model "
        "reads depends on its neighbours in the batch. Turn the trap on and ask the same sentence twice."
    )
    on = session.lab.task.padding == "eos"
    ties = bound(session, "trap", on, lambda lab, on: lab.with_shared(padding="eos" if on else "pad"))
    st.toggle("Fill up with <EOS>, and count it", **ties)
    part(session, "trap", lambda: trap(session, lanes, on))


def trap(session: NegationSession, lanes: Mapping[str, Lane], on: bool) -> None:
    """The same sentence twice: alone, and beside a longer one."""
    words = session.spoken
    longest = max(Negation(session.lab.task).lengths)
    if len(words) + 2 >= longest:  # nothing in this world is longer: ask it without its "not"s
        words = tuple(word for word in words if word != "not")[: longest - 3] or words
    own = len(words) + 2
    truth = grammar_says(words)
    alone = verdicts_of(lanes, words, own if on else None)
    beside = verdicts_of(lanes, words, longest if on else None)
    if not alone:
        empty_panel("No run with this padding yet. Press Train above.", 160)
        return
    st.subheader(findings.padding_finding(alone, beside, truth), anchor=False)
    trap_table(alone, beside, " ".join(words), longest - own, truth)


def task_section(session: NegationSession) -> None:
    """The task: what is drawn, and everything the grammar can say."""
    st.header("The task", anchor=False)
    task = session.lab.task
    world = Negation(task)
    controls, samples, grammar = st.columns([3, 4, 6], gap="large")
    with controls:
        setting(session, "p_not", "Probability of “not”", place="task")
        setting(session, "train_size", "Training sentences", place="task")
        setting(session, "test_size", "Test sentences", place="task")
        setting(session, "data_seed", "Seed of the sentences", place="task")
        setting(session, "fresh_data", "Fresh sentences for every seed", place="task")
        setting(session, "max_nots", "Most “not”s in a sentence", place="task")
        setting(session, "held_out", "Held out with “not”", place="task")
    with samples:
        drawn = world.sample("train", session.lab.value("seed"))
        table(
            [
                {"key": "text", "label": "drawn for training", "kind": "text", "align": "left"},
                {"key": "label", "label": "", "kind": "verdict", "align": "left"},
            ],
            [
                {
                    "cells": {
                        "text": {"text": world.sentences[s].text},
                        "label": outcome_cell(world.labels[s]),
                    }
                }
                for s in drawn[:10]
            ],
            key="negation-samples",
            label="The first ten training sentences",
            caption=f"The first ten of {len(drawn):,}.",
        )
    with grammar:
        count = np.bincount(drawn, minlength=len(world.sentences))
        table(
            [
                {"key": "text", "label": f"all {findings.number(len(world.sentences))} sentences", "kind": "text"},
                {"key": "label", "label": "", "kind": "verdict", "align": "left"},
                {"key": "p", "label": "probability", "kind": "number", "align": "right"},
                {"key": "n", "label": "drawn", "kind": "number", "align": "right"},
            ],
            [
                {
                    "rule": i > 0 and s.nots == 0,
                    "cells": {
                        "text": {"text": s.text},
                        "label": outcome_cell(s.label),
                        "p": {"text": f"{s.probability:.3f}"},
                        "n": {"text": f"{count[i]:,}"},
                    },
                }
                for i, s in enumerate(world.sentences)
            ],
            key="negation-grammar",
            label="Every sentence of the grammar",
            caption=f"Its words: {', '.join(VOCABULARY.words)}. The last two occur in no sentence.",
        )


def look_inside_section(session: NegationSession, lanes: Mapping[str, Lane]) -> None:
    """Look inside: the weights of the counts, the embeddings of the others."""
    st.header("Look inside", anchor=False)
    panels = [look_panel(model, lane, session.lab.look) for model, lane in lanes.items() if lane.stored]
    if panels:
        frame(panels, key="negation-look", height=300, columns=4)
    else:
        empty_panel("Train the models to look inside them.", 120)


def page(session: NegationSession) -> None:
    """The whole screen, from the question to the papers."""
    page_head("Can a model that only counts words understand “not”?")
    world_row(session)
    problems(session.problems)
    part(session, "sentence", lambda: sentence_row(session))
    lanes = runs.lanes(session.lab.configs, session.raced)
    training_controls.call_to_train(session, lanes)
    part(session, "verdicts", lambda: show_verdicts(lanes, session.spoken, key="negation-verdicts"))
    insides_section(session, lanes)
    race_section(session)
    results_section(session, lanes)
    why_section(session, lanes)
    trap_section(session, lanes)
    task_section(session)
    look_inside_section(session, lanes)
    st.header("The code", anchor=False)
    code_section(session.lab.configs.values(), key="code-of")
    st.header("The papers", anchor=False)
    papers(lane.row for lane in lanes.values())


session = lab_session(NegationSession)
try:
    page(session)
except DamagedRun as error:  # known from now on, so the next run of this page finds another run or none
    session.problems = (str(error),)
    st.rerun()
