"""The typed text in the tokens of a real model, and in those of a tokenizer that was trained here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer import ui
from explorer.inspection.language.tokenizers import train_tokenizers, truncate_tokenizer
from explorer.labs.tokens import findings
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.model.real_model import COLOUR, RealModel
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer

MOST_SHOWN = 120  # tokens of a tokenizer
_OWN_COLOUR = "--m-transformer"


@dataclass(frozen=True, eq=False)
class Split:
    """A tokenizer and what it makes of a text."""

    title: str
    colour: str
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    unknown: tuple[str, ...]  # the parts of the text that it does not know
    exact: bool  # whether its tokens give the text back


def real_tokenizer_section(session: ui.PageSession[TokensState], config: TextConfig, model: RealModel) -> None:
    """Draw the tokens and ids of both tokenizers."""

    def draw() -> None:
        state = session.state
        text, _ = truncate_typed(state.typed_text(corpora.load_text(config)))
        calls: dict[str, ui.Call[object]] = {
            "tokenizers": ui.Call(train_tokenizers, config),
            "real": ui.Call(split_text, model, text),
        }
        context = state.tokenizer, state.vocabulary, text
        ui.show_each("tokens-real", calls, tokens_view, *context, waiting="The text is being split …", height=300)

    ui.fragment(session, "tokens-real", draw)


def split_text(model: RealModel, text: str) -> Split:
    """Split a text with the tokenizer of a real model. Raises LineageError."""
    return _split(model.title, COLOUR, model.tokenizer, text)


def _split(title: str, colour: str, tokenizer: Tokenizer, text: str) -> Split:
    ids = tokenizer.encode(text)
    unknown, exact = tuple(tokenizer.find_unknown(text)), tokenizer.decode(ids) == text
    return Split(title, colour, tokenizer, tuple(ids.tolist()), unknown, exact)


def tokens_view(document: ui.Document, results: Mapping[str, object], kind: str, vocabulary: int, text: str) -> None:
    """Write the text in the tokens of the real model and of the tokenizer of this kind. Raises TextError."""
    real, tokenizers = results.get("real"), results.get("tokenizers")
    if not isinstance(real, Split) or not isinstance(tokenizers, Mapping):
        return
    trained = tokenizers[kind]
    tokenizer = truncate_tokenizer(trained.tokenizer, trained.nearest_vocabulary(vocabulary))
    own = _split(f"{findings.TITLES[kind]}, trained here", _OWN_COLOUR, tokenizer, text)
    document.finding(findings.real_tokenizer_finding(len(text), real.title, len(real.ids), own.title, len(own.ids)))
    data = {
        "rows": [_row(each) for each in (real, own)],
        "caption": "Below each token is its id, the number that the model reads. Dashed: an unknown part.",
        "file": "tokens-real",
        "label": "The text in the tokens of two tokenizers",
    }
    document.component("token_ids", data, "tokens-real")


def _row(each: Split) -> dict[str, object]:
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
