"""Edits of programs that nothing ran."""

from typing import Any

from told_runs import Run

from mlagentbench.analysis.detectors.parsing.program_texts import apply_diff
from mlagentbench.environment.actions.edit_blocks import diff

DIFF = "train.py was edited:\n\n--- train.py\n+++ train.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+{}\n"


def steps(run: Run) -> list[tuple[int, ...]]:
    return [finding.steps for finding in run.found("edit-never-run")]


def edited(run: Run, line: str, save_name: str = "") -> Run:
    return run.do(
        "Edit Script (AI)", DIFF.format(line), script_name="train.py", edit_instruction="x",
        save_name=save_name,
    )  # fmt: skip


def test_an_edit_that_is_overwritten_or_left_is_a_finding() -> None:
    assert steps(Run().write("a.py").write("a.py").execute("a.py").finish()) == [(1,)]
    assert steps(Run().execute().write("new.py").finish()) == [(2,)]
    assert steps(edited(edited(Run(), "b = 3"), "b = 4").execute().finish()) == [(1,)]


def test_an_edit_that_runs_even_badly_is_none() -> None:
    assert steps(Run().write("a.py").execute("./a.py").finish()) == []
    assert steps(Run().write("a.py").crash("a.py").write("a.py").execute("a.py").finish()) == []


def test_refused_and_interrupted_executions_run_nothing() -> None:
    run = Run().write("a.py").execute("a.py", status="interrupted").finish()
    assert steps(run) == [(1,)]


def test_other_files_and_runs_without_an_end_have_none() -> None:
    assert steps(Run().write("notes.md").finish()) == []
    assert steps(Run().write("a.py")) == []
    assert steps(Run().write("a.py").end("failed")) == []
    assert steps(Run().write("a.py").end("steps")) == [(1,)]


def test_appending_and_replacing_belong_to_one_edit() -> None:
    run = Run().write("a.py")
    run.do("Append File", "added", file_name="a.py", content="y = 2")
    run.do("Replace in File", "changed", file_name="a.py", old="x", new="z")
    assert steps(run.finish()) == [(1, 2, 3)]
    run = Run().write("a.py").do("Append File", "added", file_name="a.py", content="y = 2")
    assert steps(run.execute("a.py").finish()) == []


def test_a_script_that_imports_the_edited_module_uses_it() -> None:
    run = Run().write("train.py", "import features\n").write("features.py")
    assert steps(run.execute("train.py").finish()) == []
    run = Run().write("run.sh", "python -m steps.one\n").write("steps/one.py", "import two\n")
    assert steps(run.write("steps/two.py").execute("run.sh").finish()) == []


def test_a_script_whose_text_is_known_and_does_not_mention_the_file_does_not_use_it() -> None:
    run = Run(texts={"train.py": "print(1)\n"}).write("features.py")
    assert steps(run.execute("train.py").finish()) == [(1,)]
    run = Run(texts={"train.py": "a = 1\nb = 2\n"}).write("features.py")
    assert steps(edited(run, "b = 3").execute("train.py").finish()) == [(1,)]
    assert steps(edited(run, "import features").execute("train.py").finish()) == []


def test_a_script_whose_text_is_unknown_may_use_anything() -> None:
    assert steps(Run().write("features.py").execute("train.py").finish()) == []
    run = edited(Run(), "b = 3", save_name="other.py").write("features.py")
    assert steps(run.execute("other.py").finish()) == []


def test_code_of_the_session_uses_what_it_names() -> None:
    run = Run().write("features.py").do("Python REPL", "", command="1 + 1").finish()
    assert steps(run) == [(1,)]
    run = Run().write("features.py").do("Python REPL", "", command="import features").finish()
    assert steps(run) == []


