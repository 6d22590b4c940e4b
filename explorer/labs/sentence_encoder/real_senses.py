"""Whether a real encoder orders the occurrences of an ambiguous word by its sense, and what its heads do with “it”."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

import numpy as np

from explorer import charts, ui
from explorer.inspection.compare import median_and_range
from explorer.inspection.pretrained import coreference, opened_model, senses
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.real_word import real_word_section
from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.training.real_model_choice import choose_real_model

Result: TypeAlias = Union["senses.SenseNeighbours", "coreference.Coreference"]
_RANDOM = 4  # networks


def real_senses_section(session: ui.PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of an opened encoder, and how it orders the senses of words by depth."""
    ui.explanation(
        "English words such as “bank”, “bat” and “spring”, in six sentences of each of two senses. For each occurrence "
        "of a word, the most similar other occurrence is found (cosine similarity), after each layer. The control are "
        "networks with the same layers and random weights."
    )
    card = choose_real_model(session, "encoder")
    if card is None:
        return
    calls: dict[str, ui.Call[Result]] = {
        "real": ui.Call(opened_model.neighbours_by_sense, card),
        "it": ui.Call(opened_model.meaning_of_it, card),
        **{f"random {seed}": ui.Call(opened_model.neighbours_by_sense, card, seed) for seed in range(_RANDOM)},
    }
    waiting = "The sentences are read by the encoder and by random networks …"
    ui.show_each("real-senses", calls, senses_view, waiting=waiting, height=420, pool="patient", partly=True)
    real_word_section(session, card)


def senses_view(document: ui.Document, results: Mapping[str, Result]) -> None:
    """Write how often the nearest occurrence of a word has the same sense, and whether a head finds what “it” means."""
    real, it = results.get("real"), results.get("it")
    if not isinstance(real, senses.SenseNeighbours):
        return
    estimates = real.by_depth()
    random = [each for name, each in results.items() if name != "real" and isinstance(each, senses.SenseNeighbours)]
    document.finding(findings.real_senses_finding(estimates))
    document.figures("real-senses", [ui.Panel("real-senses", senses_chart(real, random))], height=320, columns=1)
    words = ", ".join(f"{word} {share:.2f}" for word, share in real.by_word(len(estimates) - 1).items())
    document.caption(
        f"Share of {real.same.shape[1]} occurrences whose nearest occurrence has the same sense. Band of this encoder: "
        f"95 % intervals (Wilson); of random weights: lowest to highest of {len(random)} networks. Dashed: chance, "
        f"{real.chance:.2f}. After the last layer, by word: {words}."
    )
    if isinstance(it, coreference.Coreference):
        by_chance = it.best_by_chance()
        document.text(
            findings.coreference_text(
                len(it.preference), it.preference[0, 0].size, it.best_share(), float(by_chance.mean()), it.p()
            )
        )


def senses_chart(real: senses.SenseNeighbours, random: Sequence[senses.SenseNeighbours]) -> charts.LineChart:
    """Return the share of nearest occurrences with the same sense by depth, of a real encoder and random networks."""
    estimates = np.array([(each.value, each.low, each.high) for each in real.by_depth()])
    depths = np.arange(len(estimates))
    lines = [charts.Line("this encoder", "this encoder", "--m-pretrained", "solid", depths, estimates, "filled")]
    if random:
        shares = median_and_range(np.stack([each.same.mean(axis=1) for each in random], axis=1))
        lines.append(charts.Line("random weights", "random weights", "--soft", "4px,4px", depths, shares, "filled"))
    return charts.LineChart(
        "Share of nearest occurrences with the same sense by depth",
        lines,
        charts.Axis("layers that were computed", (-0.2, len(depths) - 0.7), ticks=8),
        charts.Axis("share with the same sense", (0, 1.04)),
        [charts.level(real.chance)],
        margin=112,
        digits=None,
    )
