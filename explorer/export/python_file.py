"""Exports a run as a Python file with its weights and examples in a safetensors file beside it.

The program is what a person would write for this model and this kind of task: a short template of `templates/`, and the
definitions of the model from our own source files (`source.py`). `contents.py` makes the file beside it.
"""

from __future__ import annotations

import dataclasses
import io
import re
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from explorer.catalogue import model_for_task, task_row
from explorer.export import contents
from explorer.export.source import Selection, wrap_line
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, RecurrentTextConfig
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training import objective as objectives
from explorer.training.config import RunConfig, key
from explorer.training.record import Record

_TEMPLATES = "explorer.export.templates."
_KINDS = {  # the loss and the answer (of `templates/kinds.py`) by task; all others are translations
    NegationConfig: ("sentence_losses", "classify"),
    SentimentConfig: ("sentence_losses", "classify_english"),
    RecallConfig: ("recall_losses", "recall"),
    LabellingConfig: ("label_losses", "label"),
    StringConfig: ("token_losses", "continue_text"),
    TextConfig: ("token_losses", "continue_text"),
    WordVectorsConfig: ("word_losses", "nearest_words"),
}
_TOKENIZERS = {"char": "characters", "word": "words", "bpe": "subwords", "bytes": "subwords"}
_OPTIONS = {"--tokens": 200, "--temperature": 1.0}  # of `generate`; temperature 0: always the likeliest token
_CHAPTERS = {f"{_TEMPLATES}layers": "the model", "explorer.models.": "the model"}  # by module; else the program
_OF_METHOD = {  # settings of one optimizer only
    "adam": ["beta2"],
    "rmsprop": ["beta2"],
    "sgd": ["momentum"],
    "muon": ["beta2", "momentum", "matrix_rate", "rest_decay"],
}
_EXAMPLES = {  # a text to try, by the name of the task
    "negation": "human not preserve nature",
    "sentiment": "The plot isn’t bad at all.",
    "recall": "abba",
    "reverse": "1230",
    "copy": "1230",
    "dates": "3rd of march 1997",
    "pairs": "clary",
    "word_vectors": "king",
}


class Files(NamedTuple):
    """The two files of an export."""

    program: str  # Python, or the JSON of a notebook
    tensors: bytes  # safetensors

    def by_path(self, file: Path) -> dict[Path, bytes]:
        """Return the content of both by their paths. `file`: the path of the program."""
        return {file: self.program.encode(), file.with_suffix(".safetensors"): self.tensors}


class Program(NamedTuple):
    """The parts of an exported program, in this order."""

    docstring: str
    imports: str
    sections: dict[str, str]  # the settings, the model and the program, by title


def as_python(config: RunConfig, run: StoredRun | Record | None = None) -> Files:
    """Return a run as a Python file, and the file of weights and examples that has to lie beside it.

    run: the trained run; without one the program has no weights and can only train. Examples of a visitor's own text
        are included if this visitor may read it. A branch trains as if it had no parent.

    Raises TextError.
    """
    config = dataclasses.replace(config, branch=None)
    parts = program_parts(config, run)
    blocks = [
        f"{f'# ---- {title} '.ljust(119, '-')}\n{code}" if title else code for title, code in parts.sections.items()
    ]
    body = "\n\n\n".join([*blocks, 'if __name__ == "__main__":\n    main()\n'])
    text = f'"""{parts.docstring}\n"""\n\n{parts.imports}\n\n{body}'
    return Files(text, contents.stored_tensors(config, run))


