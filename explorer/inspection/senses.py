"""What a sentence encoder makes of a word in its sentence, layer by layer: its vectors, and how alike they are.

A vector of layer 0 is the embedding with its position; of layer l, what the l-th block gives. Cosines are centred: the
mean vector of all words of the asked sentences, at that layer, is taken off first, for in any network all vectors share
a large part that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.opening import to_array
from explorer.models.taps import record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.gloss import GlossConfig, meaning
from explorer.tasks.meanings import HOMOGRAPHS, SENSES, SYNONYMS, TOPICS, Said, ids_of
from explorer.tasks.meanings_rows import PADDING, filled, fresh_sentences
from explorer.training.config import RunConfig

ASKED = 256  # fresh sentences of each kind
DRAWN = 24  # of them, for each sense, on a map


@dataclass(frozen=True, eq=False)
class Alike:
    """How alike the vectors of homographs are: the mean centred cosine over all pairs of sentences."""

    same: Float[ndarray, "replicas layers"]  # of the same word with the same sense
    other: Float[ndarray, "replicas layers"]  # of the same word with its other sense
    neighbour: Float[ndarray, "replicas layers"]  # how often the nearest occurrence of a word has the same sense


@dataclass(frozen=True, eq=False)
class WordMap:
    """One homograph in many sentences: the two directions in which its vectors differ most, at every layer."""

    word: str
    senses: tuple[str, ...]  # of each point of the background
    kinds: tuple[str, ...]  # the words of these points: the homograph, or a synonym
    said: tuple[str, ...]  # their sentences
    points: Float[ndarray, "layers points 2"]
    own: Float[ndarray, "layers own 2"]  # the visitor's occurrences, projected in the same way
    shares: Float[ndarray, "layers 2"]  # of the variance, that each direction shows


@dataclass(frozen=True, eq=False)
class Reading:
    """Everything about one typed sentence in one seed."""

    words: tuple[str, ...]
    weights: Float[ndarray, "layers heads query key"]  # no layers where nothing attends
    vectors: Float[ndarray, "states time width"]  # one state more than layers: the embeddings
    answers: tuple[tuple[str, float], ...]  # of every homograph in it: the likeliest of its senses, and how likely


@torch.inference_mode()
def vectors(
    model: nn.Module, ids: Int[Tensor, "*replicas batch time"]
) -> Float[Tensor, "layers *replicas batch time width"]:
    """The vectors of every word at every layer."""
    with record(model) as trace:
        model(ids)
    blocks = [name for name in trace if name.endswith(".output") and name.count(".") == 2]
    return torch.stack([trace["embedded"], *(trace[name] for name in sorted(blocks))])


def _together(said: Sequence[Said], replicas: int) -> Int[Tensor, "*replicas batch time"]:
    ids = filled((ids_of(each.words) for each in said), PADDING)
    return ids.expand(replicas, *ids.shape) if replicas > 1 else ids


def _homographs(
    model: nn.Module, said: Sequence[Said], replicas: int
) -> tuple[Float[Tensor, "layers replicas sentences width"], Float[Tensor, "layers replicas 1 width"]]:
    """The vectors of the word in question of every sentence, and the mean of all words."""
    ids = _together(said, replicas)
    found = vectors(model, ids).view(-1, replicas, *ids.shape[-2:], _width(model))
    real = (ids.view(replicas, *ids.shape[-2:])[0] != PADDING)[..., None]
    centre = (found * real).sum(dim=(-3, -2)) / real.sum()
    return found[:, :, torch.arange(len(said)), [each.place for each in said]], centre[:, :, None]


def _width(model: nn.Module) -> int:
    assert isinstance(model, TransformerTagger)
    return model.config.width


def alike(model: nn.Module, replicas: int) -> Alike:
    """On fresh sentences. Pairs are counted by sums: of unit vectors u the mean over all pairs of different ones is
    (|Σu|² − n) / (n (n − 1)), and between two groups Σu · Σv / (n m)."""
    said = fresh_sentences(ASKED, ambiguous=True)
    found, centre = _homographs(model, said, replicas)
    unit = F.normalize(found - centre, dim=-1)
    same, other, near = [], [], []
    for word in HOMOGRAPHS:
        near.append(_neighbours(unit, [i for i, each in enumerate(said) if each.topic in SENSES[word]], said))
        sums, counts = [], []
        for topic in SENSES[word]:
            rows = [i for i, each in enumerate(said) if each.topic == topic]
            sums.append(unit[:, :, rows].sum(dim=2))
            counts.append(len(rows))
            same.append((sums[-1].square().sum(dim=-1) - len(rows)) / (len(rows) * (len(rows) - 1)))
        other.append((sums[0] * sums[1]).sum(dim=-1) / (counts[0] * counts[1]))
    return Alike(*(to_array(torch.stack(each).mean(dim=0).mT) for each in (same, other, near)))


def _neighbours(
    unit: Float[Tensor, "layers replicas sentences width"], rows: Sequence[int], said: Sequence[Said]
) -> Float[Tensor, "layers replicas"]:
    """For each of these occurrences of one word: whether the one with the largest cosine has the same sense."""
    mine = unit[:, :, list(rows)]
    cosines = (mine @ mine.mT).masked_fill(torch.eye(len(rows), dtype=torch.bool), -2.0)
    topic = torch.tensor([TOPICS.index(said[i].topic) for i in rows])
    return (topic[cosines.argmax(dim=-1)] == topic).float().mean(dim=-1)


def word_map(model: nn.Module, word: str, own: Sequence[tuple[Sequence[str], int]]) -> WordMap:
    """`own`: typed sentences and the place of the homograph, or of a synonym of it, in each."""
    clear = fresh_sentences(ASKED, ambiguous=False)
    ambiguous = fresh_sentences(ASKED, ambiguous=True)
    said = [
        each
        for topic in SENSES[word]
        for group, most in ((ambiguous, DRAWN), (clear, DRAWN // 2))
        for each in [s for s in group if s.topic == topic][:most]
    ]
    found, _ = _homographs(model, said, 1)
    placed = [_own(model, words, place) for words, place in own]
    points, mine, shares, before = [], [], [], None
    for layer in range(len(found)):
        given = found[layer, 0] - found[layer, 0].mean(dim=0)
        axes, share = _principal(given, before)
        before = given @ axes
        points.append(before)
        shares.append(share)
        mine.append(
            torch.stack([(p[layer] - found[layer, 0].mean(dim=0)) @ axes for p in placed])
            if placed
            else torch.zeros(0, 2)
        )
    return WordMap(
        word,
        tuple(each.topic for each in said),
        tuple(each.words[each.place] for each in said),
        tuple(" ".join(each.words) for each in said),
        *(to_array(torch.stack(each)) for each in (points, mine, shares)),
    )


def _own(model: nn.Module, words: Sequence[str], place: int) -> Float[Tensor, "layers width"]:
    return vectors(model, torch.tensor([ids_of(words)]))[:, 0, place]


def _principal(
    given: Float[Tensor, "points width"], before: Float[Tensor, "points 2"] | None
) -> tuple[Float[Tensor, "width 2"], Float[Tensor, " 2"]]:
    """The two directions of most variance, each turned so that points stand as they did at the layer before."""
    _, spread, rows = torch.linalg.svd(given, full_matrices=False)
    axes, share = rows[:2].T.contiguous(), (spread.square() / spread.square().sum())[:2]
    if before is not None:
        axes = axes * torch.where(((given @ axes) * before).sum(dim=0) < 0, -1.0, 1.0)
    return axes, share


def cosines_between(model: nn.Module, own: Sequence[tuple[Sequence[str], int]]) -> Float[ndarray, "layers own own"]:
    """Centred cosines between the typed occurrences, at every layer."""
    _, centre = _homographs(model, fresh_sentences(ASKED, ambiguous=True), 1)
    if not own:
        return np.zeros((len(centre), 0, 0))
    found = torch.stack([_own(model, words, place) for words, place in own], dim=1)
    unit = F.normalize(found - centre[:, 0], dim=-1)
    return to_array(unit @ unit.mT)


def reading(model: nn.Module, config: RunConfig, words: Sequence[str]) -> Reading:
    """What one seed makes of a typed sentence."""
    ids = torch.tensor([ids_of(words)])
    with torch.inference_mode(), record(model) as trace:
        logits = model(ids)
    weights = [trace[name] for name in sorted(trace) if name.endswith("attention.weights")]
    heads = torch.cat(weights) if weights else torch.zeros(0, 1, len(words), len(words))
    found = vectors(model, ids)[:, 0]
    answers = [
        _sense(model, config, found[-1, i], logits[0, i], word) for i, word in enumerate(words) if word in SENSES
    ]
    return Reading(tuple(words), to_array(heads), to_array(found), tuple(answers))


@torch.inference_mode()
def _sense(
    model: nn.Module, config: RunConfig, vector: Float[Tensor, " width"], logits: Float[Tensor, " labels"], word: str
) -> tuple[str, float]:
    """On gloss the likelier of a homograph's senses, by the answers to these two alone; on gist the nearer synonym."""
    topics = SENSES[word]
    if isinstance(config.task, GlossConfig):
        shares = logits[[meaning(word, topic) for topic in topics]].softmax(dim=0)
        return topics[int(shares.argmax())], float(shares.max())
    clear = fresh_sentences(ASKED, ambiguous=False)
    found, _ = _homographs(model, clear, 1)
    means = torch.stack([found[-1, 0, [i for i, s in enumerate(clear) if s.topic == t]].mean(dim=0) for t in TOPICS])
    middle = means.mean(dim=0)
    cosines = F.normalize(means - middle, dim=-1) @ F.normalize(vector - middle, dim=-1)
    near = cosines[[TOPICS.index(topic) for topic in topics]]
    return topics[int(near.argmax())], float(near.max())


def occurrences(words: Sequence[str]) -> list[int]:
    """The places of homographs and of their synonyms in a sentence."""
    known = {*HOMOGRAPHS, *SYNONYMS.values()}
    return [i for i, word in enumerate(words) if word in known]


def homograph_of(word: str) -> str:
    """The homograph that a word is, or is a synonym of."""
    return next(h for h, topics in SENSES.items() if word == h or word in {SYNONYMS[t] for t in topics})
