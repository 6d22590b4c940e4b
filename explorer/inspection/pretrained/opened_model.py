"""The experiments with an opened real model, as pages and lessons show them, and what they need of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.hub.card import ModelCard
from explorer.hub.opened import load_model
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.logit_lens import most_probable_by_depth
from explorer.inspection.pretrained import answer_depth, first_token, repeated_tokens, senses
from explorer.inspection.pretrained.coreference import Coreference, coreference
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, SENTENCES
from explorer.inspection.pretrained.word_similarity import word_similarity

FirstTokens: TypeAlias = Literal["unchanged", "replaced", "removed", "longer", "random network"]
JOINED = 4  # sentences of a longer text
OTHER_TEXTS = 20  # of the length of a visitor's text: less than all of them is less than in 95 %
MOST_OWN_TOKENS = 64  # of a visitor's text
_SELECTION, _MEASUREMENT = 1, 2  # seeds of the sequences that choose heads, and of those on which they are removed


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model, its tokenizer, and the tokens from which random ones are drawn."""

    module: PretrainedModule
    tokenizer: PretrainedTokenizer

    @property
    def model(self) -> AttentionModel:
        return self.module.part()

    @cached_property
    def pool(self) -> tuple[int, ...]:
        """All tokens but the special ones and those that no text has."""
        special, known = self.tokenizer.special, min(self.module.vocabulary, len(self.tokenizer.tokens))
        return tuple(
            id for id in range(known) if id not in special and not self.tokenizer.tokens[id].startswith("<unused ")
        )

    def ids(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text with the tokens around it."""
        return self.tokenizer.add_special_tokens(self.tokenizer.encode(text).tolist())

    @property
    def period(self) -> int:
        """The number of random tokens of which the model can read two copies."""
        longest, context = repeated_tokens.PERIOD, self.module.context
        return min(longest, (context - len(self.tokenizer.before)) // 2) if context else longest

    def own_ids(self, text: str, least: int = 1) -> tuple[int, ...]:
        """Return the ids of a visitor's text, without an end token. Raises InvalidSetting for a bad length."""
        ids = (*self.tokenizer.before, *self.tokenizer.encode(text).tolist())
        if not least <= len(ids) <= MOST_OWN_TOKENS:
            raise InvalidSetting(
                f"Your text has {len(ids):,} tokens. Write a text of {least} to {MOST_OWN_TOKENS} tokens."
            )
        return ids

    def repeat_random_tokens(self, seed: int) -> repeated_tokens.Ids:
        """Return sequences of random tokens that occur twice in the same order."""
        return repeated_tokens.repeated_tokens(self.pool, seed, period=self.period, before=self.tokenizer.before)

    def sentences_from(self, start: int, length: int) -> tuple[int, ...]:
        """Return the first ids of the sentences from this one on."""
        text = " ".join((*SENTENCES[start:], *SENTENCES[:start])[:length])
        return (*self.tokenizer.before, *self.tokenizer.encode(text).tolist())[:length]

    def random_network(self, seed: int) -> AttentionModel:
        """Return the model with random weights. Raises InvalidSetting if it does not fit into the memory for models."""
        return random_network(self.module, seed).part()


def opened_model(card: ModelCard) -> OpenedModel:
    """Return the model of a card; loading takes seconds. Raises InvalidSetting if it cannot be loaded."""
    module = load_model(card)
    return OpenedModel(module, load_tokenizer(Path(card.folder), module.vocabulary))


# ---- the experiments

Group: TypeAlias = Literal["best", "two best", "four best", "previous-token head"]
_KEPT = 32  # results of each experiment


@lru_cache(maxsize=_KEPT)
def induction_scores(card: ModelCard) -> repeated_tokens.RepeatScores:
    """Score all heads on random tokens that occur twice."""
    opened = opened_model(card)
    return repeated_tokens.score_heads(opened.model, opened.repeat_random_tokens(_SELECTION), opened.period)


@lru_cache(maxsize=_KEPT)
def loss_without_group(card: ModelCard, group: Group, draws: int = repeated_tokens.DRAWS) -> repeated_tokens.Removal:
    """Return the loss on new sequences without the best induction heads or the previous-token head, or random ones.

    Raises InvalidSetting if there is no layer below the best induction head.
    """
    scores, opened = induction_scores(card), opened_model(card)
    best, previous = scores.best_induction_heads(), scores.previous_token_head()
    if group != "previous-token head":
        heads = best[: {"best": 1, "two best": 2, "four best": 4}[group]]
    elif previous is None:
        raise InvalidSetting("The best induction head is in the first layer, so no head is below it.")
    else:
        heads = (previous,)
    ids = opened.repeat_random_tokens(_MEASUREMENT)
    return repeated_tokens.measure_removal(opened.model, ids, heads, best, draws, opened.period)


@lru_cache(maxsize=_KEPT)
def attention_to_first_token(card: ModelCard, variant: FirstTokens) -> first_token.FirstTokenAttention:
    """Measure the attention to the first token of sentences, or of changed ones."""
    opened = opened_model(card)
    texts = [opened.ids(text) for text in SENTENCES]
    if variant == "replaced":
        texts = first_token.replace_first(texts, opened.pool)
    if variant == "removed":
        texts = [ids[1:] for ids in texts]
    if variant == "longer":  # sentences from all over the list, so that they are about different things
        count = len(SENTENCES) // JOINED
        texts = [opened.ids(" ".join(SENTENCES[i::count][:JOINED])) for i in range(count)]
    model = opened.random_network(0) if variant == "random network" else opened.model
    return first_token.first_token_attention(model, texts)


@lru_cache(maxsize=_KEPT)
def first_token_of_others(card: ModelCard, length: int) -> first_token.FirstTokenAttention:
    """Measure the attention to the first token of texts of this many tokens: sentences in a row."""
    opened, starts = opened_model(card), range(0, len(SENTENCES), len(SENTENCES) // OTHER_TEXTS)[:OTHER_TEXTS]
    return first_token.first_token_attention(opened.model, [opened.sentences_from(start, length) for start in starts])


@lru_cache(maxsize=_KEPT)
def neighbours_by_sense(card: ModelCard, random_seed: int | None = None) -> senses.SenseNeighbours:
    """Measure whether nearest neighbours have the same sense, or do so in a random network of this seed."""
    opened = opened_model(card)
    model = opened.model if random_seed is None else opened.random_network(random_seed)
    words = [senses.find_occurrence(opened.tokenizer, each.text, each.word, each.sense) for each in AMBIGUOUS]
    return senses.sense_neighbours(model, words)


@lru_cache(maxsize=_KEPT)
def depth_of_answers(card: ModelCard) -> answer_depth.AnswersByDepth:
    """Read off the answers to all prompts at every depth. Raises InvalidSetting for a model that gives none."""
    opened = opened_model(card)
    prompts = answer_depth.single_token_prompts(opened.tokenizer)
    return answer_depth.answers_by_depth(opened.model, prompts, len(PROMPTS))


@lru_cache(maxsize=_KEPT)
def lens_after_prompts(card: ModelCard) -> Int[ndarray, "depths prompts"]:
    """Return the token that the logit lens shows at every depth after each prompt, whatever its answer is."""
    opened = opened_model(card)
    shown = [most_probable_by_depth(opened.model, opened.ids(each.text))[0][:, -1] for each in PROMPTS]
    return np.stack(shown, axis=1)


@lru_cache(maxsize=_KEPT)
def meaning_of_it(card: ModelCard) -> Coreference:
    """Measure whether a head finds what “it” means."""
    opened = opened_model(card)
    return coreference(opened.model, opened.tokenizer)


def word_in_sentences(
    card: ModelCard, sentences: tuple[str, ...], word: str, random: bool
) -> Float[ndarray, "depths sentences sentences"]:
    """Return the cosines between the vectors of a word, in the model or in a random network of the same sizes."""
    opened = opened_model(card)
    module = random_network(opened.module) if random else opened.module
    return word_similarity(module, opened.tokenizer, sentences, word)
