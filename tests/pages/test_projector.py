"""The part of an address that says how a page is shown."""

from __future__ import annotations

from tests.pages.screen import component_data, page, url_params, warnings_of


def test_every_page_has_the_button_and_a_projector_survives_its_own_address() -> None:
    at = page("runs.py", {"screen": "projector", "text": "rnn"})
    assert component_data(at, "presentation") == [{"page": "runs"}]
    assert warnings_of(at) == [] and url_params(at) == {"screen": "projector", "text": "rnn"}


def test_another_screen_is_said_in_a_sentence() -> None:
    at = page("runs.py", {"screen": "cinema" * 20})
    (said,) = warnings_of(at)
    assert said.startswith("There is no screen “cinemacinema") and "There is projector" in said and len(said) < 150
