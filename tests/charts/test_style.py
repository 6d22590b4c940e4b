"""Colours are CSS variables that the style sheet of the components and Streamlit's theme define."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from explorer.catalogue import MODELS
from explorer.charts.style import (
    css_colour,
    end_label,
    escape_markup,
    power_of_ten,
)
from tests.charts.test_charts import CHARTS

ROOT = Path(__file__).parents[2]
SHEET = (ROOT / "explorer/static/shared/base.css").read_text()
PALETTE = dict(re.findall(r"(--[\w-]+): (light-dark\(.*?\));", SHEET))


@pytest.mark.parametrize("name", CHARTS)
def test_every_colour_of_a_figure_is_a_css_variable(name: str) -> None:
    text = json.dumps(CHARTS[name].plot(), default=str)
    assert set(re.findall(r"var\((--[\w-]+)(?:/[\d.]+)?\)", text)) <= set(PALETTE)
    assert text.count("var(") == len(re.findall(r"var\(--[\w-]+(?:/[\d.]+)?\)", text))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", text), "a colour written as digits does not follow light and dark"


def test_every_model_has_its_own_colour_in_the_style_sheet() -> None:
    # The Transformer is one architecture, with one half or with both.
    colours = {name: row.colour for name, row in MODELS.items() if name != "transformer_encoder_decoder"}
    assert MODELS["transformer_encoder_decoder"].colour == MODELS["transformer"].colour
    missing = {name: colour for name, colour in colours.items() if colour not in PALETTE}
    assert not missing, f"Add a light and a dark colour to explorer/static/shared/base.css for {missing}."
    shared = {name: colour for name, colour in colours.items() if list(colours.values()).count(colour) > 1}
    assert not shared, f"Each model has a colour of its own; choose others in explorer/catalogue.py for {shared}."


def relative_luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("variable", [name for name in PALETTE if name.startswith("--m-")])
def test_the_lines_of_a_model_stand_out_from_the_page(variable: str, scheme: int) -> None:
    line, page = (relative_luminance(re.findall(r"#\w{6}", PALETTE[name])[scheme]) for name in (variable, "--page"))
    contrast = (max(line, page) + 0.05) / (min(line, page) + 0.05)
    assert contrast >= 3, f"{variable} in base.css has a contrast of {contrast:.2f} to the page; a line needs 3."


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_theme_of_streamlit_has_the_palette_of_the_style_sheet(scheme: int) -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"][("light", "dark")[scheme]]

    def colour(name: str) -> str:
        return re.findall(r"#\w{6}", PALETTE[name])[scheme].upper()  # prettier writes small letters

    variables = {"textColor": "--ink", "backgroundColor": "--page", "secondaryBackgroundColor": "--panel"}
    assert {name: theme[name] for name in variables} == {name: colour(variable) for name, variable in variables.items()}
    assert theme["borderColor"] == colour("--rule")


def test_css_colour_escape_markup_and_power_of_ten() -> None:
    assert css_colour("--m-rnn", 0.22) == "var(--m-rnn/0.22)"
    assert escape_markup("<BOS> & co") == "&lt;BOS&gt; &amp; co"
    assert [power_of_ten(n) for n in (-17, 0, 3)] == ["10⁻¹⁷", "1", "10³"]


def test_an_end_label_stays_inside_the_axes() -> None:
    assert [end_label("a", 1.0, y)["y"] for y in (0.5, 1.4, -0.1, float("nan"))] == [0.5, 1.0, 0.0, 1.0]
