"""Runs tool.py on the development paragraphs and scores its answers."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scoring import index, read_answer, score_answer


def main() -> None:
    development = json.loads(Path("development.json").read_text(encoding="utf-8"))
    records = index(development["records"])
    with tempfile.TemporaryDirectory() as scratch:
        inputs, outputs = Path(scratch, "inputs"), Path(scratch, "outputs")
        inputs.mkdir()
        outputs.mkdir()
        (inputs / "paragraphs.json").write_text(json.dumps(development["paragraphs"]))
        subprocess.run([sys.executable, "tool.py", str(inputs), str(outputs)], check=True)
        scores = []
        for name, right in development["answers"].items():
            citations, bibtex = read_answer(outputs / f"{name}.json")
            scores.append(score_answer(citations, bibtex, right, records))
            print(f"{name}: F1 {scores[-1]:.3f}")
    print(f"validation F1={sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
