"""Exports a run as one Python file that needs nothing of this program.

The names and settings of the run are put into the script of its task (`scripts/`), and everything that it uses is
copied with its comments, in the order of the imports; see `source_slicing.py`. Signatures keep their shapes, but
nothing evaluates them, so the file imports no jaxtyping.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from explorer.catalogue import ModelConfig, TaskConfig, model_for_task, task_row
from explorer.export.source_slicing import Facts, Selection, Source, prune, source_text
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, RecurrentTextConfig
from explorer.tasks.negation import NegationConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import TINYSHAKESPEARE_URL
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training.config import Optimiser, RunConfig, key
from explorer.visible_text import escape_invisible

_ROWS = {"blocks": "Blocks", "sentences": "Sentences", "prefixes": "Prefixes"}  # classes of tasks/text/rows.py
_TOKENIZERS = {
    "char": ("explorer.tokenization.characters", "Characters"),
    "word": ("explorer.tokenization.word_level", "WordLevel"),
    "bpe": ("explorer.tokenization.subwords", "BPE"),
    "bytes": ("explorer.tokenization.subwords", "ByteLevelBPE"),
}
_TEXT_SOURCES = {  # texts that are not generated
    "tinyshakespeare": f"Tiny Shakespeare ({TINYSHAKESPEARE_URL})",
    "own": "the file that the run was trained on (SHA-256 {sha})",
}
_TRANSLATION = ("explorer.export.scripts.translation", "EncoderDecoder", "EncoderDecoderConfig")
_LABELLING = "explorer.export.scripts.labelling"
_TRAINING_LOOP = "explorer.export.scripts.training_loop"  # `train` and `main` of all scripts but that of the text task
# By task: the script, and the names of the model and its settings that the script uses.
_SCRIPTS: dict[type[TaskConfig], tuple[str, str, str]] = {
    NegationConfig: ("explorer.export.scripts.negation", "RNN", "RNNConfig"),
    RecallConfig: ("explorer.export.scripts.recall", "RNNRecall", "RNNRecallConfig"),
    StringConfig: ("explorer.export.scripts.string", "RNNString", "RNNStringConfig"),
    WordVectorsConfig: ("explorer.export.scripts.word_vectors", "SkipGram", "SkipGramConfig"),
    **dict.fromkeys((ReverseConfig, CopyConfig, DatesConfig), _TRANSLATION),
    PairsConfig: ("explorer.export.scripts.pairs", "EncoderDecoder", "EncoderDecoderConfig"),
}
_METHODS = {"adam": "Adam", "sgd": "SGD", "rmsprop": "RMSProp", "muon": "Muon"}  # classes of training/optimisers.py


class FileParts(NamedTuple):
    """The parts of an exported file, in this order."""

    imports: str
    sections: list[tuple[str, str, str]]  # title, docstring as a comment, and code of each source file
    # The last section is the training; it begins with the settings of the run.


def as_python(config: RunConfig) -> str:
    """Return a file that trains this run again, to the same losses. A branch is exported as if it had no parent.

    The file contains no training text: unless the text is generated, it reads one and checks its SHA-256.
    """
    parts = file_parts(config)
    blocks = []
    for title, comment, code in parts.sections:
        blocks += [f"{_section_rule(title)}\n{comment}".rstrip(), code]
    body = "\n\n\n".join([*blocks, 'if __name__ == "__main__":\n    main()\n'])
    return "\n\n".join([_file_docstring(config), parts.imports, body])


def file_parts(config: RunConfig) -> FileParts:
    """Return the code that trains this run again, divided by source file."""
    alone = dataclasses.replace(config, branch=None)
    name, renamed = _script(alone)
    text = re.sub(rf"\b({'|'.join(map(re.escape, renamed))})\b", lambda old: renamed[old[0]], source_text(name))
    if not isinstance(alone.task, TextConfig):
        text += source_text(_TRAINING_LOOP)  # one file, so that the selection shows both as one section
    facts = _facts(alone)
    script = Source(name, prune(_with_definitions(text, _settings(alone)), facts[name]))
    used_methods = {_METHODS[alone.optimiser.method], *(["Adam"] if alone.optimiser.method == "muon" else [])}
    selection = Selection(
        script,
        facts,
        stand_ins={"train", "Tokenizer", "TaskConfig", "ModelConfig"},
        left_out=set(_METHODS.values()) - used_methods,
    )
    sections = []
    for module, comment, code in selection.sections():
        title = "the training" if module == name else module.removeprefix("explorer.").replace(".", "/") + ".py"
        sections.append((title, comment, code))
    return FileParts(selection.import_lines(), sections)


def required_libraries(config: RunConfig) -> str:
    """Name the libraries that the file needs."""
    if isinstance(config.task, WordVectorsConfig):
        return "torch and numpy"
    if isinstance(config.task, NegationConfig | PairsConfig) and config.own_text:
        return "torch and pandas"
    if not isinstance(config.task, TextConfig):
        return "torch only"
    return "torch and numpy" if config.task.tokenizer == "char" else "torch, numpy and tokenizers"


def _script(config: RunConfig) -> tuple[str, dict[str, str]]:
    """Return the script of a run, and the names in it that are replaced, with their replacements."""
    module, _, model = model_for_task(config.model).class_path.partition(":")
    settings = type(config.model).__name__
    if isinstance(config.task, LabellingConfig):
        task_module = type(config.task).__module__
        return _LABELLING, {
            "explorer.models.transformer_tagger": module,
            "TransformerTagger": model,
            "TransformerTaggerConfig": settings,
            "explorer.tasks.sequence_labelling.random_symbols": task_module,
            "explorer.tasks.sequence_labelling.random_symbols_rows": f"{task_module}_rows",
            "RandomSymbolsConfig": type(config.task).__name__,
        }
    if not isinstance(config.task, TextConfig):
        script, script_model, script_settings = _SCRIPTS[type(config.task)]
        script_module = "explorer.models.encoder_decoder" if script_model == "EncoderDecoder" else "explorer.models.rnn"
        task = type(config.task)
        return script, {
            script_module: module,
            script_model: model,
            script_settings: settings,
            "explorer.tasks.seq2seq.digits": task.__module__,
            "ReverseConfig": task.__name__,
        }
    tokenizer_module, tokenizer = _TOKENIZERS[config.task.tokenizer]
    return "explorer.export.scripts.text", {
        "explorer.models.transformer_decoder": module,
        "TransformerDecoder": model,
        "TransformerTextConfig": settings,
        "explorer.tokenization.characters": tokenizer_module,
        "Characters": tokenizer,
        "Blocks": "Windows" if config.task.split == "windows" else _ROWS[config.task.rows],
    }


def _facts(config: RunConfig) -> Facts:
    """Return the conditions that are known for this run, so that the file leaves out code that it never runs."""
    optimiser, alone = config.optimiser, config.replicas == 1
    # Those of a script hold for the training loop that is appended to it, too.
    of_script = {
        "RUN.replicas > 1": not alone,
        "RUN.average": config.average > 0,
        "RUN.iterations": config.iterations > 0,
    }
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
    if alone:  # several seeds are stacked, and unstacked to generate text
        facts["explorer.models.layers"] = {
            "self.weight.dim() == 2": True,
            "self.weight.dim() == 1": True,
            "len(generators) == 1": True,
        }
    dated = {
        f"isinstance(config, {kind.__name__})": isinstance(config.task, kind) for kind in (DatesConfig, PairsConfig)
    }
    facts |= {"explorer.tasks.seq2seq.batches": dated, "explorer.tasks.seq2seq.config": dated}
    if isinstance(config.task, WordVectorsConfig | NegationConfig | PairsConfig):
        for corpus in ("grammar", "example", "own"):
            of_script[f"TASK.corpus == '{corpus}'"] = config.task.corpus == corpus
    if isinstance(task := config.task, TextConfig):
        ngram = isinstance(config.model, NgramTextConfig)
        of_script |= {
            "RUN.replicas > 1": not alone and not ngram,  # an n-gram has no random numbers
            "RUN.stop_at or RUN.patience": config.stop_at > 0 or config.patience > 0,
            "TASK.batches == 'contiguous'": task.batches == "contiguous",
            "TASK.rows == 'prefixes'": task.rows == "prefixes",
            **{f"TASK.corpus == '{name}'": task.corpus == name for name in ("toy", "repeats", "brackets", "own")},
            "isinstance(model, Ngram)": ngram,
            "isinstance(model, NeuralNgram)": isinstance(config.model, FeedforwardTextConfig),
            "isinstance(model, RecurrentLanguageModel)": isinstance(config.model, RecurrentTextConfig),
        }
        facts |= {
            "explorer.export.scripts.text": of_script,
            "explorer.training.scoring": {
                "isinstance(model, Ngram)": ngram,
                **({"features.dim() == 3": True} if alone else {}),
            },
            "explorer.models.kneser_ney": _ngram_facts(config.model)
            if isinstance(config.model, NgramTextConfig)
            else {},
            "explorer.tasks.text.rows": {
                "self.config.batches == 'contiguous'": task.batches == "contiguous",
            },
            "explorer.tasks.text.token_arrays": {
                "recipe.lines": task.rows != "blocks",
                "recipe.tokenizer == 'char'": task.tokenizer == "char",
                "recipe.tokenizer in ('bpe', 'bytes')": task.tokenizer in ("bpe", "bytes"),
            },
        }
    return facts


def _ngram_facts(config: NgramTextConfig) -> dict[str, bool]:
    return {
        "self.cache": config.cache > 0,
        **{f"self.smoothing == '{name}'": config.smoothing == name for name in ("kneser_ney", "modified_kneser_ney")},
        "self.smoothing == 'stupid_backoff'": config.smoothing == "stupid_backoff",
        "self.smoothing != 'stupid_backoff'": config.smoothing != "stupid_backoff",
    }


def _settings(config: RunConfig) -> dict[str, str]:
    """Return the constants of a script that hold the settings, each as an assignment."""
    own = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if "help" in f.metadata}
    parts = {"TASK": config.task, "MODEL": config.model, "OPTIMISER": config.optimiser}
    run = {name.lower(): name for name in parts} | {name: _literal(value) for name, value in own.items()}
    return {name: f"{name} = {_config_call(part)}" for name, part in parts.items()} | {
        "RUN": f"RUN = {_call('RunConfig', run)}"
    }


def _config_call(settings: TaskConfig | ModelConfig | Optimiser) -> str:
    """Return a configuration as the call that constructs it, with one setting per line."""
    values = {f.name: _literal(getattr(settings, f.name)) for f in dataclasses.fields(settings)}
    return _call(type(settings).__name__, values)


def _literal(value: object) -> str:
    return escape_invisible(json.dumps(value, ensure_ascii=False)) if isinstance(value, str) else repr(value)


def _call(name: str, values: Mapping[str, str]) -> str:
    return name + ("(\n" + "".join(f"    {k}={v},\n" for k, v in values.items()) + ")" if values else "()")


def _with_definitions(text: str, definitions: Mapping[str, str]) -> str:
    """Return a source text in which the definitions of some names are replaced."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], end_lineno=int(end)) if name in definitions:
                lines[node.lineno - 1 : end] = definitions[name].splitlines()
    return "\n".join(lines) + "\n"


