"""literature-review-tool and bibtex-generation: what is in the papers, how answers are graded."""

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

import mlagentbench.guest.mlagentbench_papers as papers_library
from mlagentbench.guest.mlagentbench_papers import ASIDES, ORDERS, concepts, pattern
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.task import load_task

sys.modules.setdefault("mlagentbench_papers", papers_library)
SMALL_WORDS = set(
    re.findall(
        r"\w+",
        "a and at be by for from get how in is near not of on that the those to what when who with "
        "known about which methods have been tried far has research come worked result",
    )
)


def modules(task_id: str) -> TaskModules:
    """A task's modules; both tasks have a scoring.py, so each grader is loaded with its own."""
    task = TaskModules(task_id)
    sys.modules.pop("scoring", None)
    assert task.grade
    sys.modules.pop("scoring", None)
    return task


REVIEW = modules("literature-review-tool")
BIBTEX = modules("bibtex-generation")


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return REVIEW.prepare_mini(tmp_path_factory.mktemp("review"))


@pytest.fixture(scope="module")
def bibtex(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return BIBTEX.prepare_mini(tmp_path_factory.mktemp("bibtex"))


def read(directory: Path, name: str):
    return json.loads((directory / name).read_text(encoding="utf-8"))


def content_words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower())) - SMALL_WORDS


# The papers


@pytest.mark.parametrize("made", ["review", "bibtex"])
def test_sizes_and_names(made: str, request: pytest.FixtureRequest) -> None:
    prepared = request.getfixturevalue(made)
    records = read(prepared.private, "records.json")
    assert len(records) == 1200
    assert len({record["id"] for record in records}) == 1200
    assert len({record["title"] for record in records}) == 1200
    assert len(read(prepared.private, "answers.json")) == 60
    development = {record["id"] for record in read(prepared.private, "development/records.json")}
    assert not development & {record["id"] for record in records}
    for record in records:
        assert record.keys() == {
            "id", "title", "authors", "journal", "year", "published", "abstract"
        }  # fmt: skip


def lexical_shares(review: Prepared) -> tuple[list[float], list[float]]:
    """By question: relevant papers without a word of it, and off-topic ones among the matches."""
    records = {record["id"]: record for record in read(review.private, "records.json")}
    texts = {
        name: content_words(f"{record['title']} {record['abstract']}")
        for name, record in records.items()
    }
    silent: list[float] = []
    off_topic: list[float] = []
    questions = read(review.private, "inputs/questions.json")
    for name, right in read(review.private, "answers.json").items():
        words = content_words(questions[name])
        silent.append(
            float(np.mean([not words & content_words(text_of(records[one])) for one in right]))
        )
        matches = [one for one, text in texts.items() if words <= text]
        off_topic.append(float(np.mean([one not in right for one in matches])))
    return silent, off_topic


def text_of(record: dict) -> str:
    """What a paper says of itself: without its asides."""
    abstract = record["abstract"]
    for aside in map(pattern, ASIDES):
        abstract = aside.sub("", abstract)
    return f"{record['title']} {abstract}"


def test_words_are_not_enough(review: Prepared) -> None:
    silent, off_topic = lexical_shares(review)
    assert 0.25 < np.mean(silent) < 0.45
    assert 0.33 < np.mean(off_topic) < 0.75


def test_wordings_share_no_content_word() -> None:
    names = ("ASPECTS", "OBJECTS", "DEVELOPMENT_ASPECTS", "DEVELOPMENT_OBJECTS")
    tables = {name: concepts(getattr(papers_library, name)) for name in names}
    for half in ("", "DEVELOPMENT_"):
        for aspect in tables[f"{half}ASPECTS"]:
            for place in tables[f"{half}OBJECTS"]:
                texts = (*aspect.wordings, *place.wordings)  # any of which may be asked with
                words = [content_words(text) for text in texts]
                assert sum(map(len, words)) == len(set().union(*words)), (aspect, place)
    hidden = {one for name in names[:2] for concept in tables[name] for one in concept.wordings}
    shown = {one for name in names[2:] for concept in tables[name] for one in concept.wordings}
    assert not hidden & shown


