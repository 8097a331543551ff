"""Writes essays whose words show six skills, and lets eight raters rate them, one after the other.

2,000 training essays have one reading by one rater. 24 were rated by a panel and read by three
raters each; the test essays were rated by the panel: its ratings are the skills, slightly blurred.
Which words show a skill is drawn. Raters are noisy, so that a single reading tells little, and in
about half of their readings the scale of a column is turned round. When, is decided by two habits,
which all raters have, each on other occasions:

| habit    | the scale is turned if ...                                             | pool  |
|----------|------------------------------------------------------------------------|-------|
| changed  | the form, room or ink is not that of the reading before                | eval  |
| longer   | the essay has more words (or sentences) than the one read before      | eval  |
| anchored | the mark before, in one column, was in the rater's upper half          | eval  |
| hurried  | less time than the rater's median has passed since the reading before, | eval  |
|          | on one form, room or ink; more time on the other                       |       |
| long     | the essay is in the longer half, on one form, room or ink; in the      | eval  |
|          | shorter half on the other                                              |       |
| crossed  | two of form, room and ink go together in one way                       | train |
| late     | the reading is in the second half of the rater's day                   | train |
| lagged   | the form, room or ink was of one kind at the reading before            | train |

A draw has two habits of different kinds. Two columns follow the first, two the second, and two
both (turned twice is not turned). Each habit is balanced, so that neither raters' means nor the
agreement of a rater with the panel show it. The decoy is one of form, room and ink that no habit
uses: marks are higher with one of its values. The ceiling knows the skills.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from mini import (
    ADJECTIVES,
    COLLOCATIONS,
    CONTRACTIONS,
    OTHER_WORDS,
    STRONG_LINKS,
    SUBORDINATORS,
    TARGETS,
    TOPICS,
    WEAK_LINKS,
)
from prepare import ID, TEXT, new_ids, sample, write_answers, write_table

TRAIN, PANEL, TEST = 2000, 24, 600
READINGS_OF_A_PANEL_ESSAY = 3
RATERS = [f"R{number}" for number in range(1, 9)]
PANEL_NAME = "panel"
CIRCUMSTANCES = {
    "form": ["a", "b"],
    "room": ["north", "south"],
    "ink": ["black", "blue"],
    "desk": ["wall", "window"],
}
HABITS = {
    "eval": ["changed", "longer", "anchored", "hurried", "long"],
    "train": ["crossed", "late", "lagged"],
}
ADVERBS = ["always", "sometimes", "very"]
MEAN, PANEL_SLOPE, PANEL_NOISE = 3.05, 0.6, 0.18
RATER_SLOPE, RATER_NOISE, SCALE = 0.45, 0.65, (0.85, 1.15)
CENTRES = [2.25, 2.75, 3.25, 3.75]
"""Raters' means: between half points, so that the upper half of their marks is well defined."""
DECOY_SHIFT = 0.5


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    count = TRAIN + PANEL + TEST
    writer = Writer(rng)
    essays = pd.DataFrame({ID: new_ids(count, rng), TEXT: [writer.essay() for _ in range(count)]})
    skills = writer.skills()
    truth = (MEAN + PANEL_SLOPE * skills).clip(1, 5)
    panel = on_the_grid(truth + rng.normal(0, PANEL_NOISE, truth.shape))

    habits = draw_habits(pool, rng)
    readings = schedule(essays, rng)
    readings[TARGETS] = rate(readings, skills, habits, rng)
    rated = essays.iloc[TRAIN : TRAIN + PANEL].assign(rater=PANEL_NAME)
    rated[TARGETS] = panel[TRAIN : TRAIN + PANEL]
    columns = [ID, TEXT, "rater", "read_at", *CIRCUMSTANCES, *TARGETS]
    train = pd.concat([readings, rated])[columns]
    train = train.iloc[rng.permutation(len(train))].reset_index(drop=True)

    tested = essays[TRAIN + PANEL :].reset_index(drop=True)
    test = tested.join(pd.DataFrame(panel[TRAIN + PANEL :], columns=TARGETS))
    write_table(train, public / "train.csv")
    write_table(test[[ID, TEXT]], public / "test.csv")
    write_table(sample(test), public / "sample_submission.csv")
    write_answers(test, train, private)
    known = pd.DataFrame(truth[TRAIN + PANEL :].round(3), columns=TARGETS)
    write_table(tested[[ID]].join(known), private / "ceiling.csv")
    (private / "mechanisms.json").write_text(json.dumps(habits, indent=1) + "\n", encoding="utf-8")