def describe(config: RunConfig) -> tuple[str, list[str]]:
    """Return a line that names the run, and paragraphs about what its file needs."""
    task = config.task
    paragraphs = [
        f"It needs {required_libraries(config)}, and trains to the same losses as the run it was made from. A shape in "
        'a signature, as Float[Tensor, "batch time"], is there for the reader: it is never evaluated.'
    ]
    if needs_text_file(config):
        assert isinstance(task, TextConfig | WordVectorsConfig | NegationConfig | PairsConfig)
        text = _TEXT_SOURCES[task.corpus].format(sha=task.text)
        paragraphs.append(f"The text is not in this file: it is read from input.txt, which has to be {text}.")
    return f"{config.title} on the {task_row(task).name} task, run {key(config)} of Lineage", paragraphs


def needs_text_file(config: RunConfig) -> bool:
    """Whether the file has to read the training text of the run."""
    return isinstance(config.task, TextConfig | WordVectorsConfig | NegationConfig | PairsConfig) and (
        config.task.corpus in _TEXT_SOURCES
    )


def _file_docstring(config: RunConfig) -> str:
    which, paragraphs = describe(config)
    text = "\n\n".join(textwrap.fill(each, 110, break_long_words=False, break_on_hyphens=False) for each in paragraphs)
    return (
        f'"""{which}, as one file.\n\n'
        f"    python FILE{' input.txt' if needs_text_file(config) else ''}\n\n"
        f'{text}\n"""\n\nfrom __future__ import annotations'
    )


def _section_rule(title: str) -> str:
    return f"# ---- {title} ".ljust(119, "-")
