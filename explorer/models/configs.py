"""The configuration of each model, which a run stores.

They are separate from the models, so that forms, URLs and run keys can use them without loading torch. Sizes that
follow from the task (vocabulary, classes) are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting


@dataclass(frozen=True)
class ModelConfig:
    """The base class of the configurations of models."""


class AttentionConfig(ModelConfig):
    """The base class of configurations with attention. Raises ValueError if the heads do not divide the width."""

    width: int
    heads: int
    positions: str = "learned"

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"heads = {self.heads} does not divide width = {self.width}")
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ValueError(f"rotary positions need an even width for each head, not {self.width // self.heads}")


@dataclass(frozen=True)
class BagOfWordsConfig(ModelConfig):
    """The configuration of softmax regression on counts. It has no settings: its size follows from the vocabulary."""


@dataclass(frozen=True)
class BagOfWordsHiddenConfig(ModelConfig):
    """The size of the hidden layer over the word counts."""

    hidden: int = setting(8, "Units in the tanh layer.", 1, 512)


@dataclass(frozen=True)
class BagOfBigramsConfig(ModelConfig):
    """The configuration of softmax regression on bigram counts. It has no settings, as a bag of words has none."""


@dataclass(frozen=True)
class FeedforwardConfig(ModelConfig):
    """Sizes of the embedding + feedforward network."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(32, "Units in the tanh layer.", 1, 512)
    window: int = setting(6, "Tokens it sees; what stands beyond is cut off.", 1, 64)


