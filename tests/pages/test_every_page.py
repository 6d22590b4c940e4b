"""What holds for every page: it opens from any address, shows what its address says, and trains what it offers."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import PAGES, next_page, page_row
from explorer.export.notebook import as_notebook
from explorer.inspection.transformer import depth
from explorer.jobs.service import service
from explorer.labs.runs.state import RunsState
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.ui.state.page_states import STATES
from explorer.web import background
from tests.pages import screen
from tests.pages.test_depth import STACKS
from tests.pages.test_own_sentences import upload

# Words of a comparison or of an outcome. A page may still say what holds without any training.
VERDICT = re.compile(
    r"\b(best|better|worse|beats?|higher|lower|larger|largest|fewer|most|least|different|alike|same|"
    r"solved?|learns?|learned|right|wrong|(every|all|of) \w+ seeds?)\b"
)


@pytest.fixture(autouse=True, scope="module")
def synthetic_stacks() -> Iterator[None]:
    """Replace the slowest measurement of a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth, "measure_stacks", lambda heads, start: STACKS)
        yield
    background.reset()


FILES = {row.address: row.file for row in PAGES}
ADDRESSES = json.loads((Path(__file__).parents[1] / "ui" / "state" / "addresses.json").read_text())["pages"]
HOSTILE = {"screen": "cinema" * 20, "<b>": "1", "unfold": ",<i>,code", "lock": "a b", "lesson": "<b>", "class": "??"}


def fields_of(address: str) -> list[str]:
    """Return the names of the parameters of a page."""
    if address not in STATES:
        return [field.name for field in dataclasses.fields(RunsState)] if address == "runs" else []
    module, name = STATES[address].split(":")
    kind: type[Any] = getattr(import_module(module), name)
    return [field.name for field in dataclasses.fields(kind) if field.metadata.get("in_url", True)]


@pytest.mark.parametrize("address", FILES)
def test_a_page_opens_from_a_hostile_address_and_names_what_it_cannot_use(address: str) -> None:
    values = ["<script>alert(1)</script>", "\x00\ud7ff", "9" * 4_400, "../../etc/passwd", "nan", ",,,", "' OR 1=1 --"]
    params = {name: values[i % len(values)] for i, name in enumerate(fields_of(address))}
    at = screen.page(FILES[address], {**params, **HOSTILE})
    assert at.title and "<script>" not in "".join(warning.value for warning in at.warning)
    warnings = [warning for warning in screen.warnings_of(at) if len(warning) < 500]
    assert warnings == screen.warnings_of(at) and len(warnings) <= len(params) + len(HOSTILE) + 1
    for words in ("There is no screen “cinemacinema", "This page has no “<b>”", "no control “a b”", "no lesson “<b>”"):
        assert sum(words in warning for warning in warnings) == 1, (words, warnings)


def test_the_footers_lead_from_home_through_all_pages_to_the_lessons() -> None:
    path = [""]
    while path[-1] != "lessons":
        path.append(next_page(path[-1]).address)
    assert sorted(path) == sorted(FILES) and next_page("lessons").address == path[1] == "negation"
    tour = (Path(__file__).parents[2] / "docs" / "tour.md").read_text()
    assert [row.address for row in PAGES[2:] if row.question not in tour] == []


@pytest.mark.usefixtures("no_loaded_text")
@pytest.mark.parametrize("address", FILES)
def test_the_address_determines_what_is_shown(address: str) -> None:
    recorded = [dict(parse_qsl(row[0])) for row in ADDRESSES.get(address, ()) if row[1:] == [0]]
    elsewhere = {"run", "text", "seed", "say", "model", "open", "layer", "head", "show"}  # depend on others
    params = next((each for each in recorded if len(each) > 1 and not elsewhere & each.keys()), {})
    at = screen.page(FILES[address], {**params, "screen": "projector"})
    assert (screen.url_params(at), screen.warnings_of(at)) == ({**params, "screen": "projector"}, [])
    assert screen.component_data(at, "presentation") == [{"page": address, "mark": []}]
    assert [screen.without_links(title.value) for title in at.title] == [page_row(address).question]
    footer, following = at.get("page_link")[-1].proto, next_page(address)
    assert (footer.label, footer.page) == (f"Next: {following.question}", following.address)
    at = screen.visit_url(at, address, {})
    assert (screen.url_params(at), screen.warnings_of(at)) == ({}, [])
    if address != "text":  # which opens with the included setup, and comes back with the settings of the first one
        assert screen.page_text(at) == screen.page_text(screen.page(FILES[address]))


TRAINED: dict[str, dict[str, str]] = {
    "memory.py": {"who": "rnn-usual", "length": "4"},
    "translation.py": {"who": "vector", "longest": "3"},
    "masks.py": {"reads": "noise"},
    "positions.py": {"who": "none", "unfold": "positions-lengths"},
    "scaled_attention.py": {"unfold": "training"},
    "induction.py": {},
    "sentence_encoder.py": {},
    "word_vectors.py": {},
}


@pytest.mark.parametrize("file", TRAINED)
def test_a_training_starts_and_ends(file: str) -> None:
    at = screen.page(file, {**TRAINED[file], "steps": "1", "seeds": "1"}, "ada")
    at = screen.assert_no_errors(
        next(button for button in at.button if button.label.partition(",")[0] == "Train").click().run()
    )
    screen.wait_for_keys(key(view.config) for view in service.views("ada"))
    views = service.views("ada")
    assert views and {(view.state, view.config.steps, view.config.replicas) for view in views} == {("finished", 1, 1)}
    assert all(store.find(key(view.config)).card.owner == "ada" for view in views)
    at = screen.wait_until_ready(screen.assert_no_errors(at.run()))
    assert screen.warnings_of(at) == [] and "No finished run" not in screen.page_text(at)
    assert "Train" not in [button.label.partition(",")[0] for button in at.button]


