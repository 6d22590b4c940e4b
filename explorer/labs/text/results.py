"""The results of the language models: parameters, losses and bits per byte, and what the loss means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.inspection.language import final_losses
from explorer.labs.text import findings
from explorer.labs.text.findings import Standing, compute_standing, convert_loss, unit_name
from explorer.labs.text.state import UNITS, TextLab
from explorer.number_format import format_duration
from explorer.tasks.text import bits_per_byte, corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.ui.page_sections import explanation, perplexity_link
from explorer.ui.wording import percentage


def current_standings(views: Mapping[str, ui.RunView]) -> dict[str, Standing]:
    """Return the standing of every model whose training has ended; none of one that trains or was stopped."""
    standings = {model: compute_standing(view.result, view.config) for model, view in views.items() if not view.live}
    return {model: each for model, each in standings.items() if each}


def larger_standing(lab: TextLab, request: ui.TrainRequest) -> tuple[Standing, int] | None:
    """Return the standing of the larger Transformer that is shown beside the default runs, and its parameters."""
    if (config := lab.larger_model) is None:
        return None
    view = request.views({"larger": config})["larger"]
    standing = compute_standing(view.result, config)
    return (standing, view.parameters) if standing and view.parameters else None


def results_section(views: Mapping[str, ui.RunView], lab: TextLab, standings: Mapping[str, Standing]) -> None:
    """Draw the table of results and how the networks compare."""
    if not standings:
        ui.untrained_panel(views, "No model has been trained to the end with these settings yet. Press Train.", 120)
        return
    _draw_table(lab.task, views, standings)
    ui.paragraph(findings.network_comparison_finding(standings))
    perplexity_link()


def _draw_table(task: TextConfig, views: Mapping[str, ui.RunView], standings: Mapping[str, Standing]) -> None:
    """Draw a row for each model. Bits per byte follow when the held-out text is counted, in the background."""
    rows = [_result_row(views[model], each) for model, each in standings.items()]
    losses = [each.held_out for each in standings.values() if np.isfinite(each.held_out).all()]
    low, high = charts.span_of(losses, 0.0)
    edge = max(0.1 * (high - low), 0.01)
    calls: dict[str, ui.Call[Any]] = {"table": ui.Call(dict)}  # is there at once, so that the others are not waited for
    if corpora.is_available(task):
        calls["text"] = ui.Call(bits_per_byte.count_held_out_text, task)
        runs = {model: run for model in standings if task.test and (run := views[model].loaded_run)}
        calls |= {model: ui.Call(final_losses.final_test_loss, run) for model, run in runs.items()}
    ui.show_each(
        "text-results",
        calls,
        results_view,
        task,
        dict(zip(standings, rows, strict=True)),
        tuple(findings.median_loss(each) for each in standings.values()),
        (round(low - edge, 3), round(high + edge, 3)),
        tuple(calls),
        waiting="The held-out text is being counted and read …",
        height=130 + 41 * len(rows),
        partly=True,
    )


def _result_row(view: ui.RunView, standing: Standing) -> charts.Row:
    """Return the cells of a model, without bits per byte and the loss on the test split."""
    median = findings.median_loss(standing)
    return {
        "name": charts.Cell(standing.row.title, standing.row.colour),
        "parameters": f"{view.parameters:,}" if view.parameters else "–",
        "context": loss_context(standing.config, brief=True),
        "loss": charts.strip(f"{median:.3f}", standing.held_out[np.isfinite(standing.held_out)]),
        "perplexity": f"{float(convert_loss(np.array(median), 'perplexity', None)):,.2f}",
        "trained": f"{float(np.median(standing.train_loss)):.3f}",
        "gap": f"{standing.gap:.3f}",
        "tokens": "–" if standing.row.name == "ngram" else f"{standing.training_tokens / 1e6:.1f} M",
        "time": format_duration(view.seconds) if view.seconds is not None else "–",
    }


def results_view(
    document: ui.Document,
    results: Mapping[str, Any],
    task: TextConfig,
    rows: Mapping[str, charts.Row],
    medians: Sequence[float],
    loss_range: tuple[float, float],
    awaited: Sequence[str],
) -> None:
    """Write the table and its caption.

    results: "text", the counted held-out text, and the losses on the test split by model, as far as they are known
    task: the text and its tokens
    rows: cells of each model, without bits per byte and losses on the test split
    medians: the median loss of each model over its seeds, in nats per token
    loss_range: ends of the axis of the losses
    awaited: names of the results that are there or will be
    """
    counted: bits_per_byte.HeldOutText | None = results.get("text")
    test = {"test": charts.Column("test split", "number", wrap=True)} if task.test else {}
    columns = {
        "name": charts.Column("", "model"),
        "parameters": charts.Column("parameters", "number", minor=True),
        "context": charts.Column("context", wrap=True),
        "loss": charts.Column(unit_name("loss", task.tokenizer), "strip", range=loss_range, wrap=True),
        "perplexity": charts.Column(UNITS["perplexity"], "number", minor=True),
        "bytes": charts.Column("bits per byte", "number", wrap=True),
        **test,
        "trained": charts.Column("training text", "number", minor=True),
        "gap": charts.Column("gap", "number", minor=True),
        "tokens": charts.Column("tokens read", "number", minor=True),
        "time": charts.Column("training time", "number", minor=True),
    }
    pending = {name: "…" if name in awaited and name not in results else "–" for name in ("text", *rows)}
    complete = [
        {
            **cells,
            "bytes": f"{counted.bits_per_byte(loss):.3f}" if counted else pending["text"],
            "test": f"{np.median(results[model].test):.3f}" if model in results else pending[model],
        }
        for (model, cells), loss in zip(rows.items(), medians, strict=True)
    ]
    caption = (
        f"Loss on all of the {'validation split' if task.test else 'held-out text'}: the median, and a dot for "
        "each seed. Training text: the loss on a part of it; gap: the difference. Tokens read: by one seed. Training "
        "time: of all seeds together, on the computer that trained them. Parameters of the n-gram: entries of its "
        f"tables. {describe_test_split(task)} {comparability_note(task, counted)}"
    )
    document.table("text-results", charts.Table(columns, complete, "Results, a row for each model", caption))
    if counted and counted.vocabulary < task.vocabulary and task.tokenizer != "char":
        document.caption(f"{task.vocabulary:,} tokens were requested; this text gives {counted.vocabulary:,}.")


def describe_test_split(task: TextConfig) -> str:
    """Return what the test split is, or what follows from its absence."""
    if task.test:
        return (
            f"Test split (used for nothing else): nats per token on {percentage(task.test)} of the held-out part, "
            "which no evaluation during training reads."
        )
    return (
        "There is no test split here: evaluations during training have read all of the held-out text, and settings may "
        "have been chosen by them."
    )


def comparability_note(task: TextConfig, held_out: bits_per_byte.HeldOutText | None) -> str:
    """Return which figure can be compared between tokenizers, and what it adds for text that no token represents.

    held_out: the counted held-out text; None before it is counted.
    """
    sentences = [
        "Only bits per byte can be compared between tokenizers: bits per character count nothing for unknown words."
    ]
    if held_out and task.tokenizer in ("bpe", "word"):  # they split at spaces, and drop them
        unknown = "words" if task.tokenizer == "word" else "characters"
        spaces = "spaces and line ends" if task.rows == "blocks" else "spaces"
        share = percentage(held_out.unknown / held_out.bytes)
        sentences.append(
            f"Bits per byte add {held_out.bits(held_out.spelling):.3f} for spelling unknown {unknown} ({share} of the "
            f"held-out bytes) and {held_out.bits(held_out.spacing):.3f} for {spaces}, each predicted from neighbouring "
            "characters with frequencies in the training part."
        )
    if held_out and held_out.lines:
        sentences.append(
            f"They add {held_out.bits(held_out.lines):.3f} for line ends, the first token of each line and those "
            f"beyond the context; the model predicts no token for {percentage(held_out.unscored / held_out.bytes)} of "
            "the bytes."
        )
    if task.split == "pairs":
        sentences.append("First tokens of lines, tokens beyond the context and line ends are not counted.")
    if task.lower:
        sentences.append("All figures are those of the text in small letters: capital letters cost nothing.")
    return " ".join(sentences)


def loss_section() -> None:
    """Draw the formulas of the loss and of Kneser–Ney smoothing."""
    explanation(
        "A language model gives a probability to every possible next token. Its loss is the mean surprisal of the "
        "tokens that come, and its perplexity is the exponential of the loss: the model is as uncertain as if it chose "
        "evenly among that many tokens."
    )
    st.latex(r"L = -\frac{1}{N} \sum_{t=1}^{N} \ln p(x_t \mid x_{<t}), \qquad \text{perplexity} = e^{L}")
    perplexity_link()
    explanation(
        "Kneser–Ney smoothing subtracts a discount D from each count and gives that probability to the shorter "
        "context, which counts after how many different tokens a token occurs, not how often. Modified Kneser–Ney "
        "(Chen and Goodman 1998), the default of this page, has three discounts: for counts of 1, of 2, and of 3 or "
        "more. With one discount:"
    )
    st.latex(
        r"p(w \mid h) = \frac{\max(c(hw) - D, 0)}{c(h)} + \frac{D \cdot N_{1+}(h\,\cdot)}{c(h)} \, p(w \mid h'), "
        r"\qquad h' = h \text{ without its first token}"
    )
