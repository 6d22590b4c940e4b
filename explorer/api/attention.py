"""The attention of a model on a text: weights of every head as arrays, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from jaxtyping import Float32
from numpy import ndarray

from explorer.api import attention_component
from explorer.api.arguments import as_whole_number, require_flag, require_whole_number, warn_unread
from explorer.api.predictions import TRANSLATION, UNITS, tokenizer_of
from explorer.catalogue import model_row
from explorer.errors import InvalidSetting, shorten
from explorer.figures import notebook
from explorer.inspection.attention.alignment import align
from explorer.inspection.attention.attend import TokenizedInput, attend, check_attention, has_attention, tokenize_input
from explorer.inspection.attention.attention_model import AttentionModel, attention_model
from explorer.inspection.compare import held_out_losses
from explorer.inspection.words.labelling import parse_row
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.own_sentences import Language, SentenceConfig
from explorer.tasks.seq2seq.config import source_ids, source_vocabulary, target_vocabulary
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import pieces
from explorer.training.config import RunConfig

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

    from explorer.api.components import NotebookComponent
    from explorer.api.run import Run
    from explorer.hub.pretrained import Part

_LEFT_CONTEXT = 16  # tokens before a piece that can change its spelling


@dataclass(frozen=True)
class Reading:
    """A text as the tokens that a model reads, and the queries and keys of its attention.

    They are the same tokens, except in an encoder–decoder.
    """

    given: tuple[int, ...]  # the ids of the text
    ids: tuple[int, ...]  # of the queries
    tokens: tuple[str, ...]  # of the queries
    keys: tuple[str, ...]
    asked: int  # the query whose answer is of interest
    unread: str = ""  # what the model does not read of the text, in sentences


class AttentionSource(Protocol):
    """What reads texts with attention: a run, or a real model."""

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def title(self) -> str:
        """What kind of model it is."""

    @property
    def unit(self) -> str:
        """What a token is: “letter”, “word” or “token”."""

    @property
    def colour(self) -> str:
        """A CSS variable of static/shared/base.css."""

    @property
    def steps(self) -> Sequence[int]:
        """The steps of the training whose weights are here."""

    @property
    def separator(self) -> str:
        """What stands between two tokens of a text: a space between words."""

    @property
    def predicts_in_place(self) -> bool:
        """Whether it predicts the token that stands at a position, not the next one."""

    def read(self, text: str, seed: int, step: int, part: Part) -> tuple[AttentionModel, Reading]:
        """Return a model and a text as its tokens. Raises LineageError."""

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        """Return the text of a prediction after the tokens `before`."""

    def held_out_losses(self, seed: int) -> Mapping[str, list[int] | list[float]]:
        """Return the held-out loss by step, as `steps` and `losses`."""


@dataclass(frozen=True)
class RunSource:
    """The models of a run, as readers with attention."""

    run: Run

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def title(self) -> str:
        return self.run.config.title

    @property
    def unit(self) -> str:
        task = self.run.config.task
        return UNITS.get(task.tokenizer, "token") if isinstance(task, TextConfig) else "word"

    @property
    def colour(self) -> str:
        return model_row(self.run.config.model).colour

    @property
    def steps(self) -> Sequence[int]:
        return self.run.steps

    @property
    def separator(self) -> str:
        return "" if isinstance(self.run.config.task, TextConfig) else " "

    predicts_in_place = False

    def read(self, text: str, seed: int, step: int, part: Part = "") -> tuple[AttentionModel, Reading]:
        if isinstance(self.run.config.task, TRANSLATION):
            raise InvalidSetting(
                "This run translates: its attention is shown by plot(). Patching, logit attribution and show() need a "
                'run of another task, such as explorer.load("negation-single-transformer").'
            )
        given = tokenize(self.run, text)
        model = attention_model(self.run.model(step=step, seed=seed))
        asked = len(given.ids) - 1 if model.layout.answers_every_token else 0
        return model, Reading(given.ids, given.ids, given.tokens, given.tokens, asked, given.unread)

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        task: Any = self.run.config.task
        if isinstance(task, TextConfig):
            tokenizer = tokenizer_of(self.run.source)
            return pieces(tokenizer, [outcome], before[-_LEFT_CONTEXT:])[0] or tokenizer.tokens[outcome]
        if isinstance(task, SentenceConfig):
            return Language.from_json(self.run.source.tokenizer).classes[outcome]
        return str(task.labels[outcome])

    def held_out_losses(self, seed: int) -> Mapping[str, list[int] | list[float]]:
        return held_out_losses(self.run.curves_of_run, self.run.seeds.index(seed))


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention weights of one model (one seed at one step) on one text.

    weights: (layers, heads, query, key), each row adds up to 1; NaN where a mask hides the key. A translation model
        attends from the tokens that it generates (queries) to those of the source (keys).
    tokens: the query tokens. keys: the key tokens, the same unless the model translates.
    unread: sentences about what the model does not read of the text; empty if it reads everything.
    """

    weights: Float32[ndarray, "layers heads query key"]
    tokens: tuple[str, ...]
    keys: tuple[str, ...]
    title: str
    text: str
    seed: int
    step: int
    source: AttentionSource
    part: Part = ""  # of an encoder–decoder: encoder, decoder or cross
    unread: str = ""

    @property
    def layers(self) -> int:
        """The number of layers with attention."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads in each layer."""
        return int(self.weights.shape[1])

    def table(self) -> DataFrame:
        """Return a row for each visible pair: layer, head, query and key (positions), their tokens, and the weight."""
        layer, head, query, key = np.nonzero(~np.isnan(self.weights))
        return pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                "query": query,
                "key": key,
                "query_token": np.array(self.tokens, dtype=object)[query],
                "key_token": np.array(self.keys, dtype=object)[key],
                "weight": self.weights[layer, head, query, key].astype(float),
            }
        )

    def plot(self, layer: int = -1, head: int | None = None) -> go.Figure:
        """Return a plotly heat map of the weights: rows are query tokens, columns the key tokens they attend to.

        layer: counted from 0; -1 is the last one. head: counted from 0; None is the mean over the heads.
        Raises InvalidSetting for a layer or a head that the model does not have.
        """
        layers, heads = self.layers, self.heads
        at, one = as_whole_number(layer), as_whole_number(head)
        if at is None or not -layers <= at < layers:
            raise InvalidSetting(f"There is no layer {shorten(layer)}. Give a number from 0 to {layers - 1}.")
        if head is not None and (one is None or not -heads <= one < heads):
            raise InvalidSetting(
                f"There is no head {shorten(head)}. Give a number from 0 to {heads - 1}, or None for the mean."
            )
        weights = self.weights[at].mean(axis=0) if one is None else self.weights[at, one]
        which = "mean over the heads" if one is None else f"head {one % heads}"
        return notebook.attention_map(weights, self.tokens, self.keys, f"{self.title}: layer {at % layers}, {which}")

    def show(self, layer: int = 0, head: int = 0, *, live: bool = False) -> NotebookComponent:
        """Return the grid of heads of the app for a notebook, with this head open; see `NotebookComponent`.

        The slider shows the weights at every stored step of the training.

        live: heads, the causal mask and positions can be switched off as well; the model in the kernel computes its
            prediction under this intervention. It needs the package anywidget.

        Raises InvalidSetting for a translation model, whose attention `plot` shows, and for a head it does not have.
        """
        layer, head = require_whole_number("layer", layer, 0), require_whole_number("head", head, 0)
        return attention_component.attention_component(self, layer, head, require_flag("live", live))

    def __repr__(self) -> str:
        state = f", seed {self.seed}, step {self.step:,}" if self.source.steps else ""
        return (
            f"Attention({self.title}, {self.layers} layers × {self.heads} heads, {len(self.tokens)} queries × "
            f"{len(self.keys)} keys{state})"
        )


