"""The state classes of pages whose URL a lesson may contain, and a check of such URLs."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from explorer.catalogue import page_title
from explorer.ui.state import url_codec

# State class by page path.
STATES = {
    "negation": "explorer.labs.negation.state:NegationLab",
    "tokens": "explorer.labs.tokens.state:TokensState",
    "word-vectors": "explorer.labs.word_vectors.state:WordVectorsState",
    "text": "explorer.labs.text.state:TextLab",
    "context": "explorer.labs.context.state:ContextState",
    "perplexity": "explorer.labs.perplexity.state:PerplexityState",
    "studio": "explorer.labs.generation.state:GenerationState",
    "attention": "explorer.labs.attention.state:AttentionState",
    "memory": "explorer.labs.memory.state:MemoryState",
    "translation": "explorer.labs.translation.state:TranslationState",
    "shapes": "explorer.labs.sequence_shapes.state:SequenceShapesState",
    "gates": "explorer.labs.gates.state:GatesState",
    "scaled-attention": "explorer.labs.scaled_attention.state:ScaledAttentionState",
    "depth": "explorer.labs.depth.state:DepthState",
    "positions": "explorer.labs.positions.state:PositionsState",
    "masks": "explorer.labs.masks.state:MasksState",
    "block": "explorer.labs.block.state:BlockState",
    "induction": "explorer.labs.induction.state:InductionState",
    "sentences": "explorer.labs.sentence_encoder.state:SentenceEncoderState",
    "cost": "explorer.labs.cost.state:CostState",
    "compare": "explorer.labs.compare.state:Comparison",
}
_ENGLISH = "explorer.labs.negation.state:EnglishLab"  # of the page “negation” in English


def reads_sentence(page: str) -> bool:
    """Return whether the URL of a page may contain a sentence that a visitor has typed (`say`)."""
    return page in STATES and "say" in resolve_name(STATES[page]).__dataclass_fields__


def url_problems(page: str, state: Mapping[str, str]) -> tuple[str, ...]:
    """Return a message for each URL parameter that the page cannot use."""
    if not state:
        return ()
    if page not in STATES:
        return (f"The page {page_title(page)} cannot be given a state yet: it has no row in page_states.py.",)
    return url_codec.read(state_kind(page, state), state)[1]


def state_kind(page: str, state: Mapping[str, str]) -> type[Any]:
    """Return the class of the state of a page in STATES, for these URL parameters."""
    in_english = page == "negation" and state.get("language") == "english"
    kind: type[Any] = resolve_name(_ENGLISH if in_english else STATES[page])
    return kind
