"""Reading what edit models answer."""

import textwrap

import pytest

from mlagentbench.environment.actions.edit_blocks import (
    MAX_DIFF,
    apply_replacements,
    code_block,
    complete_file,
    diff,
    fence_for,
    is_python,
)
from mlagentbench.errors import ActionError


def dedent(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("```\nx = 1\n```", "x = 1\n"),
        ("Here it is:\n\n```python\nx = 1\n\ny = 2\n```\nI changed y.", "x = 1\n\ny = 2\n"),
        ("~~~py\nx = 1\n~~~", "x = 1\n"),
        ("```python title=a.py\r\nx = 1\r\n```  \r\n", "x = 1\n"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''\n"),
        ("1. Write:\n   ```python\n   if x:\n       y\n   ```", "if x:\n    y\n"),
        ("```python\n~~~\n```", "~~~\n"),
        ("```\n```", ""),
        ("Use ```x``` so:\n```\nx = 1\n```", "x = 1\n"),
    ],
)
def test_a_code_block(reply: str, expected: str) -> None:
    assert code_block(reply) == expected


def test_fences_in_docstrings_belong_to_the_file() -> None:
    indented = dedent('''
        def f():
            """Example:

            ```
            f()
            ```
            """
    ''')
    tagged = dedent('''
        """Example:

        ```python
        f()
        ```

        and again

        ```python
        f()
        ```
        """
        x = 1
    ''')
    for file in (indented, tagged):
        assert code_block(f"Done.\n```python\n{file}```\nThat is all.") == file


def test_where_fences_can_be_read_in_two_ways_python_decides() -> None:
    file = dedent('''
        """Example:

        ```
        f()
        ```
        """
        def f(): pass
    ''')
    reply = f"```python\n{file}```"
    assert code_block(reply, is_python) == file
    two = "```python\nx = 1\ny = 2\n```\nRun it with\n```\npython x.py\n```"
    assert code_block(two, is_python) == "x = 1\ny = 2\n"
    neither = "```\nnot python at all\n```\nor\n```\nthis\n```"
    assert code_block(neither, is_python) == "not python at all\n"


def test_of_several_blocks_the_longest_is_the_file() -> None:
    reply = "```bash\npip list\n```\nThen\n```python\nimport os\nprint(os)\n```\n```sh\nls\n```"
    assert code_block(reply) == "import os\nprint(os)\n"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "has no code block"),
        ("I would rather not.", "has no code block"),
        ("x = 1\n`y`", "has no code block"),
        ("```python\nx = 1", "does not end"),
        ("````python\nx = 1\n```", "does not end"),
        ("```python\n\n  \n```", "is empty"),
    ],
)
def test_an_answer_that_is_no_file(reply: str, reason: str) -> None:
    with pytest.raises(ActionError, match=reason):
        complete_file(reply)


def test_a_fence_that_a_text_does_not_contain() -> None:
    assert fence_for("x = 1") == "```"
    assert fence_for("`x` ```` y") == "`````"


@pytest.mark.parametrize("text", ["x = (", "\0", "(" * 5000, "-" * 100_000 + "1"])
def test_what_is_no_python(text: str) -> None:
    assert not is_python(text)


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


FILE = (
    "import os\nrate = 0.1\nfor n in range(3):\n    print(n)\n\nfor n in range(4):\n    print(n)\n"
)


def test_blocks_are_applied_in_order() -> None:
    reply = (
        "Two changes.\n```\n"
        + block("rate = 0.1\n", "rate = 0.01\nseed = 1\n")
        + "```\nand\n"
        + block("rate = 0.01  \n", "rate = 0.001\n")
        + block("import os\n", "")
        + block("for n in range(4):\n    print(n)\n", "print('=======')\n=======\n")
    )
    assert apply_replacements(FILE, reply) == (
        "rate = 0.001\nseed = 1\nfor n in range(3):\n    print(n)\n\nprint('=======')\n=======\n"
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Nothing to do.", "has no search/replace block"),
        ("```python\nrate = 1\n```", "has no search/replace block"),
        (block("rate = 0.1\n", "a\n") + block("    print(n)\n", ""), "2 of 2 .* found 2 times"),
        (block("rate = 0.2\n", "a\n"), r"1 of 1 .* found 0 times .* begins with: rate = 0\.2"),
        (block("rate\n", "a\n"), "found 0 times"),
        (block("print(n)\n", "a\n"), "found 0 times"),
        (block("", "a\n"), "1 of 1 searches for nothing"),
        (block("\n", "a\n"), "1 of 1 searches for nothing"),
        (block(FILE + "\n\n", ""), "found 0 times"),
        ("<<<<<<< SEARCH\nrate = 0.1\n>>>>>>> REPLACE", "block 1 has no line ======="),
        ("<<<<<<< SEARCH\nrate = 0.1\n=======\nrate", "block 1 does not end"),
        ("<<<<<<< SEARCH\nrate = 0.1", "block 1 does not end"),
    ],
)
def test_blocks_that_cannot_be_applied(reply: str, reason: str) -> None:
    with pytest.raises(ActionError, match=reason):
        apply_replacements(FILE, reply)


def test_a_long_diff_is_cut_in_its_middle() -> None:
    shown = diff("", "".join(f"line {n}\n" for n in range(10_000)), "a.py", "b.py")
    assert len(shown) == MAX_DIFF
    assert shown.startswith("--- a.py\n+++ b.py\n")
    assert shown.endswith("+line 9999")
    assert diff("x\n", "x\r\n", "a", "a") == ""
