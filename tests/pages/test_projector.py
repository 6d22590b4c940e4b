"""The part of an address that says how a page is shown."""

from __future__ import annotations

from tests.pages.screen import address, drawn, page, told


def test_every_page_has_the_button_and_a_projector_survives_its_own_address() -> None:
    at = page("runs.py", {"screen": "projector", "text": "rnn"})
    assert drawn(at, "projector") == [{"page": "runs"}]
    assert told(at) == [] and address(at) == {"screen": "projector", "text": "rnn"}


def test_another_screen_is_said_in_a_sentence() -> None:
    at = page("runs.py", {"screen": "cinema" * 20})
    (said,) = told(at)
    assert said.startswith("There is no screen “cinemacinema") and "There is projector" in said and len(said) < 150
