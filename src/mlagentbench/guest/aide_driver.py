"""Runs AIDE in the sandbox; takes the arguments of AIDE's command line.

AIDE decides and asks as it does by itself. This program adds to its loop:

- the workspace always has the submission of the best node so far;
- a script that leaves no submission has failed, and its output says so;
- the task, not the review, says whether a higher or a lower metric is better;
- an unusable reply or a dying script ends a step, not the run;
- the tree is kept in the workspace, and AIDE resumes it when it is started again;
- where a program is asked for that makes the submission again, it is one that runs the best script.
"""

import os
import random
import shlex
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

from aide.agent import Agent
from aide.interpreter import ExecutionResult, Interpreter
from aide.journal import Journal, Node
from aide.utils import serialize
from aide.utils.config import load_cfg, load_task_desc, prep_agent_workspace
from aide.utils.metric import MetricValue, WorstMetricValue

WORKSPACE = Path.cwd()
AIDE_FOLDER = WORKSPACE / "aide"
TREE = AIDE_FOLDER / "tree.json"
SUBMISSION = os.environ["MLAGENTBENCH_SUBMISSION"]
MAXIMIZE = os.environ["MLAGENTBENCH_BETTER"] == "higher"
PROGRAM = os.environ.get("MLAGENTBENCH_PROGRAM")
PROGRAM_TEXT = """set -e
rm -rf again
mkdir -p again/input "again/working/$(dirname {submission})" "$(dirname {submission})"
for entry in *; do
    [ "$entry" = again ] || [ "$entry" = aide ] || ln -s "../../$entry" "again/input/$entry"
done
(cd again && PYTHONPATH=. python ../aide/best_solution.py)
rm -rf {submission}
cp -r again/working/{submission} {submission}
"""


def main() -> None:
    cfg = load_cfg()
    link_data(Path(cfg.data_dir))
    prep_agent_workspace(cfg)
    journal = serialize.load_json(TREE, Journal) if TREE.exists() else Journal()
    random.seed(f"{os.environ['MLAGENTBENCH_SEED']}-{len(journal)}")
    search = Search(cfg, journal)
    for _ in range(len(journal), cfg.agent.steps):
        search.step()
    search.interpreter.cleanup_session()


def link_data(folder: Path) -> None:
    """Show AIDE the files of the workspace, except its own."""
    folder.mkdir(parents=True)
    for entry in WORKSPACE.iterdir():
        if entry != AIDE_FOLDER:
            (folder / entry.name).symlink_to(entry)


class Search:
    """AIDE's agent, interpreter and journal."""

    def __init__(self, cfg: Any, journal: Journal) -> None:
        self.journal = journal
        self.agent = Agent(task_desc=load_task_desc(cfg), cfg=cfg, journal=journal)
        self.interpreter = Interpreter(cfg.workspace_dir, **cfg.exec)
        self.written = Path(cfg.workspace_dir) / "working" / SUBMISSION

    def step(self) -> None:
        """Add one node, unless AIDE cannot use the model's reply."""
        nodes = len(self.journal)
        try:
            self.agent.step(exec_callback=self.run)
        except Exception:  # noqa: BLE001 (AIDE does not check what the model says)
            traceback.print_exc()
        if len(self.journal) > nodes:
            self.keep(self.journal.nodes[-1])

    def run(self, code: str, reset_session: bool) -> ExecutionResult:
        """Run a node's script."""
        remove(self.written)
        try:
            result = self.interpreter.run(code, reset_session)
        except RuntimeError as error:
            self.interpreter.cleanup_session()
            result = ExecutionResult([f"{error}\n"], 0.0, "RuntimeError", {}, [])
        if not self.written.exists():
            result.term_out.append(f"\nThere is no ./working/{SUBMISSION}: it was not written.\n")
        return result

    def keep(self, node: Node) -> None:
        """Score a new node by the task's rules, and submit its output if it is the best."""
        if not self.written.exists():
            node.is_buggy, node.metric = True, WorstMetricValue()
        elif not node.is_buggy:
            node.metric = MetricValue(node.metric.value, maximize=MAXIMIZE)
        if self.journal.get_best_node() is node:
            copy(self.written, WORKSPACE / SUBMISSION)
            (AIDE_FOLDER / "best_solution.py").write_text(node.code, encoding="utf-8")
            if PROGRAM is not None:
                text = PROGRAM_TEXT.format(submission=shlex.quote(SUBMISSION))
                (WORKSPACE / PROGRAM).write_text(text, encoding="utf-8")
        serialize.dump_json(self.journal, TREE)
        said = f"{node.term_out}\nAIDE: node {node.step}, {node.stage_name}: {node.metric}\n"
        sys.stdout.write(said)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def copy(source: Path, target: Path) -> None:
    """Replace a file or folder by a copy of another."""
    remove(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
