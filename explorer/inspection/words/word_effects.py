"""What each word of an English sentence contributes to the answer of a model, by the mean of its seeds.

Of a bag of words it is the sum of the weights of the pieces of the word. Of every other model it is the change of the
score when the word is left out (occlusion: Li, Monroe and Jurafsky 2016, Understanding neural networks through
representation erasure). The score is the logit of "positive" minus that of "negative".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.bag_of_words import BagOfWords
from explorer.tasks.own_sentences import Language
from explorer.tokenization.english import CONTINUES


@dataclass(frozen=True)
class WordEffects:
    """A contribution to the score for each word; positive ones add to "positive"."""

    words: tuple[str, ...]
    values: Float[ndarray, " words"]


def group_pieces(pieces: Sequence[str]) -> list[list[int]]:
    """Return the positions of the pieces of each word."""
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if piece.startswith(CONTINUES) and groups:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def join_pieces(pieces: Sequence[str]) -> tuple[str, ...]:
    """Return the words that pieces consist of."""
    return tuple(
        "".join(pieces[i].removeprefix(CONTINUES) if n else pieces[i] for n, i in enumerate(group))
        for group in group_pieces(pieces)
    )


@torch.inference_mode()
def word_effects(loaded: LoadedModel, pieces: tuple[str, ...]) -> WordEffects:
    """Return what each word of a sentence, given as pieces, contributes."""
    groups, vocabulary = group_pieces(pieces), Language.from_json(loaded.tokenizer).vocabulary
    if isinstance(loaded.stack, BagOfWords):
        weight: Tensor = loaded.stack.readout.weight  # (*replicas, classes, tokens)
        weights = (weight[..., 1, :] - weight[..., 0, :]).view(loaded.config.replicas, -1).mean(dim=0)
        values = torch.stack([weights[[vocabulary.id(pieces[i]) for i in group]].sum() for group in groups])
        return WordEffects(join_pieces(pieces), to_array(values))
    without = [tuple(piece for i, piece in enumerate(pieces) if i not in group) for group in groups]
    rows = [vocabulary.encode(each) for each in (pieces, *without)]
    padding = vocabulary.id(vocabulary.padding)
    ids = torch.tensor([(*row, *[padding] * (len(rows[0]) - len(row))) for row in rows])
    replicas = loaded.config.replicas
    logits = loaded.stack(ids.expand(replicas, *ids.shape) if replicas > 1 else ids).view(replicas, len(rows), -1)
    score = (logits[..., 1] - logits[..., 0]).mean(dim=0)
    return WordEffects(join_pieces(pieces), to_array(score[0] - score[1:]))
