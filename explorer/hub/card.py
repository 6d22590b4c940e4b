"""What is known about an opened real model: the card, which pages show and from which the model is loaded again."""

from __future__ import annotations

import datetime

import pydantic

from explorer.hub.architectures import Kind
from explorer.number_format import format_count

# Repositories whose weights were looked at in all pages: SmolLM2 from a GGUF file with 4 bits, the other one as it is.
TRIED = ("HuggingFaceTB/SmolLM2-135M-Instruct", "sentence-transformers/all-MiniLM-L6-v2")
NOT_TRAINED_HERE = "not trained here"


class ModelCard(pydantic.BaseModel, frozen=True):
    """A real model that this machine has opened; the content of LINEAGE_HOME/models/NAME/card.json."""

    format: int = 1
    name: str  # in URLs: hub:NAME
    source: str  # id of a repository, or a folder
    from_folder: bool
    revision: str = ""  # the commit of a repository
    licence: str = ""  # as its authors name it; empty: unknown
    kind: Kind
    model_type: str
    predicts: bool  # whether it predicts tokens; a sentence encoder gives vectors only
    layers: int
    heads: int
    width: int
    context: int  # tokens; 0: no limit
    vocabulary: int
    parameters: int
    precision: str  # of the stored weights: "4-bit weights made float32"
    bytes: int  # of the weights on disk
    folder: str
    fingerprint: str  # changes if a file in the folder changes
    opened: datetime.datetime

    @property
    def memory(self) -> int:
        """Bytes of the loaded weights, in 32 bits."""
        return 4 * self.parameters

    @property
    def tried(self) -> bool:
        """Whether the developers of Lineage have tried it with its real weights."""
        return self.source in TRIED

    def facts(self) -> list[tuple[str, str]]:
        """Return names and values of what visitors should know."""
        return [
            ("training", NOT_TRAINED_HERE),
            ("source", "a folder on the server" if self.from_folder else self.source),  # without its path
            *([("commit", self.revision[:12])] if self.revision else []),
            ("licence", self.licence or "not stated"),
            ("kind", f"{self.kind} ({self.model_type})"),
            ("parameters", format_count(self.parameters)),
            ("layers × heads", f"{self.layers} × {self.heads}"),
            ("width", format_count(self.width)),
            ("context", f"{format_count(self.context)} tokens" if self.context else "no limit"),
            ("vocabulary", f"{format_count(self.vocabulary)} tokens"),
            ("precision", self.precision),
        ]
