# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Learns each skill from all columns of all raters that follow it, calibrates on the panel."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import re
from collections import Counter

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

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


def tasks(z: np.ndarray, y: np.ndarray, raters: pd.DataFrame) -> list[tuple]:
    """Rows, standardised values and skill coefficients of each column of each rater and form."""
    found = []
    groups = (raters["rater"] + "/" + raters["form"]).to_numpy()
    for group in sorted(set(groups)):
        here = np.flatnonzero(groups == group)
        if len(here) < 10:
            continue
        values = (y[here] - y[here].mean(axis=0)) / (y[here].std(axis=0) + 0.1)
        zc = z[here] - z[here].mean(axis=0)
        c = np.linalg.solve(zc.T @ zc + 10 * np.eye(z.shape[1]), zc.T @ values)
        found += [(here, values[:, j], c[:, j]) for j in range(y.shape[1])]
    return found


def main() -> None:
    train, test, y, texts = load()
    x = features(texts)
    z = skills(x)
    n = len(train)
    panel = np.flatnonzero((train["rater"] == "panel").to_numpy())
    read_by_panel = train["text_id"].isin(train["text_id"].iloc[panel]).to_numpy()
    rows = np.flatnonzero(~read_by_panel)
    found = tasks(z[rows], y[rows], train.iloc[rows])
    s = np.empty_like(z)
    for k in range(len(TARGETS)):
        where, values, weights = [], [], []
        for here, value, c in found:
            cosine = c[k] / (np.linalg.norm(c) + 0.05)
            weight = max(abs(cosine) - 0.4, 0) * abs(c[k])
            if weight > 0.01:
                where.append(rows[here])
                values.append(np.sign(cosine) * value)
                weights.append(np.full(len(here), weight))
        s[:, k] = z[:, k]
        if where:
            at, v, w = (np.concatenate(part) for part in (where, values, weights))
            w = w / w.mean()
            linear = Ridge(alpha=50.0).fit(x[at], v, sample_weight=w).predict(x)
            trees = HistGradientBoostingRegressor(
                max_iter=60, learning_rate=0.06, max_leaf_nodes=6, min_samples_leaf=30,
                l2_regularization=10.0, early_stopping=False, random_state=0,
            ).fit(x[at], v, sample_weight=w).predict(x)
            s[:, k] = 0.5 * scaled(linear) + 0.2 * scaled(trees) + 0.3 * z[:, k]
    s = scaled(s)
    print(f"validation MCRMSE={left_out(s[panel], y[panel]):.4f}")
    write(test, calibrate(s[panel], y[panel], s[n:]))


if __name__ == "__main__":
    main()
