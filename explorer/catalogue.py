"""One row for each model, task and page: adding one is a new file and a row here.

Needs no torch: a model's class is named, and imported only when somebody builds it (`training.building`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from explorer.models.configs import (
    BagOfWordsConfig,
    FeedforwardConfig,
    GRUConfig,
    LSTMConfig,
    RNNConfig,
    TransformerEncoderConfig,
)
from explorer.tasks.negation import NegationConfig

ModelConfig: TypeAlias = (
    BagOfWordsConfig | FeedforwardConfig | RNNConfig | LSTMConfig | GRUConfig | TransformerEncoderConfig
)
TaskConfig: TypeAlias = NegationConfig


@dataclass(frozen=True)
class Recipe:
    """How a model is trained on a task unless somebody says otherwise. Released recipes never change."""

    epochs: int
    learning_rate: float


@dataclass(frozen=True)
class ModelRow:
    """An architecture: its names, its colour on every page, its code, its paper, its recipes."""

    name: str
    title: str
    colour: str  # a CSS variable of ui/assets/base.css
    dash: str  # a plotly dash, so that colour is never the only sign
    config: type[ModelConfig]
    place: str  # module:Class
    paper: str
    link: str
    recipes: dict[str, Recipe]
    version: int = 2

    @property
    def file(self) -> str:
        """Its source file, inside the package."""
        return "models/" + self.place.split(":")[0].rsplit(".", 1)[1] + ".py"


@dataclass(frozen=True)
class TaskRow:
    """Something to learn."""

    name: str
    title: str
    config: type[TaskConfig]
    version: int = 1


@dataclass(frozen=True)
class PageRow:
    """A room of the app: its file in pages/, its address, its name in the menu and its section there."""

    file: str
    address: str
    title: str
    section: str = ""


MODELS = {
    row.name: row
    for row in (
        ModelRow(
            "bag_of_words",
            "Bag of words",
            "--m-counts",
            "solid",
            BagOfWordsConfig,
            "explorer.models.bag_of_words:BagOfWords",
            "Softmax regression on word counts: Cox 1958, The regression analysis of binary sequences",
            "https://doi.org/10.1111/j.2517-6161.1958.tb00292.x",
            {"negation": Recipe(20, 1e-2)},
        ),
        ModelRow(
            "feedforward",
            "Feedforward",
            "--m-feedforward",
            "8px,3px",
            FeedforwardConfig,
            "explorer.models.feedforward:Feedforward",
            "Bengio, Ducharme, Vincent and Jauvin 2003, A neural probabilistic language model",
            "https://www.jmlr.org/papers/v3/bengio03a.html",
            {"negation": Recipe(25, 3e-3)},
        ),
        ModelRow(
            "rnn",
            "RNN",
            "--m-rnn",
            "3px,3px",
            RNNConfig,
            "explorer.models.rnn:RNN",
            "Elman 1990, Finding structure in time; Mikolov et al. 2010, Recurrent neural network based language model",
            "https://doi.org/10.1207/s15516709cog1402_1",
            {"negation": Recipe(25, 3e-3)},
        ),
        ModelRow(
            "lstm",
            "LSTM",
            "--m-lstm",
            "solid",
            LSTMConfig,
            "explorer.models.lstm:LSTM",
            "Hochreiter and Schmidhuber 1997, Long short-term memory; Graves 2013, Generating sequences with "
            "recurrent neural networks",
            "https://arxiv.org/abs/1308.0850",
            {"negation": Recipe(25, 3e-3)},
        ),
        ModelRow(
            "gru",
            "GRU",
            "--m-gru",
            "solid",
            GRUConfig,
            "explorer.models.gru:GRU",
            "Cho et al. 2014, Learning phrase representations using RNN encoder–decoder for statistical machine "
            "translation",
            "https://arxiv.org/abs/1406.1078",
            {"negation": Recipe(25, 3e-3)},
        ),
        ModelRow(
            "transformer",
            "Transformer",
            "--m-transformer",
            "solid",
            TransformerEncoderConfig,
            "explorer.models.transformer_encoder:TransformerEncoder",
            "Vaswani et al. 2017, Attention is all you need",
            "https://arxiv.org/abs/1706.03762",
            {"negation": Recipe(30, 3e-3)},
        ),
    )
}
TASKS = {row.name: row for row in (TaskRow("negation", "Negation", NegationConfig),)}
PAGES = (
    PageRow("home.py", "", "Lineage"),
    PageRow("negation.py", "negation", "Negation"),
    PageRow("compare.py", "compare", "Compare"),
    PageRow("runs.py", "runs", "Runs"),
)


def model_row(config: ModelConfig) -> ModelRow:
    """The row of a model's configuration."""
    return next(row for row in MODELS.values() if type(config) is row.config)


def task_row(config: TaskConfig) -> TaskRow:
    """The row of a task's configuration."""
    return next(row for row in TASKS.values() if type(config) is row.config)
