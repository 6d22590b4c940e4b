"""Texts that models can read, mostly in pairs that differ in one thing."""

from __future__ import annotations

ENGLISH_EXAMPLES = (
    "The film is not good",
    "Not bad at all",
    "Nobody liked the soup",
    "I don't think the new teacher is rude",
    "The plot is weak but the acting is great",
    "The hotel could not be better",
)
TASK_EXAMPLES: dict[str, tuple[str, ...]] = {  # by task
    "reverse": ("2718281828", "00000000", "12345678901234567890"),
    "copy": ("2718281828", "00000000", "12345678901234567890"),
    "dates": ("3rd of march 1997", "12/10/2003", "tuesday 4 july 2028", "31 february 1999", "5-nov-55"),
    "sentiment": ENGLISH_EXAMPLES,
    "text": ("the night and the day", "the night and no day", "Romeo, Romeo, O Romeo", "xqz vrk xqz vrk xqz v"),
    "agreement": (
        "the king near the queens behind the aunts is proud of",
        "the queen near the kings behind the uncles is proud of",
        "the kings near the queen are proud of",
        "the king near the queens",
    ),
}
SENTENCE_EXAMPLES = ("human not preserve nature", "human preserve nature", "human not destroy nature")
REAL_EXAMPLES: dict[str, tuple[str, ...]] = {  # by the kind of a real model, or by its `model_type`
    "decoder": (
        "The capital of France is",
        "The capital of Italy is",
        "When Mary and John went to the store, John gave a drink to",
        "When Mary and John went to the store, Mary gave a drink to",
        "blue seven mango king blue seven mango",
    ),
    "encoder": (
        "She sat down on the bank of the river.",
        "She took her money to the bank.",
        "The animal did not cross the street because it was too tired.",
        "The animal did not cross the street because it was too wide.",
    ),
    "encoder-decoder": ("The house is small.", "The small house is red.", "I saw the bank of the river."),
    "t5": (
        "translate English to German: The house is small.",
        "translate English to German: The small house is red.",
        "translate English to German: I saw the bank of the river.",
    ),
}
