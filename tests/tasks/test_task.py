"""Task folders: what is read, and what is said about those that are wrong."""

import sys
from importlib import metadata
from pathlib import Path

import pytest
from small_tasks import WriteTask
from task_folders import task_toml

from mlagentbench.errors import UsageError
from mlagentbench.tasks.task import SUITE, load_folder, load_task, task_folders

VALID = task_toml("small-task")
MEASURED = """
[measured.mini]
data = "abc"
trivial = { median = 3.0 }
starter = { mean = 3.0, std = 0.5, runs = 30 }
reference = { mean = 1.0, std = 0.1, runs = 8 }
bar = 2.0
"""


@pytest.fixture
def folder(write_task: WriteTask) -> Path:
    return write_task().folder


def test_reads_a_folder(folder: Path) -> None:
    (folder / "task.toml").write_text(
        VALID + MEASURED + '[limits]\ntime = "90m"\n[resources]\nmemory = "1.5GB"\n'
    )
    task = load_folder(folder)
    assert task.id == "small-task" and task.address == str(folder)
    assert task.inspect_name == f"mlagentbench/folder -T path={folder}"
    assert task.spec.limits.time == 5400 and task.spec.limits.steps == 50
    assert task.spec.resources.memory == 1.5e9
    assert task.spec.measured["mini"].starter.mean == 3.0
    assert task.generated and task.problem == "Predict y."


def test_rules_that_a_submission_can_break_and_still_be_graded(folder: Path) -> None:
    rules = {"a": "limit", "b": "grader", "c": "sandbox", "d": "journal", "e": "no"}
    table = "".join(f'"{rule}" = "{by}"\n' for rule, by in rules.items())
    (folder / "task.toml").write_text(f"{VALID}\n[rules]\n{table}")
    assert load_folder(folder).spec.unenforced_rules == {"d": "journal", "e": "no"}


def test_what_rebuilds_a_submission_follows_from_its_kind_unless_said(folder: Path) -> None:
    spec = load_folder(folder).spec
    assert spec.rebuild.command == "bash reproduce.sh" and spec.rebuild.sources == ()
    program = VALID.replace('kind = "predictions"', 'kind = "program"')
    collect = '[collect]\ncommand = "python tool.py {inputs} {outputs}"\n'
    (folder / "task.toml").write_text(f"{program}\n{collect}")
    assert load_folder(folder).spec.rebuild.command is None
    said = '[rebuild]\nsources = ["model.py"]\nfresh = "the graphs"\n'
    (folder / "task.toml").write_text(f"{program}\n{collect}\n{said}")
    rebuild = load_folder(folder).spec.rebuild
    assert rebuild.command == "bash reproduce.sh" and rebuild.sources == ("model.py",)


@pytest.mark.parametrize("name", sorted(path.name for path in SUITE.iterdir() if path.is_dir()))
def test_every_task_says_what_rebuilds_it_and_what_a_fresh_draw_changes(name: str) -> None:
    spec = load_task(name).spec
    assert "[rebuild]\n" in (SUITE / name / "task.toml").read_text()
    assert spec.rebuild.fresh and len(spec.rebuild.fresh) < 200
    is_source = not spec.submission.path.endswith(".csv") and spec.kind in ("program", "timed")
    assert (spec.rebuild.command is None) == (is_source and name != "clrs")


