from __future__ import annotations

import numpy as np

from explorer.tasks.dates import WAYS, DatesConfig
from explorer.tasks.digits import ReverseConfig, asked_lengths
from explorer.training.translation_runs import CONTESTANTS
from explorer.ui.translation_findings import Translated, beyond, copies, holds_to, room, touched, verdict

TASK = ReverseConfig(longest=20)


def to(name: str, length: int, task: ReverseConfig = TASK, seeds: int = 2) -> Translated:
    """Right up to a length in every seed, and nowhere after it."""
    parts = np.tile(np.array([float(n <= length) for n in asked_lengths(task)]), (seeds, 1))
    return Translated(CONTESTANTS[name], task, np.full(seeds, 0.5), parts)


def test_a_length_is_held_only_if_every_seed_holds_it_and_all_before() -> None:
    found = to("vector", 8)
    assert holds_to(found) == 8
    found.parts[1, 4] = 0.9  # one seed slips at 5
    assert holds_to(found) == 4
    found.parts[0, 0] = 0.5
    assert holds_to(found) == 0


def test_the_verdict_says_how_far_each_holds() -> None:
    found = {name: to(name, n) for name, n in (("vector", 6), ("additive", 25), ("transformer", 0))}
    assert verdict(found, "reverse") == (
        "How many digits come out turned around without a mistake, in every seed? The model with one vector up to 6; "
        "the model with additive attention all 20; the Transformer not even one."
    )


def test_a_run_that_was_stopped_says_nothing_of_lengths() -> None:
    stopped = to("vector", 6)
    stopped.parts[:] = np.nan
    assert verdict({"vector": stopped}, "reverse") == "" and beyond({"vector": stopped}) == []


def test_past_the_trained_lengths_attention_falls_and_the_page_says_so() -> None:
    told = beyond({"additive": to("additive", 22)})
    assert told == [
        "Past the trained 20 digits the model with additive attention falls as well: right in 1.00 at 21, 1.00 at 22, "
        "0.00 at 25 and 0.00 at 30."
    ]


def test_a_wider_vector_moves_the_cliff() -> None:
    told = beyond({"vector": to("vector", 8), "wide": to("wide", 11)})
    assert told == [
        "A vector twice as wide moves the cliff: from 1.00 to 1.00 at 8, 0.00 to 1.00 at 11, 0.00 to 0.00 at 14 and "
        "0.00 to 0.00 at 20."
    ]


def test_nothing_falls_and_no_cliff_moves_where_the_numbers_say_otherwise() -> None:
    held = to("additive", 30)
    assert beyond({"additive": held})[0].startswith(
        "Past the trained 20 digits the model with additive attention still"
    )
    told = beyond({"vector": to("vector", 8), "wide": to("wide", 8)})
    assert told[-1].startswith("A vector twice as wide does not move the cliff here: from 1.00 to 1.00 at 8,")


def test_room_is_computed_from_the_task_the_vector_and_what_came_of_it() -> None:
    assert room(TASK, None, 0) == "20 random digits are 66 bits."
    lost = room(TASK, to("vector", 6), 64)
    assert "A vector of 64 numbers of 32 bits could hold them 31 times over; in this race it holds 6." in lost
    assert room(TASK, to("vector", 20), 128).endswith("62 times over, and in this race it does hold all.")
    parts = np.ones((2, len(WAYS)))
    read = Translated(CONTESTANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert room(DatesConfig(), read, 64).startswith("A date is one of 36,525, no more than 15 bits. The model with one")
    assert "reads 0.980 of them" in room(DatesConfig(), read, 64) and "what it is for" in room(DatesConfig(), read, 64)
    weak = Translated(CONTESTANTS["vector"], DatesConfig(), np.array([0.3, 1.0]), parts)
    assert "what it is for" not in room(DatesConfig(), weak, 64)


def test_dates_are_told_by_their_worst_seed() -> None:
    parts = np.ones((2, len(WAYS)))
    found = Translated(CONTESTANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert verdict({"vector": found}, "dates").endswith("worst seed: the model with one vector 0.980.")


def test_a_touch_is_told_of_those_that_look() -> None:
    told = touched(
        {
            "the model with one vector": {"none": 0.4, "uniform": np.nan},
            "the Transformer": {"none": 1.0, "uniform": 0.08},
        }
    )
    assert told == "Made to look evenly at the whole source, the Transformer goes from 1.00 to 0.08."
    assert touched({"the model with one vector": {"none": 0.4, "uniform": np.nan}}) == ""


def test_the_copy_is_told_with_and_without_attention() -> None:
    told = copies({True: 1.0, False: 1.0}, {True: 0.96, False: 0.05}, 150)
    assert told.startswith(
        "The notebook's copy needs no attention: after 150 steps 1.00 of the tokens are right with it and 1.00"
    )
    assert told.endswith("After a separator it is 0.96 with and 0.05 without.")
