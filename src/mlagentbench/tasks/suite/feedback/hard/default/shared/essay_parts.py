"""Reads the essays into their parts, tells apart the contexts of a reading, and fits block ridges."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
FACTORS = ["form", "room", "ink", "desk"]
AUXILIARY = re.compile(
    r"^(will|would|can|could|should|do|does|did|may|might|must|shall|has|have|had|is|are|was|were"
    r"|cannot)$|n'?t$"
)
CONNECTORS = {
    "contrast": "however|but|by contrast|even so|nevertheless|still|yet|on the other hand",
    "addition": "also|moreover|furthermore|in addition|likewise|similarly|and|besides",
    "result": "so|hence|therefore|thus|accordingly|consequently|as a result",
    "example": "for example|for instance|in fact|above all|in other words|in short|indeed",
    "order": "then|meanwhile|first|next|finally|later",
    "pair": "and then|and also|also then|but then|so then",
}
SUBORDINATORS = {
    "time": "when|whenever|while|until|once|after|before",
    "cause": "because|since|as",
    "contrast": "though|although|whereas",
    "condition": "if|unless",
}
ADVERBS = {
    "always": "always|forever|constantly|invariably|ceaselessly|ever",
    "some": "sometimes|occasionally|at times|now and then|often",
    "seldom": "seldom|rarely|hardly|never",
    "degree": "very|most|quite|truly|deeply|remarkably|really",
}
ADJECTIVES = [
    "big vast immense hefty considerable ample large huge",
    "small tiny minute slight compact modest little",
    "happy glad cheerful merry delighted content",
    "sad gloomy mournful downcast bleak dismal grim",
    "important vital crucial key essential",
    "strange odd bizarre eerie uncanny peculiar quaint",
    "dangerous risky unsafe hazardous perilous dicey",
    "famous renowned noted eminent celebrated fabled",
    "easy simple effortless painless smooth plain",
    "hard difficult tough tricky arduous steep",
    "beautiful lovely charming elegant graceful",
    "expensive costly pricey dear lavish",
    "bad foul dire harmful damaging grave",
    "good fine sound fair apt valuable rewarding",
    "interesting engaging curious vivid keen novel",
    "different distinct varied diverse unlike",
]
COLLOCATIONS = {
    "make": "mistakes efforts promises plans decisions progress arguments money friends speeches",
    "take": "notes pictures photographs risks turns steps breaks exercise buses trains",
    "pay": "attention fines bills respect visits",
    "give": "advice speeches examples presents orders courage",
    "keep": "secrets promises diaries records pets silences",
    "break": "rules laws promises habits records silences windows",
    "tell": "lies truths stories jokes tales secrets",
    "win": "prizes trophies elections races arguments medals",
    "catch": "thieves buses trains colds fish attention",
    "solve": "puzzles problems mysteries equations riddles",
    "reach": "goals agreements conclusions decisions heights limits",
    "draw": "pictures maps sketches conclusions crowds attention",
    "raise": "money funds voices children doubts",
    "show": "respect interest mercy courage talent progress",
}


def load() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training rows, with the time of reading understood, and the test rows."""
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    train["read_at"] = pd.to_datetime(train["read_at"])
    return train, test


def clause_parts(clause: str) -> dict[str, str]:
    """What fills the places of a clause: adjective, subject, adverb, auxiliary, verb, object."""
    words = clause.split()
    parts = {"adjective": words[0], "subject": words[1]} if len(words) > 1 else {}
    places = [i for i, word in enumerate(words) if i > 1 and AUXILIARY.search(word)]
    if parts and places:
        at = places[0]
        parts["adverb"] = " ".join(words[2:at])
        parts["auxiliary"] = words[at]
        rest = words[at + 1 :]
        if rest:
            parts["verb"] = rest[0]
            parts["object"] = rest[-1] if len(rest) > 1 else ""
            parts["object_adjective"] = " ".join(rest[1:-1])
    return parts


def sentence_parts(sentence: str) -> dict:
    """The connector, the subordinator and the clauses of a sentence."""
    lowered = sentence.lower().strip().rstrip(".!?")
    head, _, body = (" " + lowered).partition(" the ")
    words = head.split()
    known = "|".join(SUBORDINATORS.values()).split("|")
    subordinator = words.pop() if words and words[-1] in known else ""
    clauses = [clause_parts(c) for c in re.split(r",? the (?=\w+ \w+)", body) if c.strip()]
    return {
        "connector": " ".join(words).strip(","),
        "subordinator": subordinator,
        "clauses": clauses,
        "words": len(lowered.split()),
    }


