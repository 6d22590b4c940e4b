from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.attention import attend, unpacked
from explorer.training import index, store
from explorer.training.config import changed, default
from explorer.training.recorder import record_run
from explorer.ui import texts
from explorer.ui.at_hand import find
from explorer.ui.attention_views import looked, reading, snapshots, through
from explorer.ui.gaze import Gaze
from tests.pages.screen import address, calm, drawn, frame, headings, page, said, settled, told

NEGATION = "negation-single-transformer-usual-start"


def attention(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("attention.py", address))


def heads(at: AppTest) -> dict[str, Any]:
    return drawn(at, "heads")[0]


def arrays(content: bytes) -> dict[str, Any]:
    from safetensors.numpy import load

    return load(content)


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = attention()
    assert told(at) == [] and address(at) == {}
    data = heads(at)
    assert (data["layers"], data["heads"], data["causal"]) == (4, 4, True)
    assert "".join(data["tokens"]) == "the night and the day"
    assert len(data["snapshots"]["steps"]) == 21 and data["step"] == 1000
    assert (np.shape(data["worth"]) == (4, 4)) == texts.here("tinyshakespeare")
    assert any(heading.startswith("After “…ight and the day” it expects") for heading in headings(at))
    assert drawn(at, "walk")[0]["width"] == 16


@pytest.mark.parametrize("name", ["text-through-training", "text-assignment", NEGATION])
def test_what_is_sent_is_what_the_model_computed(name: str) -> None:
    hand = find(name)
    found = looked(hand, Gaze(name))
    sent = unpacked(arrays(found.content)["weights"], len(found.read.ids), name != NEGATION)
    own = attend(hand.model(), found.read.ids).weights
    assert np.allclose(np.nan_to_num(sent), np.nan_to_num(own), atol=1e-3)
    assert np.allclose(np.nan_to_num(sent).sum(axis=-1), 1, atol=1e-3)


