"""The models that a visitor can inspect: of included runs, of stored runs, and of runs on the visitor's own text.

A run is named as in a URL: by its key, or by its name if it is included.
"""

from __future__ import annotations

from explorer.catalogue import MODELS, model_row, task_row
from explorer.errors import InvalidSetting, LineageError, StoreError, UnknownRun, shorten
from explorer.hub.opened import PREFIX
from explorer.jobs.job import JobView
from explorer.jobs.service import service
from explorer.run_store import index, store
from explorer.run_store.index import Query
from explorer.tasks.own_sentences import SentenceConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.session import focused_run, has_just_arrived, page_url_params
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.inspectable_model import InspectableModel
from explorer.ui.training.pretrained_models import find_pretrained
from explorer.ui.training.stored_model import StoredModel

TITLES = {  # of included runs that share their architecture with others
    "text-best": "Larger Transformer",
    "text-assignment": "Transformer on pieces of words",
    "text-through-training": "Transformer in training",
    "negation-single-transformer": "Transformer on negation",
    "negation-single-transformer-attending": "Transformer on negation, 8 heads",
    "negation-single-transformer-usual-start": "Transformer on negation, standard initialization",
}
_FIRST = (
    "text-ngram",
    "text-ngram-modified",
    "text-feedforward",
    "text-rnn",
    "text-lstm",
    "text-gru",
    "text-transformer",
    *TITLES,
)


def find_model(name: str) -> InspectableModel:
    """Return the model that a URL names. Raises UnknownRun, DamagedRun or InvalidSetting."""
    return find_pretrained(name) if name.startswith(PREFIX) else find_run(name)


def find_run(name: str) -> StoredModel:
    """Return the run that a URL names. Raises UnknownRun, DamagedRun or InvalidSetting."""
    if name.startswith(PREFIX):
        raise InvalidSetting(
            f"“{shorten(name)}” is a real model, and this page shows models that were trained here. Choose one of them."
        )
    found = _find_run(name)
    if found.config.own_text and isinstance(found.config.task, SentenceConfig | PairsConfig):
        kind = "pairs" if isinstance(found.config.task, PairsConfig) else "sentences"
        page = task_row(found.config.task).page
        raise InvalidSetting(
            f"Run {found.name} learns a visitor's own {kind}, which only the {page} page shows: "
            f"/{page}?run={found.name}. Choose another model."
        )
    return found


def _find_run(name: str) -> StoredModel:
    try:
        run = store.find(name)
        name = run.folder.name if run.shipped else run.key
        return StoredModel(name, run.card.name or _default_title(run.config.title, name, run.shipped), run)
    except UnknownRun:
        job = service.find(name, current_visitor().id)
        if job is None or job.record is None:
            raise UnknownRun(
                f"There is no model “{shorten(name)}” to ask: its run was deleted, or is on another machine. Choose "
                "another one, or train it here."
            ) from None
        return StoredModel(job.key, f"{model_row(job.record.config.model).title} on your text", job.record)


def model_from_previous_page(tasks: tuple[str, ...], models: tuple[str, ...] = ()) -> str:
    """Return the run that the visitor viewed on the previous page if its task and model match, otherwise ""."""
    name = focused_run()
    if not (name and has_just_arrived()) or page_url_params():
        return ""
    try:
        stored_model = find_run(name)
    except LineageError:
        return ""  # the previous page has shown the problem
    fits = task_row(stored_model.config.task).name in tasks and (not models or stored_model.row.name in models)
    return stored_model.name if fits else ""


def model_titles(
    tasks: tuple[str, ...], models: tuple[str, ...] = (), selected: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the titles of all runs of these tasks (and models) that have weights, by name.

    Included runs come first, then the visitor's own. Selected models that are not among them come before all.
    """
    visitor_id = current_visitor().id
    try:
        entries = index.search(Query(tasks=tasks, models=models))
    except StoreError:  # the page also works without the list
        entries = []
    titles = {name: "" for name in _FIRST}
    titles |= {
        v.key: f"{model_row(v.config.model).title} on your text"
        for v in service.views(visitor_id)
        if _has_private_weights(v)
    }
    for entry in sorted(entries, key=lambda entry: entry.owner != visitor_id):
        if entry.task in ("negation", "sentiment") and entry.settings.get("corpus") == "own":
            continue  # only the negation page shows these
        name = entry.folder if entry.shipped else entry.key
        titles[name] = entry.name or _default_title(entry.title, name, entry.shipped)
    titles = {name: title for name, title in titles.items() if title}
    return {name: name for name in selected if name not in titles} | titles


def _has_private_weights(view: JobView) -> bool:
    """Return whether a job on an own text has ended with weights."""
    is_text = isinstance(view.config.task, TextConfig)  # others have pages of their own
    return is_text and view.private and view.state in ("finished", "stopped")


def _default_title(model: str, name: str, shipped: bool) -> str:
    """Return the title of an unnamed run; `model` is the title of its model."""
    if not shipped:
        return f"{model} {name}"
    is_default = name.startswith("text-") and name.removeprefix("text-") in MODELS
    return TITLES.get(name) or (model if is_default else f"{model} {name}")
