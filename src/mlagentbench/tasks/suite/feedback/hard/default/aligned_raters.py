# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Finds which skill each column of each rater follows, undoes it, calibrates on the panel."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import re
from collections import Counter

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
NOUNS = set(
    "library locker teacher student principal subject uniform lesson river forest farmer engineer "
    "garden park insect animal oven cook kitchen meal apple recipe restaurant guest street station "
    "tower crowd bridge apartment mayor neighbour passport hotel suitcase ticket village island "
    "airport train match medal athlete exercise team injury trainer stadium".split()
)
PLURALS = {n + "s" for n in NOUNS} | {"libraries", "injuries", "matches"}
COMMON_ADJECTIVES = set("dangerous easy important different happy sad strange interesting".split())
RARE_ADJECTIVES = set(
    "perilous hazardous risky dicey effortless simple painless smooth crucial key essential vital "
    "grave distinct diverse varied glad merry content delighted gloomy dismal bleak downcast eerie "
    "odd quaint peculiar uncanny curious vivid keen novel".split()
)
ADJECTIVES = COMMON_ADJECTIVES | RARE_ADJECTIVES
COMMON_OTHERS = set("always sometimes very help helps think thinks".split())
RARE_ADVERBS = set(
    "ceaselessly constantly forever invariably occasionally seldom rarely now_and_then".split()
)
ADVERBS = RARE_ADVERBS | {"always", "sometimes"}
RARE_VERBS = "assist support back serve believe claim hold maintain".split()
RARE_OTHERS = (
    RARE_ADVERBS
    | set("deeply quite most remarkably".split())
    | set(RARE_VERBS)
    | {v + "s" for v in RARE_VERBS}
)
OBJECT_VERBS = "catch break raise win take keep give show".split()
VERBS = {v: (v, False) for v in [*OBJECT_VERBS, *RARE_VERBS, "help", "think"]}
VERBS |= {v + ("es" if v == "catch" else "s"): (v, True) for v in list(VERBS)}
VERBS |= {"are": ("be", False), "is": ("be", True)}
OBJECTS = set(
    "buses trains fish thieves laws rules records silences windows money funds doubts voices races "
    "trophies elections arguments notes photographs risks turns secrets promises pets advice "
    "presents speeches orders mercy interest courage patience".split()
)
AUXILIARIES = set("don't doesn't didn't wouldn't couldn't can't won't shouldn't".split())
BARE_AUXILIARIES = {a.replace("'", "") for a in AUXILIARIES} - {"wont"}
PRONOUNS = {"they", "we", "i", "people"}
STRONG = set(
    "however moreover furthermore in_addition hence accordingly similarly meanwhile nevertheless "
    "even_so by_contrast in_short for_instance therefore consequently".split()
)
WEAK = {"and_also", "and_then", "also_then", "so"}
SUBORDINATORS = set("whenever when unless whereas because though although if once while".split())
PHRASES = [
    "now and then", "and also", "and then", "also then", "in addition", "even so", "by contrast",
    "in short", "for instance",
]
LEXICON = (
    NOUNS | PLURALS | ADJECTIVES | COMMON_OTHERS | RARE_OTHERS | set(VERBS) | OBJECTS | AUXILIARIES
    | BARE_AUXILIARIES | PRONOUNS | STRONG | WEAK | SUBORDINATORS
    | {"the", "a", "an", "this", "that", "and", "many"}
)
NAMES = [
    "strong", "strong_share", "this_share", "persistence", "noun_types", "subordination",
    "fragments", "ands", "rare", "rare_adjectives", "rare_others", "collocations",
    "singular_errors", "plural_errors", "article_errors", "many_errors", "typos", "lower_starts",
    "stops", "apostrophes", "log_words", "paragraphs",
]
SKILLS = {
    "cohesion": {"strong_share": 1, "this_share": 1, "persistence": 1, "noun_types": -0.5},
    "syntax": {"subordination": 1, "fragments": -0.5, "ands": -0.5},
    "vocabulary": {"rare": 1, "rare_adjectives": 0.5, "rare_others": 0.5},
    "phraseology": {"collocations": 1},
    "grammar": {
        "singular_errors": -1, "plural_errors": -1, "article_errors": -0.7, "many_errors": -1,
    },
    "conventions": {"typos": -1, "lower_starts": -0.7, "stops": -0.7, "apostrophes": -0.5},
}


def tokens(text: str) -> list[str]:
    text = " ".join(re.findall(r"[a-z']+", text.lower()))
    for phrase in PHRASES:
        text = re.sub(rf"\b{phrase}\b", phrase.replace(" ", "_"), text)
    return text.split()


def rate(hits: float, total: float, prior: float = 0.3) -> float:
    return (hits + 2 * prior) / (total + 2)


