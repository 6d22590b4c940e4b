"""What frequency changes, and where word vectors fail: antonyms, words with two senses, associations of the text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer import charts, ui
from explorer.catalogue import ModelRow, model_row
from explorer.experiments import word_vectors
from explorer.inspection.words.word_questions import Failures, find_failures
from explorer.inspection.words.word_vectors import FrequencyEffects, frequency_effects
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.questions import finished_runs
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.word_vectors_grammar import HOMOGRAPH, PROFESSIONS
from explorer.training.record import Record


def frequency_section(state: WordVectorsState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the lengths of vectors and the agreement of seeds by frequency, of the first model.

    For the grammar, whose frequencies are made up, they are those of the included run on Tiny Shakespeare.
    """
    runs, text = list(finished_runs(views).values()), ""
    if state.read_corpus == "grammar" and corpora.is_corpus_available("tinyshakespeare"):
        runs, text = _included_run("tinyshakespeare") or runs, " on Tiny Shakespeare"
    if runs:
        call, row = ui.Call(frequency_effects, runs[0]), model_row(runs[0].config.model)
        waiting = "Words are being counted …"
        ui.show("words-frequency", call, frequency_view, row, text, waiting=waiting, height=420)


def _included_run(corpus: str) -> list[StoredRun | Record]:
    """Return the included run of skip-gram on a text, or nothing if there is none."""
    return list(finished_runs(ui.run_views({"skip_gram": word_vectors.config("skip_gram", corpus)})).values())


def frequency_view(document: ui.Document, effects: FrequencyEffects, row: ModelRow, text: str) -> None:
    """Write what changes with the frequency of a word; `text` is added to the title of the model."""
    document.finding(findings.frequency_finding(effects))
    panels = [ui.Panel("words-length", length_chart(effects, row.colour), title="Length of the vector")]
    if effects.agreement is not None and effects.groups:
        chart = agreement_chart(effects, row.colour)
        panels.insert(0, ui.Panel("words-agreement", chart, title="Neighbours in common"))
    document.figures("words-frequency-figure", panels, height=300, narrow_height=260, columns=len(panels))
    document.caption(
        f"{row.title}{text}. Left: share of a word’s ten nearest neighbours that two seeds have in common, mean over "
        "the words; whiskers: lowest and highest pair of seeds. Pairs share seeds, so the difference is not tested. "
        f"Right: length of each word’s vector, mean of {ui.count_seeds(len(effects.lengths))}."
        if effects.agreement is not None
        else f"{row.title}{text}: length of the vector of each word, mean of {ui.count_seeds(len(effects.lengths))}."
    )


def agreement_chart(effects: FrequencyEffects, colour: str) -> charts.BarChart:
    """Return the share of nearest neighbours that two seeds have in common, with its range over pairs of seeds."""
    assert effects.agreement is not None
    mean, low, high = (of(effects.agreement, axis=0) for of in (np.mean, np.min, np.max))
    return charts.BarChart(
        "Neighbours that two seeds have in common, by the occurrences of a word",
        effects.groups,
        [charts.Bars("agreement", mean, colour, low, high)],
        charts.Axis("neighbours in common", (0, 1), ticks={0: "0", 0.5: "0.5", 1: "1"}),
        upright=True,
        names_title="occurrences of the word",
    )


def length_chart(effects: FrequencyEffects, colour: str) -> charts.PointChart:
    """Return the length of each word's vector by how often the word occurs."""
    lengths = effects.lengths.mean(axis=0)
    return charts.PointChart(
        "The length of each word’s vector by how often the word occurs",
        np.stack([effects.counts, lengths], axis=1),
        [],
        colour,
        charts.Axis("occurrences of the word", log=True),
        charts.Axis("length of its vector", (0, 1.05 * float(lengths.max()))),
    )


# ---- where they fail


def failures_section(state: WordVectorsState, views: Mapping[str, ui.RunView]) -> None:
    """Draw what is planted in the grammar to fail; for another text, of the included run."""
    ui.explanation(
        "A vector is trained only on which words stand nearby, so words in the same sentences become similar. The "
        "grammar contains opposites, a word with two senses, and professions that occur more often with one pronoun."
    )
    runs = list(finished_runs(views).values()) if state.read_corpus == "grammar" else []
    if runs := runs or _included_run("grammar"):
        call, row = ui.Call(find_failures, runs[0]), model_row(runs[0].config.model)
        waiting = "The vectors are being compared …"
        ui.show("words-failures", call, failures_view, row, waiting=waiting, height=420)


def failures_view(document: ui.Document, found: Failures, row: ModelRow) -> None:
    """Write how near opposites and the two senses of a word are, and which associations the vectors have."""
    document.finding(findings.antonyms_finding(found.antonyms))
    rows: list[charts.Row] = [
        {
            "pair": charts.Cell(f"{pair.first}, {pair.second}", row.colour),
            "cosine": charts.strip(f"{np.median(pair.cosines):.2f}", pair.cosines),
            "rank": f"{np.median(pair.ranks):g}",
        }
        for pair in (*found.antonyms, *found.senses, found.between)
    ]
    columns = {
        "pair": charts.Column("words"),
        "cosine": charts.Column("cosine similarity", "strip", range=(0, 1)),
        "rank": charts.Column("rank", "number"),
    }
    document.table("words-failures-table", charts.Table(columns, rows, "Pairs of words by cosine similarity"))
    document.caption(
        f"{row.title} on the grammar: median cosine similarity, and a dot for each of "
        f"{ui.count_seeds(len(found.between.cosines))}. Rank: that of the second word among the neighbours of the "
        "first, median over the seeds."
    )
    document.text(findings.senses_finding(HOMOGRAPH, found.senses, found.between))
    document.text(findings.associations_finding(found.groups, found.leans, max(PROFESSIONS.values())))
