"""Language models: can a network predict a text better than a table of counts?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS, models_of
from explorer.errors import DamagedRun, LineageError
from explorer.tasks import corpora
from explorer.tasks.text import SPLITS
from explorer.training import estimate
from explorer.training.jobs import service
from explorer.training.presets import PRESETS
from explorer.ui import runs, slowly, text_budget, text_findings, text_race, text_results, texts, training_controls
from explorer.ui.lab import value_of
from explorer.ui.page import code_section, empty_panel, explanation, lead, page_head, papers, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import LabSession, bound, lab_session, setting
from explorer.ui.text_choice import corpus_row, missing
from explorer.ui.text_closing import closing_section
from explorer.ui.text_distance import distance_section
from explorer.ui.text_experiments import experiments_section
from explorer.ui.text_lab import ALONG, UNITS, TextLab
from explorer.ui.text_online import online_section
from explorer.ui.text_price import price_section
from explorer.ui.text_standings import Standing, characters_per_token, standings
from explorer.ui.visitors import visitor

TOKENS = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Bytes"}
ROWS = {"blocks": "blocks of the stream", "sentences": "lines", "prefixes": "prefixes, asked at the end"}
LABELS = {
    "n": "Tokens of the longest n-gram",
    "width": "Width of the embeddings",
    "hidden": "Hidden units",
    "window": "Window, in tokens",
    "heads": "Heads",
    "layers": "Layers",
    "batch_norm": "Batch normalisation",
    "dropout": "Dropout",
    "start": "Initialisation",
    "positions": "Positions",
    "norm": "Norm",
    "norm_place": "Norm before or after",
    "activation": "Activation",
    "biases": "Biases",
    "iterations": "Steps",
    "batch_size": "Rows in a batch",
    "method": "Optimiser",
    "learning_rate": "Learning rate",
    "matrix_rate": "Learning rate of the matrices",
    "rest_decay": "Weight decay of the rest",
    "schedule": "Schedule",
    "warmup": "Warm-up steps",
    "end": "End of the schedule, as a share",
    "clip": "Longest gradient",
    "weight_decay": "Weight decay",
    "momentum": "Momentum",
    "beta2": "Decay of the mean square",
    "average": "Decay of the averaged weights",
    "batches": "Batches",
    "evaluate_every": "Steps between evaluations",
    "evaluation_size": "Tokens of an evaluation",
    "snapshots": "How often weights are kept",
}
MUCH = 120  # seconds of training, above which a quick look is offered


def text_row(session: LabSession[TextLab]) -> None:
    """Which text, in which tokens, is read."""
    lab = session.lab
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width="content"):
            corpus_row(session, "text")
        ties = bound(session, "text.tokenizer", lab.task.tokenizer, lambda s, t: s.with_tokenizer(t) if t else s)
        st.segmented_control("Tokens", list(TOKENS), format_func=TOKENS.__getitem__, **ties)
        with st.popover("The text", icon=":material/tune:"):
            text_settings(session)
    st.caption(plain(texts.ABOUT[lab.corpus]))
    if not texts.here(lab.corpus):
        missing(session, "text", "The text itself is not on this machine yet. What is shown was trained elsewhere.")
    elif lab.giving:
        st.caption("Until there is a text of yours you see the one before.")
    elif lab.corpus == "own":
        try:
            corpora.text_of(lab.task)
        except LineageError as error:
            problems([str(error)])


def text_settings(session: LabSession[TextLab]) -> None:
    """How it is cut into rows, and what is held out."""
    if session.lab.task.tokenizer != "char":
        setting(session, "vocabulary", "Tokens wished for", place="text")
    setting(session, "context", "Tokens a row gives to read", place="text")
    rows = session.lab.task.rows
    ties = bound(session, "text.rows", rows, lambda lab, r: lab.with_shared(rows=r, split=SPLITS[r][0]) if r else lab)
    st.selectbox("A row is", list(ROWS), format_func=ROWS.__getitem__, **ties)
    ties = bound(session, "text.split", session.lab.task.split, lambda lab, s: lab.with_shared(split=s) if s else lab)
    st.selectbox("Held out", SPLITS[rows], help="“windows” and “pairs” leak: see Text and tokens.", **ties)
    setting(session, "held_out", "Share held out", place="text")
    setting(session, "lower", "Small letters only", place="text")
    if session.lab.corpus in ("repeats", "brackets", "toy"):
        setting(session, "size", "Characters of the made text", place="text")
        setting(session, "corpus_seed", "Seed of the made text", place="text")


def racers_row(session: LabSession[TextLab]) -> None:
    """Who races, for how long, and with which settings."""
    titles = {model: MODELS[model].title for model in models_of("text")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "text.models", list(session.lab.models), lambda lab, models: lab.with_models(models))
        st.pills("Who races", list(titles), format_func=titles.__getitem__, selection_mode="multi", wrap=True, **ties)
        setting(session, "replicas", "Seeds", place="row", width=110)
        steps_field(session)
        with st.popover("Same budget", icon=":material/balance:"):
            text_budget.choices(session)
        with st.popover("Settings", icon=":material/tune:"):
            settings(session)


def steps_field(session: LabSession[TextLab]) -> None:
    """How many steps each model takes; those that differ are named in its help."""
    lab = session.lab
    steps = {model: lab.value("iterations", model) for model in models_of("text") if model != "ngram"}
    shown = max(steps.values())
    different = {MODELS[model].title: count for model, count in steps.items() if count != shown}
    told = "Steps of every model." + "".join(f" {title}: {count:,}." for title, count in different.items())

    def make(lab: TextLab, count: int) -> TextLab:
        every = lab.value("evaluate_every", "transformer")
        every = max(1, min(every, count // 10)) if every else 0
        return lab.with_each(iterations=count, evaluate_every=every)

    ties = bound(session, "text.steps", shown, make)
    st.number_input("Steps" + (" at most" if different else ""), 1, 1_000_000, step=100, width=130, help=told, **ties)


def settings(session: LabSession[TextLab]) -> None:
    """Presets, when to stop, and everything about one model."""

    def taken(lab: TextLab, name: str | None) -> TextLab:
        return lab.with_preset(name) if name else lab

    ties = bound(session, "text.preset", None, taken)
    st.selectbox(
        "Take a preset",
        list(PRESETS),
        index=None,
        format_func=lambda name: f"{MODELS[PRESETS[name].model].title}: {PRESETS[name].title}",
        placeholder="As in a paper, as in the assignment, the best we know",
        **ties,
    )
    for name, about in PRESETS.items():
        if preset_shown(session.lab, name):
            st.caption(plain(about.about))
    with st.container(horizontal=True):
        setting(session, "seed", "First seed", place="race", width=150)
        setting(session, "stop_at", "Stop at a loss of", place="race", width=150)
        setting(session, "patience", "Patience", place="race", width=150)
        setting(session, "sample", "Tokens written", place="race", width=150)
    titles = {model: MODELS[model].title for model in models_of("text")}
    model = st.selectbox("Settings of one model", list(titles), format_func=titles.__getitem__, key="text.settings-of")
    left, right = st.columns(2)
    for i, name in enumerate(TextLab.own_settings(model)):
        with (left, right)[i % 2]:
            setting(session, name, LABELS[name], model=model, place="race")
    st.button("Back to the defaults", icon=":material/undo:", on_click=lambda: session.change(lambda lab: lab.reset()))


def preset_shown(lab: TextLab, name: str) -> bool:
    """Whether a model stands as a preset has it."""
    chosen = PRESETS[name]
    names = (*lab.own_settings(chosen.model), *(lab.SHARED if chosen.names_text else ()))
    now, then = lab.config(chosen.model), chosen.config()
    return chosen.model in lab.models and all(value_of(now, n) == value_of(then, n) for n in names)


def call_to_train(session: LabSession[TextLab], lanes: Mapping[str, Lane]) -> None:
    """What is missing, what it costs, and a quick look where that is much."""
    untrained = [lane for lane in lanes.values() if not training_controls.finished(lane)]
    live = any(lane.live for lane in untrained)
    if untrained and not live and not costs_known(session.lab, list(lanes.values())):
        return
    training_controls.call_to_train(session, lanes)
    if not live and sum(estimate.seconds(lane.config) for lane in untrained if not lane.kept) > MUCH:

        def brief() -> None:
            session.change(lambda lab: lab.with_shared(replicas=1).with_each(iterations=300, evaluate_every=30))

        st.button("Rather a quick look: one seed, 300 steps", icon=":material/bolt:", on_click=brief, key="brief")


def costs_known(lab: TextLab, lanes: list[Lane]) -> bool:
    """To count a model's parameters its text must be in tokens, which may take a moment."""
    if not here(lab):
        return False

    def count() -> bool:
        for lane in lanes:
            estimate.parameters(lane.config)
        return True

    configs = tuple(lane.config for lane in lanes)
    try:
        found = slowly.there(
            "text-cost", ("cost", lab.text, *configs), count, "The text is being cut into tokens …", 90
        )
    except LineageError as error:
        problems([str(error)])
        return False
    return bool(found)


