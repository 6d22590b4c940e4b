"""Names of runs: the task, the model, and what differs from the usual settings, in words.

Every place that names a run uses these functions: the table of runs, the pickers and Compare. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from explorer.catalogue import model_row, models_of, task_row
from explorer.experiments import labelling, paper_experiments, recall, sequence_shapes, text_setups, word_vectors
from explorer.experiments.default_runs import negation_runs
from explorer.experiments.presets import first_assignment
from explorer.experiments.pretraining import LINES_WITH_TEST_SPLIT
from explorer.models.settings import field_label
from explorer.number_format import format_units
from explorer.tasks.text import corpora
from explorer.tasks.text.config import CORPUS_NAMES
from explorer.training.config import RunConfig, default_config, setting_declaration, to_json, with_settings

MAX_PHRASES: Final = 6  # of a name; further differences are counted
_UNNAMED: Final = {"replicas", "seed", "sample", "evaluate_every", "evaluation_size", "version"} | {
    "sources",
    "targets",
    "longest_source",
    "longest_target",  # they follow from the file
}
_DEFAULT_SNAPSHOTS: Final = 12
_Phrase: TypeAlias = str | tuple[str, str] | Mapping[object, str] | Callable[[Any], str]


def _unless_zero(phrase: str, zero: str) -> Callable[[float], str]:
    return lambda value: phrase.format(_number(value)) if value else zero


def _units(unit: str) -> Callable[[int], str]:
    return partial(format_units, unit=unit)


def _describe_held_out(value: object) -> str:
    if isinstance(value, float):
        return f"{_number(100 * value)} % held out"
    return "no pair held out" if value == "none" else f"“not {value}” held out"


def _describe_text(value: str) -> str:
    """Return a short form of the string that is learned, or of the fingerprint of a visitor's text."""
    if value in corpora.file_names:
        return corpora.file_names[value]
    return f"text {value[:8]}…" if len(value) > 24 else f"“{value.strip()}”" if value else "no own text"


def _describe_start(value: object) -> str:
    known: Mapping[object, str] = {
        "usual": "standard initialization",
        1.0: "standard initialization",
        "orthogonal": "orthogonal initialization",
        "forget-1": "gate bias 1",
        "forget-3": "gate bias 3",
        "chrono": "open gates",
    }
    return known.get(value, f"initialization {_number(value)}")


