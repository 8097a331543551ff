"""Questions and papers: those for development are told, the hidden ones are not.

PUBLIC/development.json            questions and answers
PRIVATE/development/records.json   what the search service knows while an agent works
PRIVATE/records.json               and at grading
PRIVATE/inputs/questions.json      the hidden questions
PRIVATE/answers.json               question -> paper -> facts
"""

import json
from pathlib import Path
from typing import Any

FORMS = (
    "What is known about {phrase}?",
    "Which methods have been tried for {phrase}?",
    "How far has research on {phrase} come?",
    "Who has worked on {phrase}, and with what result?",
)


def prepare(raw: Path, public: Path, private: Path, rng: Any) -> None:
    (private / "inputs").mkdir()
    (private / "development").mkdir()
    development = json.loads((raw / "development.json").read_text(encoding="utf-8"))
    hidden = json.loads((raw / "hidden.json").read_text(encoding="utf-8"))
    questions, answers = ask(development, rng)
    write(public / "development.json", {"questions": questions, "answers": answers})
    write(private / "development" / "records.json", records(development))
    questions, answers = ask(hidden, rng)
    write(private / "inputs" / "questions.json", questions)
    write(private / "answers.json", answers)
    write(private / "records.json", records(hidden))


def ask(literature: dict[str, Any], rng: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """A question about each topic, and the papers that belong into its answer, with their facts."""
    questions, answers = {}, {}
    for number, topic in enumerate(literature["topics"], start=1):
        name = f"q{number:02d}"
        form = FORMS[int(rng.integers(len(FORMS)))]
        questions[name] = form.format(phrase=topic["phrase"])
        answers[name] = {
            paper["id"]: paper["facts"]
            for paper in literature["papers"]
            if paper["topic"] == topic["topic"]
        }
    return questions, answers


def records(literature: dict[str, Any]) -> list[dict[str, Any]]:
    hidden = ("topic", "facts")
    return [
        {key: value for key, value in paper.items() if key not in hidden}
        for paper in literature["papers"]
    ]


def write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
