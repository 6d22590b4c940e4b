"""An opened real model with what the experiments need of it, and the experiments as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.hub import memory
from explorer.hub.card import ModelCard
from explorer.hub.opened import load_model
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.inspection.attention.attend import Head
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.logit_lens import most_probable_by_depth
from explorer.inspection.pretrained import answer_depth, first_token, repeated_tokens, senses
from explorer.inspection.pretrained.coreference import Coreference, coreference
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, SENTENCES
from explorer.inspection.pretrained.word_similarity import random_word_similarity, word_similarity

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
        """Return the ids of a visitor's text, without an end token.

        Raises InvalidSetting for too few or too many tokens.
        """
        ids = (*self.tokenizer.before, *self.tokenizer.encode(text).tolist())
        if not least <= len(ids) <= MOST_OWN_TOKENS:
            raise InvalidSetting(
                f"Your text has {len(ids):,} tokens. Write a text of {least} to {MOST_OWN_TOKENS} tokens."
            )
        return ids

    # ---- the experiments

    def score_heads(self) -> repeated_tokens.RepeatScores:
        """Score all heads on random tokens that occur twice."""
        return repeated_tokens.score_heads(self.model, self._repeat_random_tokens(_SELECTION), self.period)

    def remove_heads(self, heads: Sequence[Head], excluded: Sequence[Head], draws: int) -> repeated_tokens.Removal:
        """Remove heads on sequences other than those of `score_heads`, and random heads of the same layers."""
        ids = self._repeat_random_tokens(_MEASUREMENT)
        return repeated_tokens.measure_removal(self.model, ids, heads, excluded, draws, self.period)

    def _repeat_random_tokens(self, seed: int) -> repeated_tokens.Ids:
        return repeated_tokens.repeated_tokens(self.pool, seed, period=self.period, before=self.tokenizer.before)

    def first_token_of_others(self, length: int) -> first_token.FirstTokenAttention:
        """Measure the attention to the first token of texts of this many tokens: sentences in a row."""
        starts = range(0, len(SENTENCES), len(SENTENCES) // OTHER_TEXTS)[:OTHER_TEXTS]
        texts = [self._sentences_from(start, length) for start in starts]
        return first_token.first_token_attention(self.model, texts)

    def _sentences_from(self, start: int, length: int) -> tuple[int, ...]:
        """Return the first ids of the sentences from this one on."""
        text = " ".join((*SENTENCES[start:], *SENTENCES[:start])[:length])
        return (*self.tokenizer.before, *self.tokenizer.encode(text).tolist())[:length]

    def first_token(self, variant: FirstTokens) -> first_token.FirstTokenAttention:
        """Measure the attention to the first token of sentences, or of changed ones."""
        texts = [self.ids(text) for text in SENTENCES]
        if variant == "replaced":
            texts = first_token.replace_first(texts, self.pool)
        if variant == "removed":
            texts = first_token.remove_first(texts)
        if variant == "longer":  # sentences from all over the list, so that they are about different things
            count = len(SENTENCES) // JOINED
            texts = [self.ids(" ".join(SENTENCES[i::count][:JOINED])) for i in range(count)]
        module = self._random_network(0) if variant == "random network" else self.module
        return first_token.first_token_attention(module.part(), texts)

    def sense_neighbours(self, random_seed: int | None = None) -> senses.SenseNeighbours:
        """Measure whether nearest neighbours have the same sense, or do so in a random network of this seed."""
        module = self.module if random_seed is None else self._random_network(random_seed)
        return senses.sense_neighbours(module.part(), senses.ambiguous_occurrences(self.tokenizer, AMBIGUOUS))

    def _random_network(self, seed: int) -> PretrainedModule:
        size = 4 * sum(weight.numel() for weight in self.module.model.parameters())
        if memory.loaded_bytes() + size > environment().models_memory:
            raise InvalidSetting(
                "A random network of this size does not fit into the memory for models; a smaller model would."
            ).for_operator("The limit is LINEAGE_MODELS_MEMORY (bytes).")
        return random_network(self.module, seed)

    def answers_by_depth(self) -> answer_depth.AnswersByDepth:
        """Read off the answers to all prompts at every depth. Raises InvalidSetting for a model that gives none."""
        prompts = answer_depth.single_token_prompts(self.tokenizer)
        return answer_depth.answers_by_depth(self.model, prompts, len(PROMPTS))

    def coreference(self) -> Coreference:
        """Measure whether a head finds what “it” means."""
        return coreference(self.model, self.tokenizer)


def opened_model(card: ModelCard) -> OpenedModel:
    """Return the model of a card; loading takes seconds. Raises InvalidSetting if it cannot be loaded."""
    module = load_model(card)
    return OpenedModel(module, load_tokenizer(Path(card.folder), module.vocabulary))


# ---- results of opened models, which pages and lessons share

Group: TypeAlias = Literal["best", "two best", "four best", "previous-token head"]
_KEPT = 32  # results of each experiment


@lru_cache(maxsize=_KEPT)
def induction_scores(card: ModelCard) -> repeated_tokens.RepeatScores:
    """Return the scores of all heads; see `OpenedModel.score_heads`."""
    return opened_model(card).score_heads()


@lru_cache(maxsize=_KEPT)
def loss_without_group(card: ModelCard, group: Group, draws: int = repeated_tokens.DRAWS) -> repeated_tokens.Removal:
    """Return the loss without the best induction heads, or without the previous-token head, and without random heads.

    Raises InvalidSetting if there is no layer below the best induction head.
    """
    scores = induction_scores(card)
    best, previous = scores.best_induction_heads(), scores.previous_token_head()
    if group != "previous-token head":
        heads = best[: {"best": 1, "two best": 2, "four best": 4}[group]]
    elif previous is None:
        raise InvalidSetting("The best induction head is in the first layer, so no head is below it.")
    else:
        heads = (previous,)
    return opened_model(card).remove_heads(heads, best, draws)


@lru_cache(maxsize=_KEPT)
def attention_to_first_token(card: ModelCard, variant: FirstTokens) -> first_token.FirstTokenAttention:
    """Return how much attention goes to the first token; see `OpenedModel.first_token`."""
    return opened_model(card).first_token(variant)


@lru_cache(maxsize=_KEPT)
def first_token_of_others(card: ModelCard, length: int) -> first_token.FirstTokenAttention:
    """Return the attention to the first token of other texts; see `OpenedModel.first_token_of_others`."""
    return opened_model(card).first_token_of_others(length)


@lru_cache(maxsize=_KEPT)
def neighbours_by_sense(card: ModelCard, random_seed: int | None = None) -> senses.SenseNeighbours:
    """Return whether nearest neighbours have the same sense; see `OpenedModel.sense_neighbours`."""
    return opened_model(card).sense_neighbours(random_seed)


@lru_cache(maxsize=_KEPT)
def depth_of_answers(card: ModelCard) -> answer_depth.AnswersByDepth:
    """Return where answers appear; see `OpenedModel.answers_by_depth`."""
    return opened_model(card).answers_by_depth()


@lru_cache(maxsize=_KEPT)
def lens_after_prompts(card: ModelCard) -> Int[ndarray, "depths prompts"]:
    """Return the token that the logit lens shows at every depth after each prompt, whatever its answer is."""
    opened = opened_model(card)
    shown = [most_probable_by_depth(opened.model, opened.ids(each.text))[0][:, -1] for each in PROMPTS]
    tokens: ndarray = np.stack(shown, axis=1)
    return tokens


@lru_cache(maxsize=_KEPT)
def meaning_of_it(card: ModelCard) -> Coreference:
    """Return whether a head finds what “it” means; see `OpenedModel.coreference`."""
    return opened_model(card).coreference()


def word_in_sentences(
    card: ModelCard, sentences: tuple[str, ...], word: str, random: bool
) -> Float[ndarray, "depths sentences sentences"]:
    """Return the cosines between the vectors of a word, in the model or in a random network of the same sizes.

    Raises InvalidSetting if a sentence does not have the word, or if there is not enough memory.
    """
    opened = opened_model(card)
    compare = random_word_similarity if random else word_similarity
    return compare(opened.module, opened.tokenizer, sentences, word)
