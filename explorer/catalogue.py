"""One row for each model, task and page: adding one is a new file and a row here.

Needs no torch: a model's class and a task's lesson are named, and imported only when somebody trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from explorer.models.configs import (
    BagOfWordsConfig,
    EncoderDecoderConfig,
    FeedforwardConfig,
    FeedforwardTextConfig,
    GRUConfig,
    GRURecallConfig,
    GRUStringConfig,
    GRUTaggerConfig,
    GRUTextConfig,
    LSTMConfig,
    LSTMRecallConfig,
    LSTMStringConfig,
    LSTMTextConfig,
    NgramTextConfig,
    RNNConfig,
    RNNRecallConfig,
    RNNStringConfig,
    RNNTaggerConfig,
    RNNTextConfig,
    TransformerEncoderConfig,
    TransformerEncoderDecoderConfig,
    TransformerRecallConfig,
    TransformerTaggerConfig,
    TransformerTextConfig,
)
from explorer.tasks.agreement import AgreementConfig
from explorer.tasks.dates import DatesConfig
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.echo import EchoConfig
from explorer.tasks.gist import GistConfig
from explorer.tasks.gloss import GlossConfig
from explorer.tasks.negation import NegationConfig
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.place import PlaceConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.strings import StringConfig
from explorer.tasks.tale import TaleConfig
from explorer.tasks.text import TextConfig

ModelConfig: TypeAlias = (
    BagOfWordsConfig
    | FeedforwardConfig
    | RNNConfig
    | LSTMConfig
    | GRUConfig
    | TransformerEncoderConfig
    | NgramTextConfig
    | FeedforwardTextConfig
    | RNNTextConfig
    | LSTMTextConfig
    | GRUTextConfig
    | TransformerTextConfig
    | RNNRecallConfig
    | LSTMRecallConfig
    | GRURecallConfig
    | TransformerRecallConfig
    | RNNStringConfig
    | LSTMStringConfig
    | GRUStringConfig
    | EncoderDecoderConfig
    | TransformerEncoderDecoderConfig
    | TransformerTaggerConfig
    | RNNTaggerConfig
    | GRUTaggerConfig
)
TaskConfig: TypeAlias = (
    NegationConfig
    | TextConfig
    | RecallConfig
    | StringConfig
    | ReverseConfig
    | CopyConfig
    | DatesConfig
    | NoiseConfig
    | TaleConfig
    | EchoConfig
    | GlossConfig
    | GistConfig
    | PlaceConfig
    | AgreementConfig
)


@dataclass(frozen=True)
class Variant:
    """An architecture as it meets one task: its settings there, its code, how it is trained unless somebody says
    otherwise. Released recipes never change: a better one is a preset."""

    config: type[ModelConfig]
    place: str  # module:Class
    recipe: Mapping[str, object]  # settings by name, as `training.config.changed` takes them
    version: int = 1

    @property
    def file(self) -> str:
        """Its source file, inside the package."""
        return "models/" + self.place.split(":")[0].rsplit(".", 1)[1] + ".py"


@dataclass(frozen=True)
class ModelRow:
    """An architecture: its names, its colour on every page, its paper, and what it is on each task."""

    name: str
    title: str
    colour: str  # a CSS variable of ui/assets/base.css
    dash: str  # a plotly dash, so that colour is never the only sign
    paper: str
    link: str
    variants: Mapping[str, Variant]  # by task


@dataclass(frozen=True)
class TaskRow:
    """Something to learn."""

    name: str
    title: str
    config: type[TaskConfig]
    lesson: str  # module:Class, how it is taught
    page: str  # the address of the page where its runs stand
    version: int = 1


@dataclass(frozen=True)
class PageRow:
    """A room of the app: its file in pages/, its address, its name in the menu and its section there."""

    file: str
    address: str
    title: str
    section: str = ""


# What every trained language model shares: about 200,000 parameters, a thousand batches of 32 x 64 characters.
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
# A symbol for every sequence is all there is to learn: the step size may be large, and gradients are clipped.
_RECALL: dict[str, object] = {
    "iterations": 300,
    "batch_size": 64,
    "learning_rate": 1e-2,
    "clip": 1.0,
    "evaluate_every": 20,
    "snapshots": 14,
}
# A step is the whole string: no batch, and no chance but the start. The step size is the notebook's.
_STRING: dict[str, object] = {
    "iterations": 200,
    "batch_size": 1,
    "learning_rate": 3e-2,
    "evaluate_every": 2,
    "snapshots": 2,
    "sample": 200,
}
# What reads a source and writes a target. On digits attention is done early; on dates the one vector takes longest.
_TRANSLATION: dict[str, object] = {
    "batch_size": 32,
    "schedule": "linear",
    "end": 0.02,
    "clip": 1.0,
    "beta2": 0.98,
    "evaluate_every": 50,
    "snapshots": 4,
}
_RECURRENT_DIGITS = {**_TRANSLATION, "iterations": 450, "learning_rate": 5e-3, "warmup": 20}
_RECURRENT_DATES = {**_TRANSLATION, "iterations": 1_600, "learning_rate": 1e-2, "warmup": 20}
_TRANSFORMER_DIGITS = {**_TRANSLATION, "iterations": 800, "learning_rate": 2e-3, "warmup": 100}
_TRANSFORMER_DATES = {**_TRANSLATION, "iterations": 1_000, "learning_rate": 3e-3, "warmup": 100}

# What answers at every place of a row. On noise there is nothing to learn, but a leak to find; in a tale both.
_LABELLING: dict[str, object] = {
    "batch_size": 32,
    "learning_rate": 5e-3,
    "clip": 1.0,
    "evaluate_every": 20,
    "snapshots": 4,
}
_OF_LABELLING: dict[str, dict[str, object]] = {
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
}


def _tagger(config: type[ModelConfig], place: str) -> dict[str, Variant]:
    """What answers at every place, on each labelling task."""
    return {task: Variant(config, place, recipe) for task, recipe in _OF_LABELLING.items()}


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
                "negation": Variant(
                    BagOfWordsConfig,
                    "explorer.models.bag_of_words:BagOfWords",
                    {"epochs": 20, "learning_rate": 1e-2},
                    version=2,
                ),
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
            {"text": Variant(NgramTextConfig, "explorer.models.ngram:Ngram", {"iterations": 1, "snapshots": 2})},
        ),
        ModelRow(
            "feedforward",
            "Feedforward",
            "--m-feedforward",
            "8px,3px",
            "Bengio, Ducharme, Vincent and Jauvin 2003, A neural probabilistic language model",
            "https://www.jmlr.org/papers/v3/bengio03a.html",
            {
                "negation": Variant(
                    FeedforwardConfig,
                    "explorer.models.feedforward:Feedforward",
                    {"epochs": 25, "learning_rate": 3e-3},
                    version=2,
                ),
                "text": Variant(
                    FeedforwardTextConfig, "explorer.models.neural_ngram:NeuralNgram", {**_TEXT, "learning_rate": 3e-3}
                ),
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
                "negation": Variant(
                    RNNConfig, "explorer.models.rnn:RNN", {"epochs": 25, "learning_rate": 3e-3}, version=2
                ),
                "text": Variant(
                    RNNTextConfig, "explorer.models.rnn:RNNLanguageModel", {**_TEXT, "learning_rate": 1e-3}
                ),
                "recall": Variant(RNNRecallConfig, "explorer.models.rnn:RNNRecall", {**_RECALL, "iterations": 1_000}),
                "string": Variant(RNNStringConfig, "explorer.models.rnn:RNNString", _STRING),
                **_tagger(RNNTaggerConfig, "explorer.models.recurrent_tagger:RNNTagger"),
            },
        ),
        ModelRow(
            "lstm",
            "LSTM",
            "--m-lstm",
            "solid",
            "Hochreiter and Schmidhuber 1997, Long short-term memory; Graves 2013, Generating sequences with "
            "recurrent neural networks",
            "https://arxiv.org/abs/1308.0850",
            {
                "negation": Variant(
                    LSTMConfig, "explorer.models.lstm:LSTM", {"epochs": 25, "learning_rate": 3e-3}, version=2
                ),
                "text": Variant(
                    LSTMTextConfig, "explorer.models.lstm:LSTMLanguageModel", {**_TEXT, "learning_rate": 5e-3}
                ),
                "recall": Variant(LSTMRecallConfig, "explorer.models.lstm:LSTMRecall", _RECALL),
                "string": Variant(LSTMStringConfig, "explorer.models.lstm:LSTMString", _STRING),
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
                "negation": Variant(
                    GRUConfig, "explorer.models.gru:GRU", {"epochs": 25, "learning_rate": 3e-3}, version=2
                ),
                "text": Variant(
                    GRUTextConfig, "explorer.models.gru:GRULanguageModel", {**_TEXT, "learning_rate": 5e-3}
                ),
                "recall": Variant(GRURecallConfig, "explorer.models.gru:GRURecall", _RECALL),
                "string": Variant(GRUStringConfig, "explorer.models.gru:GRUString", _STRING),
                **_tagger(GRUTaggerConfig, "explorer.models.recurrent_tagger:GRUTagger"),
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
                "negation": Variant(
                    TransformerEncoderConfig,
                    "explorer.models.transformer_encoder:TransformerEncoder",
                    {"epochs": 30, "learning_rate": 3e-3},
                    version=2,
                ),
                "text": Variant(
                    TransformerTextConfig,
                    "explorer.models.transformer_decoder:TransformerDecoder",
                    {**_TEXT, "method": "muon", "learning_rate": 1e-2, "weight_decay": 0.1, "momentum": 0.95},
                ),
                "recall": Variant(
                    TransformerRecallConfig,
                    "explorer.models.transformer_encoder:TransformerRecall",
                    {**_RECALL, "iterations": 400, "learning_rate": 5e-3},
                ),
                **_tagger(TransformerTaggerConfig, "explorer.models.transformer_tagger:TransformerTagger"),
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
            {
                task: Variant(EncoderDecoderConfig, "explorer.models.encoder_decoder:EncoderDecoder", recipe)
                for task, recipe in (
                    ("reverse", _RECURRENT_DIGITS),
                    ("copy", _RECURRENT_DIGITS),
                    ("dates", _RECURRENT_DATES),
                )
            },
        ),
        ModelRow(
            "transformer_encoder_decoder",
            "Transformer encoder–decoder",
            "--m-transformer",
            "8px,3px",
            "Vaswani et al. 2017, Attention is all you need",
            "https://arxiv.org/abs/1706.03762",
            {
                task: Variant(
                    TransformerEncoderDecoderConfig,
                    "explorer.models.transformer_encoder_decoder:TransformerEncoderDecoder",
                    recipe,
                )
                for task, recipe in (
                    ("reverse", _TRANSFORMER_DIGITS),
                    ("copy", _TRANSFORMER_DIGITS),
                    ("dates", _TRANSFORMER_DATES),
                )
            },
        ),
    )
}
TASKS = {
    row.name: row
    for row in (
        TaskRow("negation", "Negation", NegationConfig, "explorer.training.negation_lesson:NegationLesson", "negation"),
        TaskRow("text", "Text", TextConfig, "explorer.training.text_lesson:TextLesson", "text"),
        TaskRow("recall", "Recall", RecallConfig, "explorer.training.recall_lesson:RecallLesson", "memory"),
        TaskRow("string", "String", StringConfig, "explorer.training.string_lesson:StringLesson", "memory"),
        TaskRow(
            "reverse",
            "Reverse",
            ReverseConfig,
            "explorer.training.translation_lesson:TranslationLesson",
            "translation",
        ),
        TaskRow("copy", "Copy", CopyConfig, "explorer.training.translation_lesson:TranslationLesson", "translation"),
        TaskRow("dates", "Dates", DatesConfig, "explorer.training.translation_lesson:TranslationLesson", "translation"),
        TaskRow("noise", "Noise", NoiseConfig, "explorer.training.labelling_lesson:LabellingLesson", "masks"),
        TaskRow("tale", "Tale", TaleConfig, "explorer.training.labelling_lesson:LabellingLesson", "masks"),
        TaskRow("echo", "Echo", EchoConfig, "explorer.training.labelling_lesson:LabellingLesson", "positions"),
        TaskRow("gloss", "Gloss", GlossConfig, "explorer.training.labelling_lesson:LabellingLesson", "sentences"),
        TaskRow("gist", "Gist", GistConfig, "explorer.training.labelling_lesson:LabellingLesson", "sentences"),
        TaskRow("place", "Place", PlaceConfig, "explorer.training.labelling_lesson:LabellingLesson", "shapes"),
        TaskRow(
            "agreement", "Agreement", AgreementConfig, "explorer.training.labelling_lesson:LabellingLesson", "shapes"
        ),
    )
}
SENTENCES = ("negation", "text")  # tasks whose models read what somebody types
PAGES = (
    PageRow("home.py", "", "Lineage"),
    PageRow("lessons.py", "lessons", "Lessons"),
    PageRow("negation.py", "negation", "Negation"),
    PageRow("tokens.py", "tokens", "Text and tokens"),
    PageRow("text.py", "text", "Language models"),
    PageRow("studio.py", "studio", "Generation"),
    PageRow("attention.py", "attention", "Attention"),
    PageRow("memory.py", "memory", "Memory"),
    PageRow("translation.py", "translation", "Translation"),
    PageRow("shapes.py", "shapes", "Shapes of tasks", "Mechanisms"),
    PageRow("gates.py", "gates", "Gates", "Mechanisms"),
    PageRow("scaled_attention.py", "scaled-attention", "Scaled dot-product", "Mechanisms"),
    PageRow("depth.py", "depth", "Heads, residuals, norms", "Mechanisms"),
    PageRow("positions.py", "positions", "Positions", "Mechanisms"),
    PageRow("masks.py", "masks", "Masks", "Mechanisms"),
    PageRow("block.py", "block", "The block", "Mechanisms"),
    PageRow("sentences.py", "sentences", "Sentence encoder", "Mechanisms"),
    PageRow("cost.py", "cost", "What it costs", "Mechanisms"),
    PageRow("compare.py", "compare", "Compare"),
    PageRow("runs.py", "runs", "Runs"),
)


def page_title(address: str) -> str:
    """What the page at an address is called."""
    return next(page.title for page in PAGES if page.address == address)


def model_row(config: ModelConfig) -> ModelRow:
    """The row of a model's configuration."""
    return _of(config)[0]


def variant(config: ModelConfig) -> Variant:
    """What a model's configuration configures."""
    return _of(config)[1]


def _of(config: ModelConfig) -> tuple[ModelRow, Variant]:
    rows = ((row, each) for row in MODELS.values() for each in row.variants.values())
    return next(pair for pair in rows if type(config) is pair[1].config)


def models_of(task: str) -> tuple[str, ...]:
    """The names of the models that learn a task."""
    return tuple(name for name, row in MODELS.items() if task in row.variants)


def task_row(config: TaskConfig) -> TaskRow:
    """The row of a task's configuration."""
    return next(row for row in TASKS.values() if type(config) is row.config)
