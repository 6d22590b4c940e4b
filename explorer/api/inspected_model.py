"""What can be seen of a model from Python: of a run, or of a real model."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from explorer.api import arguments, attention, outputs, patching, temperature_component, traces
from explorer.api.arguments import require_flag, require_sampling, require_text
from explorer.errors import InvalidSetting, shorten
from explorer.lazy_libraries import pd
from explorer.model.model import Model, Part

if TYPE_CHECKING:
    from explorer.api.attention import Attention
    from explorer.api.components import NotebookComponent
    from explorer.api.patching import AnswerParts, PatchedAnswers


class InspectedModel(ABC):
    """A model whose predictions, texts, attention and intermediate values can be looked at.

    Its methods take a `step` of the training, by default the last, and a `seed`, by default the first; the heads of two
    seeds have nothing in common. They raise InvalidSetting for others.
    """

    name: str
    _generated_tokens = 200
    _slider_tokens = 120

    @property
    @abstractmethod
    def _model(self) -> Model:
        """What the pages and the command line use, too."""

    @abstractmethod
    def _find_replica_and_step(self, seed: int | str | None, step: int | None) -> tuple[int, int | None]:
        """Return the position of a seed and a step; None: the first one, the last one. Raises InvalidSetting."""

    def predict(
        self, text: str | Iterable[str], *, step: int | None = None, seed: int | str | None = None
    ) -> pd.DataFrame:
        """Return the prediction of the model for a text.

        text: the input of the task: a sentence (negation), a sequence of symbols (recall), a source (reverse, copy,
            dates, pairs), a row (sequence labelling), or text to continue (text, string). For several texts the table
            has their rows one after the other and a column `text`.
        step: of the training, one of `steps`; by default the last.
        seed: one of `seeds`; by default the mean over the seeds, with the lowest and the highest probability of a
            seed. "all": every seed by itself, with a column `seed`.

        The columns are, by task, or by the kind of a real model:
            negation                   label, probability
            text, string               token, probability: the distribution of the next token
            recall                     symbol, probability: of being the first symbol
            reverse, copy, dates       seed, output, probability, correct: the greedy output of every seed
            pairs                      as for dates; `correct` is None for a source that the pairs do not have
            sequence labelling         position, token, label, probability, expected, correct, in_loss (whether the
                                       training asks for a label at this position)
            decoder                    token, probability: the distribution of the next token
            encoder                    position, token, probability: the distribution at each [MASK] of the text
            encoder–decoder            output, probability: the most probable token after each other, until the end

        Raises SentenceError or InvalidSetting for a text that the model cannot read, InvalidSetting for a step, a seed
        or a task without prediction and a model that predicts nothing, DamagedRun for a run without these weights.

        >>> run.predict("human not preserve nature").columns.tolist()[:2]
        ['label', 'probability']
        """
        every = list(range(len(self._model.seeds)))
        one, at = self._find_replica_and_step(None if seed == "all" else seed, step)
        groups = [every] if seed is None else [[each] for each in every] if seed == "all" else [[one]]
        tables = []
        for each in outputs.require_texts_to_predict(text):
            for replicas in groups:
                table = outputs.prediction_table(self._model, each, at, replicas)
                if seed == "all" and "seed" not in table:
                    table.insert(0, "seed", self._model.seeds[replicas[0]])
                if not isinstance(text, str):
                    table.insert(0, "text", each)
                tables.append(table)
                arguments.warn(table.attrs.get("unread", ""))
        return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)

    def attention(self, text: str, *, part: Part = "", step: int | None = None, seed: int | None = None) -> Attention:
        """Return the attention weights of every head on a text: arrays, tokens, tables and figures.

        text: as `predict` takes it.
        part: of a real encoder–decoder "encoder", "decoder" or "cross" (by default): the attention of its translation
            to the text.

        In `weights`, keys that a mask hides are NaN; numpy.nan_to_num(weights) makes them 0. Raises InvalidSetting for
        a model without attention and for another part, and the errors of `predict`.

        >>> run.attention("human not preserve nature").weights.shape
        (1, 1, 6, 6)
        """
        if part and part not in (parts := self._model.parts):
            possible = f"Give one of {', '.join(parts)}." if parts else "It has one kind only. Leave it out."
            raise InvalidSetting(f"{self.name} has no attention of the kind {shorten(part)}. {possible}")
        return attention.attention(self._model, require_text(text), *self._find_replica_and_step(seed, step), part)

    def patching(
        self,
        clean: str,
        changed: str,
        *,
        position: int | None = None,
        answer: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> PatchedAnswers:
        """Return which states of a Transformer carry the answer from one text to another (activation patching).

        The model reads the changed text, and one state at a time is replaced by the state that it has on the clean
        text: the residual stream at one position, the output of one head, what a layer adds. The share of the clean
        answer that this restores is measured by the difference of two logits (Heimersheim & Nanda 2024). It takes about
        a second for each token of a model with 135 million parameters.

        clean, changed: two texts with the same number of tokens, at most 64.
        position: where the answer is read; by default the last token, of a classifier the first.
        answer, contrast: the two outcomes, as texts; by default the most probable outcomes of both texts. If these are
            the same, the contrast is the second most probable outcome of the changed text.

        Raises InvalidSetting for a model without attention, an encoder–decoder, a model that predicts nothing, texts of
        different lengths, and texts with the same answer.

        >>> explorer.load("text-transformer").patching("O thou ha", "O they ha").residual.shape  # depths, positions
        (5, 5)
        """
        self._check_reads_one_text()
        at = self._find_replica_and_step(seed, step)
        first, other = (attention.read_text(self._model, text, *at) for text in (clean, changed))
        return patching.patch(self._model, first, other, position, answer, contrast)

    def logit_attribution(
        self,
        text: str,
        *,
        position: int | None = None,
        outcome: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> AnswerParts:
        """Return what each head and each feedforward layer of a Transformer adds to a logit.

        The last state is the sum of what all parts add, if a norm comes before each part or there is none. With the
        scale of the final norm held at its value, the logit is a sum of one number for each part.

        outcome: by default the most probable one. contrast: an outcome whose logit is subtracted. Both are texts. The
        other arguments are those of `patching`.

        Raises InvalidSetting as `patching`, and for a model in which a norm follows each part.

        >>> explorer.load("text-transformer").logit_attribution("O thou ha").table().columns.tolist()
        ['part', 'added']
        """
        self._check_reads_one_text()
        read = attention.read_text(self._model, text, *self._find_replica_and_step(seed, step))
        return patching.attribute(self._model, read, position, outcome, contrast)

    def _check_reads_one_text(self) -> None:
        if self._model.parts:
            raise InvalidSetting(
                f"{self.name} reads one text and writes another. This is measured for decoders and encoders."
            )

    def generate(
        self,
        prompt: str = "",
        *,
        tokens: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the prompt and its continuation by a language model (tasks text and string, a real decoder).

        tokens: how many are generated; by default 200, by a real model 50.
        temperature: 0 always takes the most probable token, 1 samples as learned, above 1 more randomly.
        top_k: sample from this many most probable tokens. 0: all.
        top_p: sample from the most probable tokens that together reach this probability (Holtzman et al. 2020).
        min_p: sample from tokens with at least this share of the highest probability (Nguyen et al. 2024).
        sampling_seed: seed of the random numbers; the same seed gives the same text.

        Raises InvalidSetting for another kind of model or an impossible value.

        >>> explorer.load("text-toy-rnn").generate("abca", tokens=4, temperature=0)
        'abca abc'
        """
        self._model.check_generates_text()  # the error of a run of another task comes first
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        count = self._generated_tokens if tokens is None else tokens
        return outputs.generate_text(
            self._model, require_text(prompt), count, sampling, *self._find_replica_and_step(seed, step)
        )

    def temperature(
        self,
        prompt: str = "",
        *,
        tokens: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
        seed: int | None = None,
        live: bool = False,
    ) -> NotebookComponent:
        """Return the temperature slider of the app for a notebook: a text generated at each of 41 temperatures.

        tokens: at most 400; by default 120, by a real model 20, because many tokens of a large model take long.
        temperature: the first position of the slider, from 0 to 2. The other settings are those of `generate`.
        live: the component shows the distribution of every token at the exact temperature, because the model in the
            kernel computes its logits. Otherwise only that of the first token is exact, and those of the other tokens
            are shown at the nearest of the 41 temperatures.

        See `NotebookComponent`. Raises InvalidSetting for a run of another task than text, a real model that is no
        decoder, or an impossible value.
        """
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        count, live = self._slider_tokens if tokens is None else tokens, require_flag("live", live)
        prompt, at = require_text(prompt), self._find_replica_and_step(seed, step)
        return temperature_component.temperature_component(self._model, *at, prompt, count, sampling, live)

    def surprisal(self, text: str, *, step: int | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return -log p of each token of a text given those before it, in nats (task text, a real decoder).

        The columns are position, token and surprisal: the mean over the seeds, with the lowest and highest value of a
        seed. The first token is missing, because nothing is read before it. The mean of the column is the loss of the
        text, and its exponential the perplexity. The text is read in windows of the training context, each beginning
        half a window after the one before it.

        Raises InvalidSetting for another kind of model, and a text of fewer than two tokens.

        >>> explorer.load("text-toy-rnn").surprisal("abca abca").token.tolist()[:3]
        ['b', 'c', 'a']
        """
        one, at = self._find_replica_and_step(seed, step)
        replicas = range(len(self._model.seeds)) if seed is None else [one]
        return outputs.surprisal_table(self._model, require_text(text), at, replicas)

    def trace(
        self,
        text: str,
        *,
        replace: Mapping[str, traces.Replacement] | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> traces.Trace:
        """Return every named intermediate value of one forward pass, and the logits.

        replace: values to replace, by name: an array of the shape that the value has in a trace (an intervention as in
            activation patching), or a function of the tensor (with a batch axis) that returns another one. Inside a
            loop over time, as in a recurrent network, the function is called with the tensor of each step.

        The trace is a mapping from names, as `blocks.0.attention.weights`, to arrays without the batch axis. A real
        encoder–decoder reads its own translation of the text as the input of the decoder. Raises InvalidSetting for an
        unknown name or another shape, and the errors of `predict`.

        >>> trace = run.trace("human not preserve nature")
        >>> trace["blocks.0.attention.weights"].shape
        (1, 6, 6)
        """
        at = self._find_replica_and_step(seed, step)
        tokens, inputs = traces.model_inputs(self._model, require_text(text), *at)
        return traces.trace(self._model.module(*at), tokens, inputs, replace)


def format_facts(title: str, facts: Mapping[str, str]) -> str:
    """Return names and values as an HTML table below a title, which is HTML already."""
    style = "style='text-align:left'"
    rows = (
        f"<tr><th {style}>{html.escape(name)}</th><td {style}>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"{title}<table>{''.join(rows)}</table>"