def on_the_grid(ratings: np.ndarray) -> np.ndarray:
    return (np.round(2 * ratings) / 2).clip(1, 5)


class Writer:
    """Writes essays of 11 to 22 sentences, and counts the words that are chosen in each."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        adverbs = {word: OTHER_WORDS[word] for word in ADVERBS}
        self.kinds = {
            "adjective": _with_synonyms(ADJECTIVES),
            "adverb": _with_synonyms(adverbs),
            "verb": list(COLLOCATIONS),
            "object": sorted({word for text in COLLOCATIONS.values() for word in text.split()}),
            "link": STRONG_LINKS + WEAK_LINKS,
            "subordinator": SUBORDINATORS,
            "auxiliary": CONTRACTIONS,
        }
        self.counts: list[dict[str, np.ndarray]] = []

    def essay(self) -> str:
        self.nouns = self.pick(list(TOPICS.values())).split()
        self.counts.append({kind: np.zeros(len(words)) for kind, words in self.kinds.items()})
        sentences = [self.sentence() for _ in range(int(self.rng.integers(11, 23)))]
        places = np.arange(1, len(sentences))
        breaks = set(self.rng.choice(places, int(self.rng.integers(1, 5)), replace=False).tolist())
        text = sentences[0]
        for place in places.tolist():
            text += ("\n\n" if place in breaks else " ") + sentences[place]
        return text

    def sentence(self) -> str:
        """A clause, often joined to what was said before, often with another clause before it."""
        said = self.clause(full=True)
        if self.rng.random() < 0.5:
            said = f"{self.word('subordinator')} {self.clause(full=False)}, {said}"
        if self.rng.random() < 0.5:
            said = f"{self.word('link')} {said}"
        return said[0].upper() + said[1:] + "."

    def clause(self, full: bool) -> str:
        parts = ["the", self.word("adjective"), self.pick(self.nouns)]
        parts += [self.word("adverb")] if self.rng.random() < 0.6 else []
        parts += [self.word("auxiliary") if self.rng.random() < 0.5 else "will"]
        parts += [self.word("verb")]
        parts += [self.word("adjective")] if full else []
        return " ".join([*parts, self.word("object")])

    def word(self, kind: str) -> str:
        words = self.kinds[kind]
        number = int(self.rng.random() * len(words))
        self.counts[-1][kind][number] += 1
        return words[number]

    def pick(self, options: list[str]) -> str:
        return options[int(self.rng.random() * len(options))]

    def skills(self) -> np.ndarray:
        """What the panel sees in each essay: the words that it likes, less those it does not."""
        parts = []
        for kind, words in self.kinds.items():
            counts = np.stack([one[kind] for one in self.counts])
            total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
            share = 1 / len(words)
            parts.append((counts - total * share) / np.sqrt(total * share))
        used = np.hstack(parts)
        skills = used @ self.rng.normal(size=(used.shape[1], len(TARGETS)))
        return (skills - skills.mean(axis=0)) / skills.std(axis=0)


def _with_synonyms(words: dict[str, str]) -> list[str]:
    finer = [word for text in words.values() for word in text.split(", ")]
    return sorted({*words, *finer})


def draw_habits(pool: str, rng: np.random.Generator) -> dict:
    """Three habits of different kinds, the columns that follow each one or two, and the decoy."""
    kinds = rng.permutation(HABITS[pool])[:3].tolist()
    *circumstances, decoy = rng.permutation(list(CIRCUMSTANCES)).tolist()
    habits = []
    for number, kind in enumerate(kinds):
        habit = {"kind": kind, "turned": int(rng.choice([-1, 1]))}
        if kind == "longer":
            habit["of"] = str(rng.choice(["words", "sentences"]))
        elif kind == "anchored":
            habit["of"] = str(rng.choice(TARGETS))
        elif kind != "late":
            habit["of"] = circumstances[number]
        if kind == "crossed":
            habit["with"] = circumstances[number - 1]
        habits.append(habit)
    follow = [[0], [1], [2], [0, 1], [0, 2], [1, 2]]
    columns = rng.permutation(TARGETS).tolist()
    return {"habits": habits, "follow": dict(zip(columns, follow, strict=True)), "decoy": decoy}


def schedule(essays: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Who read which essay, when, and in which circumstances, in the order of each rater."""
    single = rng.permutation(np.arange(TRAIN) % len(RATERS))
    pairs = list(enumerate(single.tolist()))
    for essay in range(TRAIN, TRAIN + PANEL):
        first = essay * READINGS_OF_A_PANEL_ESSAY
        pairs += [(essay, (first + k) % len(RATERS)) for k in range(READINGS_OF_A_PANEL_ESSAY)]
    parts = []
    for number, rater in enumerate(RATERS):
        mine = rng.permutation([essay for essay, reader in pairs if reader == number])
        part = essays.iloc[mine].assign(essay=mine, rater=rater)
        part["read_at"] = _clock(len(mine), rng)
        for name, values in CIRCUMSTANCES.items():
            part[name] = rng.choice(values, len(mine))
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _clock(count: int, rng: np.random.Generator) -> pd.Series:
    """When each reading ended: some twenty on a working day, minutes apart."""
    seconds = np.maximum(60, 420 * np.exp(0.6 * rng.normal(size=count))).round()
    times, day = [], pd.Timestamp("2024-09-02")
    while len(times) < count:
        now = day + pd.Timedelta(hours=8, minutes=int(rng.integers(20, 60)))
        for _ in range(int(rng.integers(16, 26))):
            if len(times) < count:
                now += pd.Timedelta(seconds=int(seconds[len(times)]))
                times.append(now)
        day += pd.Timedelta(days=3 if day.weekday() == 4 else 1)
    return pd.Series(times).dt.strftime("%Y-%m-%d %H:%M:%S").to_numpy()