def parse(text: str) -> list[list[dict]]:
    """The paragraphs of an essay as lists of sentences."""
    paragraphs = [p for p in re.split(r"\n\s*\n|\n", text) if p.strip()]
    split = [re.split(r"(?<=[.!?])\s+", p.strip()) for p in paragraphs]
    return [[sentence_parts(s) for s in sentences if s.strip()] for sentences in split]


def variety(items: list[str]) -> float:
    """Different ones among the items, against what their number lets expect."""
    return len(set(items)) / np.sqrt(len(items)) if items else 0.0


def class_rates(items: list[str], classes: dict[str, str], per: int) -> list[float]:
    """How often each class occurs among the items."""
    return [sum(i in names.split("|") for i in items) / per for names in classes.values()]


def slots(essay: list[list[dict]]) -> dict[str, list[str]]:
    """All fillers of each place, over the essay."""
    sentences = [s for paragraph in essay for s in paragraph]
    clauses = [c for s in sentences for c in s["clauses"]]
    found = {
        name: [c[name] for c in clauses if c.get(name)]
        for name in ("subject", "adverb", "auxiliary", "verb", "object")
    }
    found["adjective"] = [
        c[name] for c in clauses for name in ("adjective", "object_adjective") if c.get(name)
    ]
    found["connector"] = [s["connector"] for s in sentences if s["connector"]]
    found["subordinator"] = [s["subordinator"] for s in sentences if s["subordinator"]]
    return found


def core(text: str, essay: list[list[dict]], lift: dict, on_topic: dict) -> list[float]:
    """Rates, varieties and agreements that a teacher might value."""
    sentences = [s for paragraph in essay for s in paragraph]
    clauses = [c for s in sentences for c in s["clauses"]]
    n, m = max(len(sentences), 1), max(len(clauses), 1)
    of = slots(essay)
    negated = [c for c in clauses if "n't" in c.get("auxiliary", "")]
    pairs = [(c["verb"], c["object"]) for c in clauses if c.get("object")]
    lifts = [lift.get(p, 0.0) for p in pairs] or [0.0]
    topic = [on_topic.get((a, b), 0.0) for a in of["subject"] for b in of["subject"] if a != b]
    basics = {group.split()[0] for group in ADJECTIVES}
    group_of = {word: i for i, group in enumerate(ADJECTIVES) for word in group.split()}
    groups = Counter(group_of.get(a, -1) for a in of["adjective"])
    starts = [s["connector"] != "" for paragraph in essay for s in paragraph[:1]]
    subjects = [c.get("subject") for c in clauses]
    repeated = [a == b for a, b in pairwise(subjects)]
    again = [a == b for a, b in pairwise(of["connector"])]
    lengths = [s["words"] for s in sentences] or [0]
    row = [np.log(n), len(essay), np.log(n / max(len(essay), 1)), np.mean(lengths), np.std(lengths)]
    row += [np.std([len(p) for p in essay] or [0]), np.mean(starts or [0])]
    row += [len(of["connector"]) / n, len(of["subordinator"]) / n, len(of["adverb"]) / m]
    row += [len(of["adjective"]) / m, len(negated) / m]
    row += [variety(of[name]) for name in sorted(of)]
    row += class_rates(of["connector"], CONNECTORS, n)
    row += [sum(" " in c for c in of["connector"]) / n]
    row += class_rates(of["subordinator"], SUBORDINATORS, n)
    row += class_rates(of["adverb"], ADVERBS, m)
    row += class_rates([c.get("adverb", "") for c in negated], ADVERBS, m)
    row += [sum(c["auxiliary"] == "don't" for c in negated) / m]
    row += [np.mean([a in basics for a in of["adjective"]] or [0])]
    row += [np.mean([len(a) for a in of["adjective"]] or [0]), len(groups)]
    row += [sum(k - 1 for k in Counter(of["adjective"]).values()) / max(len(of["adjective"]), 1)]
    row += [np.mean([o in COLLOCATIONS.get(v, "").split() for v, o in pairs] or [0])]
    row += [np.mean(lifts), np.mean(np.array(lifts) > 0.3), np.mean(topic or [0])]
    row += [np.mean(repeated or [0]), np.mean(again or [0])]
    row += [text.count(",") / n, text.count("'") / m, sum(c.isupper() for c in text) / n]
    return row


