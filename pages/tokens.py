"""Text and tokens: what a language model reads, and how a text becomes questions for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from explorer.errors import LineageError
from explorer.inspection.leaks import ORDER, Leak, leaks
from explorer.inspection.rows import Cut, as_rows, cut
from explorer.inspection.tokens import Fitted, Kind, fitted
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.ui import desk as desks
from explorer.ui import texts, token_findings, token_views
from explorer.ui.desk import Desk
from explorer.ui.page import explanation, lead, page_head, plain, problems, source
from explorer.ui.session import PageSession, bound, page_session, write_address
from explorer.ui.slowly import eventually
from explorer.ui.text_choice import chosen_text, corpus_row
from explorer.ui.token_findings import TITLES

# What the typed text alone changes: typing draws these again, and nothing else.
SAID = ("tokens-text", "tokens-four")
ROWS = {
    "blocks": "blocks of the stream",
    "sentences": "a line a row",
    "prefixes": "a prefix a row",
}
ROWS_TEXT = {
    "blocks": "The text is one long stream of tokens, cut wherever a row is full. Each token is asked for its "
    "successor, so the target is the row itself, **shifted by one**.",
    "sentences": "Each line begins a row of its own, and short ones are filled up with **padding**, which counts for "
    "nothing. Every token is asked for its successor.",
    "prefixes": "As in the assignment: every beginning of a line is a row of its own, filled up to the full width, and "
    "**only the last place** is asked. The model reads the same tokens again and again to answer one question a row.",
}
FILES = {
    "BPE": "tokenization/subwords.py",
    "Words": "tokenization/word_level.py",
    "Characters": "tokenization/characters.py",
    "Rows and splits": "tasks/windows.py",
}
LEAK_VOCABULARY = 500
PAPERS = (
    (
        "Byte-pair encoding",
        "Gage 1994, A new algorithm for data compression",
        "https://dl.acm.org/doi/10.5555/177910.177914",
    ),
    (
        "BPE for words",
        "Sennrich, Haddow and Birch 2016, Neural machine translation of rare words with subword units",
        "https://arxiv.org/abs/1508.07909",
    ),
    (
        "Byte-level BPE",
        "Radford, Wu, Child, Luan, Amodei and Sutskever 2019, Language models are unsupervised multitask learners",
        "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf",
    ),
)


def tokens_part(session: PageSession[Desk], config: TextConfig, made: Mapping[Kind, Fitted]) -> None:
    """A text in tokens, and the slider."""
    desk, text = session.state, corpora.text_of(config)
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "tokens.say", desk.typed(text), lambda d, say: replace(d, say=say), redraw=SAID)
        st.text_area("Type a text", height=76, width=620, **ties)
        ties = bound(session, "tokens.kind", desk.tokenizer, lambda d, kind: replace(d, tokenizer=kind or d.tokenizer))
        st.segmented_control("Tokens", list(TITLES), format_func=TITLES.__getitem__, **ties)
    shown, told = desks.readable(desk.typed(text))
    problems([told] if told else [])
    try:
        moved = token_views.slider(made[desk.tokenizer], shown, desk.vocabulary, corpus_name(config), key="tokens")
    except LineageError as error:
        problems([str(error)])
        return
    if moved is not None and moved != made[desk.tokenizer].size(desk.vocabulary):
        session.change(lambda d: replace(d, vocabulary=moved))
        st.rerun()


def corpus_name(config: TextConfig) -> str:
    return "your text" if config.corpus == "own" else texts.NAMES[config.corpus]


def four_part(session: PageSession[Desk], config: TextConfig, made: Mapping[Kind, Fitted]) -> None:
    """All four tokenizers side by side."""
    desk, text = session.state, corpora.text_of(config)
    place = st.empty()
    try:
        shown, _ = desks.readable(desk.typed(text))
        found = token_views.comparison(made, desk.vocabulary, corpus_name(config), text, shown)
    except LineageError as error:
        problems([str(error)])
        return
    place.subheader(plain(found), anchor=False)


def rows_part(session: PageSession[Desk], config: TextConfig) -> None:
    """How the text becomes rows to learn from."""
    desk = session.state
    st.header("How a text becomes questions", anchor=False)
    ties = bound(session, "tokens.rows", desk.rows, lambda d, rows: d.with_rows(rows or d.rows))
    st.segmented_control("A row is", list(ROWS), format_func=ROWS.__getitem__, **ties)
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "tokens.context", desk.context, lambda d, n: replace(d, context=n))
        st.slider("Tokens a row gives to read", 1, desks.WIDEST, width=260, **ties)
        if desk.rows == "blocks":
            ties = bound(session, "tokens.batches", desk.batches, lambda d, b: replace(d, batches=b or d.batches))
            st.segmented_control("Batches", ["random", "contiguous"], **ties)
    explanation(ROWS_TEXT[desk.rows])
    task = replace(desks.config(desk, config), context=desk.context)
    wanted = {"random": as_rows(task, desk.rows)}
    if desk.rows == "blocks":
        wanted["contiguous"] = replace(wanted["random"], batches="contiguous")

    def draw(found: Mapping[str, Cut]) -> None:
        here = found[desk.batches]
        st.subheader(token_findings.asked(here, desk.rows, desk.context), anchor=False)
        token_views.rows_picture(here)
        explanation(token_findings.in_all(here, desk.rows))
        st.subheader("Where the rows of steps 1, 2 and 3 begin", anchor=False)
        token_views.origins({token_findings.ORDERS[order]: each for order, each in found.items()})

    eventually(
        "tokens-cut",
        ("cut", config.text, *wanted.values()),
        lambda: {order: cut(each) for order, each in wanted.items()},
        draw,
        "The text is being cut into rows …",
        420,
    )


def leak_part(session: PageSession[Desk], config: TextConfig) -> None:
    """What a leaky split is worth, measured."""
    st.header("The leak", anchor=False)
    explanation(
        "Some text must be held out, or a model that only remembers looks like one that understands. Two ways to hold "
        "out are popular and leak. **Windows** at every place of the text overlap: drawn at random, a held-out one "
        "lies almost wholly inside its trained neighbours. **Pairs** of a prefix and its next token, drawn at random, "
        "have been read as part of the same line in training. The same model, a table of counts, is asked under "
        "each split, and under the honest one."
    )
    desk = replace(session.state, vocabulary=LEAK_VOCABULARY)
    length = len(corpora.text_of(config))
    wanted = replace(desks.config(desk, config), context=max(1, min(64, length // 40)))

    def draw(found: tuple[Leak, ...]) -> None:
        st.subheader(plain(token_findings.leaks_heading(found)), anchor=False)
        token_views.flattery(found)
        for each in found:
            st.markdown(plain(token_findings.leak(each)))
        size = "" if desk.tokenizer == "char" else f", at most {LEAK_VOCABULARY} tokens"
        seconds = sum(each.seconds for each in found)
        st.caption(
            f"{TITLES[desk.tokenizer]}{size}; rows of {wanted.context} tokens; a tenth held out; n-gram of order "
            f"{ORDER} with Kneser–Ney smoothing; counted four times in {seconds:.1f} s on this server."
        )

    eventually(
        "tokens-leak",
        ("leaks", config.text, wanted),
        lambda: leaks(wanted),
        draw,
        "The n-gram is counting this text four times; that takes a few seconds …",
        330,
    )


def why_part(session: PageSession[Desk], made: Mapping[Kind, Fitted]) -> None:
    """The formula of the merges, and why tokens cannot be compared by their loss."""
    desk = session.state
    kind = desk.tokenizer if desk.tokenizer in ("bpe", "bytes") else "bpe"
    each = made[kind]
    st.header("Why merging works, and what it hides", anchor=False)
    st.latex(
        r"(a, b)^\star = \operatorname*{arg\,max}_{(a, b)} \; \mathrm{count}(a\,b), "
        r"\qquad ab \rightarrow \text{new token}"
    )
    explanation(plain(token_findings.first_merges(each, desk.vocabulary)))
    here = each.size(desk.vocabulary) - each.least
    held = float(each.characters_per_token[here])
    explanation(
        "A larger vocabulary makes the text shorter, but each guess harder: there is more to choose from. A loss in "
        "nats a token therefore says nothing across tokenizers. Bits a character do:"
    )
    st.latex(
        r"\text{bits a character} = \frac{\text{nats a token}}{\ln 2 \cdot \text{characters a token}} = "
        rf"\frac{{\text{{nats a token}}}}{{0.693 \cdot {held:.2f}}}"
    )
    explanation(
        f"So with {plain(TITLES[kind])} at {each.size(desk.vocabulary):,} tokens, one nat a token is worth "
        f"{1 / 0.693147 / held:.2f} bits a character; with characters it is worth 1.44."
    )


def code_part() -> None:
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="BPE", key="tokens.code", label_visibility="collapsed") or "BPE"
    st.caption(f"explorer/{FILES[name]}")
    st.code(source(FILES[name]), language="python", height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


def page(session: PageSession[Desk]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("What should a language model read: letters, words, or pieces?")
    lead(
        "Byte-pair encoding joins, again and again, the two neighbours that meet most often. Drag the vocabulary, "
        "or press Play."
    )
    corpus_row(session, "tokens")
    problems(session.problems)
    config = chosen_text(session, "tokens")

    key = ("fitted", config.text, config)
    meanwhile = "Four tokenizers are being trained on this text; that takes a few seconds …"
    eventually(
        "tokens-text", key, lambda: fitted(config), lambda made: tokens_part(session, config, made), meanwhile, 560
    )
    st.header("Four ways to cut the same text", anchor=False)
    eventually(
        "tokens-four", key, lambda: fitted(config), lambda made: four_part(session, config, made), meanwhile, 260
    )
    eventually(
        "tokens-sizes",
        key,
        lambda: fitted(config),
        lambda made: token_views.sizes(made, session.state.vocabulary),
        meanwhile,
        300,
    )
    rows_part(session, config)
    leak_part(session, config)
    eventually("tokens-why", key, lambda: fitted(config), lambda made: why_part(session, made), meanwhile, 300)
    code_part()


session = page_session("tokens", Desk)
session.state, told = session.state.settled()
session.problems += told
texts.remember()
page(session)
write_address(session)
