from __future__ import annotations

import threading

import pytest

from explorer.byte_cache import Once
from explorer.errors import TextError


def test_once_computes_a_value_once_for_many_threads() -> None:
    once: Once[str, list[int]] = Once()
    began, made, answers = threading.Event(), [], []

    def make() -> list[int]:
        made.append(threading.get_ident())
        began.wait(timeout=30)
        return [7]

    asking = [threading.Thread(target=lambda: answers.append(once.get("seven", make))) for _ in range(6)]
    for thread in asking:
        thread.start()
    assert once.get("eight", lambda: [8]) == [8]  # another key does not wait
    began.set()
    for thread in asking:
        thread.join()
    assert len(made) == 1
    assert all(answer is answers[0] for answer in answers)


def test_once_keeps_values_but_no_failure_and_nothing_dropped() -> None:
    once: Once[int, object] = Once()
    first = once.get(1, object)
    assert once.get(1, object) is first
    assert once.get(2, object) is not first
    names: Once[str, int] = Once()

    def fail() -> int:
        raise TextError("Not now.")

    with pytest.raises(TextError):
        names.get("seven", fail)
    assert names.get("seven", lambda: 7) == 7

    def make() -> int:
        names.drop_where(lambda key: key == "private")
        return 7

    assert names.get("private", make) == 7
    assert names.get("private", lambda: 8) == 8
