"""Colours are names; the style sheet of the instruments and Streamlit's theme both know them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from explorer.catalogue import MODELS
from explorer.figures import counting, insides, race
from explorer.figures.style import dotted, escape, named_ends, paint, signed, spread

ROOT = Path(__file__).parents[2]
SHEET = (ROOT / "explorer/ui/assets/base.css").read_text()
PALETTE = dict(re.findall(r"(--[\w-]+): (light-dark\(.*?\));", SHEET))
TOKENS = ("a", "b")
FIGURES = {
    "sum_of_words": insides.sum_of_words(TOKENS, np.array([1.0, -1.0]), 0.5),
    "answers_on_the_way": insides.answers_on_the_way(TOKENS, np.array([0.2, 0.9]), "--m-rnn", ("no", "yes")),
    "attention_map": insides.attention_map(np.eye(2), TOKENS),
    "word_weights": insides.word_weights(TOKENS, np.eye(2), ("no", "yes")),
    "embedding_map": insides.embedding_map(TOKENS, np.eye(2), "--m-rnn"),
    "learning_curve": race.learning_curve(
        np.arange(2.0), np.eye(2), "RNN", "--m-rnn", "solid", 2, (0.0, 1.0), (0.9, "here")
    ),
    "finish_line": counting.finish_line([counting.Finisher("RNN", "--m-rnn", [0.9])], 0.9, 0.7),
    "ceiling_by_chance": counting.ceiling_by_chance([0.4, 0.5, 0.6], [1.0, 0.8, 1.0], [1.0, 0.6, 1.0], 0.5, [0.9]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_colour_of_a_figure_is_a_name_in_the_style_sheet(name: str) -> None:
    figure: go.Figure = FIGURES[name]
    text = json.dumps(figure.to_plotly_json(), default=str)
    assert set(re.findall(r"var\((--[\w-]+)(?:/[\d.]+)?\)", text)) <= set(PALETTE)
    assert text.count("var(") == len(re.findall(r"var\(--[\w-]+(?:/[\d.]+)?\)", text))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", text), "a colour written as digits does not follow light and dark"


def test_every_model_has_a_colour_of_its_own_in_the_style_sheet() -> None:
    # The Transformer is one architecture, with one half or with both.
    colours = [row.colour for name, row in MODELS.items() if name != "transformer_encoder_decoder"]
    assert MODELS["transformer_encoder_decoder"].colour == MODELS["transformer"].colour
    assert set(colours) <= set(PALETTE)
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_theme_of_streamlit_has_the_palette_of_the_style_sheet(scheme: int) -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"][("light", "dark")[scheme]]

    def colour(name: str) -> str:
        return re.findall(r"#\w{6}", PALETTE[name])[scheme]

    assert theme["chartCategoricalColors"] == [colour(name) for name in PALETTE if name.startswith("--m-")]
    named = {"textColor": "--ink", "backgroundColor": "--page", "secondaryBackgroundColor": "--panel"}
    assert {name: theme[name] for name in named} == {name: colour(at) for name, at in named.items()}
    assert theme["borderColor"] == colour("--rule")


def test_small_words_of_a_figure() -> None:
    assert paint("--m-rnn", 0.22) == "var(--m-rnn/0.22)"
    assert [signed(v) for v in (1.234, -1.234, -0.001, 0.0)] == ["+1.23", "−1.23", "0.00", "0.00"]
    assert escape("<BOS> & co") == "&lt;BOS&gt; &amp; co"


def test_heights_are_spread_in_their_order() -> None:
    assert spread([0.5, 0.2], 0.1) == [0.5, 0.2]
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.5, 0.4, 0.3])
    assert spread([0.0, 0.02], 0.1) == pytest.approx([0.0, 0.1])
    assert spread([1.4], 0.1) == [1.0]


def test_a_line_is_named_where_it_ends_and_one_without_a_number_is_not() -> None:
    first, second = named_ends(
        [("a", "--m-gru", False, 0.5), ("b", "--m-rnn", True, 0.5), ("c", "--ink", False, None)], 0.1
    )
    assert (first["y"], second["y"]) == pytest.approx((0.5, 0.4))
    assert "●" in first["text"] and "var(--m-gru)" in first["text"] and "○" in second["text"]


def test_a_dot_is_a_number_that_was_measured() -> None:
    line = dotted("a", "--m-gru", "solid", [1, 2, 3], [0.5, float("nan"), 2.0])
    assert line["y"] == [0.5, None, 2.0] and line["marker"]["color"] == "var(--m-gru)"
    hollow = dotted("a", "--m-gru", "solid", [1], [0.5], hollow=True)["marker"]
    assert (hollow["color"], hollow["line"]["width"]) == ("var(--page)", 2)
