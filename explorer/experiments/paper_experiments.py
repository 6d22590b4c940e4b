"""Small experiments that test claims of papers, or questions that these raise.

Each has a claim and the runs that test it: the same model trained while one setting takes several values, with and
without what the claim is about, with three seeds each, on characters of Tiny Shakespeare. The learning rates go from
low to far too high, so that a claim that holds only at high rates is confirmed there, and all of them are shown. Needs
no torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.model_variant import NamedSettings
from explorer.training.config import RunConfig, default_config, with_settings

UNIFORM_BITS = math.log2(65)  # bits per character of a uniform guess among the 65 of Tiny Shakespeare

# About 1,000 characters per step: less than half a pass over the text, and a few seconds of training.
_SMALL: dict[str, object] = {
    "replicas": 3,
    "iterations": 400,
    "batch_size": 16,
    "snapshots": 2,
    "evaluate_every": 25,
    "evaluation_size": 4_096,
}
# Without what an experiment is not about: no warm-up, no schedule, no clipping.
_PLAIN: dict[str, object] = {**_SMALL, "schedule": "constant", "warmup": 0, "clip": 0.0}


@dataclass(frozen=True)
class Condition:
    """With or without what the claim is about: a curve in every panel."""

    label: str  # short: at the end of the curve
    words: str  # in the middle of a sentence
    settings: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True)
class ExperimentPanel(NamedSettings):
    """A panel of the figure: settings that its runs share, and the values of the varied setting."""

    values: tuple[int | float, ...]


@dataclass(frozen=True)
class Trial:
    """One run of an experiment, and its place in the figure."""

    panel: ExperimentPanel
    condition: Condition
    value: int | float
    config: RunConfig

    @property
    def name(self) -> str:
        """The name of the trial within its experiment."""
        parts = (self.panel.name, self.condition.label.lower(), f"{self.value:g}")
        return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Experiment:
    """A common claim, and the runs that test it."""

    name: str
    title: str
    question: str
    claim: str
    paper: str
    link: str
    description: str  # what varies, and what does not
    formula: str  # LaTeX of what the claim is about
    model: str
    shared: Mapping[str, object]
    setting: str  # the varied setting
    axis: str  # its name under the figure
    panels: tuple[ExperimentPanel, ...]
    conditions: tuple[Condition, ...]  # the first is without what the claim is about, the others with it
    claims_divergence: bool = False

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """All runs, by panel and then by condition."""
        base = with_settings(default_config("text", self.model), self.shared)
        return tuple(
            Trial(
                panel,
                condition,
                value,
                with_settings(
                    base,
                    {
                        **searched_rate(f"{self.name}-{value:g}"),
                        **panel.settings,
                        **condition.settings,
                        self.setting: value,
                    },
                ),
            )
            for panel in self.panels
            for condition in self.conditions
            for value in panel.values
        )


_WINDOW = Experiment(
    "window",
    "Window",
    "Does a wider window help the neural n-gram?",
    "A wider window predicts better: a neural network gains from four words of context instead of two.",
    "Bengio, Ducharme, Vincent and Jauvin 2003, A neural probabilistic language model",
    "https://www.jmlr.org/papers/v3/bengio03a.html",
    "The same 32 hidden units over a window of 1, 2, 4, 8 or 16 characters. A wider window also has more "
    "parameters: separate weights for each position. Each window has its own learning rate, the best of five.",
    r"h = \tanh\big(d + H\,[C(w_{t-L+1}); \ldots; C(w_t)]\big)",
    "feedforward",
    {**_SMALL, "replicas": 8, "width": 16, "hidden": 32},
    "window",
    "window, in characters",
    (ExperimentPanel("", "", "", {}, (1, 2, 4, 8, 16)),),
    (Condition("", "the window", {}),),
)

_BATCH_NORM = Experiment(
    "batchnorm",
    "BatchNorm",
    "Does the neural n-gram need BatchNorm to be stable?",
    "Batch normalization allows higher learning rates, and less care about initialization.",
    "Ioffe and Szegedy 2015, Batch normalization: accelerating deep network training by reducing internal covariate "
    "shift",
    "https://arxiv.org/abs/1502.03167",
    "A window of 8 characters and 32 hidden units, with and without BatchNorm before the tanh, at learning rates from "
    "small to far too large. No warm-up, no schedule, no clipping.",
    r"h = \tanh\Big(\gamma\,\frac{Hx - \mu_\text{batch}}{\sigma_\text{batch}} + \beta\Big)",
    "feedforward",
    {**_PLAIN, "width": 8, "hidden": 32, "window": 8},
    "learning_rate",
    "learning rate (Adam)",
    (ExperimentPanel("", "", "", {}, (0.01, 0.03, 0.1, 0.3)),),
    (
        Condition("none", "without BatchNorm", {"batch_norm": False}),
        Condition("BN", "with BatchNorm", {"batch_norm": True}),
    ),
)

_CLIPPING = Experiment(
    "clipping",
    "Clipping",
    "Does an RNN diverge without clipping?",
    "Exploding gradients can make the training of an RNN diverge; clipping their norm is a remedy.",
    "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
    "https://arxiv.org/abs/1211.5063",
    "64 tanh units that carry their state from batch to batch; gradients run back over 64 characters. Gradients longer "
    "than 1 are shortened to 1, or left as they are. Clipping only ever shortens: it does nothing for gradients that "
    "vanish. Which step is too large is also a matter of size.",
    r"g \leftarrow g \cdot \min\Big(1, \frac{1}{\lVert g \rVert}\Big)",
    "rnn",
    {**_PLAIN, "width": 8, "hidden": 64, "batches": "contiguous"},
    "learning_rate",
    "learning rate",
    (
        ExperimentPanel(
            "descent",
            "Gradient descent with momentum",
            "gradient descent",
            {"method": "sgd", "momentum": 0.9},
            (0.1, 0.3, 1.0),
        ),
        ExperimentPanel("adam", "Adam", "Adam", {"method": "adam", "momentum": 0.0}, (0.03, 0.3)),
    ),
    (Condition("none", "without clipping", {"clip": 0.0}), Condition("clip", "with clipping", {"clip": 1.0})),
    claims_divergence=True,
)

_WARM_UP = Experiment(
    "warmup",
    "Warm-up",
    "Does a Transformer need warm-up?",
    "A Transformer with the norm after each part needs a learning rate that warms up; with the norm before, it does "
    "not.",
    "Vaswani et al. 2017, Attention is all you need; Xiong et al. 2020, On layer normalization in the Transformer "
    "architecture",
    "https://arxiv.org/abs/2002.04745",
    "Four blocks of width 12 with Adam as in 2017 (its mean square follows with 0.98). The full learning rate at once, "
    "or only after 100 steps. The norm stands after each part, as in 2017, or before it; all else is equal.",
    r"\eta_t = \eta \cdot \min\Big(1, \frac{t}{101}\Big)",
    "transformer",
    {
        **_PLAIN,
        "iterations": 300,
        "batch_size": 32,
        "context": 32,
        "width": 12,
        "heads": 1,
        "layers": 4,
        "hidden": 24,
        "positions": "sinusoidal",
        "activation": "relu",
        "biases": True,
        "start": "usual",
        "method": "adam",
        "beta2": 0.98,
        "weight_decay": 0.0,
        "momentum": 0.0,
    },
    "learning_rate",
    "learning rate (Adam)",
    (
        ExperimentPanel("post", "Norm after (2017)", "the norm after", {"norm_place": "post"}, (0.01, 0.03, 0.1)),
        ExperimentPanel("pre", "Norm before (now)", "the norm before", {"norm_place": "pre"}, (0.01, 0.03, 0.1)),
    ),
    (Condition("none", "without warm-up", {"warmup": 0}), Condition("warm", "with warm-up", {"warmup": 100})),
)

EXPERIMENTS = {each.name: each for each in (_WINDOW, _BATCH_NORM, _CLIPPING, _WARM_UP)}


def shipped_configs() -> dict[str, RunConfig]:
    """Return every run of every experiment by the name under which it ships."""
    return {f"text-{each.name}-{trial.name}": trial.config for each in EXPERIMENTS.values() for trial in each.trials}