def test_the_first_view_and_the_snapshots_keep_to_their_budgets() -> None:
    hand = find("text-through-training")
    gaze = Gaze(say="To be, or not to be: that is the question, whether 'tis nobler in the mind")
    found = looked(hand, gaze)
    assert len(found.read.ids) == 64 and len(found.content) < 300_000
    film = through(hand, gaze)
    assert len(film.steps) == 21 and len(film.content) <= 2_000_000
    assert arrays(film.content)["weights"].shape == (21, 4, 4, 64 * 65 // 2)


def test_many_cells_leave_fewer_snapshots_the_first_and_the_last_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = find("text-through-training")
    monkeypatch.setattr("explorer.ui.attention_views.MOST_SNAPSHOTS", 10 * 2 * 16 * (21 * 22 // 2))
    steps = snapshots(hand, 21)
    assert len(steps) == 10 and (steps[0], steps[-1]) == (0, 1000)
    assert snapshots(hand, 21, shown=3) == sorted({*steps, 3})
    assert snapshots(find("text-best"), 21) == []  # two are no film


def test_as_much_of_a_long_text_is_read_as_a_browser_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ui.attention_views.MOST_SNAPSHOTS", 2 * 16 * 50)  # bytes of all heads
    hand = find("text-through-training")
    found = reading(hand, Gaze(say="abcdefghijklmnop"))
    assert "".join(found.tokens) == "ghijklmnop" and found.cut == "abcdef" and found.cut_at == "start"
    assert len(reading(hand, Gaze(say="abcdefghijklmnop", unmasked=True)).ids) == 7  # all pairs then, not half of them


def test_a_touch_is_said_with_what_it_changed_and_drawn_beside_the_untouched() -> None:
    off = ",".join(f"{layer}.{head}" for layer in range(4) for head in range(4))
    at = attention({"off": off})
    [finding] = [heading for heading in headings(at) if "sixteen" in heading or "16 heads off" in heading]
    assert finding.startswith("With 16 heads off, ")
    plot = frame(at, "gaze-answers")[0]["plot"]["data"]
    assert plot[0]["x"] != plot[1]["x"]
    assert heads(at)["touch"]["off"] == [[layer, head] for layer in range(4) for head in range(4)]
    untouched = attention({"unplaced": "true", "unmasked": "true", "flat": "0.0"})
    assert heads(untouched)["causal"] is False


def test_the_encoder_of_sentences_is_looked_into_the_same_way() -> None:
    at = attention({"model": NEGATION, "say": "human not destroy nature", "seed": "3"})
    assert told(at) == [] and at.title[0].value == "Where does each word look?"
    data = heads(at)
    assert data["tokens"] == ["<BOS>", "human", "not", "destroy", "nature", "<EOS>"]
    assert (data["causal"], data["can"]) == (False, {"mask": False, "positions": True})
    assert any(heading.startswith("It answers ") for heading in headings(at))
    assert data["asked"] == 0  # where the answer is read


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": "text-lstm"}, "This run is of the architecture “LSTM”, which has no attention to look at."),
        ({"model": "gone"}, "There is no model “gone” to ask"),
        ({"step": "7"}, "There are no weights of step 7; what is shown is the end."),
        ({"model": NEGATION, "say": "human loves nature"}, "The models never saw “loves”"),
        ({"off": "1"}, "“1” names no heads."),
        ({"off": "0.1,9.9"}, "This model has no head 9.9; it has layers 0 to 3, heads 0 to 3."),
        ({"layer": "9", "head": "1"}, "This model has no head 9.1;"),
        ({"seed": "7"}, "This run has no seed 7, counted from 0; what is shown is its first."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    at = attention(given)
    assert not at.exception
    assert [one for one in told(at) if one.startswith(sentence)], told(at)
    assert "The papers" in headings(at)


@pytest.mark.parametrize(
    ("text", "tokens", "note"),
    [
        ("", 1, "Nothing of it is left to read, so the model starts from a line end."),
        ("e", 1, ""),
        ("日", 1, "Nothing of it is left to read, so the model starts from a line end. It never saw “日”: left out."),
        ("x" * 70, 64, "The model sees 64 letters at once. The beginning was left out: “xxxxxx”."),
    ],
)
def test_any_text_is_read_and_what_became_of_it_is_said(text: str, tokens: int, note: str) -> None:
    at = attention({"say": text})
    assert not at.exception and told(at) == []
    assert len(heads(at)["tokens"]) == tokens
    assert note in re.sub(r"\\(.)", r"\1", said(at))


def test_words_near_an_unknown_one_are_offered_and_taken() -> None:
    at = attention({"model": NEGATION, "say": "human protect nature"})
    assert len(told(at)) == 1 and drawn(at, "heads") == []
    word = next(button for button in at.button if button.label == "preserve")
    at = settled(word.click().run())
    assert address(at)["say"] == "human preserve nature" and told(at) == []
    assert heads(at)["tokens"][2] == "preserve"


def test_a_model_deleted_under_the_page_is_said() -> None:
    settings = {"corpus": "toy", "size": 2_000, "iterations": 2, "width": 8, "heads": 2, "layers": 1, "context": 16}
    config = changed(default("text", "transformer"), settings)
    run = store.save_run(record_run(config), store.place_of(config))
    index.refresh()
    at = attention({"model": run.key, "say": "abca"})
    assert heads(at)["heads"] == 2
    shutil.rmtree(run.folder)
    at = calm(at.run())
    assert told(at)[0].startswith(f"There is no model “{run.key}” to ask: its run was deleted")


def test_the_address_holds_where_one_looks() -> None:
    given = {"layer": "2", "head": "1", "at": "4", "view": "matrix", "sort": "spread", "step": "126", "walk": "3"}
    at = attention(given)
    assert told(at) == [] and address(at) == given
    data = heads(at)
    assert (data["open"], data["asked"], data["view"], data["sort"], data["step"]) == (
        [2, 1],
        4,
        "matrix",
        "spread",
        126,
    )
    assert drawn(at, "walk")[0]["step"] == 3


def test_a_run_that_is_asked_for_by_name_is_looked_into() -> None:
    at = attention({"run": "text-assignment"})
    assert heads(at)["title"] == "Transformer on pieces of words"
    assert address(at) == {"model": "text-assignment"}
