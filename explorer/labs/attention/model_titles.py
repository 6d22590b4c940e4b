"""Names of the models in the menu of the attention explorer: task, text, tokenizer, layers and heads."""

from __future__ import annotations

from explorer.catalogue import TYPED_TEXT_TASKS
from explorer.errors import LineageError
from explorer.model.run_model import RunModel
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import real_model_titles

ATTENTION_TASKS = (*TYPED_TEXT_TASKS, "agreement")
# The included runs of the menu; the other ones are variants of these in experiments, which other pages compare.
MENU = {  # with what tells models of the same description apart
    "sentiment-transformer": "",
    "agreement-heads": "",
    "text-through-training": ", steps of the training",
    "text-transformer": "",
    "text-best": ", larger",
    "text-assignment": "",
    "negation-single-transformer-attending": "",
    "negation-single-transformer": ", small initialization",
    "negation-single-transformer-usual-start": ", standard initialization",
}
_TEXTS = {"tinyshakespeare": "Shakespeare", "own": "your text", "toy": "toy text"}
_UNITS = {"char": "letters", "word": "words", "bpe": "word pieces", "byte": "bytes"}


def attention_model_titles(selected: str) -> dict[str, str]:
    """Return the titles of the models that the page offers, by name: included ones, then other stored runs.

    The selected model is always among them.
    """
    stored = stored_models.model_titles(ATTENTION_TASKS, ("transformer",), selected=(selected,))
    included = frozenset(store.pretrained_folders().values())
    names = [name for name in stored if name not in included or name in MENU or name == selected]
    real = real_model_titles("decoder", "encoder", "encoder-decoder")
    order = {name: i for i, name in enumerate(MENU)}
    titles: dict[str, str] = {}
    for name in sorted((name for name in names if name not in real), key=lambda name: order.get(name, len(order))):
        try:
            model = stored_models.find_run(name)
            title = model.run.card.name if isinstance(model.run, StoredRun) else ""
            title = title or describe_model(model) + MENU.get(name, "")
        except LineageError:
            title = stored[name]  # a model that cannot be read is still the selected one
        count = sum(other == title or other.startswith(f"{title} (") for other in titles.values())
        titles[name] = f"{title} ({count + 1})" if count else title
    return titles | real


def describe_model(model: RunModel) -> str:
    """Return task, text, tokenizer, layers and heads of a model in a few words."""
    try:
        return f"{_describe_task(model.config)} · {model.layout.size}"
    except LineageError:
        return model.config.title


def _describe_task(config: RunConfig) -> str:
    task = config.task
    if isinstance(task, TextConfig):
        return f"{_TEXTS.get(task.corpus, task.corpus.capitalize())}, {_UNITS.get(task.tokenizer, task.tokenizer)}"
    if isinstance(task, AgreementConfig):
        return "Agreement, words"
    if isinstance(task, SentimentConfig):
        return "English sentences, pieces of words"
    return "Negation, words" if isinstance(task, NegationConfig) else config.title