def log_lift(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """How much more often than by chance two words go together, as a logarithm."""
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    return {
        (a, b): float(np.log((k + 3) / (left[a] * right[b] / len(pairs) + 3)))
        for (a, b), k in Counter(pairs).items()
    }


def standardised(matrix: np.ndarray) -> np.ndarray:
    """The columns that vary, with mean 0 and deviation 1, and no far outliers."""
    spread = matrix.std(axis=0)
    kept = matrix[:, spread > 1e-9]
    return np.clip((kept - kept.mean(axis=0)) / kept.std(axis=0), -4, 4)


def text_blocks(texts: list[str]) -> list[np.ndarray]:
    """The features of the essays in blocks; the first holds the core."""
    essays = [parse(text) for text in texts]
    clauses = [[c for p in e for s in p for c in s["clauses"]] for e in essays]
    pairs = [(c["verb"], c["object"]) for e in clauses for c in e if c.get("object")]
    together = [
        (a, b)
        for e in clauses
        for names in [sorted({c["subject"] for c in e if c.get("subject")})]
        for a in names
        for b in names
        if a != b
    ]
    lift, topic = log_lift(pairs or [("", "")]), log_lift(together or [("", "")])
    rows = [core(t, e, lift, topic) for t, e in zip(texts, essays, strict=True)]
    first = standardised(np.array(rows, dtype=float))
    blocks = [first, standardised(first**2)]
    fillers = [slots(e) for e in essays]
    for name in ("connector", "subordinator", "adverb", "auxiliary", "adjective", "verb", "object"):
        counts = [Counter(f[name]) for f in fillers]
        total = Counter()
        for c in counts:
            total.update(c.keys())
        words = sorted(w for w, k in total.items() if k >= len(texts) / 100)
        if words:
            lengths = [max(len(f["verb"]), 1) for f in fillers]
            share = [[c[w] / k for w in words] for c, k in zip(counts, lengths, strict=True)]
            blocks.append(standardised(np.array(share)))
    return blocks


class BlockRidge:
    """A ridge whose penalty of each block, and noise, are found by the evidence."""

    def __init__(self, blocks: list[np.ndarray], rounds: int = 12):
        self.x = np.hstack(blocks)
        self.block = np.repeat(np.arange(len(blocks)), [b.shape[1] for b in blocks])
        self.rounds = rounds

    def fit_predict(self, rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Fit to the rows that are named, and predict all of them."""
        share = weight / weight.sum()
        centre, mean = share @ self.x[rows], float(share @ y)
        root = np.sqrt(weight * len(y) / weight.sum())
        x, t = (self.x[rows] - centre) * root[:, None], (y - mean) * root
        gram, cross, total = x.T @ x, x.T @ t, float(t @ t)
        sizes = np.bincount(self.block)
        noise = total / len(t)
        alpha = sizes * len(sizes) / (0.3 * noise)
        w = np.zeros(len(cross))
        for _ in range(self.rounds):
            inverse = np.linalg.inv(gram / noise + np.diag(alpha[self.block]))
            w = inverse @ cross / noise
            used = sizes - alpha * np.bincount(self.block, np.diag(inverse))
            power = np.bincount(self.block, w**2)
            alpha = np.clip((used + 0.1) / (power + 1e-7), 1e-2, 1e7)
            squares = total - 2 * w @ cross + w @ gram @ w
            noise = max(squares / max(len(t) - used.sum(), 1), 1e-3)
        return mean + (self.x - centre) @ w


def base_contexts(readings: pd.DataFrame) -> dict[str, np.ndarray]:
    """Simple halves and parts of the readings, as 0 or 1."""
    day = readings["read_at"].dt.normalize()
    hour = readings["read_at"].dt.hour + readings["read_at"].dt.minute / 60
    found = {f: (readings[f] == readings[f].dropna().min()).to_numpy() for f in FACTORS}
    for d in sorted(day.unique())[1:]:
        found[f"from {d:%m-%d}"] = (day >= d).to_numpy()
    for share in (0.2, 0.35, 0.5, 0.65, 0.8):
        found[f"hour {share}"] = (hour >= hour.quantile(share)).to_numpy()
    for k in range(5):
        found[f"weekday {k}"] = (readings["read_at"].dt.weekday == k).to_numpy()
    place = readings.groupby(["rater", day])["read_at"].rank(pct=True)
    found["late in the pile"] = (place > 0.5).to_numpy()
    for r in sorted(readings["rater"].unique()):
        found[f"rater {r}"] = (readings["rater"] == r).to_numpy()
    return {name: f.astype(float) for name, f in found.items() if 0.03 < f.mean() < 0.97}


def contexts(readings: pd.DataFrame) -> dict[str, np.ndarray]:
    """The simple contexts, and two of them together in all ways."""
    base = base_contexts(readings)
    found = dict(base)
    names = list(base)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if a.split()[0] == b.split()[0] or not {a, b} & {*FACTORS, "late in the pile"}:
                continue
            p, q = base[a], base[b]
            for kind, f in (
                ("xor", np.abs(p - q)),
                ("and", p * q),
                ("and not", p * (1 - q)),
                ("not and", (1 - p) * q),
                ("nor", (1 - p) * (1 - q)),
            ):
                if 0.05 < f.mean() < 0.95:
                    found[f"{a} {kind} {b}"] = f
    return found


def without_levels(readings: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """The ratings without the level of each rater and of each circumstance."""
    level = pd.get_dummies(readings[["rater", *FACTORS]]).to_numpy(float)
    level = np.hstack([level, np.ones((len(y), 1))])
    return y - level @ np.linalg.lstsq(level, y, rcond=None)[0]


def modulators(readings: pd.DataFrame, x: np.ndarray, most: int = 3) -> list[np.ndarray]:
    """The contexts that change what the text does to the ratings, the strongest first."""
    y = without_levels(readings, readings[TARGETS].to_numpy(float))
    y /= y.std(axis=0)
    found = contexts(readings)
    root = np.linalg.cholesky(np.linalg.inv(x.T @ x / len(x) + 0.05 * np.eye(x.shape[1])))
    white = x @ root
    chosen, design = [], [white]
    for _ in range(most):
        whole = np.hstack(design)
        ridge = whole.T @ whole + 30 * np.eye(whole.shape[1])
        rest = y - whole @ np.linalg.solve(ridge, whole.T @ y)
        noise = rest.var(axis=0)
        best = (0.0, "")
        for name, f in found.items():
            centred = (f - f.mean()) / f.std()
            score = ((white * centred[:, None]).T @ rest) ** 2 / len(x) / noise
            excess = (score.sum(axis=0) - x.shape[1]) / np.sqrt(2 * x.shape[1])
            value = max(excess.sum() / np.sqrt(6), excess.max())
            value -= 5.0 if len(name.split()) > 2 and (set(name.split()) & JOINING) else 3.5
            best = max(best, (float(value), name))
        if not best[1]:
            break
        f = found.pop(best[1])
        chosen.append(f)
        design.append(white * ((f - f.mean()) / f.std())[:, None])
    return chosen


JOINING = {"xor", "and", "nor"}


def cells(chosen: list[np.ndarray], n: int) -> np.ndarray:
    """The number of the cell in which each reading lies."""
    label = np.zeros(n, dtype=int)
    for f in chosen:
        label = 2 * label + (f > 0.5)
    return np.unique(label, return_inverse=True)[1]


def calibrated(
    predicted: np.ndarray, truth: np.ndarray, noise: float = 0.3, doubt: float = 0.35
) -> tuple[float, float]:
    """Level and slope that carry predictions to the panel's scale; the slope is held near 1."""
    centred = predicted - predicted.mean()
    precision = centred @ centred / noise**2 + 1 / doubt**2
    slope = (centred @ (truth - truth.mean()) / noise**2 + 1 / doubt**2) / precision
    return float(truth.mean() - slope * predicted.mean()), float(slope)


def write(test: pd.DataFrame, predicted: np.ndarray) -> None:
    """The submission."""
    submission = pd.DataFrame(np.clip(predicted, 1, 5), columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"].to_numpy())
    submission.to_csv("submission.csv", index=False)
