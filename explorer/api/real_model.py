"""`explorer.RealModel`: a real pretrained model that is open on this machine, and what can be seen of it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.api import attention, attention_source, patching, predictions, temperature_component, traces
from explorer.api.arguments import require_flag, require_sampling, require_text, warn_unread
from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened
from explorer.hub.card import ModelCard
from explorer.inspection.pretrained.reader import MASKS, PretrainedReader
from explorer.lazy_libraries import pd, torch

if TYPE_CHECKING:
    from torch import nn

    from explorer.api.attention import Attention
    from explorer.api.components import NotebookComponent
    from explorer.api.patching import AnswerParts, PatchedAnswers
    from explorer.hub.pretrained import Part
    from explorer.inspection.attention.attention_model import AttentionModel

_COLOUR = "--m-pretrained"


class RealModel:
    """A real pretrained model, not trained here: its attention, its predictions and its texts.

    `explorer.load("hub:NAME")` returns one that is open on this machine, and `explorer.load("hub:FOLDER")` the model in
    a folder. It has no training, so there are no curves. A `step` is that of a published checkpoint, one of `steps`.
    """

    def __init__(self, reader: PretrainedReader) -> None:
        self._reader = reader

    @property
    def card(self) -> ModelCard:
        """What is known about the model."""
        return self._reader.card

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
        return list(self._reader.steps)

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds of attention of an encoder–decoder: encoder, decoder, cross. Empty for other models."""
        return self._reader.parts

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
        return attention.read_attention(self._source, require_text(text), 0, self._reader.check_step(step) or 0, part)

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
        at = self._reader.check_step(step) or 0
        return patching.patching(self._source, clean, changed, position, answer, contrast, 0, at)

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
        return patching.logit_attribution(
            self._source, text, position, outcome, contrast, 0, self._reader.check_step(step) or 0
        )

    # ---- Predictions and texts ----

    def predict(self, text: str | Iterable[str], *, step: int | None = None) -> pd.DataFrame:
        """Return the prediction of the model for a text. The columns are, by kind of model:

            decoder           token, probability: the distribution of the next token
            encoder           position, token, probability: the distribution at each [MASK] of the text
            encoder–decoder   output, probability: the most probable token after each other, until the end token

        For several texts the table has their rows one after the other and a column `text`. Raises InvalidSetting for a
        model that predicts nothing, and for a text without [MASK].
        """
        several = isinstance(text, Iterable) and not isinstance(text, str)
        texts = [require_text(each) for each in (text if several else [text])]
        if not texts:
            raise InvalidSetting("There is no text to predict. Give at least one.")
        tables = [self._predict(each, step) for each in texts]
        unread = [self._reader.tokenize(each).unread for each in texts]
        warn_unread(" ".join(filter(None, unread)))
        for table, sentence in zip(tables, unread, strict=True):
            table.attrs["unread"] = sentence
        if not several:
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
        return self._writer(step).generate(require_text(prompt), tokens, sampling)

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
        about = temperature_component.Description(self.name, self.name, self.name, "token", _COLOUR)
        return temperature_component.temperature_component(
            self._writer(step), about, require_text(prompt), tokens, sampling, require_flag("live", live)
        )

    def surprisal(self, text: str, *, step: int | None = None) -> pd.DataFrame:
        """Return -log p of each token of a text given those before it, in nats, with position and token.

        The first token is missing, because nothing is read before it. Raises InvalidSetting for a model that is no
        decoder, and a text of fewer than two tokens.
        """
        return predictions.writer_surprisals([self._writer(step)], require_text(text))

    def trace(
        self, text: str, *, replace: Mapping[str, traces.Replacement] | None = None, step: int | None = None
    ) -> traces.Trace:
        """Return every named intermediate value of one forward pass, and the logits; see `Run.trace`.

        An encoder–decoder reads its own translation of the text as the input of the decoder.
        """
        at, given = self._reader.check_step(step), self._reader.tokenize(require_text(text))
        rows = [given.ids, *([self._reader.translate(given.ids, at)[:-1]] if self.parts else [])]
        return traces.trace(self._reader.module(at), given.tokens, tuple(torch.tensor([row]) for row in rows), replace)

    def model(self, *, step: int | None = None) -> nn.Module:
        """Return the torch module with its taps; `.model` is that of the transformers library. Do not change it.

        Everything in this process that uses the model shares it.
        """
        return self._reader.module(self._reader.check_step(step))

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

    @cached_property
    def _source(self) -> _Source:
        return _Source(self._reader)

    def _check_reads_one_text(self) -> None:
        if self.parts:
            raise InvalidSetting(
                f"{self.name} reads one text and writes another. This is measured for decoders and encoders."
            )

    def _writer(self, step: int | None) -> predictions.Writer:
        return predictions.Writer(self._reader.text_generator(self._reader.check_step(step)), self._reader.tokenizer)

    def _predict(self, text: str, step: int | None) -> pd.DataFrame:
        if not self.card.predicts:
            raise InvalidSetting(f"{self.name} predicts nothing, it only makes vectors. Look at its attention.")
        if self.kind == "decoder":
            writer = self._writer(step)
            return predictions.distribution(
                "token", writer.tokenizer.tokens, predictions.next_token(writer, writer.read_prompt(text))[None]
            )
        return self._predict_masks(text, step) if self.kind == "encoder" else self._translate(text, step)

    def _predict_masks(self, text: str, step: int | None) -> pd.DataFrame:
        """Return the distribution at each mask of a text."""
        given, tokens = self._reader.tokenize(text), self._reader.tokenizer.tokens
        masked = [i for i, token in enumerate(given.tokens) if token in MASKS]
        if not masked:
            mask = next((token for token in tokens if token in MASKS), MASKS[0])
            raise InvalidSetting(f"{self.name} predicts the tokens that are hidden. Write {mask} in place of one.")
        with torch.inference_mode():
            shares = (
                self._reader.module(self._reader.check_step(step)).part().logits(given.ids)[masked].softmax(-1).numpy()
            )
        tables = [predictions.distribution("token", tokens, row[None]) for row in shares]
        for position, table in zip(masked, tables, strict=True):
            table.insert(0, "position", position)
        return pd.concat(tables, ignore_index=True)

    def _translate(self, text: str, step: int | None) -> pd.DataFrame:
        """Return the greedy output and its probability, the product of those of its tokens."""
        at, ids, tokenizer = self._reader.check_step(step), self._reader.tokenize(text).ids, self._reader.tokenizer
        written, module = self._reader.translate(ids, at), self._reader.module(at)
        with torch.inference_mode():
            logits = module.part("cross", written[:-1]).logits(ids)
            if module.padding is not None:
                logits[:, module.padding] = -torch.inf  # as in `translate`
        chosen = logits.log_softmax(-1)[range(len(written) - 1), list(written[1:])]
        output = tokenizer.decode([id for id in written if id not in tokenizer.special])
        return pd.DataFrame({"output": [output.strip()], "probability": [float(chosen.sum().exp())]})


class _Source:
    """A real model as a reader with attention (an `AttentionSource`)."""

    unit, colour, separator = "token", _COLOUR, ""

    def __init__(self, model: PretrainedReader) -> None:
        self._reader = model
        self.name = self.title = model.card.name
        self.predicts_in_place = model.card.kind == "encoder"

    @property
    def steps(self) -> Sequence[int]:
        return self._reader.steps

    def read(self, text: str, seed: int, step: int, part: Part) -> tuple[AttentionModel, attention_source.Reading]:
        given = self._reader.tokenize(text)
        model, ids = self._reader.attention_part(part, given.ids, step=step if self.steps else None)
        tokens = given.tokens if ids == given.ids else tuple(self._reader.token_texts(ids))
        keys = tokens if part == "decoder" else given.tokens
        query = self._reader.default_query(tokens)
        return model, attention_source.Reading(given.ids, ids, tokens, keys, query, given.unread)

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        return self._reader.token_texts([outcome], before)[0]

    def held_out_losses(self, seed: int) -> Mapping[str, list[int] | list[float]]:
        return {"steps": [], "losses": []}
