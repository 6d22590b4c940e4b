"""`explorer.RealModel`: a real pretrained model that is open on this machine, and what can be seen of it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from explorer.api.arguments import require_text
from explorer.api.inspected_model import InspectedModel, format_facts
from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened
from explorer.model import real_model

if TYPE_CHECKING:
    from torch import nn


class RealModel(InspectedModel):
    """A real pretrained model, not trained here: its attention, its predictions and its texts.

    `explorer.load("hub:NAME")` returns one that is open on this machine, and `explorer.load("hub:FOLDER")` the model in
    a folder. It has no training, so there are no curves. A `step` is that of a published checkpoint, one of `steps`.

    card: what is known about the model
    name: its name on this machine; `hub:NAME` in URLs and commands
    kind: “decoder”, “encoder” or “encoder-decoder”
    parameters, layers, heads: how many; the layers of an encoder–decoder are those of the encoder, the heads those of a
        layer
    revision: the commit of its repository; empty for a local folder
    licence: the licence as its authors name it; empty if they name none
    precision: the precision of the stored weights, as "32-bit weights"
    parts: the kinds of attention of an encoder–decoder: encoder, decoder, cross; empty for other models
    """

    _generated_tokens = 50
    _slider_tokens = 20

    def __init__(self, model: real_model.RealModel) -> None:
        self._real_model, self.card, self.parts = model, model.card, model.parts
        card = model.card
        self.name, self.kind, self.parameters, self.layers = card.name, card.kind, card.parameters, card.layers
        self.heads, self.revision, self.licence, self.precision = (
            card.heads,
            card.revision,
            card.licence,
            card.precision,
        )

    @property
    def _model(self) -> real_model.RealModel:
        return self._real_model

    def _find_replica_and_step(self, seed: int | str | None, step: int | None) -> tuple[int, int | None]:
        if seed not in (None, 0):
            raise InvalidSetting(f"There is no seed {shorten(seed)}: a real model has one state. Leave the seed out.")
        return 0, self._model.check_step(step)

    @property
    def steps(self) -> list[int]:
        """The training steps of its published checkpoints on this machine, in order; empty if there are none."""
        return list(self._model.steps)

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
        return format_facts(f"<strong>{html.escape(self.name)}</strong>", dict(self.card.facts()))