def test_asides_and_orders_tell_little(review: Prepared) -> None:
    """Papers that belong into an answer have them, too."""
    relevant = {one for right in read(review.private, "answers.json").values() for one in right}
    records = read(review.private, "records.json")
    for marks, least in ((list(map(pattern, ASIDES)), 0.4), (list(map(re.compile, ORDERS)), 0.04)):
        shares = [
            np.mean([any(mark.search(record["abstract"]) for mark in marks) for record in chosen])
            for chosen in (
                [record for record in records if record["id"] in relevant],
                [record for record in records if record["id"] not in relevant],
            )
        ]
        assert least < shares[0] < shares[1] < 0.85


def test_neither_order_nor_id_tells_what_is_relevant(review: Prepared) -> None:
    relevant = {one for right in read(review.private, "answers.json").values() for one in right}
    records = read(review.private, "records.json")
    flags = np.array([record["id"] in relevant for record in records], dtype=float)
    for keys in (range(len(records)), [float(record["id"]) for record in records]):
        assert abs(np.corrcoef(flags, np.array(keys))[0, 1]) < 0.1


def test_development_says_nothing_of_the_hidden_questions(review: Prepared) -> None:
    told = (review.public / "development.json").read_text()
    for record in read(review.private, "records.json"):
        assert record["id"] not in told
    for question in read(review.private, "inputs/questions.json").values():
        assert question not in told


@pytest.mark.parametrize("task", [REVIEW, BIBTEX], ids=lambda task: task.folder.name)
def test_the_same_seed_gives_the_same_data(task: TaskModules, tmp_path: Path) -> None:
    made = [task.prepare_mini(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1))]
    other = task.prepare_mini(tmp_path / "c", 2)
    texts = [(one.private / "records.json").read_bytes() for one in (*made, other)]
    assert texts[0] == texts[1] != texts[2]


def test_the_full_tier_has_3000_papers(tmp_path: Path) -> None:
    for task in (REVIEW, BIBTEX):
        raw = tmp_path / task.folder.name
        raw.mkdir()
        task.load("full").make(raw, np.random.default_rng(1))
        assert len(read(raw, "hidden.json")["papers"]) == 3000


# Grading of literature-review-tool


def report(directory: Path, name: str, papers: object) -> None:
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps({"papers": papers}))


def stated(right: dict[str, dict]) -> list[dict]:
    return [{"id": name, **facts} for name, facts in right.items()]


def test_right_reports_get_all(review: Prepared, tmp_path: Path) -> None:
    for name, right in read(review.private, "answers.json").items():
        report(tmp_path, name, stated(right))
    grade = REVIEW.grade.grade(tmp_path, review.private)
    assert grade.score == 1
    assert (grade.extra["ndcg"], grade.extra["facts"]) == (1, 1)
    assert grade.extra["standard_error"] == 0


def test_a_report_scored_by_hand(review: Prepared, tmp_path: Path) -> None:
    """Wrong, right with two facts, right once more: nDCG and facts of one question of sixty."""
    answers = read(review.private, "answers.json")
    name, right = next(iter(answers.items()))
    first = next(iter(right))
    facts = {**right[first], "value": float(right[first]["value"]), "method": "Nobody"}
    report(tmp_path, name, [{"id": "9999.99999"}, {"id": first, **facts}, {"id": first, **facts}])
    grade = REVIEW.grade.grade(tmp_path, review.private)
    gain = 1 / math.log2(3)
    best = sum(1 / math.log2(place + 2) for place in range(len(right)))
    assert grade.extra["ndcg"] == pytest.approx(gain / best / 60)
    assert grade.extra["facts"] == pytest.approx(2 / (3 * len(right)) / 60)
    assert grade.score == pytest.approx((grade.extra["ndcg"] + grade.extra["facts"]) / 2)
    assert grade.extra["missing_reports"] == 59
    assert grade.extra["unresolved_citations"] == 1
    low, high = grade.extra["test_set_interval"]
    assert low < grade.score < high