# How a value is put into words: a text with a place for the number, texts for true and false, texts by value, or a
# function.
_PHRASES: Final[Mapping[str, _Phrase]] = {
    # the task
    "p_not": "“not” with probability {}",
    "max_nots": "up to {} “not”",
    "held_out": _describe_held_out,
    "train_size": _units("training sentence"),
    "test_size": _units("test sentence"),
    "fresh_data": ("new data for each seed", "the same data for all seeds"),
    "padding": {"pad": "padded with <PAD>", "eos": "padded with <EOS>"},
    "length": "length {}",
    "symbols": _units("different symbol"),
    "sequences": _unless_zero("{} training sequences", "new sequences at every step"),
    "text": _describe_text,
    "corpus": lambda name: "own text" if name == "own" else CORPUS_NAMES.get(name, str(name)),
    "sentences": _units("sentence"),
    "min_count": "words that occur {} times or more",
    "vocabulary": "vocabulary {}",
    "negatives": _units("noise word"),
    "size": _units("character"),
    "tokenizer": {"char": "characters", "word": "words", "bpe": "BPE tokens", "bytes": "byte-level tokens"},
    "lower": ("lower case", "upper and lower case"),
    "rows": {"blocks": "blocks", "sentences": "single lines", "prefixes": "prefixes of lines"},
    "context": "context {}",
    "split": {
        "end": "end of the text held out",
        "windows": "windows held out",
        "sentences": "lines held out",
        "pairs": "single targets held out",
    },
    "test": "test split {}",
    "training_share": lambda share: f"{100 * share:.3g} % of the training text",
    "tokenizer_from_training": ("tokenizer from training lines", "tokenizer from all lines"),
    "batches": {"random": "random batches", "contiguous": "contiguous batches"},
    "longest": "at most {} digits",
    "shortest": "at least {} digits",
    "again": {"copy": "in the same order", "reverse": "reversed"},
    "period": "rule of period {}",
    # the model
    "width": "width {}",
    "window": "window {}",
    "places": "{} learned positions",
    "hidden": _units("hidden unit"),
    "heads": _units("head"),
    "layers": _units("layer"),
    "n": "{}-grams",
    "smoothing": {
        "kneser_ney": "Kneser–Ney smoothing",
        "modified_kneser_ney": "modified Kneser–Ney smoothing",
        "stupid_backoff": "stupid backoff",
    },
    "cache": _unless_zero("cache of weight {}", "no cache"),
    "start": _describe_start,
    "batch_norm": ("batch normalization", "no batch normalization"),
    "dropout": _unless_zero("dropout {}", "no dropout"),
    "positions": {
        "learned": "learned positions",
        "sinusoidal": "sinusoidal positions",
        "rotary": "rotary positions",
        "none": "no positions",
    },
    "norm": {"layer": "LayerNorm", "rms": "RMSNorm", "none": "no norm"},
    "norm_place": {"pre": "norm before each part", "post": "norm after each part"},
    "activation": {"relu": "ReLU", "gelu": "GELU", "relu2": "squared ReLU"},
    "biases": ("biases", "no biases"),
    "gain": "spectral radius {}",
    "attention": {True: "attention", False: "no attention", "none": "no attention", "additive": "additive attention"},
    "recurrent": ("recurrent", "not recurrent"),
    "causal": ("causal mask", "no causal mask"),
    "feedforward": ("feedforward layers", "no feedforward layers"),
    "scaled": ("scores divided by √d", "scores not divided by √d"),
    "residual": ("residual", "no residual"),
    # the optimizer
    "method": {"adam": "Adam", "sgd": "gradient descent", "rmsprop": "RMSProp", "muon": "Muon"},
    "schedule": {"constant": "no schedule", "linear": "linear schedule", "cosine": "cosine schedule"},
    "warmup": _unless_zero("warm-up over {} steps", "no warm-up"),
    "clip": _unless_zero("gradient norm clipped at {}", "no clipping"),
    "weight_decay": _unless_zero("weight decay {}", "no weight decay"),
    "beta2": "β₂ {}",
    "end": "end of the schedule {}",
    "momentum": _unless_zero("momentum {}", "no momentum"),
    # the training
    "epochs": _units("epoch"),
    "iterations": _units("step"),
    "snapshots": "weights saved at {} steps",
    "average": _unless_zero("averaged weights", "no averaged weights"),
}


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def setting_label(name: str, config: RunConfig) -> str:
    """Return the label of a setting of a run within a sentence or a table, given its name (also as `task.seed`)."""
    try:
        label = field_label(setting_declaration(config, name))
    except KeyError:  # "task", "model", or a step of a branch
        return name.replace("_", " ")
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def describe_setting(name: str, value: object, config: RunConfig) -> str:
    """Return a setting of a run with its value in a few words: “24 blocks”, “no residual”."""
    phrase = _PHRASES.get(name.rpartition(".")[2])
    if name == "layers" and "transformer" in config.model_name:
        phrase = _units("block")
    if isinstance(phrase, Mapping):
        phrase = phrase.get(value)
    if isinstance(phrase, tuple):
        return phrase[0] if value else phrase[1]
    if callable(phrase):
        return phrase(value)
    if phrase is not None:
        return phrase.format(_number(value))
    if isinstance(value, bool):
        return f"{setting_label(name, config)}: {'yes' if value else 'no'}"
    return f"{setting_label(name, config)} {_number(value)}"


@dataclass(frozen=True)
class _Base:
    """Settings that several runs share: a name says what differs from them, and `phrase` if it is not empty."""

    phrase: str
    config: RunConfig
    always: tuple[str, ...] = ()  # settings that are named in any case


@lru_cache
def _bases(task: str, model: str) -> tuple[_Base, ...]:
    always = ("length",) if task == "recall" else ()
    own = [base for base in _page_settings() if _names(base.config) == (task, model)]
    # The first of equally close ones counts.
    return (
        *(base for base in own if not base.phrase),
        _Base("", default_config(task, model), always),
        *(base for base in own if base.phrase),
    )


@lru_cache
def _page_settings() -> tuple[_Base, ...]:
    """Return what pages and experiments set for all of their runs."""
    variants, two_blocks = labelling.VARIANTS, {"layers": 2}
    found = [
        _Base("", with_settings(variants["echo-deep"].config(), two_blocks)),
        _Base("", variants["echo-sinusoidal"].config(), ("positions",)),
        _Base("one wide head", variants["echo-scaled"].config()),
        *(_Base("", variants[f"{task}-open"].config(), ("causal",)) for task in ("noise", "tale")),
        _Base("", variants["induction-two"].config(), ("layers",)),
        _Base("", sequence_shapes.position_rule_config(sequence_shapes.RULES[0], "transformer"), ("period",)),
        _Base("", sequence_shapes.agreement_config()),
        _Base("", sequence_shapes.word_sense_config()),
        _Base("", word_vectors.config("skip_gram", "tinyshakespeare"), ("corpus",)),
        _Base("", word_vectors.config("cbow", "tinyshakespeare"), ("corpus",)),
        _Base("best settings", text_setups.large_transformer()),
        *(
            _Base("", config, ("heads",) if model == "transformer" else ())
            for model, config in negation_runs(models_of("negation")).items()
        ),
        *(_Base("", each.config(), ("length", *each.settings, "iterations")) for each in recall.VARIANTS.values()),
        _Base("settings of the assignment", first_assignment()),
        _Base("lines with a test split", with_settings(default_config("text", "gru"), LINES_WITH_TEST_SPLIT)),
    ]
    for each in paper_experiments.EXPERIMENTS.values():
        config = with_settings(default_config("text", each.model), each.shared)
        found.append(_Base(f"experiment “{each.title}”", config, (each.setting,)))
    return tuple(found)


