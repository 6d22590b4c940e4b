"""Leakage between training and held-out text: by how much it makes an n-gram look better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from explorer.figures.language import tokens as figures
from explorer.inspection.language.split_leakage import ORDER, LeakageGap, measure_split_leakage, measure_unknown_words
from explorer.labs.tokens import findings
from explorer.labs.tokens.findings import TITLES
from explorer.labs.tokens.state import TokensState
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession

_LEAKAGE_VOCABULARY = 500


def leakage_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw by how much a leaky split lowers the loss of an n-gram."""
    explanation(
        "Held-out text shows whether a model predicts new text or has memorized its training text. Two ways to hold "
        "text out leak. Random **windows** overlap, so most of a held-out window is in the training text too. Random "
        "**pairs** of a prefix and its next token come from lines that were also read in training. The same n-gram is "
        "evaluated with each leaky split and with a split without leakage."
    )
    state = replace(session.state, vocabulary=_LEAKAGE_VOCABULARY)
    length = len(corpora.load_text(config))
    task = replace(state.task_config(config), context=max(1, min(64, length // 40)))
    result_section(
        "tokens-leak",
        {
            "leaks": (("leaks", config.text, task), partial(measure_split_leakage, task)),
            "unknown": (("unknown words", config.text, task), partial(measure_unknown_words, task)),
        },
        partial(_draw_leakage, task),
        "The n-gram is being fitted to this text four times; that takes a few seconds …",
        330,
    )


def _draw_leakage(task: TextConfig, document: Document, results: Mapping[str, Any]) -> None:
    gaps: tuple[LeakageGap, ...] = results["leaks"]
    document.finding(findings.leakage_finding(gaps))
    _draw_leakage_gaps(document, gaps)
    for each in gaps:
        document.text(findings.describe_leak(each))
    if results["unknown"]:
        document.text(findings.describe_unknown_words(results["unknown"]))
    size = "" if task.tokenizer == "char" else f", at most {_LEAKAGE_VOCABULARY} tokens"
    document.caption(
        f"{TITLES[task.tokenizer]}{size}; rows of {task.context} tokens; a tenth held out; n-gram of order "
        f"{ORDER} with Kneser–Ney smoothing."
    )


def _draw_leakage_gaps(document: Document, gaps: Sequence[LeakageGap]) -> None:
    """Draw the honest and the leaky loss for each kind of rows."""
    names = {"blocks": "blocks", "sentences": "lines"}
    pairs = [
        figures.SplitScores(names[each.rows], each.clean_bits, each.leaky_bits) for each in gaps if not each.problem
    ]
    if pairs:
        add_plot_frame(
            document,
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
