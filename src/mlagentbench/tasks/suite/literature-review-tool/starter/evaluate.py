"""Runs tool.py on the development questions and scores its reports."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scoring import read_report, score_report


def main() -> None:
    development = json.loads(Path("development.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        inputs, outputs = Path(scratch, "inputs"), Path(scratch, "outputs")
        inputs.mkdir()
        outputs.mkdir()
        (inputs / "questions.json").write_text(json.dumps(development["questions"]))
        subprocess.run([sys.executable, "tool.py", str(inputs), str(outputs)], check=True)
        scores = []
        for name, right in development["answers"].items():
            ndcg, facts = score_report(read_report(outputs / f"{name}.json"), right)
            print(f"{name}: nDCG@20 {ndcg:.3f}, facts {facts:.3f}")
            scores.append((ndcg + facts) / 2)
    print(f"validation score={sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
