"""The groups of runs that pages, lessons and documents compare, and the rule that makes a comparison fair.

Each run of a group has its own learning rate, chosen from the same rates by the same search, on data that the
comparison does not measure; and all have the same number of examples, the same optimizer, as many seeds, and numbers of
parameters within a tenth. Where one of these differs on purpose, `unequal` says why, and the page says it too.
`python -m benchmarks.compared_groups` lists all groups and checks the rule. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal

from explorer.catalogue import models_of
from explorer.experiments import labelling, recall, sequence_shapes, translation, word_vectors
from explorer.experiments.default_runs import growth_runs, negation_runs, sentiment_runs
from explorer.experiments.learning_rates import best_rate, read_search
from explorer.experiments.paper_experiments import EXPERIMENTS
from explorer.experiments.text_setups import SETUPS
from explorer.training.config import RunConfig

Fact = Literal["examples", "parameters", "optimizer", "seeds"]

RATES: Final = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
_LOWER: Final = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)  # of long trainings, and of stacks of many blocks
_HIGHER: Final = (*RATES, 3e-1)
_TEXT: Final = (1e-3, 3e-3, 6e-3, 1e-2, 3e-2, 1e-1)
TRAINING_LOSS: Final = "training loss"  # of the last tenth of the steps


@dataclass(frozen=True)
class ComparedGroup:
    """Runs that are compared, by the names under which their searches are stored.

    shown: the pages and lessons that compare them
    runs: the configurations of the comparison
    rates: that every run was given in its search
    criterion: the metric whose mean decides, or `TRAINING_LOSS`
    validation: the data on which the criterion is measured, in words
    search_settings: in which the runs of the search differ from those of the comparison
    unequal: why something differs on purpose
    """

    shown: str
    runs: Mapping[str, RunConfig]
    rates: tuple[float, ...] = RATES
    criterion: str = TRAINING_LOSS
    validation: str = "the training sequences of the last tenth of the steps, which are drawn anew at every step"
    search_settings: Mapping[str, object] = field(default_factory=dict)
    unequal: Mapping[Fact, str] = field(default_factory=dict)


def _labelling(*names: str) -> dict[str, RunConfig]:
    return {name: labelling.VARIANTS[name].config() for name in names}


_BEFORE_HELD_OUT: Final[Mapping[str, object]] = {"held_out": 0.2, "test": 0.5}
_TENTH_BEFORE = "the tenth of the text before the last tenth, on which the search does not train"
_STATES = "All networks have 16 hidden units, so the gates add parameters"


@lru_cache(maxsize=1)
def compared_groups() -> Mapping[str, ComparedGroup]:
    """Return every group by name."""
    return {
        "negation": ComparedGroup(
            "Negation, Compare, Home, lesson 1",
            {f"negation-{name}": run for name, run in negation_runs(models_of("negation")).items()},
            _HIGHER,
            validation="the training sentences",
            unequal={"parameters": "A bag of words has one weight for each word; the networks have their usual sizes"},
        ),
        "sentiment": ComparedGroup(
            "Negation in English, Compare, lesson 2-not-in-english",
            {f"sentiment-{name}": run for name, run in sentiment_runs().items()},
            _LOWER,
            "val_error",
            "validation sentences, half of them reviews",
            unequal={"parameters": "A bag of words has one weight for each word and class"},
        ),
        "recall": ComparedGroup(
            "Memory, Gates, Sequence shapes, Compare, lesson 3",
            {f"recall-{name}": each.config() for name, each in recall.VARIANTS.items()},
            _HIGHER,
            unequal={
                "parameters": f"{_STATES}; the Transformer with learned positions has a vector for each of 1,024 "
                "positions"
            },
        ),
        "growth": ComparedGroup(
            "Compare",
            {f"growth-{name}": run for name, run in growth_runs().items()},
            criterion="val_loss",
            validation="the twentieth of the text before the last twentieth, on which the search does not train",
            search_settings={"held_out": 0.1, "test": 0.5},
        ),
        **{
            f"text-{name}": ComparedGroup(
                "Language models, Context, lesson 2-window" if name == "shakespeare" else "Language models, Context",
                {f"text-{name}-{model}": setup.config(model) for model in models_of("text") if model != "ngram"},
                _TEXT,
                "val_loss",
                _TENTH_BEFORE,
                _BEFORE_HELD_OUT,
            )
            for name, setup in SETUPS.items()
        },
        "window": ComparedGroup(
            "Language models, lesson 2-window",
            {f"window-{trial.value:g}": trial.config for trial in EXPERIMENTS["window"].trials},
            criterion="val_loss",
            validation=_TENTH_BEFORE,
            search_settings=_BEFORE_HELD_OUT,
            unequal={"parameters": "A wider window has separate weights for each position"},
        ),
        **{
            task: ComparedGroup(
                "Translation, lesson 4" if task != "copy" else "Translation",
                {f"{task}-{name}": each.config(task) for name, each in translation.VARIANTS.items()},
                (1e-3, 2e-3, 5e-3, 1e-2, 2e-2),
                unequal={
                    "parameters": "Attention adds parameters, and so does the wider vector; the Transformer has two "
                    "layers in each half",
                    "optimizer": "The learning rate of the Transformer rises over 100 steps instead of 20",
                },
            )
            for task in translation.TASKS
        },
        **{
            f"place-{rule.name}": ComparedGroup(
                "Sequence shapes, lesson 2-window",
                {
                    f"place-{rule.name}-{model}": sequence_shapes.position_rule_config(rule, model)
                    for model in sequence_shapes.RULE_MODELS
                },
                unequal={"parameters": "The question is which of them learn the rule at all, at their usual sizes"},
            )
            for rule in sequence_shapes.RULES
        },
        "clipping": ComparedGroup(
            "Sequence shapes",
            {
                "recall-rnn-usual": recall.VARIANTS["rnn-usual"].config(),
                "recall-rnn-unclipped": sequence_shapes.clipping_config(0.0),
            },
            _HIGHER,
            unequal={"optimizer": "Clipping is what is compared"},
        ),
        "masks-noise": ComparedGroup("The causal mask", _labelling("noise-causal", "noise-open")),
        "masks-tale": ComparedGroup("The causal mask", _labelling("tale-causal", "tale-open")),
        "positions": ComparedGroup("Positions, lesson 5", _labelling(*labelling.POSITION_VARIANTS)),
        "scaling": ComparedGroup("Scaled attention", _labelling(*labelling.SCALING_VARIANTS), _LOWER),
        "depth": ComparedGroup(
            "Depth, lesson 11", _labelling("echo-deep", "echo-deep-gentle", "echo-deep-none", "echo-deep-bare"), _LOWER
        ),
        **{
            f"senses-{task}": ComparedGroup(
                "Sentence encoder, lesson 14",
                _labelling(*(f"{task}-{name}" for name in ("two", "one", "alone"))),
                unequal={"parameters": "A second layer has parameters of its own"},
            )
            for task in ("gloss", "gist")
        },
        "induction": ComparedGroup("Induction, lesson 7", _labelling("induction-two", "induction-one")),
        "induction-lookup": ComparedGroup("Induction, lesson 7", _labelling("induction-lookup")),
        "word-vectors": ComparedGroup(
            "Word vectors, lesson 8",
            {f"word_vectors-{name}": word_vectors.config(name, "grammar") for name in word_vectors.VARIANTS},
        ),
    }


@dataclass(frozen=True)
class RateSearch:
    """The search for the learning rate of a run: its group, and the mean loss at each rate."""

    group: ComparedGroup
    losses: Mapping[float, float]  # infinite where a seed diverged

    @property
    def best(self) -> float:
        """The best rate, as `best_rate` chooses it."""
        return best_rate(self.losses)


def find_search(config: RunConfig) -> RateSearch | None:
    """Return the search with the settings of a run, whatever its learning rate and its seeds; None without one."""
    return _searches().get(_searched_part(config))


@lru_cache(maxsize=1)
def _searches() -> Mapping[RunConfig, RateSearch]:
    return {
        _searched_part(config): RateSearch(group, losses)
        for group in compared_groups().values()
        for name, config in group.runs.items()
        if (losses := read_search(name))
    }


def _searched_part(config: RunConfig) -> RunConfig:
    return replace(config, optimiser=replace(config.optimiser, learning_rate=1.0), seed=0, replicas=1)
