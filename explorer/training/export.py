"""A run as one plain Python file, made from the sources of this program.

A task's script (`negation_script.py`, `text_script.py`) gets the names and settings of the run, and everything that
it uses is copied with its comments, in the order of the imports; see `sources.py`. Signatures keep their shapes:
nothing evaluates them, so the file imports no jaxtyping. A run can be exported as long as no two definitions that it
needs share a name.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from explorer.catalogue import ModelConfig, TaskConfig, variant
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, RecurrentTextConfig
from explorer.tasks.corpora import TINYSHAKESPEARE_ADDRESS
from explorer.tasks.dates import DatesConfig
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.labelling import LabellingConfig
from explorer.tasks.negation import NegationConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.strings import StringConfig
from explorer.tasks.text import TextConfig
from explorer.training.config import Optimiser, RunConfig, key
from explorer.training.sources import Facts, Selection, Source, pruned, text_of

_ROWS = {"blocks": "Blocks", "sentences": "Sentences", "prefixes": "Prefixes"}  # classes of tasks/windows.py
_TOKENIZERS = {
    "char": ("explorer.tokenization.characters", "Characters"),
    "word": ("explorer.tokenization.word_level", "WordLevel"),
    "bpe": ("explorer.tokenization.subwords", "BPE"),
    "bytes": ("explorer.tokenization.subwords", "ByteLevelBPE"),
}
_GIVEN = {  # texts that are not made by a rule
    "tinyshakespeare": f"Tiny Shakespeare ({TINYSHAKESPEARE_ADDRESS})",
    "own": "the text that the run was trained on (SHA-256 {sha})",
}
_TRANSLATION = ("explorer.training.translation_script", "EncoderDecoder", "EncoderDecoderConfig")
_LABELLING = "explorer.training.labelling_script"
# By task: the script, and the model and settings that it is written for.
_SCRIPTS: dict[type[TaskConfig], tuple[str, str, str]] = {
    NegationConfig: ("explorer.training.negation_script", "RNN", "RNNConfig"),
    RecallConfig: ("explorer.training.recall_script", "RNNRecall", "RNNRecallConfig"),
    StringConfig: ("explorer.training.string_script", "RNNString", "RNNStringConfig"),
    **dict.fromkeys((ReverseConfig, CopyConfig, DatesConfig), _TRANSLATION),
}
_METHODS = {"adam": "Adam", "sgd": "SGD", "rmsprop": "RMSProp", "muon": "Muon"}  # classes of training/optimisers.py


class Parts(NamedTuple):
    """What one file for a run is put together from, in this order."""

    imports: str
    sections: list[tuple[str, str, str]]  # of each file: its title, what it says about itself, its code
    # The last section is the training; it begins with the settings of the run.


def as_python(config: RunConfig) -> str:
    """One file that trains this run again, to the same losses. A branch is exported as if it had no parent.

    It holds no text: where the run's is not made by a rule, the file asks for it, and knows it by its SHA-256.
    """
    parts = parts_of(config)
    found = []
    for title, about, code in parts.sections:
        found += [f"{_rule(title)}\n{about}".rstrip(), code]
    body = "\n\n\n".join([*found, 'if __name__ == "__main__":\n    main()\n'])
    return "\n\n".join([_head(config), parts.imports, body])


def parts_of(config: RunConfig) -> Parts:
    """Everything that trains this run again, cut where the files of this program end."""
    alone = dataclasses.replace(config, branch=None)
    name, renamed = _script(alone)
    text = re.sub(rf"\b({'|'.join(map(re.escape, renamed))})\b", lambda old: renamed[old[0]], text_of(name))
    facts = _facts(alone)
    script = Source(name, pruned(_with(text, _settings(alone)), facts[name]))
    used = {_METHODS[alone.optimiser.method], *(["Adam"] if alone.optimiser.method == "muon" else [])}
    found = Selection(
        script,
        facts,
        stand_ins={"train", "Tokenizer", "TaskConfig", "ModelConfig"},
        left_out=set(_METHODS.values()) - used,
    )
    sections = []
    for module, about, code in found.sections():
        title = "the training" if module == name else module.removeprefix("explorer.").replace(".", "/") + ".py"
        sections.append((title, about, code))
    return Parts(found.import_lines(), sections)


def needs(config: RunConfig) -> str:
    """The libraries that the file needs, in words."""
    if not isinstance(config.task, TextConfig):
        return "torch only"
    return "torch and numpy" if config.task.tokenizer == "char" else "torch, numpy and tokenizers"


def _script(config: RunConfig) -> tuple[str, dict[str, str]]:
    """The module that the file ends with, and which names take the place of which."""
    place, _, model = variant(config.model).place.partition(":")
    settings = type(config.model).__name__
    if isinstance(config.task, LabellingConfig):
        home = type(config.task).__module__
        return _LABELLING, {
            "explorer.models.transformer_tagger": place,
            "TransformerTagger": model,
            "TransformerTaggerConfig": settings,
            "explorer.tasks.noise": home,
            "explorer.tasks.noise_rows": f"{home}_rows",
            "NoiseConfig": type(config.task).__name__,
        }
    if not isinstance(config.task, TextConfig):
        script, own_model, own_settings = _SCRIPTS[type(config.task)]
        own_place = "explorer.models.encoder_decoder" if own_model == "EncoderDecoder" else "explorer.models.rnn"
        task = type(config.task)
        return script, {
            own_place: place,
            own_model: model,
            own_settings: settings,
            "explorer.tasks.digits": task.__module__,
            "ReverseConfig": task.__name__,
        }
    tokenizer_place, tokenizer = _TOKENIZERS[config.task.tokenizer]
    return "explorer.training.text_script", {
        "explorer.models.transformer_decoder": place,
        "TransformerDecoder": model,
        "TransformerTextConfig": settings,
        "explorer.tokenization.characters": tokenizer_place,
        "Characters": tokenizer,
        "Blocks": "Windows" if config.task.split == "windows" else _ROWS[config.task.rows],
    }


def _facts(config: RunConfig) -> Facts:
    """What is known beforehand, so that the file need not carry what this run never does."""
    optimiser, alone = config.optimiser, config.replicas == 1
    of_script = {"RUN.replicas > 1": not alone, "RUN.average": config.average > 0}
    facts: dict[str, dict[str, bool]] = {
        **{script: of_script for script in (*(script for script, *_ in _SCRIPTS.values()), _LABELLING)},
        "explorer.training.optimisers": {
            **{f"settings.method == '{name}'": optimiser.method == name for name in _METHODS},
            "self.settings.clip": optimiser.clip > 0,
            "average": config.average > 0,
            "self._means": config.average > 0,
            "self.replicas == 1": alone,
        },
    }
    if alone:  # of several seeds there is a stack, and a model of its own when each writes
        facts["explorer.models.layers"] = {
            "self.weight.dim() == 2": True,
            "self.weight.dim() == 1": True,
            "len(generators) == 1": True,
        }
    dated = {"isinstance(config, DatesConfig)": isinstance(config.task, DatesConfig)}
    facts |= {"explorer.tasks.pairs": dated, "explorer.tasks.translation": dated}
    if isinstance(task := config.task, TextConfig):
        ngram = isinstance(config.model, NgramTextConfig)
        of_script |= {
            "RUN.replicas > 1": not alone and not ngram,  # counts know no seed
            "RUN.stop_at or RUN.patience": config.stop_at > 0 or config.patience > 0,
            "TASK.batches == 'contiguous'": task.batches == "contiguous",
            "TASK.rows == 'prefixes'": task.rows == "prefixes",
            **{f"TASK.corpus == '{name}'": task.corpus == name for name in ("toy", "repeats", "brackets", "own")},
            "isinstance(model, Ngram)": ngram,
            "isinstance(model, NeuralNgram)": isinstance(config.model, FeedforwardTextConfig),
            "isinstance(model, RecurrentLanguageModel)": isinstance(config.model, RecurrentTextConfig),
        }
        facts |= {
            "explorer.training.text_script": of_script,
            "explorer.training.scoring": {
                "isinstance(model, Ngram)": ngram,
                **({"features.dim() == 3": True} if alone else {}),
            },
            "explorer.tasks.windows": {
                "self.config.batches == 'contiguous'": task.batches == "contiguous",
            },
            "explorer.tasks.tokens": {
                "recipe.lines": task.rows != "blocks",
                "recipe.tokenizer == 'char'": task.tokenizer == "char",
                "recipe.tokenizer in ('bpe', 'bytes')": task.tokenizer in ("bpe", "bytes"),
            },
        }
    return facts


def _settings(config: RunConfig) -> dict[str, str]:
    """The settings that stand in a script by name, each as the call that makes it."""
    own = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if "help" in f.metadata}
    parts = {"TASK": config.task, "MODEL": config.model, "OPTIMISER": config.optimiser}
    run = {name.lower(): name for name in parts} | {name: _literal(value) for name, value in own.items()}
    return {name: f"{name} = {_written(part)}" for name, part in parts.items()} | {
        "RUN": f"RUN = {_call('RunConfig', run)}"
    }


def _written(settings: TaskConfig | ModelConfig | Optimiser) -> str:
    """A configuration as the call that makes it, a setting a line."""
    values = {f.name: _literal(getattr(settings, f.name)) for f in dataclasses.fields(settings)}
    return _call(type(settings).__name__, values)


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _call(name: str, values: Mapping[str, str]) -> str:
    return name + ("(\n" + "".join(f"    {k}={v},\n" for k, v in values.items()) + ")" if values else "()")


def _with(text: str, definitions: Mapping[str, str]) -> str:
    """A source text in which some names are defined in another way."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], end_lineno=int(end)) if name in definitions:
                lines[node.lineno - 1 : end] = definitions[name].splitlines()
    return "\n".join(lines) + "\n"


