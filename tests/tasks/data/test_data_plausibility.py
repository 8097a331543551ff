"""What each task's check_raw() finds: differences, which can be accepted, and faults."""

import asyncio
import errno
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from raw_layouts import cifar, contrails, cora, imdb, imdb_with_checkpoint
from small_tasks import PREPARE, WriteTask, plain_call
from tabular_tasks import TaskModules

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.guest.mlagentbench_task import Findings
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task, load_task

TABLES = {
    "house-price": "train.csv",
    "spaceship-titanic": "train.csv",
    "feedback": "train.csv",
    "parkinsons-disease": "train_clinical_data.csv",
}
SOURCE = '[[sources]]\nkind = "kaggle"\nref = "small"\nfiles = [{ path = "train.csv" }]\n'


def full(task: Task, env: PythonEnv, own: Path, *, accept: bool) -> PreparedData:
    return asyncio.run(
        prepare(
            task,
            "full",
            call=plain_call,
            python_env=env,
            from_dir=own,
            accept_unverified=accept,
        )
    )


def refusals(task: Task, env: PythonEnv, own: Path) -> list[str]:
    """What is said without and with --accept-unverified."""
    said = []
    for accept in (False, True):
        with pytest.raises(UsageError) as raised:
            full(task, env, own, accept=accept)
        said.append(str(raised.value))
    return said


def table(directory: Path, name: str) -> Path:
    """A generated table in the official form; returns its file."""
    directory.mkdir(parents=True)
    TaskModules(name).mini.make(directory, np.random.default_rng(0))
    return directory / TABLES[name]


def test_a_file_that_cannot_be_read_is_named_among_all_differences(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    own = cora(tmp_path / "ogbn_arxiv")
    (own / "raw/edge.csv.gz").write_bytes(b"1,2\n")
    (own / "split/time/valid.csv.gz").write_bytes(gzip.compress(b"a,b\n"))
    for said in refusals(load_task("ogbn-arxiv"), this_env, own):
        assert "rows of arxiv/raw/node-feat.csv.gz: 27, expected 169,343" in said
        assert "rows of arxiv/split/time/test.csv.gz: 5, expected 48,603" in said
        faults = said.partition("even with --accept-unverified:\n")[2].splitlines()
        assert faults[0] == (
            "  arxiv/raw/edge.csv.gz: cannot be read: gzip.BadGzipFile: Not a gzipped file (b'1,')"
        )
        assert faults[1].startswith("  arxiv/split/time/valid.csv.gz: cannot be read: ValueError: ")
        assert len(faults) == 3 and "continue with" not in said
        assert faults[2].endswith("again (see: mlagentbench tasks show ogbn-arxiv)")


def emptied_years(own: Path) -> None:
    (own / "ogbn_arxiv/raw/node_year.csv.gz").write_bytes(gzip.compress(b""))


def fewer_labels(own: Path) -> None:
    (own / "ogbn_arxiv/raw/node-label.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))


def edge_to_nowhere(own: Path) -> None:
    (own / "ogbn_arxiv/raw/edge.csv.gz").write_bytes(gzip.compress(b"0,27\n"))


def damaged_zip(own: Path) -> None:
    shutil.rmtree(own / "ogbn_arxiv")
    (own / "arxiv.zip").write_bytes(b"not an archive")


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (emptied_years, "rows of arxiv/raw/node_year.csv.gz: 0, expected 169,343"),
        (fewer_labels, "numbers in arxiv/raw/node-label.csv.gz, one for each node: 2, expected 27"),
        (
            edge_to_nowhere,
            "rows of arxiv/raw/edge.csv.gz with a node that arxiv/raw/node-feat.csv.gz lacks: 1, "
            "expected 0",
        ),
        (damaged_zip, "arxiv.zip: cannot be read: zipfile.BadZipFile: File is not a zip file"),
    ],
)
def test_graphs_that_prepare_cannot_read_are_refused(
    tmp_path: Path, this_env: PythonEnv, damage: Callable[[Path], None], fault: str
) -> None:
    cora(tmp_path / "ogbn_arxiv")
    damage(tmp_path)
    for said in refusals(load_task("ogbn-arxiv"), this_env, tmp_path):
        assert f"\n  {fault}\nDownload the files of" in said


