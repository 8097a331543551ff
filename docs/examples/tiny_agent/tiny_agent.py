"""A whole agent in one file, without any package: asks the model for a script, runs it, and again.

docs/agents/external.md says how it is run.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

TOLD = {key.removeprefix("MLAGENTBENCH_"): value for key, value in os.environ.items()}
SHOWN = 4_000
RULES = """
You work in a folder with the files that the problem names. Answer each time with one script, as
```bash or ```python in a block of its own. It is run there, and you are told what it printed. When
{SUBMISSION} is as good as you can make it, answer with the single word DONE instead.
"""


def ask(messages: list[dict[str, str]]) -> str:
    """What the model says next."""
    request = urllib.request.Request(
        f"{TOLD['MODEL_URL']}/v1/chat/completions",
        data=json.dumps({"model": TOLD["MODEL"], "messages": messages}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"] or ""


def run(language: str, script: str) -> str:
    """What a script printed, and how it ended."""
    command = {"bash": ["bash", "-c"], "python": [sys.executable, "-c"]}[language]
    limit = float(TOLD["COMMAND_SECONDS"])
    try:
        done = subprocess.run(
            [*command, script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return f"It was ended after {limit:g} s."
    output = done.stdout.decode("utf-8", "replace")[-SHOWN:]
    return f"{output}\n[exit code {done.returncode}]"


def main() -> None:
    problem = Path(TOLD["PROBLEM"]).read_text(encoding="utf-8")
    messages = [{"role": "user", "content": problem + RULES.format(**TOLD)}]
    while True:
        reply = ask(messages)
        print(reply, flush=True)
        block = re.search(r"```(bash|python)\n(.*?)```", reply, re.DOTALL)
        if block is None and "DONE" in reply:
            return
        result = run(block[1], block[2]) if block else "There is no bash or python block in it."
        print(result, flush=True)
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": result}]


if __name__ == "__main__":
    main()
