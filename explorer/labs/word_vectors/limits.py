"""What frequency changes, and where word vectors fail: antonyms, words with two senses, associations of the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments import word_vectors
from explorer.figures.words.word_vectors import agreement_by_count, length_by_count
from explorer.inspection.words.word_vectors import (
    FrequencyEffects,
    PairSimilarity,
    frequency_effects,
    lean,
    pair_similarity,
)
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.questions import Views, select_finished, table_of
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.tasks.text import corpora
from explorer.tasks.word_vectors_grammar import ANTONYMS, HOMOGRAPH, PROFESSIONS, SENSES
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.run_view import RunView, run_views
from explorer.ui.wording import count_seeds

HEIGHT = 300


def frequency_section(state: WordVectorsState, views: Views) -> None:
    """Draw the lengths of vectors and the agreement of seeds by frequency, of the first model.

    For the grammar, whose frequencies are made up, they are those of the included run on Tiny Shakespeare.
    """
    trained, name = select_finished(views), ""
    if state.read_corpus == "grammar" and corpora.is_corpus_available("tinyshakespeare"):
        config = word_vectors.config("skip_gram", "tinyshakespeare")
        trained, name = select_finished(run_views({"skip_gram": config})) or trained, " on Tiny Shakespeare"
    if not trained:
        return
    view = next(iter(trained.values()))
    request: Request[FrequencyEffects] = ("word-frequency", *view.cache_key), partial(_measure, view)
    draw = partial(_draw_frequency, f"{view.row.title}{name}", view.row.colour)
    result_section("words-frequency", {"effects": request}, draw, "Words are being counted …", HEIGHT + 120)


def _measure(view: RunView) -> FrequencyEffects:
    return frequency_effects(table_of(view))


def _draw_frequency(title: str, colour: str, document: Document, results: Mapping[str, FrequencyEffects]) -> None:
    effects = results["effects"]
    document.finding(findings.frequency_finding(effects))
    lengths = effects.lengths.mean(axis=0)
    panels = []
    if effects.agreement is not None and effects.groups:
        numbers = ", ".join(f"{g} {v:.2f}" for g, v in zip(effects.groups, effects.agreement.mean(axis=0), strict=True))
        panels.append(
            Panel(
                "words-agreement",
                agreement_by_count(effects.groups, effects.agreement, colour),
                alt=f"Neighbours that two seeds have in common, by the occurrences of a word: {numbers}.",
                title="Neighbours in common",
            )
        )
    panels.append(
        Panel(
            "words-length",
            length_by_count(effects.counts, lengths, colour),
            alt="The length of each word's vector by how often the word occurs.",
            title="Length of the vector",
        )
    )
    add_plot_frame(
        document, panels, key="words-frequency-figure", height=HEIGHT, narrow_height=260, columns=len(panels)
    )
    document.caption(
        f"{title}. Left: share of a word’s ten nearest neighbours that two seeds have in common, mean over the words; "
        "whiskers: lowest and highest pair of seeds. Pairs share seeds, so the difference is not tested. Right: length "
        f"of each word’s vector, mean of {count_seeds(len(effects.lengths))}."
        if effects.agreement is not None
        else f"{title}: the length of the vector of each word, mean of {count_seeds(len(effects.lengths))}."
    )


# ---- where they fail


@dataclass(frozen=True, eq=False)
class Failures:
    """What the vectors of the grammar get wrong."""

    antonyms: list[PairSimilarity]
    senses: list[PairSimilarity]  # of the homograph to the word of each sense
    between: PairSimilarity  # of the words of both senses
    leans: tuple[Float[ndarray, "replicas words"], Float[ndarray, "replicas words"]]
    groups: tuple[list[str], list[str]]


def failures_section(state: WordVectorsState, views: Views) -> None:
    """Draw what is planted in the grammar to fail; for another text, of the included run."""
    explanation(
        "A vector is trained only on which words stand nearby, so words in the same sentences become similar. The "
        "grammar contains opposites, a word with two senses, and professions that occur more often with one pronoun."
    )
    trained = select_finished(views)
    if state.read_corpus != "grammar" or not trained:
        trained = select_finished(run_views({"skip_gram": word_vectors.config("skip_gram", "grammar")}))
    if not trained:
        return
    view = next(iter(trained.values()))
    request: Request[Failures] = ("word-failures", *view.cache_key), partial(_find_failures, view)
    draw = partial(_draw_failures, view.row.title, view.row.colour)
    result_section("words-failures", {"failures": request}, draw, "The vectors are being compared …", 420)


def _find_failures(view: RunView) -> Failures:
    table = table_of(view)
    one, other = SENSES
    of_he = [word for word, share in PROFESSIONS.items() if share > 0.5]
    groups = of_he, [word for word in PROFESSIONS if word not in of_he]
    return Failures(
        [pair_similarity(table, *pair) for pair in ANTONYMS],
        [pair_similarity(table, HOMOGRAPH, sense) for sense in SENSES],
        pair_similarity(table, one, other),
        (lean(table, groups[0], ("he", "she")), lean(table, groups[1], ("he", "she"))),
        groups,
    )


def _draw_failures(title: str, colour: str, document: Document, results: Mapping[str, Failures]) -> None:
    found = results["failures"]
    document.finding(findings.antonyms_finding(found.antonyms))
    rows: list[dict[str, object]] = [
        {
            "pair": {"text": f"{pair.first}, {pair.second}", "colour": colour},
            "cosine": strip_cell(f"{np.median(pair.cosines):.2f}", pair.cosines, 3, mark=None),
            "rank": f"{np.median(pair.ranks):g}",
        }
        for pair in (*found.antonyms, *found.senses, found.between)
    ]
    columns = [
        column("pair", "words"),
        column("cosine", "cosine similarity", "strip", range=[0, 1]),
        column("rank", "rank", "number"),
    ]
    add_table(document, columns, rows, key="words-failures-table", label="Pairs of words by cosine similarity")
    document.caption(
        f"{title} on the grammar: median cosine similarity, and a dot for each of "
        f"{count_seeds(len(found.between.cosines))}. Rank: that of the second word among the neighbours of the first, "
        "median over the seeds."
    )
    document.text(findings.senses_finding(HOMOGRAPH, found.senses, found.between))
    share = max(PROFESSIONS.values())
    document.text(findings.associations_finding(found.groups, found.leans, share))
