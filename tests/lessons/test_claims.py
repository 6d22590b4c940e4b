"""docs/claims.md is what `python -m benchmarks.claims` writes, and every claim holds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import typer

from benchmarks import draws
from benchmarks.claims import FILE, format_row, lesson_claims, page_claims
from benchmarks.draws import Claim
from explorer.run_store import store
from tests import needs


def _check_rows(needs_text: bool) -> None:
    written = FILE.read_text(encoding="utf-8")
    claims = [claim for claim in page_claims() if claim.needs_text == needs_text]
    for claim, found in zip(claims, draws.measure_claims(claims, range(0), 0), strict=True):
        row = format_row(claim, found)
        assert found.holds, row
        assert f"{row} " in written, f"write it again: python -m benchmarks.claims --draws 0\n{row}"


def test_the_claims_of_the_pages_hold_and_are_listed() -> None:
    _check_rows(needs_text=False)


@needs.tiny_shakespeare
def test_the_claims_about_tiny_shakespeare_hold_and_are_listed() -> None:
    _check_rows(needs_text=True)


RUN = "negation-single-bag_of_words"


def _claim_that_fails_with(seed: int) -> Claim:
    """Return a claim whose value is the first seed of its run, and which does not hold with this one."""

    def evaluate(keys: Mapping[str, str]) -> tuple[str, bool]:
        first = store.find(keys.get(RUN, RUN)).config.seed
        return str(first), first != seed

    return Claim("A claim.", "negation", "score", "0 to 1", (RUN,), evaluate)


def test_a_claim_holds_if_it_does_with_nine_of_ten_sets_of_seeds() -> None:
    held = [draws.DrawResults(("",) * 11, (True,) * (11 - failures) + (False,) * failures) for failures in (0, 1, 2)]
    assert [each.holds for each in held] == [True, True, False] and held[1].count == "10 of 11"
    assert not draws.DrawResults(("",) * 11, (False,) + (True,) * 10).holds


def test_a_draw_trains_with_seeds_of_its_own_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    claims = [_claim_that_fails_with(700)]
    for _ in range(2):
        (found,) = draws.measure_claims(claims, range(6, 8), seconds=20)
        assert found.values == ("0", "600", "700") and found.held == (True, True, False) and found.count == "2 of 3"
    output = capsys.readouterr().out
    assert output.count("trained") == 2 and "FAILS  700" in output
    assert draws.measure_claims(claims, range(6, 8), seconds=0)[0].count == ""
    with pytest.raises(typer.Exit):
        draws.report(claims, [found], 20)


def test_claims_of_pages_and_of_lessons_are_measured_with_the_runs_of_a_draw() -> None:
    claims = [each for each in (*page_claims(), *lesson_claims()) if each.seeded_runs == (RUN,)]
    assert {each.shown.partition(" ")[0] for each in claims} == {"negation", "lesson"}
    keys = {RUN: draws.train_draw(RUN, 3)}
    assert store.find(keys[RUN]).config.seed == 300
    assert all(claim.evaluate(keys)[0] for claim in claims)


def test_the_draws_begin_at_random_unless_their_number_is_given() -> None:
    assert draws.choose_draws(3, 5) == range(5, 8)
    assert len({draws.choose_draws(10, None).start for _ in range(5)}) > 1


def test_runs_are_found_and_renamed_in_the_settings_of_a_measure() -> None:
    settings = {"run": f"{RUN} negation-double-bag_of_words", "other": "cold", "least": 0.999}
    assert draws.runs_in([settings]) == (RUN, "negation-double-bag_of_words")
    assert draws.rename_runs(settings, {RUN: "key"}) == {**settings, "run": "key negation-double-bag_of_words"}
