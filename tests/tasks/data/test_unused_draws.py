"""Prepared draws that no run has any more: `runs gc` removes them."""

import asyncio
import os
from pathlib import Path

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.cli.runs.gc import free_space, print_freed
from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import (
    PreparedData,
    find_prepared,
    prepare,
    prepared_with_hash,
    require_prepared,
)
from mlagentbench.tasks.data.unused_draws import UNUSED_AFTER, note_user, unused_draws
from mlagentbench.tasks.draws import FreshKey, fresh_draws
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

KEY = FreshKey(value="0" * 32)
[FRESH] = fresh_draws("100", 1, key=KEY)
[SECRET_FRESH] = fresh_draws("secret:12ab", 1, key=KEY)
DRAWS = ("public", "secret", SECRET_FRESH, "100", "101", FRESH)


@pytest.fixture
def task(write_task: WriteTask) -> Task:
    return write_task()


@pytest.fixture
def drawn(task: Task, this_env: PythonEnv) -> dict[str, PreparedData]:
    """Data that were last asked for two days ago."""
    found = {}
    for draw in DRAWS:
        found[draw] = asyncio.run(
            prepare(task, "mini", call=plain_call, python_env=this_env, draw=draw, key=KEY)
        )
    for data in found.values():
        age(data)
    return found


def age(data: PreparedData) -> None:
    past = data.directory.stat().st_mtime - 2 * UNUSED_AFTER
    os.utime(data.directory, (past, past))


def new_run(out: Path) -> Path:
    run = out / "runs/small-task/mini/nop-0/none/1"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    return run


def test_a_draw_stays_while_a_run_of_any_out_has_it(
    task: Task,
    this_env: PythonEnv,
    drawn: dict[str, PreparedData],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    emptied, other = tmp_path / "emptied", tmp_path / "other"
    for name in ("runs", "objects"):
        (emptied / name).mkdir(parents=True)
    mine, theirs = new_run(tmp_path / "mine"), new_run(other)
    note_user(drawn["100"], mine)
    note_user(drawn["101"], theirs)
    note_user(drawn["public"], mine)
    assert not (drawn["public"].directory / "users").exists()
    for draw in ("100", "101"):
        age(drawn[draw])
    (mine / "run.json").unlink()

    print_freed(free_space(emptied, dry_run=True, workspaces=False), as_json=False)
    assert "would remove 3 prepared draws (" in capsys.readouterr().out
    assert all(data.directory.is_dir() for data in drawn.values())

    print_freed(free_space(emptied, dry_run=False, workspaces=False), as_json=False)
    assert "removed 3 prepared draws (" in capsys.readouterr().out
    left = {draw for draw, data in drawn.items() if data.directory.is_dir()}
    assert left == {"public", "secret", "101"}
    again = asyncio.run(prepare(task, "mini", call=plain_call, python_env=this_env, draw="100"))
    assert again.hash == drawn["100"].hash


def test_what_was_asked_for_today_stays(
    task: Task, this_env: PythonEnv, drawn: dict[str, PreparedData]
) -> None:
    assert {data.draw for data in unused_draws(set())} >= {"100", "101", FRESH}
    asyncio.run(prepare(task, "mini", call=plain_call, python_env=this_env, draw="100"))
    assert {data.draw for data in unused_draws({drawn["101"].hash})}.isdisjoint({"100", "101"})
    assert find_prepared(task, "mini", "100") == drawn["100"]


def test_preparing_again_keeps_which_runs_have_the_data(
    task: Task, this_env: PythonEnv, drawn: dict[str, PreparedData], tmp_path: Path
) -> None:
    note_user(drawn["100"], new_run(tmp_path / "mine"))
    again = asyncio.run(
        prepare(task, "mini", call=plain_call, python_env=this_env, draw="100", again=True)
    )
    assert again.created != drawn["100"].created
    age(again)
    assert "100" not in {data.draw for data in unused_draws(set())}


def test_a_secret_draw_of_another_home_cannot_be_made_again(task: Task) -> None:
    with pytest.raises(UsageError) as raised:
        prepared_with_hash(task, "mini", "0" * 64, "secret:abc~1")
    said = "draw secret:abc~1 exists only in the user data directory that drew it: set MLAGENTB"
    assert said in str(raised.value)
    with pytest.raises(UsageError, match=r"only in the user .* --draw secret$"):
        require_prepared(task, "mini", "secret")
    with pytest.raises(UsageError, match=r"tasks prepare \S+ --tier mini --draw 100$"):
        prepared_with_hash(task, "mini", "0" * 64, "100~1")
