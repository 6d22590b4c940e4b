"""`explorer.RealModel`: a real pretrained model that is open on this machine, and what can be seen of it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from explorer.api.arguments import require_text
from explorer.api.inspected_model import InspectedModel, format_facts
from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened
from explorer.hub.card import ModelCard
from explorer.model import real_model

if TYPE_CHECKING:
    from torch import nn


class RealModel(InspectedModel):
    """A real pretrained model, not trained here: its attention, its predictions and its texts.

    `explorer.load("hub:NAME")` returns one that is open on this machine, and `explorer.load("hub:FOLDER")` the model in
    a folder. It has no training, so there are no curves. A `step` is that of a published checkpoint, one of `steps`.
    """

    _generated_tokens = 50
    _slider_tokens = 20

    def __init__(self, model: real_model.RealModel) -> None:
        self._real_model = model

    @property
    def _model(self) -> real_model.RealModel:
        return self._real_model

    def _at(self, seed: int | str | None, step: int | None) -> tuple[int, int | None]:
        if seed not in (None, 0):
            raise InvalidSetting(f"There is no seed {shorten(seed)}: a real model has one state. Leave the seed out.")
        return 0, self._model.check_step(step)

    @property
    def card(self) -> ModelCard:
        """What is known about the model."""
        return self._model.card

    # ---- Description ----

    @property
    def name(self) -> str:  # type: ignore[override]  # read only
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
