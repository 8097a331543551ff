"""Paragraphs without their citations, and papers: those for development are told, others are not.

PUBLIC/development.json            paragraphs, answers, and the records of the papers in these
PRIVATE/development/records.json   what the search service knows while an agent works
PRIVATE/records.json               and at grading
PRIVATE/inputs/paragraphs.json     the hidden paragraphs
PRIVATE/answers.json               paragraph -> place -> ids
"""

import json
from pathlib import Path
from typing import Any

SEVERAL = (
    "There is a body of work on {phrase} [{place}].",
    "Much has been written about {phrase} [{place}].",
    "Several groups have turned to {phrase} [{place}].",
)
ONE = (
    "A gain for {phrase} was shown on {dataset} [{place}].",
    "For {phrase}, the results on {dataset} are of interest [{place}].",
    "Others took {dataset} to test ideas for {phrase} [{place}].",
)
FIRST = ("This section looks back.", "We begin with what is known.", "Some context is in order.")
LAST = ("None of this settles our question.", "We build on both.", "The gap between them is ours.")


def prepare(raw: Path, public: Path, private: Path, rng: Any) -> None:
    (private / "inputs").mkdir()
    (private / "development").mkdir()
    development = json.loads((raw / "development.json").read_text(encoding="utf-8"))
    hidden = json.loads((raw / "hidden.json").read_text(encoding="utf-8"))
    paragraphs, answers = compose(development, rng)
    cited = {name for places in answers.values() for ids in places.values() for name in ids}
    told = [record for record in records(development) if record["id"] in cited]
    value = {"paragraphs": paragraphs, "answers": answers, "records": told}
    write(public / "development.json", value)
    write(private / "development" / "records.json", records(development))
    paragraphs, answers = compose(hidden, rng)
    write(private / "inputs" / "paragraphs.json", paragraphs)
    write(private / "answers.json", answers)
    write(private / "records.json", records(hidden))


def compose(literature: dict[str, Any], rng: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Paragraphs with two places: one for all papers on a topic, one for a certain paper."""
    topics = literature["topics"]
    paragraphs, answers = {}, {}
    for number in range(len(topics) // 2):
        name = f"p{number + 1:02d}"
        one, several = topics[2 * number], topics[2 * number + 1]
        target, dataset = certain_paper(literature, one, rng)
        one_first = bool(rng.integers(2))
        places = ("1", "2") if one_first else ("2", "1")
        sentences = [
            draw(ONE, rng).format(phrase=one["phrase"], dataset=dataset, place=places[0]),
            draw(SEVERAL, rng).format(phrase=several["phrase"], place=places[1]),
        ]
        body = sentences if one_first else sentences[::-1]
        paragraphs[name] = " ".join([draw(FIRST, rng), *body, draw(LAST, rng)])
        answers[name] = {
            places[0]: [target],
            places[1]: [p["id"] for p in about(literature, several)],
        }
    return paragraphs, answers


def certain_paper(literature: dict[str, Any], topic: dict[str, Any], rng: Any) -> tuple[str, str]:
    """One of the papers on a topic, and its data set, which none of the others has."""
    papers = about(literature, topic)
    chosen = papers[int(rng.integers(len(papers)))]
    return chosen["id"], chosen["facts"]["dataset"]


def about(literature: dict[str, Any], topic: dict[str, Any]) -> list[dict[str, Any]]:
    return [paper for paper in literature["papers"] if paper["topic"] == topic["topic"]]


def draw(forms: tuple[str, ...], rng: Any) -> str:
    return forms[int(rng.integers(len(forms)))]


def records(literature: dict[str, Any]) -> list[dict[str, Any]]:
    hidden = ("topic", "facts")
    return [
        {key: value for key, value in paper.items() if key not in hidden}
        for paper in literature["papers"]
    ]


def write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
