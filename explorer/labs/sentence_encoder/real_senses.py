"""Whether a real encoder orders the occurrences of an ambiguous word by its sense, and what its heads do with “it”."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias, Union

import numpy as np

from explorer.figures.transformer.pretrained import DepthLine, by_depth
from explorer.hub.card import ModelCard
from explorer.inspection.pretrained import coreference, opened_model, senses
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.real_word import real_word_section
from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.real_model_choice import card_key, choose_real_model
from explorer.ui.training.stored_models import find_real_model

Result: TypeAlias = Union["senses.SenseNeighbours", "coreference.Coreference"]
_RANDOM = 4  # networks


def real_senses_section(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of an opened encoder, and how it orders the senses of words by depth."""
    explanation(
        "English words such as “bank”, “bat” and “spring”, in six sentences of each of two senses. For each occurrence "
        "of a word, the most similar other occurrence is found (cosine similarity), after each layer. The control are "
        "networks with the same layers and random weights."
    )
    card = choose_real_model(session, "encoder")
    if card is None:
        return
    requests: dict[str, Request[Result]] = {
        "real": (("real-senses", *card_key(card)), partial(_neighbours, card, None)),
        "it": (("real-it", *card_key(card)), lambda: opened_model.meaning_of_it(card)),
        **{
            f"random {seed}": (("real-senses", *card_key(card), seed), partial(_neighbours, card, seed))
            for seed in range(_RANDOM)
        },
    }
    result_section(
        "real-senses",
        requests,
        _draw,
        "The sentences are read by the encoder and by random networks …",
        420,
        pool="patient",
        partly=True,
    )
    real_word_section(session, find_real_model(card.name))


def _neighbours(card: ModelCard, seed: int | None) -> senses.SenseNeighbours:
    return opened_model.neighbours_by_sense(card, seed)


def _draw(document: Document, results: Mapping[str, Result]) -> None:
    real, it = results.get("real"), results.get("it")
    if not isinstance(real, senses.SenseNeighbours):
        return
    estimates = real.by_depth()
    random = [each for name, each in results.items() if name != "real" and isinstance(each, senses.SenseNeighbours)]
    document.finding(findings.real_senses_finding(estimates))
    lines = [
        DepthLine(
            "this encoder",
            "--m-pretrained",
            "solid",
            [each.value for each in estimates],
            [each.low for each in estimates],
            [each.high for each in estimates],
        )
    ]
    if random:
        shares = np.array([each.same.mean(axis=1) for each in random])
        middle, low, high = np.median(shares, axis=0), shares.min(axis=0), shares.max(axis=0)
        lines.append(DepthLine("random weights", "--soft", "4px,4px", middle.tolist(), low.tolist(), high.tolist()))
    figure = by_depth(lines, "share with the same sense", (0, 1.04), reference=real.chance)
    described = "; ".join(f"depth {depth} {each.format()}" for depth, each in enumerate(estimates))
    panel = Panel("real-senses", figure, alt=f"Share of nearest occurrences with the same sense: {described}.")
    add_plot_frame(document, [panel], key="real-senses", height=320, columns=1)
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
