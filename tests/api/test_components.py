"""The components of the app in a notebook: their modules, their data, and what the model answers."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors

import explorer
from explorer.api import embedding
from explorer.api.components import NotebookComponent
from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import attend, pack_weights
from explorer.inspection.attention.head_ablation import Ablation
from explorer.program_files import PACKAGE, component_folders

SENTENCE = "human not preserve nature"
COMPONENTS = ("attention_heads", "temperature")


@pytest.fixture(scope="module")
def run() -> explorer.Run:
    return explorer.load("negation-single-transformer")


def read_arrays(address: str) -> dict[str, np.ndarray]:
    kind, content = address.split(",")
    assert kind == "data:application/octet-stream;base64"
    return safetensors.load(base64.b64decode(content))


@pytest.mark.parametrize("name", sorted(component_folders()))
def test_every_import_of_a_component_is_a_module_before_it(name: str) -> None:
    known: set[str] = set()
    for path, source in embedding.component_modules(name):
        imported = set(re.findall(r'"import:([^"]+)"', source))
        assert imported <= known, path
        assert not re.search(r'^(import|export)\b.*\bfrom "\.', source, re.MULTILINE), path
        original = (PACKAGE / path).read_text(encoding="utf-8")
        assert len(imported) == len(set(re.findall(r'(?:from|import) "(\.[^"]+)"', original)))
        known.add(path)
    assert path == f"{component_folders()[name]}/view.js"


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_page_is_complete(name: str) -> None:
    title = "a </script> & b"
    page = embedding.page(name, {"title": title, "unit": "</script><script>"}, title)
    assert page.count("<script") == page.count("</script>") == 1
    assert "@import" not in embedding.component_styles(name)
    # Names of XML and addresses of sources are no requests.
    assert set(re.findall(r"https?://[^\s\"'`)\\]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    frame = embedding.iframe(page, title)
    assert frame.count("<") == 2 and 'title="a &lt;/script&gt; &amp; b"' in frame


def test_attention_has_the_weights_of_the_model_at_every_step(run: explorer.Run) -> None:
    data = run.attention(SENTENCE).show().data
    model = run.model(seed=0)
    weights = attend(model, data["ids"]).weights  # type: ignore[arg-type]
    np.testing.assert_array_equal(read_arrays(str(data["address"]))["weights"], pack_weights(weights, causal=False))
    snapshots = data["snapshots"]
    assert isinstance(snapshots, dict) and snapshots["steps"] == run.steps
    answer = json.loads(base64.b64decode(snapshots["address"].split(",")[1]))
    each = read_arrays(answer["address"])["weights"]
    first = attend(run.model(step=0, seed=0), data["ids"]).weights  # type: ignore[arg-type]
    np.testing.assert_array_equal(each[0], pack_weights(first, causal=False))
    np.testing.assert_array_equal(each[-1], pack_weights(weights, causal=False))


def test_the_model_answers_an_intervention(run: explorer.Run) -> None:
    shown = run.attention(SENTENCE).show()
    before = shown.data["answers"]
    touch = {"off": [[0, 0]], "flat": [], "unmasked": False, "unplaced": True}
    data = shown._on_event("touch", touch)
    assert data is not None and data["touch"] == touch
    answers = data["answers"]
    assert isinstance(answers, dict) and isinstance(before, dict) and answers["changed"] and not before["changed"]
    ablation = Ablation(frozenset({(0, 0)}), no_positions=True)
    expected = np.exp(attend(run.model(), data["ids"], ablation).log_probabilities[0])  # type: ignore[arg-type]
    assert sorted(row["now"] for row in answers["rows"]) == pytest.approx(sorted(expected.tolist()), abs=1e-6)
    assert [row["before"] for row in answers["rows"]] == [row["before"] for row in before["rows"]]
    assert shown._on_event("view", "matrix") is None and shown._on_event("nothing", 1) is None
    with pytest.raises(InvalidSetting):
        shown._on_event("touch", touch | {"off": [[3, 0]]})
    again = shown._on_event("step", 0)
    assert again is not None and again["touch"] == touch and again["view"] == "matrix" and again["step"] == 0


@pytest.mark.parametrize(("name", "text"), [("text-toy-transformer", "abca"), ("agreement-heads", "the king is")])
def test_attention_of_every_kind_of_model_is_shown(name: str, text: str) -> None:
    attention = explorer.load(name).attention(text)
    data = attention.show(1 if attention.layers > 1 else 0).data
    assert data["layers"] == attention.layers and tuple(data["tokens"]) == attention.tokens  # type: ignore[arg-type]
    json.dumps(dict(data), allow_nan=False)


def test_temperature_has_a_text_at_every_temperature() -> None:
    found = explorer.load("text-toy-rnn")
    shown = found.temperature("abca", tokens=12, sampling_seed=3)
    (model,) = shown.data["models"]  # type: ignore[misc]
    ids = read_arrays(model["address"])["ids"]
    temperatures: list[float] = shown.data["temperatures"]  # type: ignore[assignment]
    for at in (0.0, 0.7, 1.0, 2.0):
        text = "".join(model["tokens"][i] for i in ids[temperatures.index(at)])
        assert f"abca{text}" == found.generate("abca", tokens=12, temperature=at, sampling_seed=3)
    data = shown._on_event("position", {"model": model["name"], "of": 0, "at": 4})
    assert data is not None
    position: dict[str, object] = data["position"]  # type: ignore[assignment]
    logits = read_arrays(str(position["address"]))["logits"]
    assert int(logits.argmax()) == ids[0, 4] and str(position["context"]).startswith("abca")
    assert shown._on_event("position", {"model": "", "of": 0, "at": 400}) is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: explorer.load("dates-additive").attention("3rd of march 1997").show(), r"shown by plot\(\)"),
        (lambda: explorer.load("text-toy-transformer").attention("ab").show(9), "There is no head 0 in layer 9"),
        (lambda: explorer.load("negation-single-transformer").temperature(SENTENCE), "of the task text"),
        (lambda: explorer.load("text-toy-rnn").temperature("a", tokens=0), "from 1 to 400"),
        (lambda: explorer.load("text-toy-rnn").temperature("a", temperature=3), "from 0 to 2"),
    ],
)
def test_what_cannot_be_shown_is_said(make: object, sentence: str) -> None:
    with pytest.raises(InvalidSetting, match=sentence):
        make()  # type: ignore[operator]


def test_a_live_component_is_a_widget_and_the_output_of_a_cell_a_page(
    run: explorer.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, live = run.attention(SENTENCE).show(), run.attention(SENTENCE).show(live=True)
    assert set(saved._repr_mimebundle_()) == {"text/plain", "text/html"}
    bundle = live._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe") and "application/vnd.jupyter.widget-view+json" in bundle
    touch = {"off": [[0, 0]], "flat": [], "unmasked": False, "unplaced": False}
    live.widget._handle_custom_msg({"event": "touch", "value": touch}, [])
    assert live.widget.data["touch"] == touch and live.data["touch"] == touch
    live.widget._handle_custom_msg({"event": "touch", "value": touch | {"off": [[9, 9]]}}, [])
    assert live.widget.data["touch"] == touch
    assert saved.save(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(InvalidSetting, match="force=True to overwrite"):
        saved.save(tmp_path / "page.html")
    monkeypatch.setattr("explorer.api.components.find_spec", lambda name: None)
    with pytest.raises(InvalidSetting, match="pip install anywidget"):
        NotebookComponent("temperature", "", {}, lambda event, value: None, live=True)