def pairs_of(words: list[str]) -> list[tuple[str, str]]:
    """The verbs with their objects."""
    pairs = []
    for i, word in enumerate(words[:-1]):
        if word in VERBS and VERBS[word][0] in OBJECT_VERBS:
            j = i + 2 if words[i + 1] in ADJECTIVES else i + 1
            if j < len(words) and words[j] in OBJECTS:
                pairs.append((VERBS[word][0], words[j]))
    return pairs


def describe(text: str, words: list[str], known: set[str], good: set) -> list[float]:
    count = Counter(words)

    def total(group) -> int:
        return sum(count[w] for w in group)

    singular, plural, articles, many = [], [], [], []
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        if word in ("a", "an") and following in (NOUNS | ADJECTIVES) - {"uniform"}:
            articles.append((word == "an") != (following[0] in "aeiou"))
        if word == "many" and following in NOUNS | PLURALS:
            many.append(following in NOUNS)
        if word in VERBS:
            j = i - 1
            while j >= 0 and words[j] in ADVERBS:
                j -= 1
            if j >= 0 and words[j] in NOUNS:
                singular.append(not VERBS[word][1])
            elif j >= 0 and words[j] in PRONOUNS and (j == 0 or words[j - 1] != "that"):
                plural.append(VERBS[word][1])
    pieces = re.split(r"[.!?]\s*|\n+|,\s+(?=[A-Z][a-z])", text)
    sentences = [s for s in (tokens(p) for p in pieces) if s]
    n = max(len(sentences), 1)
    fragments = sum(len(s) <= 5 and not any(w in VERBS for w in s) for s in sentences)
    heads = [next((w for w in s if w in NOUNS), "") for s in sentences]
    heads = [h for h in heads if h]
    same = sum(a == b for a, b in zip(heads, heads[1:]))
    nouns = [w for w in words if w in NOUNS]
    strong, weak = total(STRONG), total(WEAK)
    rare_a, common_a = total(RARE_ADJECTIVES), total(COMMON_ADJECTIVES)
    rare_o, common_o = total(RARE_OTHERS), total(COMMON_OTHERS)
    matches = [p in good for p in pairs_of(words)]
    lower = len(re.findall(r"(?:^|[.!?]\s+|\n)[a-z]", text)) + len(re.findall(r"\bi\b", text))
    stops = len(re.findall(r"[a-z'] [A-Z][a-z]|, [A-Z][a-z]|[a-z,]\n|[a-z,]\s*$", text))
    bare = total(BARE_AUXILIARIES)
    return [
        rate(strong, n),
        rate(strong, strong + weak, 0.5),
        rate(count["this"], count["this"] + count["the"] + count["a"] + count["an"]),
        rate(same, len(heads) - 1 if heads else 0, 0.4),
        rate(len(set(nouns)), len(nouns), 0.4),
        rate(total(SUBORDINATORS), n),
        rate(fragments, n, 0.2),
        rate(count["and"], n),
        rate(rare_a + rare_o, rare_a + common_a + rare_o + common_o, 0.5),
        rate(rare_a, rare_a + common_a, 0.5),
        rate(rare_o, rare_o + common_o, 0.5),
        rate(sum(matches), len(matches), 0.6),
        rate(sum(singular), len(singular), 0.4),
        rate(sum(plural), len(plural), 0.4),
        rate(sum(articles), len(articles), 0.5),
        rate(sum(many), len(many), 0.4),
        np.sqrt(sum(w not in known for w in words) / max(len(words), 1)),
        np.sqrt(lower / n),
        np.sqrt(stops / n),
        rate(bare, bare + total(AUXILIARIES), 0.2),
        np.log1p(len(words)),
        np.log1p(text.count("\n\n")),
    ]


def features(texts: list[str]) -> np.ndarray:
    """Standardised measures of the language of each essay, free of its topic."""
    words = [tokens(t) for t in texts]
    count = Counter(w for ws in words for w in ws)
    known = LEXICON | {w for w, n in count.items() if n >= 150 and len(w) >= 5}
    pairs = Counter(p for ws in words for p in pairs_of(ws))
    objects = Counter()
    for (_, thing), n in pairs.items():
        objects[thing] += n
    good = {p for p, n in pairs.items() if n >= 0.2 * objects[p[1]]}
    x = np.array([describe(t, ws, known, good) for t, ws in zip(texts, words)], dtype=float)
    return np.clip((x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9), -3, 3)


def scaled(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def skills(x: np.ndarray) -> np.ndarray:
    """One measure per rating, by hand from the features."""
    columns = [
        sum(w * x[:, NAMES.index(name)] for name, w in SKILLS[target].items())
        for target in TARGETS
    ]
    return scaled(np.column_stack(columns))


def load() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, list[str]]:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    for column in ["rater", "form", "room"]:
        train[column] = train[column].fillna("none").astype(str)
    y = train[TARGETS].apply(pd.to_numeric, errors="coerce")
    y = y.where(y <= 5, y / 10)
    y = y.fillna(y.mean()).to_numpy(dtype=float)
    texts = pd.concat([train["full_text"], test["full_text"]]).fillna("").astype(str)
    return train, test, y, [t.replace("\r", "") for t in texts]


