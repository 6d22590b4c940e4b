"""The URL parameter that selects the view for a projector."""

from __future__ import annotations

from tests.pages.screen import component_data, page, url_params, warnings_of


def test_the_projector_view_is_in_the_url() -> None:
    at = page("runs.py", {"screen": "projector", "text": "rnn"})
    assert component_data(at, "presentation") == [{"page": "runs"}]
    assert warnings_of(at) == [] and url_params(at) == {"screen": "projector", "text": "rnn"}


def test_an_unknown_screen_is_reported() -> None:
    at = page("runs.py", {"screen": "cinema" * 20})
    (warning,) = warnings_of(at)
    assert (
        warning.startswith("There is no screen “cinemacinema")
        and "There is projector" in warning
        and len(warning) < 150
    )