def test_seeds_are_fixed_and_apart(folder: Path) -> None:
    task = load_folder(folder)
    seeds = [task.run_seed(1), task.run_seed(2), task.public_seed("mini"), task.public_seed("full")]
    assert len(set(seeds)) == 4 and seeds == [
        load_folder(folder).run_seed(1),
        load_folder(folder).run_seed(2),
        load_folder(folder).public_seed("mini"),
        load_folder(folder).public_seed("full"),
    ]
    assert max(seeds[:2]) < 2**32 and 2**100 < max(seeds[2:]) < 2**128


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "titel =", "titel: unknown key; did you mean title?"),
        ('title = "A small task"', "", "title: missing key"),
        (
            'path = "submission.csv"',
            'pth = "submission.csv"',
            "submission.pth: unknown key; did you mean path?",
        ),
        (
            "version = 1",
            "version = 1\nneeds_modle = true",
            "needs_modle: unknown key; did you mean needs_model?",
        ),
        (
            'better = "lower"',
            'better = "lower"\nscael = "log"',
            "metric.scael: unknown key; did you mean scale?",
        ),
        (
            'kind = "generated"',
            'kind = "generated"\nlicense = "MIT"',
            "sources.0.license: unknown key; did you mean licence?",
        ),
        ("version = 1", 'version = "one"', "version: Input should be a valid integer"),
        ("version = 1", "version = 0", "version: Input should be greater than 0"),
        ('better = "lower"', 'better = "less"', "metric.better: Input should be 'higher' or 'lo"),
        ('requirements = ["numpy"]', "requirements = 3", "python.requirements: "),
        (
            "[metric]",
            '[limits]\ntime = "5 days"\n[metric]',
            "limits.time: expected a text like '10m' (units: s, m, h)",
        ),
        ('kind = "predictions"', 'kind = "timed"', "kind = 'timed' needs a [collect] table"),
        (
            "[python]",
            '[collect]\ncommand = "./serve"\nmachine_code = "installed"\n[python]',
            "machine_code = 'installed' needs a command like 'python SCRIPT'",
        ),
        (
            'kind = "generated"',
            'kind = "url"\nfiles = [{ path = "../escape" }]',
            "sources.0.files.0.path: expected a path below the directory it belongs to",
        ),
        (
            'id = "small-task"',
            'id = "other-task"',
            "id: 'other-task' differs from the folder's name 'small-task'",
        ),
        ("[metric]", "[metric", "not valid TOML"),
        (
            "[metric]",
            '[read_only]\npaths = ["gone.py"]\n[metric]',
            "read_only.paths: 'gone.py' not in starter/",
        ),
        (
            "[metric]",
            "[measured.mini]\nbra = 1\n[metric]",
            "measured.mini.bra: unknown key; did you mean bar?",
        ),
    ],
)
def test_a_wrong_task_toml_names_file_and_key(folder: Path, old: str, new: str, said: str) -> None:
    assert old in VALID
    (folder / "task.toml").write_text(VALID.replace(old, new, 1))
    with pytest.raises(UsageError) as raised:
        load_folder(folder)
    assert str(raised.value).startswith(f"{folder / 'task.toml'}: ") and said in str(raised.value)
    assert "\n" not in str(raised.value) or "TOML" in said


@pytest.mark.parametrize("name", ["problem.md", "prepare.py", "mini.py", "full.py", "grade.py"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UsageError, match=f"{name} not found"):
        load_folder(folder)


def test_a_missing_folder_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "solution").rmdir()
    with pytest.raises(UsageError, match="solution/ not found"):
        load_folder(folder)
    with pytest.raises(UsageError, match=r"is not a task folder: task\.toml not found in it"):
        load_task(tmp_path)


def test_by_name_and_by_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert load_task("./small-task").folder == folder == load_task(folder).folder
    assert load_task("house_price").folder == SUITE / "house-price"
    assert load_task("house-price").inspect_name == "mlagentbench/house_price"
    with pytest.raises(UsageError) as raised:
        load_task("house-prise")
    assert str(raised.value) == (
        "unknown task 'house-prise'; did you mean house-price? (see: mlagentbench tasks list)"
    )
    with pytest.raises(UsageError, match=r"unknown task 'zzz'; known: .*house-price"):
        load_task("zzz")


def install(place: Path, value: str, module: str) -> None:
    """A really installed distribution that offers tasks."""
    info = place / "more_tasks-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-tasks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[mlagentbench.tasks]\nmore = {value}\n")
    (place / "more_tasks.py").write_text(module)


@pytest.mark.parametrize("target", ["FOLDER", "folder", "ONE"])
def test_tasks_of_installed_packages(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    install(
        tmp_path / "site",
        f"more_tasks:{target}",
        f"FOLDER = {str(folder.parent)!r}\nONE = {str(folder)!r}\n"
        f"def folder(): return {str(folder.parent)!r}\n",
    )
    assert "small-task" not in task_folders()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "more_tasks", raising=False)
    assert metadata.version("more-tasks") == "1.0"
    assert task_folders()["small-task"] == folder
    assert load_task("small-task").folder == folder
    assert load_task("small_task").id == "small-task"


def test_a_broken_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "more_tasks:FOLDER", "import not_there\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "more_tasks", raising=False)
    with pytest.raises(UsageError, match=r"the tasks of more-tasks .* cannot be loaded: .*not_the"):
        task_folders()
