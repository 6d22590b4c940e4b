"""Exports a run as one zip file.

It contains the files of the run folder, the curves as `curves.safetensors`, which `read.py` imports without trusting
them, and two files for readers: `metrics.csv` and `MODEL_CARD.md`. Unzipped into `LINEAGE_HOME/runs/KEY` it is a run.
"""

from __future__ import annotations

import io
import shlex
import zipfile
from collections.abc import Iterable

from safetensors.numpy import save

from explorer.catalogue import model_for_task, model_row, task_row
from explorer.csv_files import to_csv
from explorer.errors import DamagedRun
from explorer.run_store.archive.curves_tensors import to_tensors
from explorer.run_store.archive.zip_reader import CURVES, step_file
from explorer.run_store.store import Card, StoredRun, json_bytes
from explorer.run_store.tables import metrics_table
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import DigitsConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training.comparability import describe_tokens, loss_context, token_noun
from explorer.training.config import RunConfig, changed_settings, to_json
from explorer.visible_text import escape_invisible


def pack(run: StoredRun) -> bytes:
    """Return a run as a zip file, deterministically. Raises DamagedRun."""
    card = run.card.model_copy(update={"owner": "", "pinned": False, "imported": False})  # these belong to this server
    try:
        names = ["config.json", "events.parquet", *(["tokenizer.json"] if run.tokenizer else [])]
        files = {name: (run.folder / name).read_bytes() for name in names}
        for step in run.snapshot_steps():
            files[step_file("snapshots", step)] = save(run.weights(step))
        for step in run.checkpoint_steps():
            name = step_file("optimiser", step)
            files[name] = (run.folder / name).read_bytes()
    except OSError as error:
        raise DamagedRun(f"Run {run.key} cannot be exported: its files have changed meanwhile. Try again.") from error
    files[CURVES] = save(to_tensors(run.curves))
    files["card.json"] = json_bytes(card.model_dump())
    files["metrics.csv"] = to_csv(metrics_table(run.curves, run.config)).encode()
    files["MODEL_CARD.md"] = model_card(run).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, 6)
    return out.getvalue()


def model_card(run: StoredRun) -> str:
    """Return the model card of a run as Markdown. Texts of users are put in code blocks, so they cannot be markup."""
    config, card = run.config, run.card
    model, task = model_row(config.model), task_row(config.task)
    version = model_for_task(config.model).version
    data = to_json(config)
    data["optimiser"]["method"] = data["optimiser"]["name"]
    settings = [f"{part}.{k} = {_format_value(v)}" for part in _PARTS for k, v in data[part].items() if k not in _NAMES]
    settings += [f"{k} = {_format_value(v)}" for k, v in data.items() if not isinstance(v, dict)]
    said = [f"{what}: {text}" for what, text in (("name", card.name), ("tags", ", ".join(card.tags))) if text]
    said += [*[""] * bool(said), card.note] if card.note else []
    versions = [f"{model.name} {version}, {task.name} {task.version}, format of the run {card.format}"]
    versions += [f"torch {card.torch}", *(f"trained on {each}" for each in card.machines), f"made {card.created}"]
    again = _code_block([train_command(config)])
    if config.branch:
        again = (
            f"It is a branch that continues from step {config.branch.step:,} of run `{config.branch.parent}`, which "
            "is needed first. Branch from that run at this step, with the settings above."
        )
    sections = [
        f"# {model.title} on {task.title}",
        f"Run `{card.key}` of Lineage, {card.state} at step {card.step:,} of {config.steps:,}: "
        f"{card.parameters:,} parameters, {config.replicas} seed(s) trained side by side in {card.seconds:.2f} s.",
        *(["What ended it:", _code_block([card.problem])] if card.problem else []),
        *(["## Name, tags and notes", _code_block(said)] if said else []),
        "## What it was trained on",
        f"The {task.name} task (version {task.version}), by these settings:",
        _code_block(settings),
        "## Results",
        _metrics_table(card),
        *_loss_conditions(config),
        "Each value, and those before the end, are in `metrics.csv`.",
        "## Limits",
        known_limits(config),
        "## Train it again",
        again,
        f"Or import this run into another installation:\n\n    python -m explorer import {card.key}.zip",
        "## The model",
        f"{model.paper}: <{model.link}>",
        "## Versions",
        _code_block(versions),
    ]
    return "\n\n".join(sections) + "\n"


