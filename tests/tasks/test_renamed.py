"""The renamed variant of a task: other names everywhere, and nothing else is different."""

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_tasks import plain_call
from tabular_tasks import TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.guest.rename_tables import Renaming, rename_tables
from mlagentbench.tasks.make_ready import prepare_tasks
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.renamed import rename_program, rename_text
from mlagentbench.tasks.suites import in_variants
from mlagentbench.tasks.task import load_task, task_folders

RENAMED_TASKS = [name for name in sorted(task_folders()) if load_task(name).spec.renamed]

RENAMING = Renaming(
    key="a key",
    columns=["Id", "Price", "Age", "Kind"],
    words=["good"],
    values=["Kind"],
    ids=["Id"],
    scaled=[["Price"]],
    shifted=[["Age"]],
)
TABLE = """Id,Price,Age,Kind,note
12_1,10.50,3,good,kept
12_2,NA,-1,bad,"kept, too"
13_1,0,,NA,good
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


def renamed_table(tmp_path: Path) -> list[list[str]]:
    (tmp_path / "tables").mkdir()
    file = tmp_path / "tables" / "train.csv"
    file.write_text(TABLE)
    rename_tables(file.parent, RENAMING)
    assert [path.name for path in file.parent.iterdir()] == ["train.csv"]
    with file.open(newline="") as handle:
        return list(csv.reader(handle))


def test_headers_values_and_ids_are_replaced_and_keep_their_structure(tmp_path: Path) -> None:
    header, first, second, third = renamed_table(tmp_path)
    assert header == [*(RENAMING.name(name) for name in RENAMING.columns), "note"]
    assert not {"Id", "Price", "Age", "Kind", "good", "bad"} & {*header, *first[:4], *second[:4]}
    ids = [row[0].split("_") for row in (first, second, third)]
    assert ids[0][0] == ids[1][0] != ids[2][0] and [part[1] for part in ids] == ["1", "2", "1"]
    assert ids[0][0] != "12"
    assert first[3] == RENAMING.name("good") != second[3] == RENAMING.name("bad")
    assert third[3] == "NA" and [row[4] for row in (first, second, third)] == [
        "kept",
        "kept, too",
        "good",
    ]


def test_numbers_are_changed_affinely_and_exactly(tmp_path: Path) -> None:
    _, first, second, third = renamed_table(tmp_path)
    factor, shift = RENAMING.factor(["Price"]), RENAMING.shift(["Age"])
    assert factor != 1 and shift != 0
    assert Decimal(first[1]) == Decimal("10.50") * factor
    assert second[1] == "NA" and Decimal(third[1]) == 0
    assert [first[2], second[2], third[2]] == [str(3 + shift), str(shift - 1), ""]


def test_many_ids_stay_different() -> None:
    assert len({RENAMING.id(str(number)) for number in range(25_000)}) == 25_000


def test_phrases_are_whole_words_and_do_not_touch_names() -> None:
    phrases = {"Id": "number", " of houses": "", "house": "thing"}
    text = "house_id, housed, a house (Ids) of houses"
    assert rename_text(text, RENAMING, phrases) == "house_id, housed, a thing (Ids)"


def test_programs_are_renamed_in_texts_and_keywords_only() -> None:
    program = (
        "Age = 3  # the Age of a house\n"
        "def Kind(Price, house):\n"
        '    """Price and Pricey."""\n'
        '    return table.assign(Price=Price["Price"], other=f"{house} Age good_{house}")\n'
    )
    name = RENAMING.name
    expected = (
        f"Age = 3  # the {name('Age')} of a thing\n"
        "def Kind(Price, {house}):\n"
        f'    """{name("Price")} and Pricey."""\n'
        f'    return table.assign({name("Price")}=Price["{name("Price")}"], '
        f'other=f"{{{{house}}}} {name("Age")} good_{{{{house}}}}")\n'
    )
    for seen, variable in ((False, "house"), (True, "thing")):
        found = rename_program(program, RENAMING, {"house": "thing"}, seen=seen)
        wanted = expected.replace("{{house}}", "{thing}").replace("{house}", variable)
        assert found == wanted


@pytest.mark.parametrize("name", RENAMED_TASKS)
def test_a_variant_is_a_task_that_shows_no_old_name(name: str) -> None:
    original, variant = load_task(name), load_task(f"{name}@renamed")
    assert original.spec.renamed is not None
    assert variant.variant == "renamed" and variant.address == f"{name}@renamed"
    assert variant.id == f"{name}-renamed" and variant.original_id == name
    assert variant.run_seed(3) == original.run_seed(3)
    assert variant.public_seed("mini") == original.public_seed("mini")
    distinctive = [word for word in original.spec.renamed.columns if word != word.lower()]
    shown = [variant.folder / "problem.md", *variant.starter.rglob("*.*")]
    for file in shown:
        if file.suffix in (".md", ".py"):
            words = file.read_text()
            assert not [word for word in distinctive if f"`{word}`" in words], file
            assert not [word for word in distinctive if f'"{word}"' in words], file
    for file in variant.folder.rglob("*.py"):
        compile(file.read_text(), str(file), "exec")


def test_the_variants_of_tasks_that_have_one() -> None:
    assert "house-price" in RENAMED_TASKS
    assert in_variants(["house-price"], "original") == ["house-price"]
    assert in_variants(["house-price"], "both") == ["house-price", "house-price@renamed"]
    with pytest.raises(UsageError, match=r"no renamed variant of cifar10; .*house-price"):
        in_variants(["house-price", "cifar10"], "renamed")
    with pytest.raises(UsageError, match="cifar10 has no renamed variant"):
        load_task("cifar10@renamed")


class _ThisEnv:
    """The interpreter of the tests in place of a task's virtual environment."""

    def __init__(self, env: PythonEnv) -> None:
        self.env = env

    async def ensure(self, *_: object, **__: object) -> PythonEnv:
        return self.env

    def find(self, *_: object) -> PythonEnv:
        return self.env

    def with_hash(self, *_: object) -> PythonEnv:
        return self.env


def test_a_variant_is_prepared_from_the_files_of_its_original(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    own = tmp_path / "own" / "spaceship-titanic"
    own.mkdir(parents=True)
    TaskModules("spaceship-titanic").mini.make(own, np.random.default_rng(0))
    (tmp_path / "own" / "house-price").mkdir()
    tasks = [load_task("spaceship-titanic"), load_task("spaceship-titanic@renamed")]
    original, _, variant, split = prepare_tasks(
        tasks,
        "full",
        from_dir=tmp_path / "own",
        accept_unverified=True,
        splits=1,
        call=plain_call,
        envs=_ThisEnv(this_env),
    )
    assert original.data.sources == variant.data.sources
    headers = [
        (ready.data.public / "train.csv").read_text().splitlines()[0]
        for ready in (original, variant, split)
    ]
    assert "Transported" in headers[0] and "Transported" not in headers[1]
    assert headers[1] == headers[2] and split.data.draw == "public~1"


def test_a_variant_has_the_secret_draw_of_its_original(this_env: PythonEnv) -> None:
    original, variant = load_task("spaceship-titanic"), load_task("spaceship-titanic@renamed")
    options: dict[str, Any] = {"draws": ["secret"], "call": plain_call, "envs": _ThisEnv(this_env)}
    with pytest.raises(UsageError, match=r"run first: .*prepare spaceship-titanic .*--draw secret"):
        prepare_tasks([variant], "mini", **options)
    [first] = prepare_tasks([original], "mini", **options)
    [second] = prepare_tasks([variant], "mini", **options)
    assert first.data.draw == second.data.draw and first.data.hash != second.data.hash
