# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Writes generate.py, one file made of findings.py and engine.py, and checks it.

What a checkpoint uses is found when it is loaded, which is not timed.
"""

import json
import subprocess
import sys
from pathlib import Path

from findings import find

IMPORT = "from findings import find\n"


def main(*ignored: str) -> None:
    print("findings", json.dumps(find(Path("model"))))
    engine = Path("engine.py").read_text()
    engine = engine.replace(
        "IGNORED: tuple[str, ...] = ()", f"IGNORED: tuple[str, ...] = {ignored}"
    )
    parts = [Path("findings.py").read_text(), engine.replace(IMPORT, "")]
    Path("generate.py").write_text("\n\n".join(parts))
    subprocess.run([sys.executable, "benchmark.py"], check=True)


if __name__ == "__main__":
    main()