def zip_of(files: Mapping[Path, bytes]) -> bytes:
    """Return files in a zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, each in files.items():
            archive.writestr(path.name, each)
    return content.getvalue()


def program_parts(config: RunConfig, run: StoredRun | Record | None = None) -> Program:
    """Return the parts of the program of a run."""
    kinds = (kind for task, kind in _KINDS.items() if isinstance(config.task, task))
    losses, answer = next(kinds, ("translation_losses", "translate"))
    module, _, name = model_for_task(config.model).class_path.partition(":")
    counted = isinstance(config.model, NgramTextConfig)
    modules = {"explorer.models.layers": f"{_TEMPLATES}layers", "explorer.models.configs": f"{_TEMPLATES}layers"}
    names = {
        "Network": (module, name),
        "make_optimizers": (f"{_TEMPLATES}optimizers", config.optimiser.method),
        "make_tokenizer": (f"{_TEMPLATES}kinds", _TOKENIZERS[getattr(config.task, "tokenizer", "char")]),
        "batch_losses": (f"{_TEMPLATES}kinds", losses),
        "train_model": (f"{_TEMPLATES}kinds", "count_ngrams" if counted else "train_in_steps"),
        "answer_text": (f"{_TEMPLATES}kinds", answer),
    }
    if config.precision == "bfloat16":
        names["orthogonalize"] = ("explorer.training.optimisers", "orthogonalize_in_bfloat16")
    selection = Selection((f"{_TEMPLATES}program", "main"), modules, names, _conditions(config))
    shorter = {"train_in_steps": "train", "count_ngrams": "train", "continue_text": "generate"}
    renamed = shorter | {local: shorter.get(found, found) for local, (_, found) in names.items()}
    pattern = re.compile(rf"\b({'|'.join(renamed)})\b")
    sections: dict[str, list[str]] = {}
    for title, code in selection.sections():
        code = pattern.sub(lambda old: renamed[old[0]], code)
        chapter = next((c for start, c in _CHAPTERS.items() if title.startswith(start)), "the program")
        if title.endswith(".common"):  # its constants are those of the run
            code = re.split(r"^(?:MODEL|TRAINING) = SimpleNamespace\(\)$", code, flags=re.MULTILINE)[-1].strip()
        sections.setdefault(chapter, []).append(code)
    settings = _settings(config, run)
    parts = {"": settings} | {each: "\n\n\n".join(sections[each]) for each in sorted(sections)}
    return Program(_docstring(config, run), selection.import_lines(), parts)


def _conditions(config: RunConfig) -> dict[str, Any]:
    """Return the values that decide which branches the program of a run has."""
    task = config.task
    reads_all = isinstance(config.model, NgramTextConfig | FeedforwardTextConfig | RecurrentTextConfig)
    prefixes = getattr(task, "rows", "") == "prefixes"
    return {
        "dropout": 0.0,
        **vars(config.model),
        "average": config.average,
        "precision": config.precision,
        "carries": getattr(task, "batches", "") == "contiguous",
        "masked": getattr(task, "rows", "blocks") != "blocks",
        "padded": prefixes,
        "windowed": (prefixes or not reads_all)
        if isinstance(task, TextConfig)
        else not getattr(config.model, "recurrent", 1),
        "lower": getattr(task, "lower", False),
    }


def _settings(config: RunConfig, run: StoredRun | Record | None) -> str:
    objective = objectives.objective_class(config.task)
    vocabulary = objective.parse_tokenizer(run.tokenizer)[1] if run and run.tokenizer else None
    names = ["learning_rate", "schedule", "warmup", "end", "clip", "weight_decay", *_OF_METHOD[config.optimiser.method]]
    training = {name: getattr(config.optimiser, name) for name in names} | {"steps": config.steps}
    training |= {name: getattr(config, name) for name in ("average", "order") if getattr(config, name)}
    return "\n".join(
        [
            'FILE = Path(__file__).with_suffix(".safetensors")  # the weights of the run and its examples',
            f"SEEDS = {list(config.seeds)}",
            f"SIZES = {list(objective.model_sizes(config, vocabulary))}",
            f"COMMAND = {command_of(config)[0]!r}",
            f"OPTIONS = {_OPTIONS if command_of(config)[0] == 'generate' else {}}",
            wrap_line(f"MODEL = {_namespace(vars(config.model))}"),
            wrap_line(f"TRAINING = {_namespace(training)}"),
        ]
    )


def _namespace(values: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"SimpleNamespace({text})"


def describe(config: RunConfig) -> tuple[str, str]:
    """Return a line that names the run, and what its program needs and does."""
    task = config.task
    text = (
        f"It needs {required_libraries(config)}. `train` begins with the initial weights of a seed of the run, and "
        "reads the batches of its first one; they are in the safetensors file beside this one, with the weights."
    )
    return f"{config.title} on the {task_row(task).name} task, run {key(config)} of Lineage", text


def required_libraries(config: RunConfig) -> str:
    """Name the libraries that the program needs."""
    pieces = isinstance(config.task, TextConfig) and config.task.tokenizer != "char"
    return "torch, safetensors and tokenizers" if pieces else "torch and safetensors"


def command_of(config: RunConfig) -> list[str]:
    """Return the command of a program beside `train`, and a text to try."""
    if isinstance(config.task, TextConfig | StringConfig):
        return ["generate", "", "--tokens", "100"]
    return ["predict", _EXAMPLES.get(task_row(config.task).name, "…")]


def _docstring(config: RunConfig, run: StoredRun | Record | None) -> str:
    which, text = describe(config)
    command, text_to_try, *options = command_of(config)
    other = " ".join([command, f'"{text_to_try}"', *options])
    commands = "    python FILE train\n" + (f"    python FILE {other}\n" if run else "")
    return f"{which}.\n\n{commands}\n{textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)}"