def known_limits(config: RunConfig) -> str:
    """Return sentences about the limits of a model that was trained like this."""
    task = config.task
    if isinstance(task, DatesConfig):
        return (
            f"It was trained on dates from 1950 to 2049 in {len(DATE_FORMATS)} formats, letter by letter. "
            "Other input was not measured."
        )
    if isinstance(task, DigitsConfig):
        return f"It was trained on sources of up to {task.longest} digits; its metrics include longer ones."
    if isinstance(task, PairsConfig):
        return (
            f"It knows {len(task.sources)} characters of sources and {len(task.targets)} of targets. Its metrics are "
            "those of pairs that were held out from the same table."
        )
    if isinstance(task, StringConfig):
        return "It was trained on one string only, and not on what follows its end."
    if isinstance(task, RecallConfig):
        told = "Its metrics include other lengths, for which it was not trained."
        if task.sequences:
            told = (
                f"It saw the same {task.sequences:,} sequences again and again, and may have memorized them without "
                "learning a rule for others."
            )
        return f"It was trained to name the first of {task.length:,} random symbols. {told}"
    if isinstance(task, RandomSymbolsConfig):
        return (
            "It was trained on random symbols, which nothing predicts: a loss below chance means that it sees its "
            "targets."
        )
    if isinstance(task, LabellingConfig):
        return f"It knows {len(task.vocabulary) - 1} tokens, in rows as its task generates them."
    if isinstance(task, WordVectorsConfig):
        return (
            "It has one vector for each word, whatever the sentence: two senses of a word share it, and words that "
            "occur less often than its settings ask for have none. Its vectors reproduce the associations of their "
            "text. They are for demonstration only."
        )
    if not isinstance(task, TextConfig):
        return (
            "It knows the words of one small grammar only. Its accuracy is measured on the sentences of that grammar. "
            "It was trained on the same sentences, except for a held-out pair."
        )
    leaks = {
        "windows": " The held-out windows overlap with training windows: its loss is too low (leakage).",
        "pairs": " Held-out targets are in lines with training targets: its loss is slightly too low (leakage).",
    }
    carried = " It carries its state from block to block." if task.batches == "contiguous" else ""
    return (
        f"It was trained and measured on one text only. It was trained on rows of {task.context} tokens.{carried} It "
        f"was not trained to use anything further back.{leaks.get(task.split, '')} It generates text in the style of "
        "its training text, with invented words and without meaning. It is for demonstration only."
    )


def train_command(config: RunConfig) -> str:
    """Return the command that trains a configuration; a branch additionally needs its parent run."""
    changed = changed_settings(config)
    words = [f"python -m explorer train --task {task_row(config.task).name} --model {config.model_name}"]
    words += [f"--{name} {changed.pop(name)}" for name in ("seed", "replicas") if name in changed]
    words += [f"--set {_shell_word(f'{name}={_format_value(value)}')}" for name, value in changed.items()]
    return " ".join(words)


def _shell_word(text: str) -> str:
    """Return a text as one word of a command for bash or zsh, with invisible characters as escapes."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    escaped = escape_invisible(quoted)
    return shlex.quote(text) if escaped == quoted else f"$'{escaped}'"


def _metrics_table(card: Card) -> str:
    lines = ["| metric | mean | lowest seed | highest seed |", "|---|---|---|---|"]
    for name, metric in card.metrics.items():
        known = [v for v in metric.values if v is not None]
        shown = [f"{v:.4f}" for v in (metric.mean, min(known), max(known)) if v is not None] if known else ["none"] * 3
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _loss_conditions(config: RunConfig) -> list[str]:
    """Return the tokens and the context of the losses on text, without which they cannot be compared."""
    if not isinstance(config.task, TextConfig):
        return []
    contexts = {name: loss_context(config, name) for name in ("val_loss", "train_loss")}
    held_out, training = contexts.values()
    context = held_out if held_out == training else f"{held_out}; of the training loss: {training}"
    return [f"Losses: nats a {token_noun(config)}. Tokens: {describe_tokens(config)}. Context: {context}."]


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _code_block(texts: Iterable[str]) -> str:
    """Return lines as an indented Markdown code block, in which nothing is markup and nothing is invisible."""
    lines = [line for text in texts for line in text.replace("\r\n", "\n").replace("\t", " ").split("\n")]
    return "\n".join(f"    {escape_invisible(line)}" for line in lines).rstrip()


_PARTS = ("task", "model", "optimiser")
_NAMES = ("name", "version")