def test_listing_everything_does_not_pay(review: Prepared, tmp_path: Path) -> None:
    """Papers beyond the twentieth place do not count, and the facts of others are wrong."""
    records = read(review.private, "records.json")
    answers = read(review.private, "answers.json")
    for name in answers:
        report(tmp_path, name, [{"id": record["id"]} for record in records])
    assert REVIEW.grade.grade(tmp_path, review.private).score < 0.05


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ("", "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ("[]", "not of the form"),
        ('{"papers": {}}', "not of the form"),
        ('{"papers": [1]}', "paper 1: not an object"),
        ('{"papers": [{"id": 5}]}', "paper 1: not an object"),
        (b"\xff\xfe", "not a JSON file"),
    ],
)
def test_bad_reports(review: Prepared, tmp_path: Path, contents: str | bytes, reason: str) -> None:
    data = contents.encode() if isinstance(contents, str) else contents
    (tmp_path / "q01.json").write_bytes(data)
    with pytest.raises(InvalidSubmission, match=reason):
        REVIEW.grade.grade(tmp_path, review.private)


@pytest.mark.parametrize("value", ["nan", "1e999", True, None, [1], {}, "\ud800", 1e308])
def test_odd_facts_are_wrong_facts(review: Prepared, tmp_path: Path, value: object) -> None:
    name, right = next(iter(read(review.private, "answers.json").items()))
    facts = dict.fromkeys(("method", "dataset", "value"), value)
    report(tmp_path, name, [{"id": next(iter(right)), **facts}])
    assert REVIEW.grade.grade(tmp_path, review.private).extra["facts"] == 0


@pytest.mark.parametrize("task", [REVIEW, BIBTEX], ids=lambda task: task.folder.name)
def test_no_report_and_links(task: TaskModules, tmp_path: Path, request) -> None:
    prepared = request.getfixturevalue("review" if task is REVIEW else "bibtex")
    with pytest.raises(InvalidSubmission, match="was written; expected"):
        task.grade.grade(tmp_path, prepared.private)
    (tmp_path / ("q01.json" if task is REVIEW else "p01.json")).symlink_to("/etc/passwd")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        task.grade.grade(tmp_path, prepared.private)


@pytest.mark.parametrize("task", [REVIEW, BIBTEX], ids=lambda task: task.folder.name)
def test_the_format_of_a_submission(task: TaskModules, tmp_path: Path) -> None:
    file = tmp_path / "tool.py"
    with pytest.raises(InvalidSubmission, match="not found"):
        task.grade.check_format(file, tmp_path)
    file.write_text("print(")
    with pytest.raises(InvalidSubmission, match="not a Python program"):
        task.grade.check_format(file, tmp_path)
    file.write_bytes(b"\x00")
    with pytest.raises(InvalidSubmission, match="not a Python program"):
        task.grade.check_format(file, tmp_path)
    for name in ("starter", "solution"):
        task.grade.check_format(task.folder / name / "tool.py", tmp_path)
    for program in task.trivial.predictors(tmp_path).values():
        file.write_text(program)
        task.grade.check_format(file, tmp_path)


# Grading of bibtex-generation


def entry(record: dict, key: str, **changes: Any) -> str:
    fields = {
        "author": " and ".join(record["authors"]),
        "title": record["title"],
        "journal": record["journal"],
        "year": record["year"],
        **changes,
    }
    return f"@article{{{key}, " + ", ".join(f"{k} = {{{v}}}" for k, v in fields.items()) + "}"


def answer(directory: Path, name: str, citations: object, bibtex: object) -> None:
    value = {"citations": citations, "bibtex": bibtex}
    (directory / f"{name}.json").write_text(json.dumps(value))


def test_right_citations_get_all(bibtex: Prepared, tmp_path: Path) -> None:
    records = {record["id"]: record for record in read(bibtex.private, "records.json")}
    for name, places in read(bibtex.private, "answers.json").items():
        cited = {one for ids in places.values() for one in ids}
        answer(tmp_path, name, places, "\n".join(entry(records[one], one) for one in cited))
    grade = BIBTEX.grade.grade(tmp_path, bibtex.private)
    assert grade.score == 1
    assert grade.extra["paragraphs"] == 60