def test_reviews_in_another_encoding_and_without_films_are_refused(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    own = imdb_with_checkpoint(tmp_path / "own")
    (own / "aclImdb/train/pos/1_9.txt").write_bytes("très bien".encode("latin-1"))
    (own / "aclImdb/test/urls_neg.txt").write_text("http://film\n")
    at_once, said = refusals(load_task("imdb"), this_env, own)
    assert "aclImdb/train/pos is not the folder of" in at_once and "1_9.txt" not in at_once
    assert "\n  aclImdb/train/pos/1_9.txt: cannot be read: UnicodeDecodeError: " in said
    assert "reviews in test/neg without a line in test/urls_neg.txt: 2, expected 0" in said
    assert "reviews in train/pos: 2, expected 12,500" in said


def test_many_damaged_files_are_counted(tmp_path: Path, this_env: PythonEnv) -> None:
    own = imdb_with_checkpoint(tmp_path / "own")
    imdb(own / "aclImdb", reviews=30)
    for number in range(30):
        (own / f"aclImdb/train/pos/{number}_9.txt").write_bytes(b"\xff")
    said = refusals(load_task("imdb"), this_env, own)[1]
    assert said.count("cannot be read") == 20 and "\n  and 11 more\n" in said
    assert "reviews in train/neg: 30, expected 12,500" in said


def test_a_record_that_is_cut_off_is_named(tmp_path: Path, this_env: PythonEnv) -> None:
    own = contrails(tmp_path / "own")
    file = own / "validation/7/band_14.npy"
    file.write_bytes(file.read_bytes()[:500])
    np.save(own / "validation/7/human_pixel_masks.npy", np.zeros((8, 4, 1), dtype=np.int32))
    for said in refusals(load_task("identify-contrails"), this_env, own):
        assert "validation/7/band_14.npy: cannot be read: ValueError: mmap length is" in said
        assert "sizes of the images and masks: 8 x 4, 8 x 8, expected one" in said
        assert "band_11.npy in train/ of another shape than (256, 256, 8): 1, expected 0" in said


def test_records_are_closed_after_they_were_checked(tmp_path: Path) -> None:
    own, records = contrails(tmp_path / "own"), [str(number) for number in range(60)]
    for record in set(records) - {"7"}:
        shutil.copytree(own / "train/7", own / "train" / record)
    names = [{"record_id": record} for record in records]
    (own / "train_metadata.json").write_text(json.dumps(names))
    guest = Path(sys.modules[Findings.__module__].__file__ or "").parent
    folder = load_task("identify-contrails").folder
    program = f"""
import resource, sys
from pathlib import Path
sys.path[:0] = [{str(guest)!r}, {str(folder)!r}]
import prepare
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
print(prepare.check_raw(Path({str(own)!r})).faults)
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("raised", [f"OSError({errno.EMFILE}, 'Too many')", "MemoryError()"])
def test_errors_of_the_machine_are_not_blamed_on_the_files(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path, raised: str
) -> None:
    check = f"""{PREPARE}
from mlagentbench_task import Findings
def check_raw(raw):
    findings = Findings()
    with findings.reading("train.csv"):
        raise {raised}
    return findings
"""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/train.csv").write_text("id,y\n1,2\n")
    task = write_task(sources=SOURCE, prepare_py=check)
    with pytest.raises(RunFailed, match=r"the files could not be checked: (OSError|MemoryError)"):
        full(task, this_env, tmp_path / "own", accept=True)


def test_a_check_that_fails_on_the_files_is_a_fault_of_theirs(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path
) -> None:
    check = f"{PREPARE}\ndef check_raw(raw):\n    return [int((raw / 'train.csv').read_text())]\n"
    (tmp_path / "own").mkdir()
    (tmp_path / "own/train.csv").write_text("id,y\n")
    task = write_task(sources=SOURCE, prepare_py=check)
    for said in refusals(task, this_env, tmp_path / "own"):
        assert "small-task: no data can be prepared" in said
        assert "  the files cannot be read: ValueError: invalid literal for int()" in said


def test_a_failure_on_accepted_files_names_the_differences(
    write_task: WriteTask, this_env: PythonEnv, tmp_path: Path
) -> None:
    fails = """
def prepare(raw, public, private, rng):
    raise IndexError("list index out of range")

def check_raw(raw):
    rows = len((raw / "train.csv").read_text().split())
    return [] if rows > 2 else [f"rows: {rows}, expected 12"]
"""
    own = tmp_path / "own"
    own.mkdir()
    (own / "train.csv").write_text("id,y\n1,2\n")
    task = write_task(sources=SOURCE, prepare_py=fails)
    with pytest.raises(UsageError) as raised:
        full(task, this_env, own, accept=True)
    assert str(raised.value) == (
        "small-task: no data can be prepared from these files: IndexError: list index out of "
        "range\nThey differ from the official ones, which was accepted:\n  rows: 2, expected 12\n"
        f"Download the official files again (see: mlagentbench tasks show {task.address})"
    )
    (own / "train.csv").write_text("id,y\n1,2\n2,3\n")
    with pytest.raises(RunFailed, match="IndexError"):
        full(task, this_env, own, accept=True)


def test_a_batch_that_is_no_pickle_is_named(tmp_path: Path) -> None:
    own = cifar(tmp_path / "own")
    (own / "data_batch_2").write_bytes(b"not a pickle")
    findings = TaskModules("cifar10").prepare.check_raw(own)
    assert [text.partition(" cannot be read: ")[0] for text in findings.faults] == ["data_batch_2:"]


@pytest.mark.parametrize("name", TABLES)
def test_tables_in_the_official_form_differ_in_numbers_only(
    tmp_path: Path, this_env: PythonEnv, name: str
) -> None:
    own = table(tmp_path / "own", name).parent
    findings = TaskModules(name).prepare.check_raw(own)
    assert findings.faults == []
    assert all(text.startswith(("rows of ", "numbers in ")) for text in findings.differences)
    rows = len((own / TABLES[name]).read_text().splitlines()) - 1
    accepted = full(load_task(name), this_env, own, accept=True).accepted
    if name != "feedback":  # whose cells have line breaks
        assert any(f"rows of {TABLES[name]}: {rows:,}, expected" in text for text in accepted)


def edited(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


def first_lines(count: int) -> Callable[[str], str]:
    return lambda text: "\n".join(text.splitlines()[:count]) + "\n"


def cut_off(text: str) -> str:
    whole = text.splitlines()[:300]
    return "\n".join([*whole, whole[-1][: len(whole[-1]) // 2]])


def repeated(text: str) -> str:
    return text + text.splitlines()[-1] + "\n"


def last_cell(new: str) -> Callable[[str], str]:
    """Another value in the last cell of the table."""
    return lambda text: f"{text.rstrip().rpartition(',')[0]},{new}\n"


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("house-price", lambda _: "", "train.csv is empty"),
        ("house-price", edited("SalePrice", "Price"), "missing in train.csv: 1 of 81: SalePrice"),
        ("house-price", edited("MSZoning", "Id"), "repeated columns in train.csv: 1, expected 0"),
        ("house-price", first_lines(1), "rows of train.csv: 0, expected at least 20"),
        ("house-price", first_lines(2), "rows of train.csv: 1, expected at least 20"),
        ("house-price", cut_off, "number of values than the header: 1; the first is row 300"),
        ("house-price", repeated, "rows of train.csv with the Id of another row: 1, expected 0"),
        ("house-price", last_cell(""), "empty cells in SalePrice: 1, expected 0"),
        ("house-price", last_cell("NA"), "that are no numbers: 1, first: 'NA'"),
        ("spaceship-titanic", last_cell("yes"), "not True or False: 1, first: 'yes'"),
        ("spaceship-titanic", edited("Cabin", "Room"), "1 of 14: Cabin"),
        ("feedback", last_cell(""), "empty cells in conventions: 1, expected 0"),
        ("feedback", lambda text: text[: text.index('"') + 9], "_csv.Error: unexpected end"),
        ("parkinsons-disease", edited("visit_month", "month"), "1 of 8: visit_month"),
        ("parkinsons-disease", repeated, "with the visit_id of another row: 1, expected 0"),
    ],
)
def test_tables_without_what_prepare_needs_are_refused(
    tmp_path: Path, this_env: PythonEnv, name: str, edit: Callable[[str], str], fault: str
) -> None:
    file = table(tmp_path / "own", name)
    file.write_text(edit(file.read_text("utf-8")), encoding="utf-8")
    for said in refusals(load_task(name), this_env, file.parent):
        assert fault in said.partition("even with --accept-unverified:")[2]
        assert f"{TABLES[name]}" in said and " bytes, expected " in said


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_table_in_another_encoding_is_refused(
    tmp_path: Path, this_env: PythonEnv, encoding: str
) -> None:
    file = table(tmp_path / "own", "house-price")
    lines = file.read_text().splitlines()
    lines[5] = lines[5].replace("Normal", "Normál")
    file.write_bytes("\n".join([*lines, lines[1].replace("Normal", "é")]).encode(encoding))
    for said in refusals(load_task("house-price"), this_env, file.parent):
        assert "\n  train.csv: cannot be read: UnicodeDecodeError: 'utf-8' codec" in said


def test_numbers_outside_of_the_official_range_can_be_accepted(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    file = table(tmp_path / "own", "house-price")
    file.write_text(last_cell("9000000")(file.read_text()))
    with pytest.raises(UsageError, match="continue with --accept-unverified"):
        full(load_task("house-price"), this_env, file.parent, accept=False)
    accepted = full(load_task("house-price"), this_env, file.parent, accept=True).accepted
    assert "numbers in SalePrice outside of 34,900 to 755,000: 1, expected 0" in accepted
