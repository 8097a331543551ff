"""How replies are read, and by which rule they become a verdict."""

import pytest

from mlagentbench.task_checks.memorisation.memory_questions import MemoryQuestion, MemoryTestName
from mlagentbench.task_checks.memorisation.memory_verdict import (
    MemoryTest,
    check_reply,
    memory_test,
    worst,
)

GUESS = "value of the row before"


def question(
    test: MemoryTestName, expected: str, *, control: bool = False, guess: str = ""
) -> MemoryQuestion:
    return MemoryQuestion(
        task="one",
        test=test,
        control=control,
        row="row 9",
        column="b, c, d" if test == "label" else "b",
        columns=("a", "b"),
        shown=("a,b", "1,7"),
        prompt="",
        expected=expected,
        guesses={GUESS: guess},
    )


@pytest.mark.parametrize(
    ("test", "reply", "given"),
    [
        ("next row", "2,8", "8.0"),
        ("next row", "```csv\na,b\n1,7\n2,8\n```", "8.0"),
        ("next row", 'Here it is:\n2,"8"', "8.0"),
        ("next row", "I do not know it.", None),
        ("next row", "1,7", None),
        ("feature", "8450", "8450.0"),
        ("feature", "```\n8450.0\n```", "8450.0"),
        ("feature", "LotArea: 8,450", "8450.0"),
        ("feature", "The value is **8450**.", "8450.0"),
        ("feature", "Juanna Vines", "juanna vines"),
        ("feature", "", None),
        ("label", "3.0, 2.5,4", "3.0,2.5,4.0"),
        ("feature", "$208,500", "208500.0"),
        (
            "text",
            "of the People, and THEN it went home again",
            "of the people and then it went home",
        ),
        ("text", "... of the people and then it", "of the people and then it"),
    ],
)
def test_answers_are_found_in_replies(test: MemoryTestName, reply: str, given: str | None) -> None:
    expected = "of the people and then it went home" if test == "text" else "-"
    assert check_reply(question(test, expected), reply).given == given


def result(
    right: int, control_right: int, *, guessed: int = 0, asked: int = 50, tests: int = 1
) -> MemoryTest:
    """A test with so many right answers; those that are guessed are not among the known ones."""
    replies = [
        check_reply(
            question("feature", "8.0", guess="8.0" if place >= asked - guessed else "9.0"),
            "8" if place < right else "1",
        )
        for place in range(asked)
    ]
    controls = [
        check_reply(question("feature", "8.0", control=True), "8" if place < control_right else "1")
        for place in range(asked)
    ]
    return memory_test(replies, controls, tests)


def test_the_rule() -> None:
    assert result(50, 0).verdict == "strong"
    assert result(10, 0).verdict == "some"
    assert result(4, 0).verdict == "no sign"
    assert result(10, 0, guessed=8).verdict == "no sign"
    assert result(8, 0).verdict == "some" and result(8, 0, tests=3).verdict == "no sign"


def test_what_a_model_can_do_on_generated_rows_is_no_memory() -> None:
    skilled = result(40, 38)
    assert skilled.verdict == "no sign" and skilled.p_value > 0.2
    assert skilled.chance == 38 / 50


def test_silence_is_not_innocence() -> None:
    silent = [check_reply(question("next row", "8.0"), "I cannot recall it.") for _ in range(50)]
    assert memory_test(silent, silent, 1).verdict == "unclear"


def test_p_values_are_exact() -> None:
    assert result(10, 0).p_value == pytest.approx(max(0.5**10, 0.000592), abs=2e-5)
    assert result(7, 0, tests=2).p_value == pytest.approx(2 * max(0.5**7, 0.00625), rel=0.02)


def test_a_task_has_the_verdict_of_its_worst_test() -> None:
    assert worst([result(0, 0), result(50, 0), result(10, 0)]) == "strong"
    assert worst([]) == "not applicable"
