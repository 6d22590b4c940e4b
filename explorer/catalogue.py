"""The lists of models, tasks and pages: adding one needs a new file and a row here.

Needs no torch: classes of models and objectives are given by name and imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from explorer.models import configs
from explorer.models.configs import ModelConfig
from explorer.tasks.negation import NegationConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.seq2seq.config import TranslationConfig
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.word_vectors import WordVectorsConfig

TaskConfig: TypeAlias = (
    NegationConfig
    | SentimentConfig
    | TextConfig
    | RecallConfig
    | StringConfig
    | TranslationConfig
    | RandomSymbolsConfig
    | GrammarTextConfig
    | DelayedCopyConfig
    | WordSenseConfig
    | MaskedWordConfig
    | PositionRuleConfig
    | AgreementConfig
    | WordVectorsConfig
    | InductionConfig
)


@dataclass(frozen=True)
class ModelForTask:
    """A model for one task: configuration class, model class and default training settings.

    Released settings never change, because run keys depend on them; better ones become a preset.
    """

    config: type[ModelConfig]
    class_name: str  # module:Class in explorer.models
    recipe: Mapping[str, object]  # training settings by name, as `with_settings` takes them
    version: int = 1

    @property
    def class_path(self) -> str:
        """The model class as module:Class."""
        return f"explorer.models.{self.class_name}"


@dataclass(frozen=True)
class ModelRow:
    """A model: names, style in charts, paper, and its form for each task."""

    name: str
    title: str
    colour: str  # a CSS variable of static/shared/base.css
    dash: str  # a plotly dash, so that colour is never the only sign
    paper: str
    link: str
    by_task: Mapping[str, ModelForTask]  # by task


@dataclass(frozen=True)
class TaskRow:
    """A task: names, configuration class, objective class and page."""

    name: str
    title: str
    config: type[TaskConfig]
    objective: str  # module:Class of the training objective
    page: str  # URL path of the page that shows its runs
    version: int = 1


@dataclass(frozen=True)
class PageRow:
    """A page of the app: file in pages/, URL path, title and section in the menu, and its question."""

    file: str
    address: str
    title: str
    question: str
    section: str


# Defaults of all trained language models: about 200,000 parameters, 1,000 batches of 32 x 64 characters.
_TEXT: dict[str, object] = {
    "iterations": 1_000,
    "batch_size": 32,
    "schedule": "linear",
    "warmup": 20,
    "clip": 1.0,
    "beta2": 0.95,
    "snapshots": 4,
    "evaluate_every": 100,
}
# The only target is one symbol per sequence, so the learning rate can be large; gradients are clipped.
_RECALL: dict[str, object] = {
    "iterations": 300,
    "batch_size": 64,
    "learning_rate": 1e-2,
    "clip": 1.0,
    "evaluate_every": 20,
    "snapshots": 14,
}
# A step reads the whole string, so only the initialization is random. The learning rate is that of the notebook.
_STRING: dict[str, object] = {
    "iterations": 200,
    "batch_size": 1,
    "learning_rate": 3e-2,
    "evaluate_every": 2,
    "snapshots": 2,
    "sample": 200,
}
# Translation. On digits, models with attention converge early; on dates, the single-vector model takes longest.
_TRANSLATION: dict[str, object] = {
    "batch_size": 32,
    "schedule": "linear",
    "end": 0.02,
    "clip": 1.0,
    "beta2": 0.98,
    "evaluate_every": 50,
    "snapshots": 4,
}
# Sequence labelling. On noise there is nothing to learn except a leak; on tale there is both.
_LABELLING: dict[str, object] = {
    "batch_size": 32,
    "learning_rate": 5e-3,
    "clip": 1.0,
    "evaluate_every": 20,
    "snapshots": 4,
}
_LABELLING_RECIPES: dict[str, dict[str, object]] = {
    "noise": {**_LABELLING, "iterations": 200},
    "tale": {
        **_LABELLING,
        "iterations": 500,
        "batch_size": 16,
        "learning_rate": 1e-2,
        "schedule": "linear",
        "warmup": 30,
        "beta2": 0.98,
        "evaluate_every": 50,
    },
    "echo": {
        **_LABELLING,
        "iterations": 600,
        "learning_rate": 1e-2,
        "schedule": "linear",
        "warmup": 50,
        "beta2": 0.98,
        "evaluate_every": 50,
    },
    "gloss": {**_LABELLING, "iterations": 200},
    "gist": {**_LABELLING, "iterations": 400, "evaluate_every": 40},
    "place": {**_LABELLING, "iterations": 500, "evaluate_every": 50},
    "agreement": {**_LABELLING, "iterations": 250, "evaluate_every": 50},
    "induction": {**_LABELLING, "iterations": 800, "learning_rate": 1e-2, "snapshots": 30},
}

# English sentences: 64 of about the same length in a batch. Each model has the rate that its search found.
_SENTIMENT: dict[str, object] = {
    "iterations": 6_000,
    "batch_size": 64,
    "schedule": "linear",
    "warmup": 100,
    "clip": 1.0,
    "evaluate_every": 500,
    "snapshots": 2,
}


def _negation(
    config: type[ModelConfig], class_name: str, epochs: int, learning_rate: float, version: int = 1
) -> ModelForTask:
    return ModelForTask(config, class_name, {"epochs": epochs, "learning_rate": learning_rate}, version)


def _sentiment(config: type[ModelConfig], class_name: str, learning_rate: float) -> ModelForTask:
    return ModelForTask(config, class_name, {**_SENTIMENT, "learning_rate": learning_rate})


def _text(config: type[ModelConfig], class_name: str, learning_rate: float, **more: object) -> ModelForTask:
    return ModelForTask(config, class_name, {**_TEXT, "learning_rate": learning_rate, **more})


# Word vectors. A row of a batch reads few words, so batches are large.
_WORD_VECTORS: dict[str, object] = {
    "iterations": 1_000,
    "batch_size": 512,
    "learning_rate": 3e-2,
    "schedule": "linear",
    "evaluate_every": 50,
    "snapshots": 4,
}


def _tagger(config: type[ModelConfig], class_name: str) -> dict[str, ModelForTask]:
    """What answers at every place, on each labelling task."""
    return {task: ModelForTask(config, class_name, recipe) for task, recipe in _LABELLING_RECIPES.items()}


def _translator(
    config: type[ModelConfig],
    class_name: str,
    digits: tuple[int, float],
    dates: tuple[int, float],
    pairs: tuple[int, float],
    warmup: int,
) -> dict[str, ModelForTask]:
    """Return a translation model for each of its tasks; a pair has the steps and the learning rate."""
    recipes = {"reverse": digits, "copy": digits, "dates": dates, "pairs": pairs}
    return {
        task: ModelForTask(
            config, class_name, {**_TRANSLATION, "iterations": steps, "learning_rate": rate, "warmup": warmup}
        )
        for task, (steps, rate) in recipes.items()
    }


MODELS = {
    row.name: row
    for row in (
        ModelRow(
            "bag_of_words",
            "Bag of words",
            "--m-counts",
            "solid",
            "Softmax regression on word counts: Cox 1958, The regression analysis of binary sequences",
            "https://doi.org/10.1111/j.2517-6161.1958.tb00292.x",
            {
                "negation": _negation(configs.BagOfWordsConfig, "bag_of_words:BagOfWords", 20, 1e-2, version=2),
                "sentiment": _sentiment(configs.BagOfWordsEnglishConfig, "bag_of_words:BagOfWords", 1e-3),
            },
        ),
        ModelRow(
            "bag_of_words_hidden",
            "Bag of words + hidden layer",
            "--m-counts-hidden",
            "5px,3px",
            "Minsky and Papert 1969, Perceptrons; Rumelhart, Hinton and Williams 1986, Learning representations by "
            "back-propagating errors",
            "https://doi.org/10.1038/323533a0",
            {
                "negation": _negation(configs.BagOfWordsHiddenConfig, "bag_of_words:BagOfWordsHidden", 40, 3e-2),
                "sentiment": _sentiment(configs.BagOfWordsHiddenEnglishConfig, "bag_of_words:BagOfWordsHidden", 1.6e-2),
            },
        ),
        ModelRow(
            "bag_of_bigrams",
            "Bag of bigrams",
            "--m-bigrams",
            "8px,3px,3px,3px",
            "Wang and Manning 2012, Baselines and bigrams: simple, good sentiment and topic classification",
            "https://aclanthology.org/P12-2018/",
            {
                "negation": _negation(configs.BagOfBigramsConfig, "bag_of_bigrams:BagOfBigrams", 40, 3e-2),
                "sentiment": _sentiment(configs.BagOfBigramsEnglishConfig, "bag_of_bigrams:BagOfBigrams", 2e-3),
            },
        ),
        ModelRow(
            "ngram",
            "n-gram",
            "--m-ngram",
            "8px,3px,2px,3px",
            "Kneser and Ney 1995, Improved backing-off for m-gram language modeling; Chen and Goodman 1999, An "
            "empirical study of smoothing techniques for language modeling",
            "https://doi.org/10.1006/csla.1999.0128",
            {"text": ModelForTask(configs.NgramTextConfig, "kneser_ney:Ngram", {"iterations": 1, "snapshots": 2})},
        ),
        ModelRow(
            "feedforward",
            "Feedforward",
            "--m-feedforward",
            "8px,3px",
            "Bengio, Ducharme, Vincent and Jauvin 2003, A neural probabilistic language model",
            "https://www.jmlr.org/papers/v3/bengio03a.html",
            {
                "negation": _negation(configs.FeedforwardConfig, "feedforward:Feedforward", 25, 3e-3, version=2),
                "sentiment": _sentiment(configs.FeedforwardEnglishConfig, "feedforward:Feedforward", 8e-3),
                "text": _text(configs.FeedforwardTextConfig, "neural_ngram:NeuralNgram", 3e-3),
            },
        ),
        ModelRow(
            "rnn",
            "RNN",
            "--m-rnn",
            "3px,3px",
            "Elman 1990, Finding structure in time; Mikolov et al. 2010, Recurrent neural network based language model",
            "https://doi.org/10.1207/s15516709cog1402_1",
            {
                "negation": _negation(configs.RNNConfig, "rnn:RNN", 25, 3e-3, version=2),
                "sentiment": _sentiment(configs.RNNEnglishConfig, "rnn:RNN", 2e-3),
                "text": _text(configs.RNNTextConfig, "rnn:RNNLanguageModel", 1e-3),
                "recall": ModelForTask(configs.RNNRecallConfig, "rnn:RNNRecall", {**_RECALL, "iterations": 1_000}),
                "string": ModelForTask(configs.RNNStringConfig, "rnn:RNNString", _STRING),
                **_tagger(configs.RNNTaggerConfig, "recurrent_tagger:RNNTagger"),
            },
        ),
        ModelRow(
            "lstm",
            "LSTM",
            "--m-lstm",
            "solid",
            "Hochreiter and Schmidhuber 1997, Long short-term memory; Gers, Schmidhuber and Cummins 2000, Learning to "
            "forget; Graves 2013, Generating sequences with recurrent neural networks",
            "https://arxiv.org/abs/1308.0850",
            {
                "negation": _negation(configs.LSTMConfig, "lstm:LSTM", 25, 3e-3, version=2),
                "sentiment": _sentiment(configs.LSTMEnglishConfig, "lstm:LSTM", 8e-3),
                "text": _text(configs.LSTMTextConfig, "lstm:LSTMLanguageModel", 5e-3),
                "recall": ModelForTask(configs.LSTMRecallConfig, "lstm:LSTMRecall", _RECALL),
                "string": ModelForTask(configs.LSTMStringConfig, "lstm:LSTMString", _STRING),
            },
        ),
        ModelRow(
            "gru",
            "GRU",
            "--m-gru",
            "solid",
            "Cho et al. 2014, Learning phrase representations using RNN encoder–decoder for statistical machine "
            "translation",
            "https://arxiv.org/abs/1406.1078",
            {
                "negation": _negation(configs.GRUConfig, "gru:GRU", 25, 3e-3, version=2),
                "sentiment": _sentiment(configs.GRUEnglishConfig, "gru:GRU", 4e-3),
                "text": _text(configs.GRUTextConfig, "gru:GRULanguageModel", 5e-3),
                "recall": ModelForTask(configs.GRURecallConfig, "gru:GRURecall", _RECALL),
                "string": ModelForTask(configs.GRUStringConfig, "gru:GRUString", _STRING),
                **_tagger(configs.GRUTaggerConfig, "recurrent_tagger:GRUTagger"),
            },
        ),
        ModelRow(
            "convolution",
            "Convolution",
            "--m-convolution",
            "8px,2px",
            "Kim 2014, Convolutional neural networks for sentence classification",
            "https://aclanthology.org/D14-1181/",
            {
                "negation": _negation(configs.ConvolutionConfig, "convolution:ConvolutionalClassifier", 25, 3e-3),
                "sentiment": _sentiment(configs.ConvolutionEnglishConfig, "convolution:ConvolutionalClassifier", 4e-3),
            },
        ),
        ModelRow(
            "transformer",
            "Transformer",
            "--m-transformer",
            "solid",
            "Vaswani et al. 2017, Attention is all you need",
            "https://arxiv.org/abs/1706.03762",
            {
                "negation": _negation(
                    configs.TransformerEncoderConfig, "transformer_encoder:TransformerEncoder", 30, 3e-3, version=2
                ),
                "sentiment": _sentiment(
                    configs.TransformerEncoderEnglishConfig, "transformer_encoder:TransformerEncoder", 2e-3
                ),
                "text": _text(
                    configs.TransformerTextConfig,
                    "transformer_decoder:TransformerDecoder",
                    1e-2,
                    method="muon",
                    weight_decay=0.1,
                    momentum=0.95,
                ),
                "recall": ModelForTask(
                    configs.TransformerRecallConfig,
                    "transformer_encoder:TransformerRecall",
                    {**_RECALL, "iterations": 400, "learning_rate": 5e-3},
                ),
                **_tagger(configs.TransformerTaggerConfig, "transformer_tagger:TransformerTagger"),
            },
        ),
        ModelRow(
            "encoder_decoder",
            "GRU encoder–decoder",
            "--m-additive",
            "solid",
            "Cho et al. 2014, Learning phrase representations using RNN encoder–decoder for statistical machine "
            "translation; Bahdanau, Cho and Bengio 2015, Neural machine translation by jointly learning to align and "
            "translate",
            "https://arxiv.org/abs/1409.0473",
            _translator(
                configs.EncoderDecoderConfig,
                "encoder_decoder:EncoderDecoder",
                (450, 5e-3),
                (1_600, 1e-2),
                (600, 5e-3),
                20,
            ),
        ),
        ModelRow(
            "transformer_encoder_decoder",
            "Transformer encoder–decoder",
            "--m-transformer",
            "8px,3px",
            "Vaswani et al. 2017, Attention is all you need",
            "https://arxiv.org/abs/1706.03762",
            _translator(
                configs.TransformerEncoderDecoderConfig,
                "transformer_encoder_decoder:TransformerEncoderDecoder",
                (800, 2e-3),
                (1_000, 3e-3),
                (600, 2e-3),
                100,
            ),
        ),
        ModelRow(
            "skip_gram",
            "Skip-gram",
            "--m-skip-gram",
            "solid",
            "Mikolov, Sutskever, Chen, Corrado and Dean 2013, Distributed representations of words and phrases and "
            "their compositionality",
            "https://arxiv.org/abs/1310.4546",
            {"word_vectors": ModelForTask(configs.SkipGramConfig, "word_vectors:SkipGram", _WORD_VECTORS)},
        ),
        ModelRow(
            "cbow",
            "CBOW",
            "--m-cbow",
            "8px,3px",
            "Mikolov, Chen, Corrado and Dean 2013, Efficient estimation of word representations in vector space",
            "https://arxiv.org/abs/1301.3781",
            {"word_vectors": ModelForTask(configs.CbowConfig, "word_vectors:Cbow", _WORD_VECTORS)},
        ),
    )
}
_LABELLING_OBJECTIVE, _TRANSLATION_OBJECTIVE = "labelling:LabellingObjective", "translation:TranslationObjective"
TASKS = {
    name: TaskRow(name, title, config, f"explorer.training.objectives.{objective}", page)
    for name, title, config, objective, page in (
        ("negation", "Negation", NegationConfig, "negation:NegationObjective", "negation"),
        ("sentiment", "English sentences", SentimentConfig, "sentiment:SentimentObjective", "negation"),
        ("text", "Text", TextConfig, "text:TextObjective", "text"),
        ("recall", "Recall", RecallConfig, "recall:RecallObjective", "memory"),
        ("string", "String", StringConfig, "string:StringObjective", "memory"),
        ("reverse", "Reverse", ReverseConfig, _TRANSLATION_OBJECTIVE, "translation"),
        ("copy", "Copy", CopyConfig, _TRANSLATION_OBJECTIVE, "translation"),
        ("dates", "Dates", DatesConfig, _TRANSLATION_OBJECTIVE, "translation"),
        ("pairs", "Your own pairs", PairsConfig, _TRANSLATION_OBJECTIVE, "translation"),
        ("noise", "Random symbols", RandomSymbolsConfig, _LABELLING_OBJECTIVE, "masks"),
        ("tale", "Grammar text", GrammarTextConfig, _LABELLING_OBJECTIVE, "masks"),
        ("echo", "Delayed copy", DelayedCopyConfig, _LABELLING_OBJECTIVE, "positions"),
        ("gloss", "Word sense", WordSenseConfig, _LABELLING_OBJECTIVE, "sentences"),
        ("gist", "Hidden word", MaskedWordConfig, _LABELLING_OBJECTIVE, "sentences"),
        ("place", "Position rule", PositionRuleConfig, _LABELLING_OBJECTIVE, "shapes"),
        ("agreement", "Agreement", AgreementConfig, _LABELLING_OBJECTIVE, "shapes"),
        ("word_vectors", "Word vectors", WordVectorsConfig, "word_vectors:WordVectorsObjective", "word-vectors"),
        ("induction", "Induction", InductionConfig, _LABELLING_OBJECTIVE, "induction"),
    )
}
TYPED_TEXT_TASKS = ("negation", "sentiment", "text")  # tasks whose models read typed text
_PAGES_BY_SECTION = {
    "": (
        ("home.py", "", "Lineage", "How did we get from counting words to ChatGPT?"),
        ("lessons.py", "lessons", "Lessons", "Lessons: predict first, then see what was measured"),
        ("negation.py", "negation", "Negation", "Can a sum of word weights understand “not”?"),
    ),
    "Text": (
        ("tokens.py", "tokens", "Text and tokens", "What should a language model read: letters, words, or pieces?"),
        ("word_vectors.py", "word-vectors", "Word vectors", "Can a model learn what words mean from their neighbours?"),
        ("text.py", "text", "Language models", "Can a network predict a text better than an n-gram?"),
        ("context.py", "context", "Context", "How far back does a language model use its text?"),
        ("perplexity.py", "perplexity", "Perplexity", "When can two perplexities be compared?"),
        ("generation.py", "studio", "Generation", "What does temperature change?"),
    ),
    "Recurrence": (
        ("memory.py", "memory", "Memory", "How long does a network remember?"),
        ("gates.py", "gates", "Gates", "What do the gates of an LSTM and a GRU do?"),
        ("sequence_shapes.py", "shapes", "Shapes of tasks", "One network, four shapes of tasks: what changes?"),
        ("translation.py", "translation", "Translation", "How much fits into one vector?"),
    ),
    "Attention": (
        ("attention.py", "attention", "Attention", "What does a Transformer attend to?"),
        ("scaled_attention.py", "scaled-attention", "Scaled dot-product", "How do two vectors become one weight?"),
        ("masks.py", "masks", "Masks", "Which tokens may a token attend to?"),
        ("positions.py", "positions", "Positions", "How does a model know where a word stands?"),
        ("sentence_encoder.py", "sentences", "Sentence encoder", "How does a word get its meaning from its sentence?"),
    ),
    "Transformer": (
        ("block.py", "block", "The block", "What does each part of a Transformer block compute?"),
        ("depth.py", "depth", "Heads, residuals, norms", "What holds a deep Transformer together?"),
        ("induction.py", "induction", "Induction heads", "How does a Transformer continue what it has seen once?"),
        ("cost.py", "cost", "What it costs", "What does each part of a network cost, in time and memory?"),
    ),
    "Runs": (
        ("compare.py", "compare", "Compare", "Which run learns fastest, and is the difference real?"),
        ("runs.py", "runs", "Runs", "Which runs are stored here, and how well did they do?"),
    ),
}
PAGES = tuple(PageRow(*row, section) for section, rows in _PAGES_BY_SECTION.items() for row in rows)


def page_row(address: str) -> PageRow:
    """Return the row of the page with this URL path."""
    return next(page for page in PAGES if page.address == address)


def page_title(address: str) -> str:
    """Return the title of the page with this URL path."""
    return page_row(address).title


def page_file(address: str) -> str:
    """Return the file in pages/ of the page with this URL path."""
    return page_row(address).file


def next_page(address: str) -> PageRow:
    """Return the page after this one in the order of history; the last one leads to the lessons, these to the first."""
    after = PAGES.index(page_row(address)) + 1
    return PAGES[max(after, 2)] if after < len(PAGES) else PAGES[1]


def model_row(config: ModelConfig) -> ModelRow:
    """Return the row of a model configuration."""
    return _find_model(config)[0]


def model_for_task(config: ModelConfig) -> ModelForTask:
    """Return the form of a model that a configuration belongs to."""
    return _find_model(config)[1]


def _find_model(config: ModelConfig) -> tuple[ModelRow, ModelForTask]:
    rows = ((row, each) for row in MODELS.values() for each in row.by_task.values())
    return next(pair for pair in rows if type(config) is pair[1].config)


def models_of(task: str) -> tuple[str, ...]:
    """Return the names of the models for a task."""
    return tuple(name for name, row in MODELS.items() if task in row.by_task)


def task_row(config: TaskConfig) -> TaskRow:
    """Return the row of a task configuration."""
    return next(row for row in TASKS.values() if type(config) is row.config)
