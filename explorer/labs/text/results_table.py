"""The results of the language models: parameters, losses, and bits per byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.language import bits_per_byte, final_losses
from explorer.labs.text import findings
from explorer.labs.text.standings import Standing, convert_loss, unit_name
from explorer.labs.text.state import UNITS, TextLab
from explorer.number_format import format_duration
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.record import Record
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.held_out_text import CountedText, count_request
from explorer.ui.page_sections import escape_markdown, explanation, perplexity_link
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.wording import percentage


def results_section(views: Mapping[str, RunView], lab: TextLab, standings: Mapping[str, Standing]) -> None:
    """Draw the table of results and how the networks compare."""
    if not standings:
        untrained_panel(views, "No model has been trained to the end with these settings yet. Press Train.", 120)
        return
    results_table(lab, views, standings)
    if comparison := findings.network_comparison_finding(standings):
        explanation(escape_markdown(comparison))
    perplexity_link()


def results_table(lab: TextLab, views: Mapping[str, RunView], standings: Mapping[str, Standing]) -> None:
    """Draw a row for each model. Bits per byte follow when the held-out text is counted, in the background."""
    task = lab.task
    rows, medians = [], []
    for model, each in standings.items():
        view, counted = views[model], model == "ngram"
        median = findings.median_loss(each)
        cells = {
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "context": loss_context(each.config, brief=True),
            "perplexity": f"{float(convert_loss(np.array(median), 'perplexity', None)):,.2f}",
            "trained": f"{float(np.median(each.train_loss)):.3f}",
            "gap": f"{each.gap:.3f}",
            "tokens": "–" if counted else f"{each.training_tokens / 1e6:.1f} M",
            "time": format_duration(view.seconds) if view.seconds is not None else "–",
        }
        strip = strip_cell(f"{median:.3f}", each.held_out[np.isfinite(each.held_out)])
        name = {"name": {"text": each.row.title, "colour": each.row.colour}, "loss": strip}
        rows.append({**name, **cells})
        medians.append(median)
    losses = [each.held_out for each in standings.values() if np.isfinite(each.held_out).all()]
    requests: dict[str, Request[Any]] = {"table": (("text-results",), lambda: None)}
    if corpora.is_available(task):
        requests["text"] = count_request(task)
        for model in standings:
            run = views[model].loaded_run
            if task.test and run:
                requests[model] = ("test split", *views[model].cache_key), partial(_measure_test_losses, run)
    result_section(
        "text-results",
        requests,
        partial(_draw_results, task, tuple(standings), rows, tuple(medians), _axis_range(losses), tuple(requests)),
        "The held-out text is being counted and read …",
        130 + 41 * len(rows),
        partly=True,
    )


def _measure_test_losses(run: StoredRun | Record) -> Float[ndarray, " replicas"]:
    return final_losses.final_test_loss(run).test


def _draw_results(
    task: TextConfig,
    models: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    medians: Sequence[float],
    loss_range: Sequence[float],
    awaited: Sequence[str],
    document: Document,
    results: Mapping[str, Any],
) -> None:
    """Write the table and its caption.

    task: the text and its tokens.
    models: the model of each row.
    rows: cells of each model, without bits per byte and losses on the test split.
    medians: the median loss of each model over its seeds, in nats per token.
    loss_range: ends of the axis of the losses.
    awaited: names of the results that are there or will be: "text", and each model with a loss on the test split.
    document, results: as in `result_section`.
    """
    counted: CountedText | None = results.get("text")
    columns = [
        column("name", "", "model"),
        column("parameters", "parameters", "number", minor=True),
        column("context", "context", wrap=True),
        column("loss", unit_name("loss", task.tokenizer), "strip", range=list(loss_range), wrap=True),
        column("perplexity", UNITS["perplexity"], "number", minor=True),
        column("bytes", "bits per byte", "number", wrap=True),
        column("trained", "training text", "number", minor=True),
        column("gap", "gap", "number", minor=True),
        column("tokens", "tokens read", "number", minor=True),
        column("time", "training time", "number", minor=True),
    ]
    if task.test:
        place = [column["key"] for column in columns].index("bytes") + 1
        columns.insert(place, column("test", "test split", "number", wrap=True))
    pending = {name: "…" if name in awaited and name not in results else "–" for name in ("text", *models)}
    bits = [
        f"{float(counted.held_out.bits_per_byte(np.array(median))):.3f}" if counted else pending["text"]
        for median in medians
    ]
    test = [f"{np.median(results[model]):.3f}" if model in results else pending[model] for model in models]
    add_table(
        document,
        columns,
        [{**cells, "bytes": one, "test": other} for cells, one, other in zip(rows, bits, test, strict=True)],
        key="text-results",
        label="Results, a row for each model",
        caption=f"Loss on all of the {'validation split' if task.test else 'held-out text'}: the median, and a dot for "
        "each seed. Training text: the loss on a part of it; gap: the difference. Tokens read: by one seed. Training "
        "time: of all seeds together, on the computer that trained them. Parameters of the n-gram: entries of its "
        f"tables. {describe_test_split(task)} {comparability_note(task, counted.held_out if counted else None)}",
    )
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
    sentences = ["Only bits per byte can be compared between tokenizers."]
    if task.tokenizer in ("bpe", "word"):  # they split at spaces, and drop them
        unknown = "words" if task.tokenizer == "word" else "characters"
        spaces = "spaces and line ends" if task.rows == "blocks" else "spaces"
        sentences.append(
            "Bits per character, a unit of the curves, are those of the text that the tokens stand for: unknown "
            f"{unknown} and dropped {spaces} cost nothing there."
        )
        if held_out:
            share = percentage(held_out.unknown / held_out.targets)
            sentences.append(
                f"Bits per byte add {held_out.spelling_bits:.3f} for spelling unknown {unknown} ({share} of the "
                f"held-out tokens) and {held_out.spacing_bits:.3f} for {spaces}, each predicted from neighbouring "
                "characters with frequencies in the training part."
            )
    if task.lower:
        sentences.append("All figures are those of the text in small letters: capital letters cost nothing.")
    return " ".join(sentences)


def _axis_range(losses: list[np.ndarray]) -> list[float]:
    if not losses:
        return [0.0, 1.0]
    low, high = min(float(v.min()) for v in losses), max(float(v.max()) for v in losses)
    edge = max((high - low) * 0.1, 0.01)
    return [round(low - edge, 3), round(high + edge, 3)]