MARKUP = "a*b c*d $x$ :smile: ![x](http://e.invalid) <b>"
READ_AS_MARKDOWN = ("a*b", "$x$", ":smile:", "![x]", "<b>", "<em>b c", "<img")
OTHER_INPUTS = {  # pages whose fields depend on the address
    "sequence_shapes.py": [{"shape": "each"}, {"shape": "each", "answers": "letters"}, {"shape": "other"}],
    "attention.py": [{"model": "text-through-training"}],
    "block.py": [{"kind": "both"}, {"kind": "decoder"}],
    "translation.py": [{"task": "dates"}, {"task": "pairs"}],
    "memory.py": [{"unfold": "gates,string"}],
}
FIELDS = [(row.file, params) for row in PAGES for params in ({}, *OTHER_INPUTS.get(row.file, []))]


def markdown_of(at: AppTest) -> str:
    """Return everything on the page that is read as Markdown, or is HTML made from it."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "warning", "error", "info", "success")
    shown = [str(each.value) for kind in kinds for each in at.get(kind)]
    shown += [each.label for each in (*at.button, *at.expander, *at.metric, *at.text_input, *at.selectbox, *at.toggle)]
    shown += [option.content for group in at.get("button_group") for option in group.proto.options]
    return "\n".join([*shown, *(str(block["html"]) for block in screen.blocks(at, "markdown"))])


def emptied_sections(at: AppTest) -> list[dict[str, Any]]:
    """Return the sections that show nothing but a problem."""
    return [
        answer
        for answer in screen.section_answers(at)
        if all(block["kind"] in ("problem", "empty") for block in answer.get("blocks", ()))
    ]


@pytest.mark.parametrize(("file", "params"), FIELDS, ids=lambda each: str(each))
@pytest.mark.parametrize("text", [MARKUP, "❤️ 日本語", "word " * 900, " "], ids=["markup", "unknown", "long", "blank"])
def test_what_is_typed_is_never_markdown_and_never_empties_a_page(file: str, params: dict[str, str], text: str) -> None:
    at = screen.open_page(file, params)
    empty = len(emptied_sections(at))
    for each in (*at.text_input, *at.text_area):
        each.set_value(text)
    at = screen.wait_until_ready(screen.assert_no_errors(at.run()))
    assert [mark for mark in READ_AS_MARKDOWN if mark in markdown_of(at)] == []
    assert len(emptied_sections(at)) <= empty
    assert text != MARKUP or all(each.value[:9] in ("", MARKUP[:9]) for each in (*at.text_input, *at.text_area))


def test_own_sentences_and_classes_are_never_markdown() -> None:
    rows = "".join(
        f"{MARKUP} {noun} {i},{label}\n" for i, noun in enumerate("abcdef") for label in [f"{MARKUP[:20]}{i % 2}"]
    )
    at = screen.wait_until_ready(upload(f"text,label\n{rows}"))
    assert "Your file has" in screen.page_text(at)
    assert [mark for mark in READ_AS_MARKDOWN if mark in markdown_of(at)] == []


def test_the_run_of_one_page_is_opened_on_the_others() -> None:
    run = store.find("negation-half-gru").key

    def switch(at: AppTest, file: str) -> tuple[AppTest, Mapping[str, str]]:
        at.query_params.clear()
        at = screen.assert_no_errors(at.switch_page(file).run())
        return at, screen.url_params(at)

    at, params = switch(screen.page("negation.py", {"run": run}), "runs.py")
    assert params == {"run": run}
    assert any(metric.label == "model" and metric.value == "GRU" for metric in at.metric)
    at, params = switch(at, "compare.py")
    assert params == {"runs": run}
    assert [row["name"]["text"] for row in screen.table(at, "comparison-results")] == ["1 GRU"]
    assert switch(at, "negation.py")[1] == {"run": run}


def test_a_lab_and_an_open_run_offer_the_file_and_the_notebook() -> None:
    for file, address in (("negation.py", {"unfold": "code"}), ("runs.py", {"run": "negation-half-gru"})):
        labels = [element.proto.label for element in screen.page(file, address).get("download_button")]
        assert labels[-1] == "As a notebook" and labels[-2].endswith("s Python")
    stored = store.find("negation-half-gru")
    head = json.loads(as_notebook(stored.config, stored).program)["cells"][0]["source"]
    assert f"{stored.curves.losses[-1][0]:.3g} at step {stored.config.steps}." in head


def test_a_stopped_training_is_no_basis_for_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs as if they had been stopped at their first evaluation give no comparison and no outcome."""
    find_finished, folds = store.find_by_config, {"unfold": "why,task,training,results"}

    def find_stopped(config: RunConfig, excluded: object = (), unfinished: bool = False, visitor: str = "") -> object:
        run = find_finished(config, (), unfinished, visitor) if unfinished else None
        if run is None:
            return None
        curves = run.curves.up_to(max(1, int(run.curves.evaluated[run.curves.evaluated > 0][0])))
        return replace(run, card=run.card.model_copy(update={"state": "stopped", "step": curves.step}), curves=curves)

    for file in ("negation.py", "masks.py", "word_vectors.py", "induction.py"):
        usual = screen.headings(screen.page(file, folds))
        with monkeypatch.context() as patch:
            patch.setattr(store, "find_by_config", find_stopped)
            found = [heading for heading in screen.headings(screen.page(file, folds)) if heading not in usual]
        assert [heading for heading in found if VERDICT.search(heading)] == [], file