def attention(run: Run, text: str, seed: int, step: int) -> Attention:
    """Return the attention of one seed at one step; see `Run.attention`. Raises LineageError."""
    source = RunSource(run)
    if isinstance(run.config.task, TRANSLATION):
        weights, tokens, keys = _alignment(run.config, run.model(step=step, seed=seed), text)
        return Attention(weights, tokens, keys, source.title, text, seed, step, source)
    return read_attention(source, text, seed, step)


def read_attention(source: AttentionSource, text: str, seed: int = 0, step: int = 0, part: Part = "") -> Attention:
    """Return the attention of a model on a text. Raises LineageError."""
    model, reading = source.read(text, seed, step, part)
    weights = attend(model, reading.given).weights
    warn_unread(reading.unread)
    return Attention(
        weights, reading.tokens, reading.keys, source.title, text, seed, step, source, part, reading.unread
    )


def tokenize(run: Run, text: str) -> TokenizedInput:
    """Return a text as the tokens that the Transformer of a run reads. Raises LineageError."""
    task: Any = run.config.task
    if isinstance(task, SentenceConfig):
        check_attention(run.config)
        return tokenize_input(run.config, None, text, vocabulary=Language.from_json(run.source.tokenizer).vocabulary)
    if not isinstance(task, LabellingConfig) or has_attention(run.config):
        check_attention(run.config)
        tokenizer = tokenizer_of(run.source) if isinstance(task, TextConfig) else None
        return tokenize_input(run.config, tokenizer, text)
    if not isinstance(run.config.model, TransformerTaggerConfig):
        raise InvalidSetting(f"The model of this run is a {run.config.title}, which has no attention.")
    row = parse_row(task, text)
    return TokenizedInput(row.ids, tuple(task.vocabulary[id] for id in row.ids), "", "", (), (), False)


def _alignment(config: RunConfig, model: Any, text: str) -> tuple[ndarray, tuple[str, ...], tuple[str, ...]]:
    task: Any = config.task
    found = align(model, task, source_ids(task, text))
    if found.weights is None:
        raise InvalidSetting(
            f"This {config.title} has no attention: the encoder passes one vector to the decoder. Choose a run with "
            "attention."
        )
    target, source = target_vocabulary(task), source_vocabulary(task)
    return found.weights, tuple(target[i] for i in found.target), tuple(source[i] for i in found.source)
