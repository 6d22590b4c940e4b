"""Skip-gram with negative sampling and CBOW: two tables of vectors, trained to tell true neighbours from noise words.

Every word w has an input vector v_w and an output vector u_w. From the input words comes one vector h, and the score of
a candidate word c is u_c . h:

    skip-gram    h = v_w                                the word in the middle predicts each of its neighbours
    CBOW         h = mean of v_w over the neighbours    the neighbours together predict the word in the middle

The loss of a true word c with the noise words n_1 ... n_k is (Mikolov et al. 2013b, eq. 4)

    -log sigma(u_c . h) - sum_i log sigma(-u_{n_i} . h)

No layer stands between the tables, and no sum over the vocabulary is computed. After training the input vectors are
the word vectors, and the output vectors are usually thrown away.

Mikolov, Chen, Corrado and Dean 2013a, Efficient estimation of word representations in vector space (CBOW, skip-gram);
Mikolov, Sutskever, Chen, Corrado and Dean 2013b, Distributed representations of words and phrases and their
compositionality (negative sampling). As in the program of the authors, input vectors start small and output vectors at
zero; unlike there, they are trained by Adam on batches.
"""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import CbowConfig, SkipGramConfig
from explorer.models.layers import Embedding
from explorer.models.taps import Tap


class WordVectors(nn.Module):
    """Both tables, and the scores of candidate words."""

    predicts_neighbours: bool  # whether a word predicts a neighbour, or its neighbours predict the word

    def __init__(self, config: SkipGramConfig | CbowConfig, vocabulary: int, generator: Generator) -> None:
        super().__init__()
        # The standard deviation of numbers that are drawn evenly from -1/(2 width) to 1/(2 width).
        self.embedding = Embedding(vocabulary, config.width, generator, std=1 / (config.width * 12**0.5))
        self.readout = Embedding(vocabulary, config.width, generator, std=0.0)
        self.hidden = Tap()

    def forward(
        self,
        inputs: Int[Tensor, "*replicas batch inputs"],
        present: Float[Tensor, "*replicas batch inputs"],
        words: Int[Tensor, "*replicas batch candidates"],
    ) -> Float[Tensor, "*replicas batch candidates"]:
        """Return the score of each candidate word; `present` is 0 for an input that is none."""
        h = self.hidden(self.combine(self.embedding(inputs), present))
        return (self.readout(words) * h[..., None, :]).sum(dim=-1)

    def combine(
        self, vectors: Float[Tensor, "*replicas batch inputs width"], present: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch width"]:
        """Return the mean of the input vectors that are present."""
        return (vectors * present[..., None]).sum(dim=-2) / present.sum(dim=-1, keepdim=True)


class SkipGram(WordVectors):
    """The word in the middle predicts a neighbour: its vector is used as it is."""

    predicts_neighbours = True

    def combine(
        self, vectors: Float[Tensor, "*replicas batch inputs width"], present: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch width"]:
        return vectors[..., 0, :]


class Cbow(WordVectors):
    """Continuous bag of words: the mean of the neighbours predicts the word in the middle."""

    predicts_neighbours = False


def negative_sampling_loss(scores: Float[Tensor, "*replicas batch candidates"]) -> Float[Tensor, "*replicas"]:
    """Return the mean loss (nats per row); the first candidate is true. -log sigma(x) is softplus(-x)."""
    true, noise = scores[..., 0], scores[..., 1:]
    losses: Tensor = F.softplus(-true) + F.softplus(noise).sum(dim=-1)
    return losses.mean(dim=-1)
