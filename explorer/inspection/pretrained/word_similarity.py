"""How similar the vectors of one word are in different sentences, layer by layer, in a pretrained model."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray

from explorer.environment import environment
from explorer.errors import InvalidSetting, shorten
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import PretrainedTokenizer
from explorer.inspection.load_model import to_array
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.pretrained.senses import find_occurrence, occurrence_vectors
from explorer.models.structure import BYTES


def word_similarity(
    module: PretrainedModule, tokenizer: PretrainedTokenizer, sentences: Sequence[str], word: str
) -> Float[ndarray, "depths sentences sentences"]:
    """Return the cosines between the vectors of a word, after the embedding and after every block.

    The vector of a word is the mean over its tokens. The mean of its vectors in all sentences is subtracted first, so
    that the cosines compare what differs between the sentences. Raises InvalidSetting if one does not have the word.
    """
    occurrences = [find_occurrence(tokenizer, each, _spelling(each, word)) for each in sentences]
    vectors = occurrence_vectors(module.part(), occurrences)
    unit = F.normalize(vectors - vectors.mean(dim=1, keepdim=True), dim=-1)
    return to_array(unit @ unit.mT)


def random_word_similarity(
    module: PretrainedModule, tokenizer: PretrainedTokenizer, sentences: Sequence[str], word: str
) -> Float[ndarray, "depths sentences sentences"]:
    """Return the cosines in a network of the same configuration with random weights.

    Raises InvalidSetting if there is not enough memory for a second network.
    """
    size = sum(each.numel() for each in module.model.parameters()) * BYTES
    if 2 * size > environment().models_memory:
        raise InvalidSetting(
            f"A random network of the same size needs {size / 1e9:.1f} GB more, so it is not shown. The operator sets "
            "the limit in LINEAGE_MODELS_MEMORY."
        )
    return word_similarity(random_network(module), tokenizer, sentences, word)


def _spelling(sentence: str, word: str) -> str:
    """Return a word as a sentence spells it: with a capital letter at its beginning, for example."""
    found = re.search(rf"\b{re.escape(word)}\b", sentence, re.IGNORECASE)
    if found is None:
        raise InvalidSetting(f"The sentence “{shorten(sentence)}” does not have the word “{shorten(word)}”.")
    return found[0]
