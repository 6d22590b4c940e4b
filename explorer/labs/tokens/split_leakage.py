"""Leakage between training and held-out text: by how much it makes an n-gram look better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from explorer.figures import tokens as figures
from explorer.inspection.language.split_leakage import ORDER, LeakageGap, measure_split_leakage
from explorer.labs.tokens import findings
from explorer.labs.tokens.findings import TITLES
from explorer.labs.tokens.state import TokensState
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, draw_plot_frame
from explorer.ui.deferred_sections import show_when_ready
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.state.session import PageSession

_LEAKAGE_VOCABULARY = 500


def leakage_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw by how much a leaky split lowers the loss of an n-gram."""
    st.header("The leak", anchor=False)
    explanation(
        "Some text must be held out, or a model that only remembers looks like one that understands. Two ways to hold "
        "out are popular and leak. **Windows** at every place of the text overlap: drawn at random, a held-out one "
        "lies almost wholly inside its trained neighbours. **Pairs** of a prefix and its next token, drawn at random, "
        "have been read as part of the same line in training. The same model, a table of counts, is asked under "
        "each split, and under the honest one."
    )
    state = replace(session.state, vocabulary=_LEAKAGE_VOCABULARY)
    length = len(corpora.load_text(config))
    task = replace(state.task_config(config), context=max(1, min(64, length // 40)))

    def draw(gaps: tuple[LeakageGap, ...]) -> None:
        st.subheader(escape_markdown(findings.leakage_finding(gaps)), anchor=False)
        _draw_leakage_gaps(gaps)
        for each in gaps:
            st.markdown(escape_markdown(findings.describe_leak(each)))
        size = "" if state.tokenizer == "char" else f", at most {_LEAKAGE_VOCABULARY} tokens"
        seconds = sum(each.seconds for each in gaps)
        st.caption(
            f"{TITLES[state.tokenizer]}{size}; rows of {task.context} tokens; a tenth held out; n-gram of order "
            f"{ORDER} with Kneser–Ney smoothing; counted four times in {seconds:.1f} s on this server."
        )

    show_when_ready(
        "tokens-leak",
        ("leaks", config.text, task),
        lambda: measure_split_leakage(task),
        draw,
        "The n-gram is counting this text four times; that takes a few seconds …",
        330,
    )


def _draw_leakage_gaps(gaps: Sequence[LeakageGap]) -> None:
    """Draw the honest and the leaky loss for each kind of rows."""
    names = {"blocks": "blocks", "sentences": "lines"}
    pairs = [
        figures.SplitScores(names[each.rows], each.clean_bits, each.leaky_bits) for each in gaps if not each.problem
    ]
    if pairs:
        draw_plot_frame(
            [
                Panel(
                    "leaks",
                    figures.split_scores_figure(pairs, "--m-ngram"),
                    " ".join(findings.describe_leak(each) for each in gaps if not each.problem),
                    title=f"n-gram of order {ORDER}",
                    colour="--m-ngram",
                )
            ],
            key="tokens-leaks",
            height=100 + 60 * len(pairs),
            columns=1,
        )
