"""Two task folders: one whose scores are its seeds, and one with real data to be learnt from."""

from pathlib import Path

from task_folders import task_toml, write_task_folder

from mlagentbench.tasks.task import Task, load_folder

SEED_TASK = {
    "mini.py": """
        def make(raw, rng):
            (raw / "number.txt").write_text(str(rng.random()))
        """,
    "prepare.py": """
        import shutil
        def prepare(raw, public, private, rng):
            shutil.copyfile(raw / "number.txt", public / "number.txt")
            (private / "ceiling.txt").write_text("5.0")
        """,
    "starter/train.py": """
        import os
        from pathlib import Path
        score = int(os.environ["MLAGENTBENCH_SEED"]) % 1000 / 1000
        Path("score.txt").write_text(str(score))
        """,
    "solution/solution.py": """
        import os
        from pathlib import Path
        score = 2 + int(os.environ["MLAGENTBENCH_SEED"]) % 1000 / 1000
        Path("score.txt").write_text(str(score))
        """,
    "trivial.py": """
        def predictors(public):
            return {"small": "0.1", "large": "0.75"}
        def known_good(public):
            return "0.1"
        """,
    "grade.py": """
        from mlagentbench_task import Grade, InvalidSubmission
        def grade(outputs, private):
            score = float((outputs / "score.txt").read_text())
            if score < 0:
                raise InvalidSubmission("negative")
            return Grade(score)
        def check_format(submission, public):
            float(submission.read_text())
        def ceiling(private):
            return float((private / "ceiling.txt").read_text())
        """,
}
"""A submission is a number, and that is its score."""

LEARNING_TASK = {
    "mini.py": """
        import numpy as np
        ROWS, FEATURES = 600, 9
        def make(raw, rng):
            x = rng.normal(size=(ROWS, FEATURES)).round(3)
            clean = x.sum(axis=1) > 0
            flipped = rng.random(ROWS) < 0.05
            np.save(raw / "x.npy", x)
            np.save(raw / "clean.npy", clean)
            np.save(raw / "y.npy", clean ^ flipped)
        """,
    "prepare.py": """
        import numpy as np
        def prepare(raw, public, private, rng):
            x, y, clean = (np.load(raw / f"{name}.npy") for name in ("x", "y", "clean"))
            order = rng.permutation(len(x))
            x, y, clean = x[order], y[order], clean[order]
            ids = rng.choice(900_000, len(x), replace=False) + 100_000
            half = len(x) // 2
            features = [f"x{k}" for k in range(x.shape[1])]
            rows = [[i, *values] for i, values in zip(ids, x)]
            labels = [[i, int(label)] for i, label in zip(ids, y)]
            write(public / "train.csv", ["id", *features, "y"],
                  [[*row, int(label)] for row, label in zip(rows[:half], y)])
            write(public / "test.csv", ["id", *features], rows[half:])
            write(public / "sample_submission.csv", ["id", "y"], [[i, 0] for i in ids[half:]])
            write(private / "answers.csv", ["id", "y"], labels[half:])
            write(private / "clean.csv", ["id", "y"],
                  [[i, int(label)] for i, label in zip(ids[half:], clean[half:])])
        def write(file, header, rows):
            lines = [",".join(map(str, row)) for row in [header, *rows]]
            file.write_text("\\n".join(lines) + "\\n")
        """,
    "starter/train.py": """
        import os
        import numpy as np
        rng = np.random.default_rng(int(os.environ["MLAGENTBENCH_SEED"]))
        train = np.loadtxt("train.csv", delimiter=",", skiprows=1)
        test = np.loadtxt("test.csv", delimiter=",", skiprows=1)
        chosen = train[rng.choice(len(train), 60, replace=False)]
        threshold = sum(chosen[chosen[:, -1] == k, 1].mean() for k in (0, 1)) / 2
        predicted = (test[:, 1] > threshold).astype(int)
        with open("submission.csv", "w") as file:
            file.write("id,y\\n")
            file.writelines(f"{int(i)},{y}\\n" for i, y in zip(test[:, 0], predicted))
        """,
    "solution/solution.py": """
        import numpy as np
        train = np.loadtxt("train.csv", delimiter=",", skiprows=1)
        test = np.loadtxt("test.csv", delimiter=",", skiprows=1)
        weights, *_ = np.linalg.lstsq(train[:, 1:-1], 2 * train[:, -1] - 1, rcond=None)
        predicted = (test[:, 1:] @ weights > 0).astype(int)
        with open("submission.csv", "w") as file:
            file.write("id,y\\n")
            file.writelines(f"{int(i)},{y}\\n" for i, y in zip(test[:, 0], predicted))
        """,
    "trivial.py": """
        def predictors(public):
            header, *rows = (public / "test.csv").read_text().split()
            constant = "\\n".join(f"{row.split(',')[0]},1" for row in rows)
            return {"all ones": f"id,y\\n{constant}\\n"}
        """,
    "grade.py": """
        from mlagentbench_task import Grade, finite_numbers, read_table, rows_in_order
        def grade(outputs, private):
            answers = read_table(private / "answers.csv", ["id", "y"])
            return Grade(accuracy(outputs / "submission.csv", answers))
        def accuracy(file, answers):
            submission = read_table(file, ["id", "y"])
            rows = rows_in_order(submission["id"], answers["id"])
            values = finite_numbers(submission["y"], "y")
            hits = [values[row] == float(y) for row, y in zip(rows, answers["y"])]
            return sum(hits) / len(hits)
        def check_format(submission, public):
            expected = read_table(public / "sample_submission.csv", ["id", "y"])
            table = read_table(submission, ["id", "y"])
            rows_in_order(table["id"], expected["id"])
            finite_numbers(table["y"], "y")
        def ceiling(private):
            answers = read_table(private / "answers.csv", ["id", "y"])
            return accuracy(private / "clean.csv", answers)
        """,
}
"""Half of the rows are to be predicted; every feature tells a ninth of the answer."""


def write_folder(folder: Path, files: dict[str, str], submission: str = "submission.csv") -> Task:
    """Write a task folder; its name is its id."""
    toml = task_toml(
        folder.name,
        metric="score",
        better="higher",
        submission=submission,
        requirements=["numpy", "scikit-learn"],
    )
    write_task_folder(folder, toml, files)
    return load_folder(folder)


HARD_TASK = {
    **SEED_TASK,
    "hard/make.py": """
        import json
        SIGNS = {"eval": (1, -1), "train": (2, -2)}
        def make(public, private, rng, pool):
            sign = int(rng.choice(SIGNS[pool]))
            (public / "number.txt").write_text(str(rng.random() * sign))
            (private / "ceiling.txt").write_text("5.0")
            (private / "mechanisms.json").write_text(json.dumps({"sign": sign}))
        """,
    "hard/problem.md": "Predict y, whose sign differs.",
    "hard/starter/train.py": 'open("score.txt", "w").write("0.5")',
    "hard/default/plain.py": 'open("score.txt", "w").write("1.0")',
    "hard/default/tuned.py": 'open("score.txt", "w").write("1.25")',
    "hard/ablations/almost.py": 'open("score.txt", "w").write("1.5")',
    "hard/solution/findings.py": """
        def find(number):
            return {"is_positive": number > 0}
        """,
    "hard/solution/solution.py": """
        from pathlib import Path
        from findings import find
        found = find(float(Path("number.txt").read_text()))
        print("findings", found)
        Path("score.txt").write_text("3.5")
        """,
}
"""The same with a hard tier: a default is better than the starter, and an ablation than these."""