def test_code_that_names_what_it_runs_runs_nothing_else() -> None:
    for code in ("exec(open('a.py').read())", "import runpy\nrunpy.run_path('a.py')"):
        run = Run().write("a.py").write("b.py").do("Python REPL", "", command=code)
        assert steps(run.finish()) == [(2,)]
    for code in ("exec(code)", "import glob\nfor n in glob.glob('*.py'): exec(open(n).read())"):
        assert steps(Run().write("b.py").do("Python REPL", "", command=code).finish()) == []
    listing = "import glob\nprint(glob.glob('*.py'))"
    assert steps(Run().write("b.py").do("Python REPL", "", command=listing).finish()) == [(1,)]
    run = Run().write("b.py").write("all.sh", "for f in *.py; do python $f; done")
    assert steps(run.execute("all.sh").finish()) == []


def test_arguments_may_name_the_file() -> None:
    run = Run(texts={"run.py": "import sys\n"}).write("job.py")
    assert steps(run.execute("run.py", arguments="job.py").finish()) == []


def test_the_submission_is_used_by_the_end_of_the_run() -> None:
    assert steps(Run(submission="conv.py").write("conv.py").finish()) == []
    assert steps(Run(submission="out").write("out/model.py").finish()) == []
    assert (
        steps(Run(submission="conv.py").write("conv.py", "import b").write("b.py").finish()) == []
    )
    assert steps(Run(submission="conv.py").write("conv.py").write("conv.py").finish()) == [(1,)]


def test_a_backup_is_none_and_a_copy_that_nobody_runs_is_one() -> None:
    copy: dict[str, Any] = {"source": "train.py", "destination": "best.py"}
    assert (
        steps(Run().execute().do("Copy File", "", **copy).write("train.py").execute().finish())
        == []
    )
    assert steps(Run().execute().do("Copy File", "", **copy).finish()) == [(2,)]
    run = Run().do("Copy File", "", **copy).write("best.py").execute("best.py").finish()
    assert steps(run) == []


def test_what_runs_as_a_copy_was_run() -> None:
    run = Run().write("a.py", "x = 1").do("Copy File", "", source="a.py", destination="b.py")
    assert steps(run.execute("b.py").finish()) == []


def test_undoing_an_unused_edit_belongs_to_its_finding_and_undoing_a_used_one_is_none() -> None:
    undo: dict[str, Any] = {"script_name": "a.py"}
    run = Run().write("a.py").do("Undo Edit Script", "taken back", **undo).finish()
    assert steps(run) == [(1, 2)]
    run = Run().write("a.py").execute("a.py").do("Undo Edit Script", "taken back", **undo)
    assert steps(run.finish()) == []


def test_an_edit_that_changed_nothing_is_no_edit() -> None:
    run = Run().do(
        "Edit Script (AI)", "The edit model left train.py as it is: nothing changed.",
        script_name="train.py", edit_instruction="x",
    )  # fmt: skip
    assert steps(run.finish()) == []


def test_a_diff_is_followed_line_by_line() -> None:
    before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
    after = before.replace("b\n", "B\nb2\n").replace("i\n", "")
    shown = diff(before, after, "train.py", "train.py")
    assert apply_diff(before, f"train.py was edited:\n\n{shown}") == after.rstrip("\n")
    assert apply_diff("other\n", f"train.py was edited:\n\n{shown}") is None
    new = diff("", after, "look.py", "look.py")
    assert apply_diff(None, f"look.py is new:\n\n{new}") == after.rstrip("\n")
    assert apply_diff(before, f"{shown}\n[... 10 of 30 characters left out ...]\n") is None


def test_what_is_rebuilt_runs_its_program() -> None:
    facts = {"protocol": "rebuild"}
    run = (
        Run(facts=facts).write("fit.py").write("other.py").write("reproduce.sh", "python fit.py\n")
    )
    assert steps(run.finish()) == [(2,)]
    assert steps(Run().write("reproduce.sh", "python fit.py\n").finish()) == [(1,)]
    run = Run(facts=facts).write("fit.py").write("reproduce.sh", "python fit.py\n")
    run.do("Validate Submission", "valid").write("fit.py", "x = 2\n")
    assert steps(run.finish()) == []
    assert steps(Run(facts=facts).write("fit.py").finish()) == [(1,)], "no program is left"