@dataclass(frozen=True)
class ConvolutionConfig(ModelConfig):
    """Sizes of the convolutional classifier. Raises ValueError if its widest filter is narrower than its narrowest."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    filters: int = setting(8, "Filters of each width.", 1, 256)
    narrowest: int = setting(2, "Tokens that the narrowest filters see at once.", 1, 16, label="Narrowest filter")
    widest: int = setting(
        3, "Tokens that the widest filters see; there is every width between.", 1, 16, label="Widest filter"
    )

    def __post_init__(self) -> None:
        if self.narrowest > self.widest:
            raise ValueError(f"narrowest = {self.narrowest} is more than widest = {self.widest}")


@dataclass(frozen=True)
class RNNConfig(ModelConfig):
    """Sizes of the plain recurrent network."""

    width: int = setting(8, "Numbers in each word's embedding.", 1, 128)
    hidden: int = setting(24, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class LSTMConfig(RNNConfig):
    """Sizes of the long short-term memory."""

    hidden: int = setting(24, "Units in the hidden state, and in the memory cell.", 1, 256)


@dataclass(frozen=True)
class GRUConfig(RNNConfig):
    """Sizes of the gated recurrent unit."""


@dataclass(frozen=True)
class TransformerEncoderConfig(AttentionConfig):
    """Sizes of the Transformer encoder, and the initial standard deviation of its embeddings."""

    width: int = setting(16, "Numbers in each token's vector.", 1, 128)
    heads: int = setting(1, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(1, "Blocks, one above the other.", 1, 8)
    hidden: int = setting(64, "Units in each block's feedforward layer.", 1, 512)
    window: int = setting(6, "Positions it knows; what stands beyond is cut off.", 1, 64)
    start: float = setting(
        0.1,
        "Standard deviation of the embeddings before training; PyTorch's default is 1, "
        "from which 37 of 96 seeds did not learn the negation task.",
        0.001,
        2.0,
        label="Standard deviation of the initial embeddings",
    )


# Models of English sentences: the same models with larger sizes, dropout, and small initial embeddings.


@dataclass(frozen=True)
class _EnglishConfig(ModelConfig):
    """What the networks that read English have in common."""

    width: int = setting(48, "Numbers in each token's embedding.", 1, 128)
    dropout: float = setting(
        0.3, "Share of the embedding, and of what the readout reads, that is left out in each training step.", 0, 0.9
    )
    start: float = setting(
        0.1, "Standard deviation before training.", 0.001, 2.0, label="Standard deviation of the initial embeddings"
    )


@dataclass(frozen=True)
class BagOfWordsEnglishConfig(BagOfWordsConfig):
    """The configuration of softmax regression on counts."""


@dataclass(frozen=True)
class BagOfWordsHiddenEnglishConfig(BagOfWordsHiddenConfig):
    """The size of the hidden layer over the counts."""

    hidden: int = setting(52, "Units in the tanh layer.", 1, 512)


@dataclass(frozen=True)
class BagOfBigramsEnglishConfig(ModelConfig):
    """The number of weights of softmax regression on bigram counts."""

    buckets: int = setting(
        2**17, "Weights for each class, shared by a hash (Weinberger et al. 2009).", 2**8, 2**20, label="Shared weights"
    )


@dataclass(frozen=True)
class FeedforwardEnglishConfig(_EnglishConfig, FeedforwardConfig):
    """Sizes of the embedding + feedforward network, and its dropout."""

    hidden: int = setting(16, "Units in the tanh layer.", 1, 512)
    window: int = setting(32, "Tokens it sees; what stands beyond is cut off.", 1, 64)


@dataclass(frozen=True)
class ConvolutionEnglishConfig(_EnglishConfig, ConvolutionConfig):
    """Sizes of the convolutional classifier, and its dropout."""

    filters: int = setting(64, "Filters of each width.", 1, 256)
    widest: int = setting(4, "Tokens that the widest filters see at once.", 1, 16, label="Widest filter")


@dataclass(frozen=True)
class RNNEnglishConfig(_EnglishConfig, RNNConfig):
    """Sizes of the plain recurrent network, and its dropout."""

    hidden: int = setting(112, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class LSTMEnglishConfig(_EnglishConfig, LSTMConfig):
    """Sizes of the long short-term memory, and its dropout."""

    hidden: int = setting(56, "Units in the hidden state, and in the memory cell.", 1, 256)


@dataclass(frozen=True)
class GRUEnglishConfig(_EnglishConfig, GRUConfig):
    """Sizes of the gated recurrent unit, and its dropout."""

    hidden: int = setting(64, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class TransformerEncoderEnglishConfig(_EnglishConfig, TransformerEncoderConfig):
    """Sizes of the Transformer encoder, and its dropout."""

    heads: int = setting(4, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(2, "Blocks, one above the other.", 1, 8)
    hidden: int = setting(96, "Units in each block's feedforward layer.", 1, 512)
    window: int = setting(62, "Positions it knows; what stands beyond is cut off.", 1, 64)
    dropout: float = setting(
        0.2, "Share of the embedding, and of what the readout reads, that is left out in each training step.", 0, 0.9
    )


# Language models of a text.


@dataclass(frozen=True)
class NgramTextConfig(ModelConfig):
    """The order of the n-gram model, its smoothing, and the weight of its cache."""

    n: int = setting(
        6, "Tokens of the longest n-gram: it sees one less and predicts the next.", 1, 8, label="Order n of the n-gram"
    )
    smoothing: Literal["kneser_ney", "modified_kneser_ney", "stupid_backoff"] = setting(
        "kneser_ney",
        "Kneser-Ney has one discount for each order, modified Kneser-Ney three. The scores of stupid backoff do not "
        "sum to one; here they are divided by their sum.",
        label="Smoothing of the n-gram",
    )
    cache: float = setting(
        0.0, "Weight of an n-gram of the text read so far; 0: no cache.", 0, 0.9, label="Weight of the cache"
    )


@dataclass(frozen=True)
class FeedforwardTextConfig(ModelConfig):
    """Sizes of the neural n-gram of Bengio et al. (2003)."""

    width: int = setting(32, "Numbers in each token's embedding.", 1, 512)
    hidden: int = setting(608, "Units in the tanh layer.", 1, 2_048)
    window: int = setting(8, "Tokens it sees; what stands further back is cut off.", 1, 64)
    batch_norm: bool = setting(
        False, "Batch normalisation before the tanh (Ioffe & Szegedy 2015).", label="Batch normalization"
    )
    dropout: float = setting(0.0, "Share of hidden units left out in each training step.", 0, 0.9)


@dataclass(frozen=True)
class RecurrentTextConfig(ModelConfig):
    """The settings that the recurrent language models share."""

    width: int = setting(64, "Numbers in each token's embedding.", 1, 512)
    hidden: int = setting(256, "Units in the hidden state of each layer.", 1, 1_024)
    layers: int = setting(1, "Recurrent layers, one above the other.", 1, 8)
    dropout: float = setting(0.0, "Share of units left out between layers and before the answer, in training.", 0, 0.9)
    start: Literal["uniform", "xavier", "orthogonal"] = setting(
        "uniform", "Recurrent matrices: as in PyTorch, with Xavier's bound, or rotations.", label="Initialization"
    )


@dataclass(frozen=True)
class RNNTextConfig(RecurrentTextConfig):
    """Sizes of the recurrent language model of Mikolov et al. (2010)."""

    hidden: int = setting(384, "Units in the hidden state of each layer.", 1, 1_024)


@dataclass(frozen=True)
class LSTMTextConfig(RecurrentTextConfig):
    """Sizes of the LSTM language model of Graves (2013)."""

    hidden: int = setting(184, "Units in the hidden state and the memory cell of each layer.", 1, 1_024)


@dataclass(frozen=True)
class GRUTextConfig(RecurrentTextConfig):
    """Sizes of the GRU language model."""

    hidden: int = setting(216, "Units in the hidden state of each layer.", 1, 1_024)


@dataclass(frozen=True)
class TransformerTextConfig(AttentionConfig):
    """The settings of the Transformer decoder, from the original of Vaswani et al. (2017) to current designs."""

    width: int = setting(64, "Numbers in each token's vector.", 1, 512)
    heads: int = setting(4, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(4, "Blocks, one above the other.", 1, 8)
    hidden: int = setting(256, "Units in each block's feedforward layer.", 1, 2_048)
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = setting(
        "rotary", "How it knows where a token stands: a learned vector, sines, turned queries and keys, or not at all."
    )
    norm: Literal["layer", "rms", "none"] = setting("layer", "LayerNorm, RMSNorm, or none.")
    norm_place: Literal["pre", "post"] = setting("pre", "Norm before each part of a block, or (2017) after it.")
    activation: Literal["relu", "gelu", "relu2"] = setting("relu2", "ReLU, GELU, or ReLU squared.")
    biases: bool = setting(False, "Whether the feedforward layers, norms and the answer have biases.")
    dropout: float = setting(0.0, "Share of numbers left out after each part of a block, in training.", 0, 0.9)
    start: Literal["usual", "zero"] = setting(
        "zero", "How the last layer of each part, and the answer, start.", label="Initialization"
    )


# Models for recall: they read a sequence of symbols and predict its first symbol.


@dataclass(frozen=True)
class RNNRecallConfig(ModelConfig):
    """Sizes of the plain recurrent network, and the initialization of its recurrent matrix."""

    width: int = setting(8, "Numbers in each symbol's embedding.", 1, 128)
    hidden: int = setting(16, "Units in the hidden state.", 1, 256)
    start: Literal["usual", "orthogonal"] = setting(
        "usual", "The recurrent matrix: uniform as in PyTorch, or a rotation.", label="Initialization"
    )
    gain: float = setting(
        0.0, "Spectral radius of the recurrent matrix at the start; 0: as drawn.", 0, 10, label="Spectral radius"
    )


@dataclass(frozen=True)
class _GatedRecallConfig(ModelConfig):
    """What the gated recurrent networks have in common: sizes, and the initialization of matrices or of the gates."""

    width: int = setting(8, "Numbers in each symbol's embedding.", 1, 128)
    hidden: int = setting(16, "Units in the hidden state (and in the memory of an LSTM).", 1, 256)
    start: Literal["usual", "orthogonal", "forget-1", "forget-3", "chrono"] = setting(
        "usual",
        "As PyTorch does; recurrent matrices as rotations; the gates that keep (forget or update) with a bias of 1 or "
        "3; or chrono: opened for every length up to that of the sequences (Tallec & Ollivier 2018).",
        label="Initialization",
    )


@dataclass(frozen=True)
class LSTMRecallConfig(_GatedRecallConfig):
    """Sizes of the long short-term memory, and the initialization of its recurrent matrices or forget gates."""


@dataclass(frozen=True)
class GRURecallConfig(_GatedRecallConfig):
    """Sizes of the gated recurrent unit, and the initialization of its recurrent matrices or update gates."""


@dataclass(frozen=True)
class TransformerRecallConfig(TransformerEncoderConfig):
    """Sizes of the Transformer for recall, and its kind of positions."""

    hidden: int = setting(32, "Units in each block's feedforward layer.", 1, 512)
    window: int = setting(1_024, "Positions it knows; what stands beyond is cut off.", 2, 4_096)
    positions: Literal["learned", "sinusoidal", "none"] = setting(
        "learned", "How it knows where a symbol stands: a learned vector, sines, or not at all."
    )


# Sequence-to-sequence models.


@dataclass(frozen=True)
class EncoderDecoderConfig(ModelConfig):
    """Sizes of the two GRUs, and the kind of attention between them."""

    width: int = setting(32, "Numbers in each token's embedding.", 1, 512)
    hidden: int = setting(64, "Units in the hidden state of each GRU, and in the vector between them.", 1, 1_024)
    attention: Literal["none", "additive"] = setting(
        "none", "One vector for the whole source (Cho et al. 2014), or a look back at each step (Bahdanau et al. 2015)."
    )


@dataclass(frozen=True)
class TransformerEncoderDecoderConfig(AttentionConfig):
    """The settings of the Transformer with an encoder and a decoder."""

    width: int = setting(64, "Numbers in each token's vector.", 1, 512)
    heads: int = setting(4, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(2, "Blocks of the encoder, and as many of the decoder.", 1, 8)
    hidden: int = setting(128, "Units in each block's feedforward layer.", 1, 2_048)
    positions: Literal["learned", "sinusoidal", "none"] = setting("learned", "How it knows where a token stands.")
    places: int = setting(64, "Places that learned positions know.", 1, 1_024, label="Learned positions")
    norm_place: Literal["pre", "post"] = setting("post", "Norm after each part's residual (2017), or before the part.")
    activation: Literal["relu", "gelu", "relu2"] = setting("relu", "ReLU, GELU, or ReLU squared.")
    start: Literal["usual", "zero"] = setting(
        "usual", "How the last layer of each part starts.", label="Initialization"
    )


# Character models of one string.


@dataclass(frozen=True)
class RecurrentStringConfig(ModelConfig):
    """The settings that the models of one string share. They have one layer."""

    width: int = setting(8, "Numbers in each character's embedding.", 1, 128)
    hidden: int = setting(16, "Units in the hidden state.", 1, 256)
    recurrent: bool = setting(True, "Whether the state is fed back; if not, every character is read from a cold state.")


@dataclass(frozen=True)
class RNNStringConfig(RecurrentStringConfig):
    """Sizes of the plain recurrent network."""


@dataclass(frozen=True)
class LSTMStringConfig(RecurrentStringConfig):
    """Sizes of the long short-term memory."""


@dataclass(frozen=True)
class GRUStringConfig(RecurrentStringConfig):
    """Sizes of the gated recurrent unit."""


# Models for sequence labelling: they predict a label at every position of a row.


@dataclass(frozen=True)
class TransformerTaggerConfig(AttentionConfig):
    """The settings of a small Transformer whose parts can be ablated."""

    width: int = setting(48, "Numbers in each token's vector.", 1, 512)
    heads: int = setting(4, "Attention heads; they share the width.", 1, 16)
    layers: int = setting(2, "Blocks, one above the other.", 1, 24)
    hidden: int = setting(96, "Units in each block's feedforward layer.", 1, 2_048)
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = setting(
        "sinusoidal",
        "How it knows where a token stands: a learned vector, sines, turned queries and keys, or not at all.",
    )
    causal: bool = setting(False, "Whether a token sees only itself and those before it.", label="Causal mask")
    attention: bool = setting(True, "Whether tokens see each other at all.")
    feedforward: bool = setting(
        True, "Whether each block has a feedforward layer after its attention.", label="Feedforward layers"
    )
    scaled: bool = setting(
        True, "Whether scores are divided by the root of a head's width.", label="Scores divided by √d"
    )
    spread: float = setting(
        1.0, "Initial size, as a multiple of PyTorch's default.", 0.001, 100.0, label="Scale of queries and keys"
    )
    norm: Literal["layer", "rms", "none"] = setting("layer", "LayerNorm, RMSNorm, or none.")
    norm_place: Literal["post", "pre"] = setting("post", "Norm after each part's residual (2017), or before the part.")
    residual: bool = setting(True, "Whether each part adds to what it reads, or hands on only what it makes.")


@dataclass(frozen=True)
class RNNTaggerConfig(ModelConfig):
    """Sizes of the plain recurrent network."""

    width: int = setting(16, "Numbers in each token's embedding.", 1, 128)
    hidden: int = setting(32, "Units in the hidden state.", 1, 256)


@dataclass(frozen=True)
class GRUTaggerConfig(RNNTaggerConfig):
    """Sizes of the gated recurrent unit."""


# Word vectors of a text.


@dataclass(frozen=True)
class SkipGramConfig(ModelConfig):
    """The size of the vectors of skip-gram with negative sampling."""

    width: int = setting(24, "Numbers in each word's vector.", 1, 512)


@dataclass(frozen=True)
class CbowConfig(SkipGramConfig):
    """The size of the vectors of CBOW with negative sampling."""