def about(config: RunConfig) -> tuple[str, list[str]]:
    """Which run it is, in a line, and what is to be known before it is run, in paragraphs."""
    task = config.task
    paragraphs = [
        f"It needs {needs(config)}, and trains to the same losses as the run it was made from. A shape in a signature, "
        'as Float[Tensor, "batch time"], is there for the reader: it is never evaluated.'
    ]
    if asks_for_text(config):
        assert isinstance(task, TextConfig)
        text = _GIVEN[task.corpus].format(sha=task.text)
        paragraphs.append(f"The text is not in this file: it is read from input.txt, which has to be {text}.")
    task_name = type(task).__name__.removesuffix("Config").lower()
    return f"{config.title} on the {task_name} task, run {key(config)} of Lineage", paragraphs


def asks_for_text(config: RunConfig) -> bool:
    """Whether the file must be given the text that the run learned from."""
    return isinstance(config.task, TextConfig) and config.task.corpus in _GIVEN


def _head(config: RunConfig) -> str:
    which, paragraphs = about(config)
    told = "\n\n".join(textwrap.fill(each, 110, break_long_words=False, break_on_hyphens=False) for each in paragraphs)
    return (
        f'"""{which}, as one file.\n\n'
        f"    python FILE{' input.txt' if asks_for_text(config) else ''}\n\n"
        f'{told}\n"""\n\nfrom __future__ import annotations'
    )


def _rule(title: str) -> str:
    return f"# ---- {title} ".ljust(119, "-")
