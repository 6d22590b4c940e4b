"""The models that a visitor can inspect: runs (included, stored, or on the visitor's own text), and real models.

A run is named as in a URL: by its key, or by its name if it is included. The name of a real model begins with “hub:”.
"""

from __future__ import annotations

from explorer.catalogue import MODELS, model_row, task_row
from explorer.errors import InvalidSetting, LineageError, StoreError, UnknownRun, shorten
from explorer.hub import opened
from explorer.hub.architectures import Kind
from explorer.hub.opened import PREFIX
from explorer.hub.packages import MISSING, is_installed
from explorer.jobs.service import service
from explorer.model.model import Model
from explorer.model.real_model import RealModel
from explorer.model.run_model import RunModel
from explorer.run_store import index, store
from explorer.run_store.index import Query
from explorer.tasks.own_sentences import SentenceConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.session import focused_run, has_just_arrived, page_url_params
from explorer.ui.state.visitor import current_visitor

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


def find_model(name: str) -> Model:
    """Return the model that a URL names. Raises UnknownRun, DamagedRun or InvalidSetting."""
    return find_real_model(name) if name.startswith(PREFIX) else find_run(name)


def find_real_model(name: str) -> RealModel:
    """Return the opened model that a URL names, as in “hub:gpt2”. Raises InvalidSetting if it is not open here."""
    short = name.removeprefix(PREFIX)
    try:
        return RealModel(opened.find_card(name))
    except InvalidSetting:
        how = f"The operator opens it with “lineage open {shorten(short)}”."
        raise InvalidSetting(
            f"The real model “{shorten(short)}” is not open on this machine. {how if is_installed() else MISSING}"
        ) from None


def find_run(name: str) -> RunModel:
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


def _find_run(name: str) -> RunModel:
    try:
        run = store.find(name)
        name = run.folder.name if run.shipped else run.key
        return RunModel(run, name, run.card.name or _default_title(run.config.title, name, run.shipped))
    except UnknownRun:
        job = service.find(name, current_visitor().id)
        if job is None or job.record is None:
            raise UnknownRun(
                f"There is no model “{shorten(name)}” to ask: its run was deleted, or is on another machine. Choose "
                "another one, or train it here."
            ) from None
        return RunModel(job.record, job.key, f"{model_row(job.record.config.model).title} on your text")


def model_from_previous_page(tasks: tuple[str, ...], models: tuple[str, ...] = ()) -> str:
    """Return the run that the visitor viewed on the previous page if its task and model match, otherwise ""."""
    name = focused_run()
    if not (name and has_just_arrived()) or page_url_params():
        return ""
    try:
        stored_model = find_run(name)
    except LineageError:
        return ""  # the previous page has shown the problem
    config = stored_model.config
    fits = task_row(config.task).name in tasks and (not models or model_row(config.model).name in models)
    return stored_model.name if fits else ""


def real_model_titles(*kinds: Kind) -> dict[str, str]:
    """Return the titles of the opened real models of these kinds, by the name in a URL, for a menu."""
    models = [RealModel(card) for card in opened.opened_models() if card.kind in kinds]
    return {model.name: f"{model.title} (real, {model.layout.size})" for model in models}


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
    for view in service.views(visitor_id):  # others than texts have pages of their own
        if isinstance(view.config.task, TextConfig) and view.private and view.state in ("finished", "stopped"):
            titles[view.key] = f"{model_row(view.config.model).title} on your text"
    for entry in sorted(entries, key=lambda entry: entry.owner != visitor_id):
        if entry.task in ("negation", "sentiment") and entry.settings.get("corpus") == "own":
            continue  # only the negation page shows these
        name = entry.folder if entry.shipped else entry.key
        titles[name] = entry.name or _default_title(entry.title, name, entry.shipped)
    titles = {name: title for name, title in titles.items() if title}
    return {name: name for name in selected if name not in titles} | titles


def _default_title(model: str, name: str, shipped: bool) -> str:
    """Return the title of an unnamed run; `model` is the title of its model."""
    if not shipped:
        return f"{model} {name}"
    is_default = name.startswith("text-") and name.removeprefix("text-") in MODELS
    return TITLES.get(name) or (model if is_default else f"{model} {name}")
