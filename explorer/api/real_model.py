"""`explorer.RealModel`: a real pretrained model that is open on this machine, and what can be seen of it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from explorer.api import attention, outputs, patching, temperature_component, traces
from explorer.api.arguments import require_flag, require_sampling, require_text, warn
from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened
from explorer.hub.card import ModelCard
from explorer.lazy_libraries import pd, torch
from explorer.model import real_model
from explorer.model.model import Part

if TYPE_CHECKING:
    from torch import nn

    from explorer.api.attention import Attention
    from explorer.api.components import NotebookComponent
    from explorer.api.patching import AnswerParts, PatchedAnswers


class RealModel:
    """A real pretrained model, not trained here: its attention, its predictions and its texts.

    `explorer.load("hub:NAME")` returns one that is open on this machine, and `explorer.load("hub:FOLDER")` the model in
    a folder. It has no training, so there are no curves. A `step` is that of a published checkpoint, one of `steps`.
    """

    def __init__(self, model: real_model.RealModel) -> None:
        self._model = model

    @property
    def card(self) -> ModelCard:
        """What is known about the model."""
        return self._model.card

    # ---- Description ----

    @property
    def name(self) -> str:
        """Its name on this machine; `hub:NAME` in URLs and commands."""
        return self.card.name

    @property
    def kind(self) -> str:
        """“decoder”, “encoder” or “encoder-decoder”."""
        return self.card.kind

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return self.card.parameters

    @property
    def layers(self) -> int:
        """The number of layers; of an encoder–decoder those of the encoder."""
        return self.card.layers

    @property
    def heads(self) -> int:
        """The number of attention heads in each layer."""
        return self.card.heads

    @property
    def revision(self) -> str:
        """The commit of its repository; empty for a local folder."""
        return self.card.revision

    @property
    def licence(self) -> str:
        """The licence as its authors name it; empty if they name none."""
        return self.card.licence

    @property
    def precision(self) -> str:
        """The precision of the stored weights, as "32-bit weights"."""
        return self.card.precision

    @property
    def steps(self) -> list[int]:
        """The training steps of its published checkpoints on this machine, in order; empty if there are none."""
        return list(self._model.steps)

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds of attention of an encoder–decoder: encoder, decoder, cross. Empty for other models."""
        return self._model.parts

    # ---- Attention ----

    def attention(self, text: str, *, part: Part = "", step: int | None = None) -> Attention:
        """Return the attention weights of every head on a text: arrays, tokens, tables and figures.

        part: of an encoder–decoder "encoder", "decoder" or "cross" (by default): the attention of its translation to
            the text.
        step: of a published checkpoint; by default that of the model.

        Raises TextError for a text that cannot be read, InvalidSetting for another part or step.
        """
        if part and part not in self.parts:
            possible = f"Give one of {', '.join(self.parts)}." if self.parts else "It has one kind only. Leave it out."
            raise InvalidSetting(f"{self.name} has no attention of the kind {shorten(part)}. {possible}")
        return attention.attention(self._model, require_text(text), 0, self._model.check_step(step) or 0, part)

    def patching(
        self,
        clean: str,
        changed: str,
        *,
        position: int | None = None,
        answer: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
    ) -> PatchedAnswers:
        """Return which states of the model carry the answer from one text to another; see `Run.patching`.

        It takes about a second for each token of a model with 135 million parameters. Raises InvalidSetting for an
        encoder–decoder and for a model that predicts nothing, too.
        """
        self._check_reads_one_text()
        at = self._model.check_step(step) or 0
        first, other = (attention.read_text(self._model, text, 0, at) for text in (clean, changed))
        return patching.patch(self._model, first, other, position, answer, contrast)

    def logit_attribution(
        self,
        text: str,
        *,
        position: int | None = None,
        outcome: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
    ) -> AnswerParts:
        """Return what each head and each feedforward layer adds to a logit; see `Run.logit_attribution`.

        Raises InvalidSetting for an encoder–decoder and for a model that predicts nothing, too.
        """
        self._check_reads_one_text()
        read = attention.read_text(self._model, text, 0, self._model.check_step(step) or 0)
        return patching.attribute(self._model, read, position, outcome, contrast)

    # ---- Predictions and texts ----

    def predict(self, text: str | Iterable[str], *, step: int | None = None) -> pd.DataFrame:
        """Return the prediction of the model for a text. The columns are, by kind of model:

            decoder           token, probability: the distribution of the next token
            encoder           position, token, probability: the distribution at each [MASK] of the text
            encoder–decoder   output, probability: the most probable token after each other, until the end token

        For several texts the table has their rows one after the other and a column `text`. Raises InvalidSetting for a
        model that predicts nothing, and for a text without [MASK].
        """
        texts, at = outputs.require_texts_to_predict(text), self._model.check_step(step)
        tables = [outputs.real_prediction_table(self._model, each, at) for each in texts]
        unread = [self._model.tokenize(each).unread for each in texts]
        warn(" ".join(filter(None, unread)))
        for table, sentence in zip(tables, unread, strict=True):
            table.attrs["unread"] = sentence
        if isinstance(text, str):
            return tables[0]
        return pd.concat(
            [table.assign(text=each)[["text", *table]] for each, table in zip(texts, tables, strict=True)],
            ignore_index=True,
        )

    def generate(
        self,
        prompt: str = "",
        *,
        tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
    ) -> str:
        """Return the prompt and its continuation by a decoder; the arguments are those of `Run.generate`.

        Raises InvalidSetting for another kind of model, or an impossible value.
        """
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        return outputs.generate_text(self._model, require_text(prompt), tokens, sampling, self._model.check_step(step))

    def temperature(
        self,
        prompt: str = "",
        *,
        tokens: int = 20,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
        live: bool = False,
    ) -> NotebookComponent:
        """Return the temperature slider of the app for a notebook; see `Run.temperature`.

        A text is generated at each of 41 temperatures, so many tokens of a large model take long. Raises InvalidSetting
        for a model that is no decoder, or an impossible value.
        """
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        generator, live = self._model.text_generator(step=self._model.check_step(step)), require_flag("live", live)
        return temperature_component.temperature_component(
            self._model, generator, self.name, require_text(prompt), tokens, sampling, live
        )

    def surprisal(self, text: str, *, step: int | None = None) -> pd.DataFrame:
        """Return -log p of each token of a text given those before it, in nats, with position and token.

        The first token is missing, because nothing is read before it. Raises InvalidSetting for a model that is no
        decoder, and a text of fewer than two tokens.
        """
        return outputs.surprisal_table(self._model, require_text(text), self._model.check_step(step))

    def trace(
        self, text: str, *, replace: Mapping[str, traces.Replacement] | None = None, step: int | None = None
    ) -> traces.Trace:
        """Return every named intermediate value of one forward pass, and the logits; see `Run.trace`.

        An encoder–decoder reads its own translation of the text as the input of the decoder.
        """
        given, module = self._model.tokenize(require_text(text)), self.model(step=step)
        translation = [self._model.translate(given.ids, self._model.check_step(step))[:-1]] if self.parts else []
        inputs = tuple(torch.tensor([row]) for row in (given.ids, *translation))
        return traces.trace(module, given.tokens, inputs, replace)

    def model(self, *, step: int | None = None) -> nn.Module:
        """Return the torch module with its taps; `.model` is that of the transformers library. Do not change it.

        Everything in this process that uses the model shares it.
        """
        return self._model.module(step=self._model.check_step(step))

    def url(self, server: str = "http://localhost:8501") -> str:
        """Return the address of the model on the attention page of the app, which runs at `server`.

        Raises InvalidSetting for the model of a folder that was not opened with `lineage open`.
        """
        require_text(server, "The address of the server")
        opened.find_card(self.name)
        return f"{server.rstrip('/')}/attention?run={opened.PREFIX}{self.name}"

    # ---- Display ----

    def __repr__(self) -> str:
        return "\n".join([f"{self.name}, a real model", *(f"  {name:16} {value}" for name, value in self.card.facts())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>"
            f"{html.escape(value)}</td></tr>"
            for name, value in self.card.facts()
        )
        return f"<strong>{html.escape(self.name)}</strong><table>{rows}</table>"

    # ---- Helpers ----

    def _check_reads_one_text(self) -> None:
        if self.parts:
            raise InvalidSetting(
                f"{self.name} reads one text and writes another. This is measured for decoders and encoders."
            )
