"""The app as a visitor has it on the screen, read without a browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from explorer.catalogue import PAGES
from explorer.training.config import RunConfig, key
from explorer.training.jobs import service
from explorer.ui import slowly
from explorer.ui.lab import Lab, read
from explorer.ui.negation_lab import NegationLab

MAP = Path(__file__).parents[2] / "pages" / "navigation.py"


def home_page() -> AppTest:
    return calm(AppTest.from_file(MAP, default_timeout=60).run())


def page(file: str, address: Mapping[str, str] | None = None, me: str = "") -> AppTest:
    """A page as a link opens it, for a visitor of this name."""
    at = AppTest.from_file(MAP, default_timeout=60)
    # What `switch_page` does, which before the first run takes a page's address for the name of its file.
    at._page_hash = calc_hash(next(row.address for row in PAGES if row.file == file))
    if me:
        at.session_state["lineage.visitor"] = me
    for name, value in (address or {}).items():
        at.query_params[name] = value
    return calm(at.run())


def negation_page(address: Mapping[str, str] | None = None, me: str = "") -> AppTest:
    """The lab as a link opens it."""
    return page("negation.py", address, me)


def calm(at: AppTest) -> AppTest:
    """The same screen, on which nothing broke."""
    assert [error.value for error in at.exception] == []
    return at


def settled(at: AppTest) -> AppTest:
    """Once everything is there that takes its time."""
    while any(part.value.endswith("…") for part in at.markdown):
        wait(list(slowly._works.values()))
        at = calm(at.run())
    return at


def drawn(at: AppTest, instrument: str) -> list[dict[str, Any]]:
    """The data of every instrument of a kind, from the top of the page down."""
    protos = [element.proto for element in at.get("bidi_component")]
    return [json.loads(proto.json) for proto in protos if proto.component_name == f"lineage_{instrument}"]


def frame(at: AppTest, file: str) -> list[dict[str, Any]]:
    """The figures of one frame."""
    return next(data["figures"] for data in drawn(at, "frame") if data["file"] == file)


def table(at: AppTest, file: str) -> list[dict[str, Any]]:
    """The rows of one table, each its cells."""
    return next([row["cells"] for row in data["rows"]] for data in drawn(at, "table") if data["file"] == file)


def headings(at: AppTest) -> list[str]:
    return [heading.value for heading in (*at.header, *at.subheader)]


def said(at: AppTest) -> str:
    """All prose of the screen."""
    parts = (*at.title, *at.header, *at.subheader, *at.markdown, *at.caption, *at.latex, *at.warning)
    return "\n".join(part.value for part in parts)


def told(at: AppTest) -> list[str]:
    """What could not be done, as it is read."""
    return [re.sub(r"\\(.)", r"\1", warning.value) for warning in at.warning]


def address(at: AppTest) -> dict[str, str]:
    """The address bar; AppTest gives a parameter as a list once the page has written it."""
    params = at.query_params.items()
    return {name: value[0] if isinstance(value, list) else value for name, value in params}


def over(configs: Iterable[RunConfig], me: str = "") -> None:
    """Wait until these are trained; `me` sees what learns their own text."""
    wanted = [key(config) for config in configs]
    until = time.monotonic() + 60
    while not all((job := service.find(each, me)) and job.view().done for each in wanted):
        assert time.monotonic() < until, "the training did not end within a minute"
        time.sleep(0.02)


def wait_for_training(at: AppTest, kind: type[Lab] = NegationLab, me: str = "") -> AppTest:
    """Until every training of this screen is over, seen by the screen."""
    lab, _ = read(kind, address(at))
    over(lab.configs.values(), me)
    return calm(at.run())
