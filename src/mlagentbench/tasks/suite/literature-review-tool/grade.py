"""Scores the reports on the hidden questions, as starter/scoring.py says."""

import ast
import json
import math
import statistics
import sys
from pathlib import Path

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, require_file

sys.path.insert(0, str(Path(__file__).parent / "starter"))
from scoring import BadReport, read_report, score_report

MAX_REPORT = 1_000_000
MAX_PROGRAM = 1_000_000


def check_format(submission: Path, public: Path) -> None:
    """The submission is a Python program."""
    require_file(submission, MAX_PROGRAM)
    try:
        ast.parse(submission.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSubmission(f"{submission.name} is not a Python program: {error}") from None


def grade(outputs: Path, private: Path) -> Grade:
    answers = json.loads((private / "answers.json").read_text(encoding="utf-8"))
    known = {record["id"] for record in json.loads((private / "records.json").read_text("utf-8"))}
    pairs, unresolved, missing = [], 0, []
    for name, right in answers.items():
        file = outputs / f"{name}.json"
        if not file.exists() and not file.is_symlink():
            missing.append(name)
            pairs.append((0.0, 0.0))
            continue
        require_file(file, MAX_REPORT)
        try:
            papers = read_report(file)
        except BadReport as error:
            raise InvalidSubmission(str(error)) from None
        unresolved += sum(paper["id"] not in known for paper in papers)
        pairs.append(score_report(papers, right))
    if len(missing) == len(answers):
        raise InvalidSubmission(f"no report was written; expected {missing[0]}.json and so on")
    scores = [(ndcg + facts) / 2 for ndcg, facts in pairs]
    score = statistics.fmean(scores)
    error = statistics.stdev(scores) / math.sqrt(len(scores))
    extra = {
        "ndcg": statistics.fmean(ndcg for ndcg, _ in pairs),
        "facts": statistics.fmean(facts for _, facts in pairs),
        "standard_error": error,
        "test_set_interval": resampled_interval(list(answers), scores),
        "questions": len(scores),
        "missing_reports": len(missing),
        "unresolved_citations": unresolved,
    }
    return Grade(score, extra)
