"""The typed text in the tokens of a real model, and in those of a tokenizer that was trained here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from explorer.inspection.language.tokenizers import TrainedTokenizer, truncate_tokenizer
from explorer.labs.tokens import findings
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.labs.tokens.tokenizers import tokenizer_requests
from explorer.model.real_model import COLOUR, RealModel
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, fragment

MOST_SHOWN = 120  # tokens of a tokenizer
FRAGMENT = "tokens-real"  # it is redrawn when the typed text changes
_OWN_COLOUR = "--m-transformer"


@dataclass(frozen=True, eq=False)
class _Split:
    """A tokenizer and what it makes of a text."""

    title: str
    colour: str
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    unknown: tuple[str, ...]  # the parts of the text that it does not know
    exact: bool  # whether its tokens give the text back


def _split(title: str, colour: str, tokenizer: Tokenizer, text: str) -> _Split:
    """Split a text. Raises TextError."""
    ids = tokenizer.encode(text)
    return _Split(
        title,
        colour,
        tokenizer,
        tuple(ids.tolist()),
        tuple(tokenizer.find_unknown(text)),
        tokenizer.decode(ids) == text,
    )


def real_tokenizer_section(session: PageSession[TokensState], config: TextConfig, model: RealModel) -> None:
    """Draw the tokens and ids of both tokenizers."""

    def draw() -> None:
        state = session.state
        text, _ = truncate_typed(state.typed_text(corpora.load_text(config)))
        requests: dict[str, Request[object]] = {
            **tokenizer_requests(config),
            "real": ((*model.cache_key, "tokens of a text", text), partial(_split_real, model, text)),
        }
        draw_both = partial(_draw, state.tokenizer, state.vocabulary, text)
        result_section("tokens-real", requests, draw_both, "The text is being split …", 300)

    fragment(session, FRAGMENT, draw)


def _split_real(model: RealModel, text: str) -> _Split:
    """Split a text with the tokenizer of a real model. Raises LineageError."""
    return _split(model.title, COLOUR, model.tokenizer, text)


def _draw(kind: str, vocabulary: int, text: str, document: Document, results: Mapping[str, object]) -> None:
    real, trained = results.get("real"), results.get("tokenizers")
    if not isinstance(real, _Split) or not isinstance(trained, Mapping):
        return
    own = _split_own(trained[kind], vocabulary, text)
    document.finding(findings.real_tokenizer_finding(len(text), real.title, len(real.ids), own.title, len(own.ids)))
    document.component(
        "token_ids",
        {
            "rows": [_row(each) for each in (real, own)],
            "caption": "Below each token is its id, the number that the model reads. Dashed: an unknown part.",
            "file": "tokens-real",
            "label": "The text in the tokens of two tokenizers",
        },
        key="tokens-real",
    )


def _split_own(trained: TrainedTokenizer, vocabulary: int, text: str) -> _Split:
    """Split a text with our tokenizer at a vocabulary. Raises TextError."""
    tokenizer = truncate_tokenizer(trained.tokenizer, trained.nearest_vocabulary(vocabulary))
    return _split(f"{findings.TITLES[trained.kind]}, trained here", _OWN_COLOUR, tokenizer, text)


def _row(each: _Split) -> dict[str, object]:
    names = each.tokenizer.tokens
    return {
        "title": each.title,
        "colour": each.colour,
        "note": findings.split_note(len(each.ids), len(names), each.unknown, each.exact),
        "tokens": [
            {"text": names[id], "id": id, "unknown": id == each.tokenizer.unknown} for id in each.ids[:MOST_SHOWN]
        ],
        "omitted": max(0, len(each.ids) - MOST_SHOWN),
    }