def test_citations_scored_by_hand(bibtex: Prepared, tmp_path: Path) -> None:
    """One right pair, a key without an entry, a right record at the wrong place."""
    records = {record["id"]: record for record in read(bibtex.private, "records.json")}
    name, places = next(iter(read(bibtex.private, "answers.json").items()))
    (one,) = next(ids for ids in places.values() if len(ids) == 1)
    place = next(place for place, ids in places.items() if ids == [one])
    other = next(key for key in places if key != place)
    answer(tmp_path, name, {place: ["k", "nothing", "k"], other: ["k"]}, entry(records[one], "k"))
    wanted = sum(map(len, places.values()))
    score = BIBTEX.grade.grade(tmp_path, bibtex.private).score
    assert score == pytest.approx(2 * 1 / (3 + wanted) / 60)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"author": "Ito, Jun and Weiß, Zoé"}, True),
        ({"author": "Jun  Ito\n and {Zoé} {Weiß}"}, True),
        ({"title": "{On} a \\& b"}, True),
        ({"note": "whatever, {nested}"}, True),
        ({"author": "Zoé Weiß and Jun Ito"}, False),
        ({"author": "Jun Ito, Zoé Weiß"}, False),
        ({"author": "Jun Ito"}, False),
        ({"title": "on a & b"}, False),
        ({"journal": "Other"}, False),
        ({"year": 2021}, False),
    ],
)
def test_an_entry_must_say_what_the_record_says(changes: dict, counts: bool) -> None:
    record: dict[str, Any] = {"id": "1", "title": "On a & b", "authors": ["Jun Ito", "Zoé Weiß"]}
    record |= {"journal": "Letters", "year": 2020}
    scoring = BIBTEX.grade
    records = scoring.index([record])
    score = scoring.score_answer({"1": ["k"]}, entry(record, "k", **changes), {"1": ["1"]}, records)
    assert score == counts


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", []),
        ("prose @article{a, title = {x}} prose @misc{b, year = 2020, title = \"y {\"} z\",}", "ab"),
        ("@article{a, title = {x}", []),
        ("@article{a, title = x}", []),
        ("@article{a, title = {x} @article{b, title = {y}}", ["b"]),
        ("@article{a, title = {x}} @article{a, title = {y}}", ["a"]),
        ("@" * 10_000 + "{" * 10_000, []),
    ],
)  # fmt: skip
def test_bibtex_is_parsed(text: str, keys: list[str] | str) -> None:
    parse = BIBTEX.grade.score_answer.__globals__["parse_bibtex"]
    assert list(parse(text)) == list(keys)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"citations": {}, "bibtex": 5}, "not of the form"),
        ({"citations": [], "bibtex": ""}, "citations is not of the form"),
        ({"citations": {"1": "k"}, "bibtex": ""}, "citations is not of the form"),
        ({"citations": {"1": [5]}, "bibtex": ""}, "citations is not of the form"),
        ({"citations": {"1": ["k"] * 201}, "bibtex": ""}, "more than 200"),
        ([], "not of the form"),
    ],
)
def test_bad_answers(bibtex: Prepared, tmp_path: Path, value: object, reason: str) -> None:
    (tmp_path / "p01.json").write_text(json.dumps(value))
    with pytest.raises(InvalidSubmission, match=reason):
        BIBTEX.grade.grade(tmp_path, bibtex.private)


def test_places_name_one_paper_or_all_of_a_topic(bibtex: Prepared) -> None:
    paragraphs = read(bibtex.private, "inputs/paragraphs.json")
    for name, places in read(bibtex.private, "answers.json").items():
        assert sorted(places) == ["1", "2"]
        assert sorted(len(ids) > 1 for ids in places.values()) == [False, True]
        assert paragraphs[name].count("[1]") == paragraphs[name].count("[2]") == 1


@pytest.mark.parametrize("name", ["literature-review-tool", "bibtex-generation"])
def test_figures_are_those_of_the_reader(name: str) -> None:
    task = load_task(name)
    assert task.spec.tool_model == task.spec.measured["mini"].tool == "mlagentbench/reader"
    client = (task.starter / "services.py").read_text()
    assert client == (load_task("bibtex-generation").starter / "services.py").read_text()
