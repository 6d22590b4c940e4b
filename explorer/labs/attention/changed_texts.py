"""Pairs of example texts that have the same number of tokens and lead to different answers."""

from __future__ import annotations

PAIRS = {  # by an example text of a model
    "The film is not good": "The film is very good",
    "Not bad at all": "Not good at all",
    "Nobody liked the soup": "Everybody liked the soup",
    "I don't think the new teacher is rude": "I don't think the new teacher is kind",
    "The plot is weak but the acting is great": "The plot is great but the acting is weak",
    "The hotel could not be better": "The hotel could not be worse",
    "the king near the queens behind the aunts is proud of": "the queen near the queens behind the aunts is proud of",
    "the queen near the kings behind the uncles is proud of": "the king near the kings behind the uncles is proud of",
    "the kings near the queen are proud of": "the king near the queen is proud of",
    "the king near the queens": "the kings near the queens",
    "human not preserve nature": "human not destroy nature",
    "human preserve nature": "human destroy nature",
    "human not destroy nature": "human not preserve nature",
    "the night and the day": "the night and the way",
    "The capital of France is": "The capital of Germany is",
    "The capital of Italy is": "The capital of France is",
    "When Mary and John went to the store, John gave a drink to": (
        "When Mary and John went to the store, Mary gave a drink to"
    ),
    "When Mary and John went to the store, Mary gave a drink to": (
        "When Mary and John went to the store, John gave a drink to"
    ),
}
LETTER_PAIRS = {"O thou ha": "O they ha", "and thou ar": "and they ar"}  # “O thou hast”, “O they have”
COUNTERPARTS = PAIRS | LETTER_PAIRS
