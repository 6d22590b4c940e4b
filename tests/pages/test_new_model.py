"""A new model with a setting that nobody has named: the pages show, train, compare and export it without another row.

The model is a bag of words under another name, entered into the catalogue while the test runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from explorer.catalogue import MODELS, ModelForTask, ModelRow
from explorer.experiments import run_names
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python
from explorer.jobs.cost import estimate_cost
from explorer.labs.negation import state as negation_state
from explorer.labs.negation.state import NegationLab
from explorer.labs.runs.descriptions import run_facts
from explorer.labs.runs.state import RunsState
from explorer.models.settings import setting
from explorer.run_store import store
from explorer.training import config as training_config
from explorer.training.config import default_config, with_settings
from explorer.ui.state.url_codec import read
from tests.pages import screen

SMALL = {"train_size": "16", "test_size": "8", "replicas": "2", "batch_size": "8", "toy.epochs": "2"}


@dataclass(frozen=True)
class ToyConfig:
    """A setting without a label, and with limits that no other setting has."""

    zeal: float = setting(0.5, "How eagerly the toy learns.", 0.25, 7.5)
    zealots: int = setting(3, "How many learn.", 1, 9)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tasks = {"negation": ModelForTask(ToyConfig, "bag_of_words:BagOfWords", {"epochs": 2})}
    row = ModelRow("toy", "Toy", "--m-counts", "2px,2px", "Nobody 2000, A toy", "https://example.org/", tasks)
    monkeypatch.setitem(MODELS, "toy", row)
    monkeypatch.setitem(negation_state._TITLES, "toy", row.title)  # made once, when the program starts
    models = next(f for f in RunsState.__dataclass_fields__.values() if f.name == "models")
    monkeypatch.setitem(models.metadata["options"], "toy", row.title)
    yield
    for cache in (training_config._cached_default, run_names._bases):
        cache.cache_clear()


def test_the_pages_train_show_and_compare_it() -> None:
    params = {**SMALL, "models": "bag_of_words,toy", "toy.zeal": "1.5", "bag_of_words.epochs": "3"}
    at = screen.negation_page(params)
    at = screen.assert_no_errors(screen.widget(at.selectbox, "settings-of").set_value("toy").run())
    box = screen.widget(at.number_input, "race.toy.zeal")
    assert (box.label, box.value, box.min, box.max) == ("Zeal", 1.5, 0.25, 7.5)
    at = screen.wait_for_training(at.button(key="train-missing").click().run())
    (warning,) = screen.warnings_of(screen.negation_page({"toy.zeal": "99"}))
    assert "Give a number from 0.25 to 7.5." in warning
    assert [row["name"]["text"] for row in screen.table(at, "negation-results")] == ["Bag of words", "Toy"]
    at = screen.negation_page({**params, "unfold": "why,task,padding,weights"})
    screen.section_answers(at)  # every section can be drawn

    other, toy_run = (store.find_by_config(each) for each in read(NegationLab, params)[0].configs.values())
    assert toy_run and other
    compared = screen.page("compare.py", {"runs": f"{toy_run.key},{other.key}", "unfold": "settings,axes"})
    assert {"zeal", "zealots"} <= {row["name"]["text"] for row in screen.table(compared, "comparison-differences")}
    listed = screen.page("runs.py", {"models": "toy", "run": toy_run.key})
    (row,) = screen.table(listed, "runs-table")
    assert "Toy" in str(row) and "zeal 1.5" in str(row)
    assert ("zeal", "1.5") in run_facts(toy_run)


def test_it_has_a_name_a_cost_and_an_export() -> None:
    config = with_settings(default_config("negation", "toy"), {"zeal": 1.5, "train_size": 16})
    assert run_names.run_name(config) == "Negation: Toy, 16 training sentences, zeal 1.5, one seed"
    assert estimate_cost(config).parameters == 24 and estimate_cost(config).seconds > 0
    script = as_python(config).program
    compile(script, "toy.py", "exec")
    assert "zeal=1.5" in script and "zeal=1.5" in as_notebook(config).program