def here(lab: TextLab) -> bool:
    """Whether the chosen text can be read now."""
    return not lab.giving and texts.readable(lab.task)


def save_row(session: LabSession[TextLab], lanes: Mapping[str, Lane]) -> None:
    """A training on an own text is kept nowhere unless its owner says so."""
    own = [lane for lane in lanes.values() if lane.private and lane.job and not lane.job.saved]
    if not own:
        return

    def save() -> None:
        try:
            for lane in own:
                service.save(lane.job.key, visitor().id)  # type: ignore[union-attr]
        except LineageError as error:
            session.problems = (str(error),)

    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(
            "These runs learned your text. They live in this server's memory and end with your visit. **Saving them "
            "shows everybody on this server what the models wrote, and with it parts of your text.**"
        )
        st.button(f"Save {len(own)} run{'s' * (len(own) > 1)}", icon=":material/save:", on_click=save, key="text.save")


def race_section(session: LabSession[TextLab]) -> None:
    """The curves, and how they are drawn."""
    lab = session.lab
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("The race", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            ties = bound(session, "text.along", lab.along, lambda s, a: s.looking(along=a or s.along))
            st.segmented_control(
                "Along", list(ALONG), format_func=ALONG.__getitem__, label_visibility="collapsed", **ties
            )
            ties = bound(session, "text.unit", lab.unit, lambda s, u: s.looking(unit=u or s.unit))
            st.segmented_control(
                "Unit", list(UNITS), format_func=UNITS.__getitem__, label_visibility="collapsed", **ties
            )
            training_controls.train_button(session)
    text_race.draw(session)


def why_section(lab: TextLab, lanes: Mapping[str, Lane], found: Mapping[str, Standing]) -> None:
    """What the loss is, with the numbers of this race in it."""
    st.header("What these numbers are", anchor=False)
    explanation(
        "A language model says at every place how likely each token is to come next. Its loss is how surprised it is "
        "by the token that does come, on average; perplexity says among how many equally likely tokens it might as "
        "well be guessing; bits a character forget how the text was cut into tokens."
    )
    st.latex(
        r"L = -\frac{1}{N} \sum_{t=1}^{N} \ln p(x_t \mid x_{<t}), \qquad \text{perplexity} = e^{L}, \qquad "
        r"\text{bits a character} = \frac{L}{\ln 2 \cdot \text{characters a token}}"
    )
    ends = {model: float(np.mean(each.held_out)) for model, each in found.items()}
    trained = [model for model, loss in ends.items() if model != "ngram" and np.isfinite(loss)]
    characters = characters_per_token(lanes, lab.task)
    if trained and characters:
        best = min(trained, key=ends.__getitem__)
        title, loss = MODELS[best].title, ends[best]
        st.latex(
            rf"\text{{{title}}}: \quad L = {loss:.3f}, \qquad e^{{{loss:.3f}}} = {np.exp(loss):.2f}, \qquad "
            rf"\frac{{{loss:.3f}}}{{0.693 \cdot {characters:.2f}}} = {loss / 0.693147 / characters:.3f}"
        )
    ahead = trained and "ngram" in ends and ends["ngram"] <= min(ends[model] for model in trained)
    explanation(
        (
            "Why counting is so strong: a text this short holds few surprises that the tokens just before do not "
            "foretell, and Kneser–Ney smoothing"
            if ahead
            else "What the counts do: Kneser–Ney smoothing"
        )
        + " is never certain of what was seen once. It asks in how many different places a token stood, not how often:"
    )
    st.latex(
        r"p(w \mid h) = \frac{\max(c(hw) - D, 0)}{c(h)} + \frac{D \cdot N_{1+}(h\,\cdot)}{c(h)} \, p(w \mid h'), "
        r"\qquad h' = h \text{ without its first token}"
    )


def with_brackets(lab: TextLab) -> TextLab:
    """The text on which closing marks can be counted: in characters, with an end that training never sees."""
    return lab.with_corpus("brackets").with_shared(tokenizer="char", rows="blocks", split="end")


def page(session: LabSession[TextLab]) -> None:
    """The whole screen, from the question to the papers."""
    lab = session.lab
    page_head("Can a network predict a text better than a table of counts?")
    lead(
        "Six models, from counting to the Transformer, read the same text and guess what comes next. The dashed "
        "line is counting; "
        "below it a network knows something that counts do not."
    )
    text_row(session)
    problems(session.problems)
    text_budget.found(session)
    me = visitor().id
    lanes = runs.lanes(lab.configs, session.raced, me)
    call_to_train(session, lanes)
    found = standings(lanes)
    token = "character" if lab.task.tokenizer == "char" else "token"
    live = any(lane.live for lane in lanes.values())
    st.subheader(plain(text_findings.leader(found, live, token)), anchor=False)
    racers_row(session)
    race_section(session)
    save_row(session, lanes)
    text_results.results_section(session, lanes, found)
    if here(lab):
        online_section(lanes)
        distance_section(lanes)
        price_section(lanes)
        closing_section(lanes, lambda: session.change(with_brackets))
    else:
        empty_panel("What these models make of the text, place by place, is shown here once the text is there.", 120)
    experiments_section(lab.experiment, lambda name: session.change(lambda lab: lab.looking(experiment=name)))
    why_section(lab, lanes, found)
    st.header("The code", anchor=False)
    code_section(lab.configs.values(), key="text.code-of")
    st.header("The papers", anchor=False)
    papers(lane.row for lane in lanes.values())


def start() -> LabSession[TextLab]:
    return LabSession(TextLab())


session = lab_session(start)
texts.remember()
try:
    page(session)
except DamagedRun as error:  # known from now on, so the next run of this page finds another run or none
    session.problems = (str(error),)
    st.rerun()