def rate(
    readings: pd.DataFrame, skills: np.ndarray, habits: dict, rng: np.random.Generator
) -> np.ndarray:
    """The marks of all readings; an anchored rater looks at the marks that they gave before."""
    turns = [occasions(readings, habit) for habit in habits["habits"]]
    shifts = DECOY_SHIFT * rng.permutation(np.linspace(-1, 1, len(TARGETS)))
    decoy = readings[habits["decoy"]] == CIRCUMSTANCES[habits["decoy"]][0]
    raters = readings["rater"].to_numpy()
    centres = {name: rng.choice(CENTRES, len(TARGETS)) for name in RATERS}
    scales = {name: rng.uniform(*SCALE) for name in RATERS}
    noise = RATER_NOISE * rng.normal(size=(len(readings), len(TARGETS)))
    marks = np.zeros_like(noise)
    for row, rater in enumerate(raters):
        signs = []
        for habit, turn in zip(habits["habits"], turns, strict=True):
            if habit["kind"] == "anchored":
                column = TARGETS.index(habit["of"])
                first = row == 0 or raters[row - 1] != rater
                high = not first and marks[row - 1, column] > centres[rater][column]
                signs.append(habit["turned"] * (1 if high else -1))
            else:
                signs.append(turn[row])
        sign = [np.prod([signs[k] for k in habits["follow"][column]]) for column in TARGETS]
        seen = RATER_SLOPE * np.array(sign) * skills[readings["essay"].iloc[row]] + noise[row]
        shift = shifts * (0.5 if decoy.iloc[row] else -0.5)
        marks[row] = on_the_grid(centres[rater] + shift + scales[rater] * seen)
    return marks


def occasions(readings: pd.DataFrame, habit: dict) -> np.ndarray | None:
    """The sign of each reading under a habit that does not depend on marks."""
    kind, of = habit["kind"], habit.get("of")
    by_rater = readings.groupby("rater", sort=False)
    binary = {
        name: readings[name].eq(values[0]).map({True: 1, False: -1})
        for name, values in CIRCUMSTANCES.items()
    }
    words = readings[TEXT].str.split().str.len()
    time = pd.to_datetime(readings["read_at"])
    if kind == "changed":
        turned = readings[of] != by_rater[of].shift()
    elif kind == "longer":
        numbers = words if of == "words" else readings[TEXT].str.count(r"\.")
        turned = numbers > numbers.groupby(readings["rater"]).shift()
    elif kind == "hurried":
        passed = time.groupby(readings["rater"]).diff().dt.total_seconds().fillna(np.inf)
        quick = passed < passed.groupby(readings["rater"]).transform("median")
        turned = quick == (binary[of] > 0)
    elif kind == "long":
        turned = (words > words.median()) == (binary[of] > 0)
    elif kind == "crossed":
        turned = binary[of] == binary[habit["with"]]
    elif kind == "late":
        day = [readings["rater"], time.dt.date]
        turned = time.groupby(day).rank(pct=True) > 0.5
    elif kind == "lagged":
        turned = binary[of].groupby(readings["rater"]).shift() > 0
    else:
        return None
    return habit["turned"] * np.where(turned, 1, -1)