def _names(config: RunConfig) -> tuple[str, str]:
    return task_row(config.task).name, config.model_name


@lru_cache(maxsize=1024)
def flat_settings(config: RunConfig) -> Mapping[str, object]:
    """Return every setting by its name; one that two sections have stands as `task.seed`."""
    flat: dict[str, object] = {}
    for section, value in to_json(config).items():
        if section == "branch":
            continue
        if not isinstance(value, dict):
            flat[section] = value
            continue
        for name, each in value.items():
            if name == "name":
                name = "method" if section == "optimiser" else section
            flat[name if name not in flat else f"{section}.{name}"] = each
    return flat


def _differences(config: RunConfig, base: _Base) -> dict[str, object]:
    before, now = flat_settings(base.config), flat_settings(config)
    always = {name: now[name] for name in base.always if name in now}
    return always | {name: value for name, value in now.items() if _is_named(name, value, before.get(name))}


def _is_named(name: str, value: object, before: object) -> bool:
    if name == "snapshots":
        return value != before and isinstance(value, int) and value > _DEFAULT_SNAPSHOTS
    return value != before and name.rpartition(".")[2] not in _UNNAMED


@lru_cache(maxsize=4096)
def run_name(config: RunConfig, *, with_task: bool = True) -> str:
    """Return the name of a run, such as “Delayed copy: Transformer, 24 blocks, no residual, 3 seeds”.

    It says what differs from the settings of the page or the experiment to which the run comes closest.
    """
    bases = _bases(*_names(config))
    differences = [_differences(config, base) for base in bases]
    # A base with a phrase of its own has to save more than that phrase.
    lengths = [len(each) + 2 * bool(base.phrase) for each, base in zip(differences, bases, strict=True)]
    closest = lengths.index(min(lengths))
    parts = [model_row(config.model).title, bases[closest].phrase, *_phrases(config, differences[closest])]
    if config.branch:
        parts.append(f"branch at step {config.branch.step:,}")
    task = f"{task_row(config.task).title}: " if with_task else ""
    return task + ", ".join(part for part in (*parts, describe_seeds(config)) if part)


def _phrases(config: RunConfig, differences: Mapping[str, object]) -> list[str]:
    phrases = [describe_setting(name, value, config) for name, value in differences.items()]
    left = len(phrases) - MAX_PHRASES
    return phrases if left <= 0 else [*phrases[:MAX_PHRASES], f"{left} more setting{'s' * (left > 1)}"]


def describe_seeds(config: RunConfig) -> str:
    """Return the seeds of a run: “8 seeds”, “one seed”, “seeds 5 to 12”."""
    if config.seed == 0:
        return f"{config.replicas} seeds" if config.replicas > 1 else "one seed"
    seeds = config.seeds
    return f"seeds {seeds[0]} to {seeds[-1]}" if config.replicas > 1 else f"seed {config.seed}"


def names_side_by_side(configs: Sequence[RunConfig]) -> list[str]:
    """Return a short name for each of several runs: its model, and the settings in which that model's runs differ."""
    tasks = {task_row(config.task).name for config in configs}
    names = []
    for config in configs:
        own = flat_settings(config)
        same = [flat_settings(each) for each in configs if each.model_name == config.model_name]
        parts = [
            describe_setting(name, value, config)
            for name, value in own.items()
            if name not in _UNNAMED | {"task"} and len({str(each.get(name)) for each in same}) > 1
        ]
        if len({(each["seed"], each["replicas"]) for each in same}) > 1:
            parts.append(describe_seeds(config))
        if config.branch:
            parts.insert(0, f"branch at step {config.branch.step:,}")
        task = f"{task_row(config.task).title}: " if len(tasks) > 1 else ""
        names.append(task + ", ".join([model_row(config.model).title, *parts[:3]]))
    return names
