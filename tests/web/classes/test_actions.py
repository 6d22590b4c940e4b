"""The answers and votes of a class: one answer per visitor, control by the teacher only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from explorer.errors import InvalidSetting, NotAllowed
from explorer.web import lesson_results, predictions, transactions
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import PRESENCE_SECONDS, ClassroomQuestion, UnknownClassroom
from explorer.web.classes.store import CODE_LENGTH, CODE_LETTERS, find_classroom
from explorer.web.visitors import Visitor
from tests.web.classes.questions import SHOWN_NUMBER, SHOWN_QUESTION, SHOWN_SENTENCES, TEACHER

both_databases = pytest.mark.usefixtures("database")


def class_votes(code: str, visitor: str = "teacher") -> list[list[object]]:
    """Return the answers of each vote that this visitor may see."""
    state = find_classroom(code).state_for(Visitor(visitor))
    return [vote["given"] for vote in state["votes"]]  # type: ignore[attr-defined]


def vote_sizes(code: str) -> list[int]:
    return [vote["size"] for vote in find_classroom(code).state_for(TEACHER)["votes"]]  # type: ignore[attr-defined]


def test_the_first_vote_is_final_and_seen_by_the_teacher_on_request_only_until_the_next_question() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    assert len(code) == CODE_LENGTH and set(code) <= set(CODE_LETTERS)
    for _ in range(3):
        actions.record_answer(code, "ada", 1, "a")
    actions.record_answer(code.lower(), "bob", 1, "b")
    with pytest.raises(NotAllowed, match="answered already"):
        actions.record_answer(code, "ada", 1, "b")
    assert class_votes(code) == [[]], "the votes are hidden until the reveal"
    actions.set_as_teacher(code, TEACHER, 1, votes_shown=True)
    assert (class_votes(code), class_votes(code, "bob")) == ([["a", "b"]], [[]])
    actions.set_as_teacher(code, TEACHER, 1, votes_shown=False)
    actions.set_as_teacher(code, TEACHER, 7, votes_shown=True)  # requested for another question
    assert class_votes(code) == [[]]
    actions.reveal_answer(code, TEACHER, 1)
    assert class_votes(code) == class_votes(code, "bob") == [["a", "b"]]
    actions.record_answer(code, "ada", 1, "a")  # the same answer again is no error
    for visitor in ("ada", "eve"):
        with pytest.raises(NotAllowed, match="too late"):
            actions.record_answer(code, visitor, 1, "b")
    assert class_votes(code) == [["a", "b"]] and find_classroom(code).open
    for typed in (f"{code[:2]}\u2009{code[2:].lower()} ", f"https://x.invalid/memory?class={code}&lesson=a"):
        assert find_classroom(typed).code == code
    same = actions.show_question("teacher", SHOWN_NUMBER)
    assert (same.code, same.number, same.revealed, same.open, same.answers) == (code, 2, False, False, {})
    actions.reveal_answer(code, TEACHER, 1)  # requested for the previous question
    assert not find_classroom(code).revealed
    without_question = actions.show_question("teacher", ClassroomQuestion("memory", {}))
    assert without_question.open, "without a question there is no answer to hide"
    for number in (1, 2, 3):
        with pytest.raises(NotAllowed, match="gone on"):
            actions.record_answer(code, "ada", number, "a")


@both_databases
def test_the_class_votes_a_second_time_and_both_votes_are_shown() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    with pytest.raises(NotAllowed, match="after the first answers"):
        actions.start_second_vote(code, TEACHER, 1)
    for visitor in ("ada", "bob"):
        actions.record_answer(code, visitor, 1, "a")
    actions.set_as_teacher(code, TEACHER, 1, votes_shown=True)
    actions.start_second_vote(code, TEACHER, 7)  # requested for another question
    assert len(find_classroom(code).votes) == 1
    for _ in range(2):
        actions.start_second_vote(code, TEACHER, 1)
    assert class_votes(code) == [[], []], "the votes are hidden again"
    actions.record_answer(code, "ada", 1, "a")  # a repeated request of the first vote counts for no other vote
    with pytest.raises(NotAllowed, match="The first vote is over"):
        actions.record_answer(code, "eve", 1, "a")
    for answer in ("b", "a", "b"):
        actions.record_answer(code, "ada", 1, answer, vote=2)
    actions.record_answer(code, "eve", 1, "b", vote=2)
    for vote in (0, 3, -1):
        with pytest.raises(NotAllowed):
            actions.record_answer(code, "ada", 1, "a", vote)
    state = find_classroom(code).state_for(Visitor("ada"))
    assert (state["vote"], state["first"], state["mine"]) == (2, "a", "b")
    assert [(vote["answered"], vote["size"]) for vote in state["votes"]] == [(2, 2), (2, 3)]  # type: ignore[attr-defined]
    actions.reveal_answer(code, TEACHER, 1)
    assert class_votes(code) == class_votes(code, "bob") == [["a", "a"], ["b", "b"]]
    actions.show_question("teacher", SHOWN_QUESTION)
    actions.record_answer(code, "ada", 2, "a")
    actions.reveal_answer(code, TEACHER, 2)
    with pytest.raises(NotAllowed, match="before the reveal"):
        actions.start_second_vote(code, TEACHER, 2)


def test_shares_refer_to_the_class_as_it_was_when_the_vote_ended(clock: list[float]) -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for visitor in ("ada", "bob", "eve"):
        store.record_presence(classroom, visitor)
    actions.record_answer(classroom.code, "ada", 1, "a")
    actions.start_second_vote(classroom.code, TEACHER, 1)
    clock[0] += PRESENCE_SECONDS + 1
    assert vote_sizes(classroom.code) == [3, 1]
    store.record_presence(classroom, "bob")
    for _ in range(2):
        actions.reveal_answer(classroom.code, TEACHER, 1)
    clock[0] += PRESENCE_SECONDS + 1
    assert vote_sizes(classroom.code) == [3, 2]


@both_databases
def test_the_answers_to_all_questions_are_kept_until_the_class_ends() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    actions.show_question("teacher", SHOWN_QUESTION)  # nobody has answered the first one
    for visitor in ("ada", "bob"):
        actions.record_answer(code, visitor, 2, "a")
    actions.start_second_vote(code, TEACHER, 2)
    actions.record_answer(code, "ada", 2, "b", vote=2)
    actions.show_question("teacher", SHOWN_NUMBER)
    actions.record_answer(code, "ada", 3, 7)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert dropped == 0 and [each.number for each in answered] == [2, 3]
    assert sorted((each.votes for each in answered[0].records), key=str) == [("a", "b"), ("a", None)]
    ada = next(each.student for each in answered[0].records if each.votes == ("a", "b"))
    assert [(each.student, each.votes) for each in answered[1].records] == [(ada, (7, None))]
    assert 10_000 <= ada <= 99_999
    with pytest.raises(NotAllowed, match="Only the browser that started"):
        store.answered_questions(code, Visitor("ada"))
    actions.end_classroom(code, TEACHER)
    with pytest.raises(UnknownClassroom):
        store.answered_questions(code, TEACHER)


@both_databases
def test_kept_answers_are_limited_for_each_class_and_for_all_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_CLASS_RECORDS", 4)
    monkeypatch.setattr(actions, "MAX_RECORDS", 5)

    def ask(owner: str, number: int) -> str:
        code = actions.show_question(owner, SHOWN_QUESTION).code
        for visitor in ("ada", "bob"):
            actions.record_answer(code, visitor, number, "a")
        return code

    code = ask("teacher", 1)
    for number in (2, 3, 4):
        ask("teacher", number)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert ([each.number for each in answered], dropped) == ([2, 3, 4], 1)
    for number in (1, 2):
        ask("other", number)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert ([each.number for each in answered], dropped) == ([3, 4], 2), "the class used longest ago drops first"


def test_an_answer_that_does_not_fit_is_refused() -> None:
    cases: tuple[tuple[ClassroomQuestion, list[object], object], ...] = (
        (SHOWN_QUESTION, ["c", "", None, 3, ["a"], "A", True], "a"),
        (SHOWN_NUMBER, [-1, 10.5, float("nan"), float("inf"), "5", True, None], 10),
        (
            SHOWN_SENTENCES,
            ["", " \u200b\n", "\u200d", "\x00\ud800", "a" * 201, 1, True, None, ["a"]],
            "<b>$x$</b>" * 20,
        ),
    )
    for number, (shown, refused, accepted) in enumerate(cases, 1):
        code = actions.show_question("teacher", shown).code
        for each in refused:
            with pytest.raises(InvalidSetting, match="no answer"):
                actions.record_answer(code, "ada", number, each)
        actions.record_answer(code, "ada", number, accepted)
        assert find_classroom(code).answers == {"ada": accepted}


@both_databases
def test_a_sentence_is_stored_in_one_line_and_can_be_sent_once() -> None:
    code = actions.show_question("teacher", SHOWN_SENTENCES).code
    typed = "  Not\u202e\x07 \u00a0 good,\r\n\tat\u200b all 👩\u200d🎓 "
    for _ in range(2):  # a repeated request is no error
        actions.record_answer(code, "ada", 1, typed)
    with pytest.raises(NotAllowed, match="answered already"):
        actions.record_answer(code, "ada", 1, "Good")
    with pytest.raises(InvalidSetting, match="Write 1 to 200 characters"):
        actions.record_answer(code, "bob", 1, "a" * 201)
    actions.record_answer(code, "bob", 1, "Good")
    assert class_votes(code) == [[]]
    actions.set_as_teacher(code, TEACHER, 1, votes_shown=True)
    assert class_votes(code) == [["Not good, at all 👩\u200d🎓", "Good"]] and class_votes(code, "bob") == [[]]


def test_only_the_teacher_and_the_operator_control_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_AGE", 1_000.0)  # the class is not read again
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    with monkeypatch.context() as patch:
        patch.setattr(transactions, "run_transaction", lambda *_: pytest.fail("the class was locked"))
        for visitor in (Visitor("ada"), Visitor("nobody"), Visitor("")):
            for control, *number in (
                (actions.reveal_answer, 1),
                (actions.start_second_vote, 1),
                (actions.end_classroom,),
            ):
                with pytest.raises(NotAllowed, match="Only the browser that started"):
                    control(code, visitor, *number)
    actions.reveal_answer(code, Visitor("op", operator=True), 1)
    actions.end_classroom(code, TEACHER)
    for gone in (code, "ABCDE", "", "<script>"):
        with pytest.raises(UnknownClassroom):
            find_classroom(gone)
    assert store.classroom_of_teacher("teacher") is None


@both_databases
@both_databases
def test_a_code_gives_another_browser_control_of_the_class_once(clock: list[float]) -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    phone, laptop = Visitor("phone"), Visitor("laptop")
    with pytest.raises(NotAllowed):
        actions.create_control_code(code, phone, False)
    replaced, kept, control = (actions.create_control_code(code, TEACHER, lasts) for lasts in (False, True, False))
    for unknown in (replaced, "ABCDEFGHJK", ""):
        with pytest.raises(UnknownClassroom, match="works once"):
            actions.take_control(unknown, phone)
    assert actions.take_control(f" {control[:5].lower()} {control[5:]}", phone).is_led_by(phone)
    with pytest.raises(UnknownClassroom):
        actions.take_control(control, laptop)
    actions.reveal_answer(code, phone, 1)
    assert actions.set_as_teacher(code, phone, 1, explained=True).explained and find_classroom(code).is_led_by(TEACHER)
    following = actions.show_question("phone", SHOWN_NUMBER)
    assert (following.code, following.number, following.explained) == (code, 2, False)
    late = actions.create_control_code(code, phone, False)
    clock[0] += actions.CONTROL_SECONDS + 1
    with pytest.raises(UnknownClassroom):
        actions.take_control(late, laptop)
    store.forget()
    assert actions.take_control(kept, laptop).is_led_by(laptop), "noted before, until the class ends"
    unused = actions.create_control_code(code, phone, True)
    only = actions.keep_control(code, laptop)
    assert [only.is_led_by(each) for each in (TEACHER, phone, laptop)] == [True, False, True]
    with pytest.raises(UnknownClassroom):
        actions.take_control(unused, phone)


def test_a_student_finds_the_answers_again_in_the_lesson_after_the_reveal() -> None:
    question = lesson_results.find_step("counting", 1)[1].question
    code = actions.show_question("teacher", ClassroomQuestion("negation", {}, (), question, "counting", 1)).code
    assert predictions.find_prediction("ada", "counting", 1) is None
    for visitor, first in (("ada", "sustain"), ("bob", "collapse")):
        actions.record_answer(code, visitor, 1, first)
    actions.start_second_vote(code, TEACHER, 1)
    actions.record_answer(code, "ada", 1, "collapse", vote=2)
    assert predictions.find_prediction("ada", "counting", 1) is None, "it would open the page with the answer"
    actions.reveal_answer(code, TEACHER, 1)
    actions.end_classroom(code, TEACHER)
    predictions.forget()  # as a second later
    assert [predictions.find_prediction(each, "counting", 1) for each in ("ada", "bob")] == ["collapse", "collapse"]


def test_simultaneous_answers_are_all_counted_once() -> None:
    code = actions.show_question("teacher", SHOWN_NUMBER).code
    actions.record_answer(code, "first", 1, 0)
    actions.start_second_vote(code, TEACHER, 1)

    def answer_repeatedly(visitor: str) -> None:
        for answer in (1, 2, 3):
            actions.record_answer(code, visitor, 1, answer, vote=2)

    visitors = [f"student {i}" for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(answer_repeatedly, visitors))
    store.forget()
    classroom = find_classroom(code)
    assert classroom.answers == dict.fromkeys(visitors, 3)
    assert sorted(each.arrival for each in classroom.given.values()) == list(range(1, 10))