def calibrate(s, y, new, ridge=4.0, own=16.0, halo=True) -> np.ndarray:
    """Panel ratings from skills: a slope for all ratings, small deviations, an intercept each."""
    d, e = s - s.mean(axis=0), y - y.mean(axis=0)
    dn = new - s.mean(axis=0)
    m, mn = d.mean(axis=1, keepdims=True), dn.mean(axis=1, keepdims=True)
    a = np.column_stack([d.ravel(), halo * np.repeat(m, d.shape[1], axis=1).ravel()])
    slope, common = np.linalg.solve(a.T @ a + ridge * np.eye(2), a.T @ e.ravel())
    rest = e - slope * d - common * halo * m
    slopes = slope + (d * rest).sum(axis=0) / ((d**2).sum(axis=0) + own)
    return np.clip(y.mean(axis=0) + slopes * dn + common * halo * mn, 1, 5)


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


def left_out(s: np.ndarray, y: np.ndarray, **settings) -> float:
    """The error on each panel essay, calibrated on the others."""
    rows = np.arange(len(s))
    predicted = [calibrate(s[rows != i], y[rows != i], s[[i]], **settings)[0] for i in rows]
    return mcrmse(y, np.array(predicted))


def write(test: pd.DataFrame, predicted: np.ndarray) -> None:
    submission = pd.DataFrame(predicted, columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"].to_numpy())
    submission.to_csv("submission.csv", index=False)


def coefficients(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How the rating columns hang on the skills (skills x columns)."""
    zc, yc = z - z.mean(axis=0), (y - y.mean(axis=0)) / (y.std(axis=0) + 0.1)
    return np.linalg.solve(zc.T @ zc + 10 * np.eye(z.shape[1]), zc.T @ yc)


def align(z: np.ndarray, y: np.ndarray, raters: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The ratings with columns and direction put right, and the number of each row's cell."""
    rater, form, term = (raters[c].to_numpy() for c in ["rater", "form", "room"])
    aligned, cells = y.copy(), np.zeros(len(y), dtype=int)
    keys = sorted(set(zip(rater, form, term)))
    for number, (r, f, t) in enumerate(keys):
        here = (rater == r) & (form == f) & (term == t)
        groups = [here, (rater == r) & (form == f), (rater == r) & (term == t)]
        c = sum(coefficients(z[g], y[g]) for g in groups)
        score = np.maximum(c, -c - 0.3) + 0.15 * np.eye(len(TARGETS))
        rows, columns = linear_sum_assignment(-score)
        chosen = c[rows, columns]
        sign = np.where(chosen >= -chosen - 0.3, 1.0, -1.0)
        aligned[here] = y[here][:, columns] * sign
        cells[here] = number
    return aligned, cells


def refine(x, start, values, cells, rows) -> np.ndarray:
    """A skill from its features such that in each cell the values are a line in it."""
    s = start
    for _ in range(4):
        t = s[rows]
        means = {c: (t[cells == c].mean(), values[cells == c].mean()) for c in np.unique(cells)}
        dt = t - np.array([means[c][0] for c in cells])
        dv = values - np.array([means[c][1] for c in cells])
        pooled = max((dt * dv).sum() / (dt @ dt + 1e-9), 0.05)
        slopes = {}
        for c in means:
            a, b = dt[cells == c], dv[cells == c]
            slopes[c] = max((a @ b + 10 * pooled) / (a @ a + 10), 0.02)
        slope = np.array([slopes[c] for c in cells])
        target = np.array([means[c][0] for c in cells]) + dv / slope
        w = slope**2 / np.mean(slope**2)
        a = x[rows]
        prior = np.linalg.lstsq(x, start, rcond=None)[0]
        gram = (a * w[:, None]).T @ a + 60 * np.eye(a.shape[1])
        beta = prior + np.linalg.solve(gram, a.T @ (w * (target - a @ prior)))
        s = scaled(x @ beta)
    return s


def main() -> None:
    train, test, y, texts = load()
    x = features(texts)
    z = skills(x)
    n = len(train)
    panel = np.flatnonzero((train["rater"] == "panel").to_numpy())
    read_by_panel = train["text_id"].isin(train["text_id"].iloc[panel]).to_numpy()
    rows = np.flatnonzero(~read_by_panel)
    aligned, cells = align(z[rows], y[rows], train.iloc[rows])
    s = np.empty_like(z)
    for k, target in enumerate(TARGETS):
        own = x[:, [NAMES.index(name) for name in SKILLS[target]]]
        s[:, k] = refine(own, z[:, k], aligned[:, k], cells, rows)
    print(f"validation MCRMSE={left_out(s[panel], y[panel]):.4f}")
    write(test, calibrate(s[panel], y[panel], s[n:]))


if __name__ == "__main__":
    main()
