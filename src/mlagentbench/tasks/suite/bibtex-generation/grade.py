"""Scores the citations of the hidden paragraphs, as starter/scoring.py says."""

import ast
import json
import math
import statistics
import sys
from pathlib import Path

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, require_file

sys.path.insert(0, str(Path(__file__).parent / "starter"))
from scoring import BadAnswer, index, read_answer, score_answer

MAX_ANSWER = 1_000_000
MAX_PROGRAM = 1_000_000
MAX_CITED = 200


def check_format(submission: Path, public: Path) -> None:
    """The submission is a Python program."""
    require_file(submission, MAX_PROGRAM)
    try:
        ast.parse(submission.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSubmission(f"{submission.name} is not a Python program: {error}") from None


def grade(outputs: Path, private: Path) -> Grade:
    answers = json.loads((private / "answers.json").read_text(encoding="utf-8"))
    records = index(json.loads((private / "records.json").read_text(encoding="utf-8")))
    scores, missing = [], []
    for name, right in answers.items():
        file = outputs / f"{name}.json"
        if not file.exists() and not file.is_symlink():
            missing.append(name)
            scores.append(0.0)
            continue
        require_file(file, MAX_ANSWER)
        try:
            citations, bibtex = read_answer(file)
        except BadAnswer as error:
            raise InvalidSubmission(str(error)) from None
        if sum(map(len, citations.values())) > MAX_CITED:
            raise InvalidSubmission(f"{file.name} cites more than {MAX_CITED} papers")
        scores.append(score_answer(citations, bibtex, right, records))
    if len(missing) == len(answers):
        raise InvalidSubmission(f"no answer was written; expected {missing[0]}.json and so on")
    score = statistics.fmean(scores)
    error = statistics.stdev(scores) / math.sqrt(len(scores))
    extra = {
        "standard_error": error,
        "test_set_interval": resampled_interval(list(answers), scores),
        "paragraphs": len(scores),
        "missing_answers": len(missing),
    }
    return Grade(score, extra)
