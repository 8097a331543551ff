"""Write natural_labels.json: what journals state themselves, and what was labelled by eye.

Also split.json: families that it does not know yet get a half, the others keep theirs.

By docs/evaluation/codebook.md. Statuses, faults and events are read off mechanically; everything
else was decided by reading the journals, and stands in BY_EYE with its reason.
"""

import json

from corpus import NATURAL, NATURAL_LABELS, SPLIT, Label, StoredRun, half_of, read_run, split

EXECUTIONS = ("Execute Script", "Python REPL")
NO_ACTIONS = ("Unusable Reply", "No Code")
CRASH_FORMS = {"wall time": "time", "memory": "memory", None: "exit"}

RESTORED = Label(
    kind="edit-never-run",
    steps=(9,),
    doubtful=True,
    why="an undo brings back a version that had been run, and is edited again at once",
)
BY_EYE: dict[str, tuple[Label, ...]] = {
    "house-price-research-recorded": (RESTORED,),
    "house-price-research-replay": (RESTORED,),
    "house-price-research-replay-8313": (RESTORED,),
    "house-price-research-replay-b392": (RESTORED,),
    "feedback-research-hand-fb2": (
        Label(
            kind="plan-step-never-attempted",
            steps=(10,),
            why="4. length/grammar features - not started",
        ),
    ),
    "vectorization-act-tiny-0281-2": (
        Label(
            kind="unsupported-claim",
            steps=(3,),
            doubtful=True,
            why="a sentence with 25% and a score, in a reply without any field",
        ),
    ),
    "vectorization-react-hand-vec1": (
        Label(
            kind="unsupported-claim",
            steps=(10,),
            doubtful=True,
            why="0.85 ms: seen as 0.00085 s; the codebook knows factors of 100 only",
        ),
    ),
}


def stated(run: StoredRun) -> list[Label]:
    """What the journal itself says: unreadable replies, invalid actions, errors, refusals."""
    history = run.history
    last = len(history.steps)
    steps = {reply.n: min(reply.step, last) for reply in history.replies}
    found = [
        Label(kind="unreadable-reply", steps=(steps[event.reply],), form=event.form or "")
        for event in history.events
        if event.event == "unreadable" and event.reply is not None
    ]
    for step in history.steps:
        seen, name = step.observation, step.action.name
        if seen.fault is not None:
            found.append(Label(kind="invalid-action", steps=(step.n,), form=seen.fault))
        elif seen.status == "refused":
            found.append(Label(kind="boundary", steps=(step.n,), level="refused"))
        elif name in EXECUTIONS and seen.status in ("error", "limit"):
            form = CRASH_FORMS.get(seen.limit, "limit")
            found.append(Label(kind="crash", steps=(step.n,), form=form))
        elif seen.status == "error" and name == "Validate Submission":
            found.append(Label(kind="submission-format", steps=(step.n,)))
        elif seen.status == "error" and name not in NO_ACTIONS:
            found.append(Label(kind="tool-error", steps=(step.n,)))
    for grade in run.grades[-1:]:
        if grade.step == last and not grade.valid:
            form = "missing" if "not found" in (grade.reason or "") else ""
            found.append(Label(kind="submission-format", steps=(last,), form=form))
    return found


def main() -> None:
    names = set()
    halves = split() if SPLIT.exists() else {}
    entries = {}
    for path in sorted(NATURAL.glob("*.json.gz")):
        run = read_run(path)
        names.add(run.name)
        halves.setdefault(run.family, half_of(run.family))
        labels = [*stated(run), *BY_EYE.get(run.name, ())]
        if labels:
            entries[run.name] = [label.model_dump(exclude_defaults=True) for label in labels]
    if strangers := set(BY_EYE) - names:
        raise SystemExit(f"labels of runs that are not there: {sorted(strangers)}")
    lines = [
        f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, labels)) + "\n ]"
        for name, labels in entries.items()
    ]
    NATURAL_LABELS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    SPLIT.write_text(json.dumps(halves, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
