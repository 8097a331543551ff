"""The hard tier of a task folder: what it has, what is refused, and how its data are drawn."""

from pathlib import Path
from shutil import rmtree

import pytest
from folders import HARD_TASK, SEED_TASK, write_folder

from mlagentbench.environment.feedback import require_feedback
from mlagentbench.errors import UsageError
from mlagentbench.launch.request import RunSettings, SuiteRequest
from mlagentbench.tasks.draws import draw_list_text, draw_of, draws_text, in_pool
from mlagentbench.tasks.programs_hash import programs_hash
from mlagentbench.tasks.recipe import recipe_of
from mlagentbench.tasks.renamed import renamed_folder
from mlagentbench.tasks.task import Task, load_folder, load_task


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return write_folder(tmp_path / "signs", HARD_TASK, submission="score.txt")


def test_a_task_has_its_own_files_in_the_hard_tier(task: Task) -> None:
    hard = task.on_tier("hard")
    assert (task.problem, hard.problem) == ("Predict y.", "Predict y, whose sign differs.")
    assert hard.starter != task.starter and hard.solution != task.solution
    assert set(hard.solution_files()) == {"findings.py", "solution.py"}
    assert hard.panel("default")["plain"] == {"solution.py": b'open("score.txt", "w").write("1.0")'}
    assert list(hard.panel("default")) == ["plain", "tuned"] and not task.panel("default")
    assert programs_hash(hard) != programs_hash(task)
    assert hard.on_tier("full").problem == task.problem
    rmtree(task.folder / "hard" / "starter")
    assert hard.starter == task.starter == task.folder / "starter"


def test_a_member_of_the_panel_may_be_a_folder(task: Task) -> None:
    member = task.folder / "hard" / "ablations" / "both"
    member.mkdir()
    (member / "solution.py").write_text("import helper")
    (member / "helper.py").write_text("")
    hard = task.on_tier("hard")
    found = hard.panel("ablations")
    assert found["both"]["solution.py"] == b"import helper" and found["both"]["helper.py"] == b""
    reference = hard.solution_files()
    assert found["both"]["reference.py"] == reference["solution.py"], "ablations can import it"
    assert found["both"]["findings.py"] == reference["findings.py"]


def test_programs_of_the_default_share_modules(task: Task) -> None:
    shared = task.folder / "hard" / "default" / "shared"
    shared.mkdir()
    (shared / "tables.py").write_text("ROWS = 3")
    found = task.on_tier("hard").panel("default")
    assert list(found) == ["plain", "tuned"]
    assert found["tuned"]["tables.py"] == b"ROWS = 3"


def test_settings_of_the_hard_tier_replace_those_of_the_task(task: Task) -> None:
    (task.folder / "hard" / "task.toml").write_text(
        '[limits]\nsteps = 7\n[rules]\n"one" = "grader"\n'
    )
    hard, plain = task.on_tier("hard").spec, task.spec
    assert hard.limits.steps == 7 and hard.limits.time == plain.limits.time
    assert hard.rules == {"one": "grader"}
    (task.folder / "hard" / "task.toml").write_text("[limits]\nstep = 7\n")
    with pytest.raises(UsageError, match=r"hard/task.toml: limits.step: unknown key; did you mean"):
        task.on_tier("hard")


@pytest.mark.parametrize("name", ["make.py", "problem.md", "solution", "default", "ablations"])
def test_a_hard_tier_must_be_complete(task: Task, name: str) -> None:
    (task.folder / "hard" / name).rename(task.folder / "elsewhere")
    with pytest.raises(UsageError, match=f"hard: {name} not found; every hard tier has it"):
        task.on_tier("hard")


def test_a_task_without_a_hard_tier_says_so(tmp_path: Path) -> None:
    plain = write_folder(tmp_path / "seeds", SEED_TASK, submission="score.txt")
    with pytest.raises(UsageError, match=r"seeds has no hard tier: no folder hard/ in .*; tasks "):
        plain.on_tier("hard")
    with pytest.raises(UsageError, match="seeds has no hard tier"):
        SuiteRequest.read(tasks=str(plain.folder), agents="nop", out=tmp_path, tier="hard")


def test_a_renamed_variant_has_no_hard_tier() -> None:
    renamed = renamed_folder(load_task("house-price"))
    assert not (renamed / "hard").exists()
    with pytest.raises(UsageError, match="house-price-renamed has no hard tier"):
        load_folder(renamed, "hard")


def test_the_generator_is_part_of_what_data_are(task: Task) -> None:
    before = recipe_of(task.on_tier("hard"), "hard"), recipe_of(task, "mini")
    with (task.folder / "hard" / "make.py").open("a") as file:
        file.write("\n# changed")
    assert recipe_of(task.on_tier("hard"), "hard") != before[0]
    assert recipe_of(task, "mini") == before[1]


def test_pools_are_named_in_draws() -> None:
    assert in_pool("1..3", "train", "hard") == "train:1..3"
    assert in_pool("1..3", "eval", "hard") == in_pool("1..3", None, "mini") == "1..3"
    assert draw_of("train:5..6", 3) == "train:5"
    assert draws_text("train:5..6") == "draws 5..6 of the train pool"
    assert draw_list_text(["train:5", "train:6", "train:9"]) == "train:5..6, 9"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pool": "train"}, "--pool train: only the hard tier has pools; add --tier hard"),
        ({"pool": "train", "tier": "hard"}, "the train pool has no public draw; name its draws"),
        ({"pool": "train", "tier": "hard", "draw": "secret"}, "has no secret draw"),
    ],
)
def test_pools_in_vain(options: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        SuiteRequest.read(tasks="house-price", agents="nop", out=tmp_path, **options)


def test_hard_runs_are_rebuilt_unless_told_otherwise() -> None:
    assert RunSettings(tier="hard").protocol == "rebuild"
    assert RunSettings(tier="mini").protocol == "standard"
    plain = RunSettings(tier="hard", protocol="standard")
    assert plain.protocol == "standard"
    written = plain.model_dump(exclude_defaults=True)
    assert RunSettings.model_validate(written) == plain


def test_feedback_needs_a_split_of_the_hard_tier(task: Task) -> None:
    with pytest.raises(UsageError, match=r"in the hard tier: make.py has no function hold_out"):
        require_feedback(task.on_tier("hard"))
