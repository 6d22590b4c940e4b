"""How similar the vectors of one word are in different sentences, layer by layer, in a pretrained model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray

from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import PretrainedTokenizer
from explorer.inspection.load_model import to_array
from explorer.inspection.pretrained.senses import find_occurrence, occurrence_vectors

_ROUNDING = 1e-6  # of a difference of cosines


def word_similarity(
    module: PretrainedModule, tokenizer: PretrainedTokenizer, sentences: Sequence[str], word: str
) -> Float[ndarray, "depths sentences sentences"]:
    """Return the cosines between the vectors of a word, after the embedding and after every block.

    The vector of a word is the mean over its tokens. The mean of its vectors in all sentences is subtracted first, so
    that the cosines compare what differs between the sentences. Raises InvalidSetting if one does not have the word.
    """
    occurrences = [find_occurrence(tokenizer, each, word) for each in sentences]
    vectors = occurrence_vectors(module.part(), occurrences)
    unit = F.normalize(vectors - vectors.mean(dim=1, keepdim=True), dim=-1)
    return to_array(unit @ unit.mT)


def share_of_halvings(cosines: Float[ndarray, "sentences sentences"]) -> float:
    """Return the share of all halvings of the sentences that the cosines separate as well as the first and second half.

    A halving is separated well if cosines within a half are higher on average than those between the halves. The share
    is the p-value of an exact permutation test: the probability that a random halving is separated as well. It is at
    least 1/3 for 4 sentences, 1/10 for 6 and 1/35 for 8, and it counts the actual halving itself.
    """
    count = len(cosines)
    differences = []
    for others in combinations(range(1, count), count // 2 - 1):  # the first combination is the actual halving
        first = np.isin(np.arange(count), (0, *others))
        same = first[:, None] == first
        differences.append(cosines[same & ~np.eye(count, dtype=bool)].mean() - cosines[~same].mean())
    return float(np.mean(np.array(differences) >= differences[0] - _ROUNDING))
