"""The section in CONTRIBUTING.md works as it is written there: on a page, and its own test."""

from __future__ import annotations

import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.pages import screen

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
PARTS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_example_of_a_section_is_short_and_works() -> None:
    measurement, section, test = PARTS
    assert sum(part.count("\n") for part in PARTS) <= 120
    names: dict[str, object] = {}
    section = section.replace("from explorer.inspection.transformer import position_norms\n", "")
    called = section.replace("position_norms.position_norms", "position_norms")
    exec(measurement + called + test, names)
    for name in [name for name in names if name.startswith("test_")]:
        names[name]()  # type: ignore[operator]
    at = AppTest.from_string(measurement + called + "\nnorms_section()\n", default_timeout=300)
    at = screen.wait_until_ready(screen.assert_no_errors(at.run()))
    (heading,) = screen.findings(at)
    assert heading.startswith("The median length is ")
    (norms,) = screen.plot_frame_figures(at, "positions-norms")
    assert norms["plot"]["layout"]["shapes"][0]["x0"] == 25.5
