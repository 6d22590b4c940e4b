"""The runs behind a page: found or running, opened once for all visitors, asked and remembered.

What the caches return is shared by everybody who looks, so it is never changed. Torch is imported only
when a model is first asked, because the first page must not wait for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.errors import DamagedRun
from explorer.tasks.negation import Negation, NegationConfig
from explorer.training import store
from explorer.training.config import RunConfig, key
from explorer.training.job import View
from explorer.training.jobs import service
from explorer.training.record import Curves, Record
from explorer.training.store import StoredRun
from explorer.ui.visitors import visitor

if TYPE_CHECKING:
    from explorer.inspection import sentences
    from explorer.inspection.opening import OpenedModel


@dataclass(frozen=True)
class Lane:
    """One model in a race: its configuration, and whatever is known of its run."""

    config: RunConfig
    stored: StoredRun | None  # finished, with weights that can be asked
    job: View | None  # trained, or being trained, by this process
    stopped: StoredRun | None = None  # not trained to its end, if there is nothing better
    private: Record | None = None  # what became of a training on the visitor's own text, which no disk holds

    @property
    def row(self) -> ModelRow:
        return model_row(self.config.model)

    @property
    def kept(self) -> StoredRun | Record | None:
        """Whatever has weights that can be asked."""
        return self.stored or self.private or self.stopped

    @property
    def stamp(self) -> tuple[Hashable, ...]:
        """What names these very weights to a cache; an own text's SHA-256 is a part of it, see `slowly.forget`."""
        kept = self.kept
        if isinstance(kept, StoredRun):
            return kept.stamp
        return (getattr(self.config.task, "text", ""), key(self.config), self.job.number if self.job else 0)

    @property
    def live(self) -> bool:
        return self.job is not None and not self.job.done

    @property
    def curves(self) -> Curves | None:
        """The job's while there is one, otherwise the kept run's."""
        if self.job and self.job.state != "failed":
            return self.job.curves
        kept = self.stored or self.stopped
        return kept.curves if kept else None

    @property
    def result(self) -> Curves | None:
        """What came out: the kept run's curves until a new training has come to its own end."""
        kept = self.stored or self.stopped
        return self.curves if kept is None or (self.job and self.job.done) else kept.curves

    @property
    def epochs(self) -> Float[ndarray, " evaluations"]:
        """Where the model was evaluated."""
        if self.curves is None:
            return np.zeros(0)
        return self.curves.along("epoch", self.curves.evaluated, self.config.steps_per_epoch)

    @property
    def seconds(self) -> float | None:
        kept = self.stored or self.stopped
        return self.job.seconds if self.job else kept.card.seconds if kept else None

    @property
    def parameters(self) -> int | None:
        kept = self.stored or self.stopped
        if kept:
            return kept.card.parameters
        return self.job.parameters if self.job and self.job.parameters else None


def lanes(configs: Mapping[str, RunConfig], raced: Iterable[str] = (), me: str | None = None) -> dict[str, Lane]:
    """A lane for each configuration. A job counts where this visitor asked for it (`raced`: run keys, in this
    window; or in another one, while it is under way), and where there is nothing else to show. `me` is the visitor's
    id; only a page knows it by itself."""
    raced, me = set(raced), visitor().id if me is None else me
    found = {}
    for model, config in configs.items():
        run = key(config)
        stored = store.find_config(config, without=_broken, visitor=me)
        view = stopped = None
        if job := service.find(run, me):
            view = job.view()
            mine = run in raced or (not view.done and me in service.asked(run))
            if not mine and stored:
                view = None
            elif not view.done:
                service.watch(run, me)
        if stored is None and view is None:
            stopped = store.find_config(config, without=_broken, unfinished=True, visitor=me)
        private = job.record if job and view and view.private else None
        found[model] = Lane(config, stored, view, stopped, private)
    return found


@st.cache_resource(max_entries=128, show_spinner=False)
def _opened(stamp: tuple[str, str], _run: StoredRun) -> OpenedModel:
    from explorer.inspection.opening import open_model

    return open_model(_run)


_broken: set[tuple[str, str]] = set()  # stamps of runs whose weights turned out not to fit


def opened(run: StoredRun) -> OpenedModel:
    """The model of a stored run, loaded once. Raises DamagedRun, once: then `lanes` finds another or none."""
    try:
        return _opened(run.stamp, run)
    except DamagedRun:
        _broken.add(run.stamp)
        raise


@st.cache_resource(max_entries=4096, show_spinner=False)
def _sustain(
    stamp: tuple[str, str], words: tuple[str, ...], length: int, _run: StoredRun
) -> Float[ndarray, " replicas"]:
    from explorer.inspection import sentences

    return sentences.sustain_probabilities(opened(_run), words, length)


def sustain(run: StoredRun, words: tuple[str, ...], length: int | None = None) -> Float[ndarray, " replicas"]:
    """P(sustain) by every seed; `length` as in `inspection.sentences`, by default that of the run's evaluation."""
    config = run.config.on(NegationConfig)
    task = Negation(config)
    if length is None:
        said = next((i for i, s in enumerate(task.sentences) if s.words == words), None)
        if said is not None:  # the run itself asked this sentence: no model need be loaded
            return np.asarray(run.curves.answers["sustain"][-1][:, said])
        length = max(task.lengths) if config.padding == "eos" else 0
    return _sustain(run.stamp, words, length, run)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _inside(what: str, stamp: tuple[str, str], args: tuple[object, ...], _run: StoredRun) -> object:
    from explorer.inspection import sentences

    return getattr(sentences, what)(opened(_run), *args)


def contributions(run: StoredRun, words: tuple[str, ...], replica: int) -> sentences.Contributions:
    """See `inspection.sentences.contributions`."""
    return _inside("contributions", run.stamp, (words, replica), run)  # type: ignore[return-value]


def reading(run: StoredRun, words: tuple[str, ...], replica: int) -> sentences.Reading:
    """See `inspection.sentences.reading`."""
    return _inside("reading", run.stamp, (words, replica), run)  # type: ignore[return-value]


def attention(run: StoredRun, words: tuple[str, ...], replica: int, length: int = 0) -> sentences.AttentionView:
    """See `inspection.sentences.attention`."""
    return _inside("attention", run.stamp, (words, replica, length), run)  # type: ignore[return-value]


def word_weights(run: StoredRun, replica: int) -> sentences.WordWeights:
    """See `inspection.sentences.word_weights`."""
    return _inside("word_weights", run.stamp, (replica,), run)  # type: ignore[return-value]


def embedding_map(run: StoredRun, replica: int) -> sentences.EmbeddingMap:
    """See `inspection.sentences.embedding_map`."""
    return _inside("embedding_map", run.stamp, (replica,), run)  # type: ignore[return-value]
