"""Writes 2,000 essays, each by a pupil with six skills, and lets raters rate them.

Every skill decides how often its writer does one kind of thing rather than another:

| skill       | weak writers                              | strong writers                        |
|-------------|-------------------------------------------|---------------------------------------|
| cohesion    | join with the same few words, change topic| join in many ways, take up the topic  |
| syntax      | fragments, and chains of "and"            | subordinate clauses                   |
| vocabulary  | the commonest word for a thing            | one of its finer synonyms             |
| phraseology | verbs that do not go with their object    | verbs that do ("pay attention")       |
| grammar     | "the teacher make", "a idea", "many book" | agreement, articles, plurals          |
| conventions | misspellings, no capitals, lost marks     | hardly any                            |

Weak and strong writers use about the same number of words, sentences and joining words, so that
counting alone tells little. A rating is the skill, blurred by the rater and put on the half-point
grid; the skill itself is written beside the essays: no model can do better than to know it.

A draw draws, besides the essays: the words that its writers know (`Wording`), about half of all
that there are, how much of each skill shows in the essays, the raters' means, and the ids.
"""

from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

ESSAYS = 2000
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
SHARED = 0.6
"""How much of a skill's variance is a general one, common to all six."""
MEAN_RATING, RATING_PER_SKILL, RATER_NOISE = (2.95, 3.15), 0.6, 0.32
SHOWING = (1.2, 1.4)
"""How much of a skill shows: the slope from the skill to how often the better thing is done."""

TOPICS = {
    "school": "teacher lesson classroom exam uniform student library subject locker principal",
    "phones": "phone message screen parent game video friend application battery camera",
    "work": "office boss interview worker skill company task uncle salary meeting",
    "travel": "island train guide museum ticket village airport hotel passport suitcase",
    "sport": "coach team match athlete injury player stadium exercise medal trainer",
    "nature": "forest river animal park garden engineer ocean farmer valley insect",
    "food": "kitchen recipe cook meal restaurant apple breakfast vegetable oven guest",
    "music": "song singer concert guitar album band stage orchestra dancer melody",
    "health": "doctor hospital nurse medicine patient habit sleep illness vitamin clinic",
    "city": "street neighbour market bridge tower apartment mayor crowd elevator station",
}
# A plain word, then its finer synonyms; neither kind is longer than the other on the whole.
ADJECTIVES = {
    "good": "apt, valuable, sound, rewarding, fine",
    "bad": "dire, harmful, grim, damaging, foul",
    "big": "vast, considerable, ample, immense, hefty",
    "important": "vital, key, crucial, essential, grave",
    "interesting": "vivid, keen, engaging, novel, curious",
    "different": "diverse, varied, odd, distinct, unlike",
    "difficult": "tough, hard, arduous, demanding, tricky",
    "beautiful": "fair, lovely, graceful, charming, elegant",
    "happy": "glad, cheerful, content, delighted, merry",
    "sad": "gloomy, downcast, mournful, dismal, bleak",
    "small": "minute, slight, compact, modest, tiny",
    "strange": "bizarre, peculiar, uncanny, eerie, quaint",
    "famous": "renowned, noted, eminent, celebrated, fabled",
    "expensive": "costly, dear, lavish, steep, pricey",
    "dangerous": "risky, perilous, unsafe, hazardous, dicey",
    "easy": "simple, effortless, plain, painless, smooth",
}
OTHER_WORDS = {
    "think": "believe, hold, argue, maintain, claim",
    "help": "aid, assist, support, serve, back",
    "always": "ever, constantly, invariably, ceaselessly, forever",
    "sometimes": "at times, now and then, occasionally, rarely, seldom",
    "very": "quite, deeply, remarkably, truly, most",
}
COLLOCATIONS = {
    "make": "decisions mistakes progress plans friends efforts",
    "pay": "attention bills respect visits fines",
    "take": "risks breaks notes photographs turns steps",
    "solve": "problems puzzles mysteries equations riddles",
    "keep": "promises secrets diaries records pets",
    "reach": "goals agreements conclusions heights limits",
    "give": "advice speeches presents examples orders",
    "show": "interest courage patience talent mercy",
    "break": "rules habits silences windows laws",
    "win": "prizes races arguments elections trophies",
    "raise": "money voices children doubts funds",
    "tell": "stories lies jokes truths tales",
    "catch": "buses colds thieves trains fish",
    "draw": "pictures maps lines crowds sketches",
}
STRONG_LINKS = [
    "however", "therefore", "for example", "in addition", "as a result", "moreover", "meanwhile",
    "on the other hand", "in fact", "consequently", "similarly", "nevertheless", "in short",
    "by contrast", "above all", "for instance", "furthermore", "accordingly", "likewise", "hence",
    "in other words", "even so",
]  # fmt: skip
WEAK_LINKS = ["also", "and then", "so", "also then", "then", "and also", "but"]
SUBORDINATORS = [
    "although", "because", "while", "unless", "whenever", "since", "if", "whereas", "when",
    "though", "once", "until",
]  # fmt: skip
CONTRACTIONS = ["don't", "can't", "won't", "shouldn't", "didn't", "couldn't", "wouldn't"]
VOWELS = "aeiou"


class Wording(NamedTuple):
    """The words that the writers of a draw know."""

    topics: list[list[str]]
    adjectives: list[str]
    finer: dict[str, list[str]]
    pairs: list[tuple[str, str]]
    verbs: list[str]
    strong_links: list[str]
    weak_links: list[str]
    subordinators: list[str]
    contractions: list[str]


def draw_wording(rng: np.random.Generator) -> Wording:
    def some(options: list[str], count: int) -> list[str]:
        return rng.choice(options, count, replace=False).tolist()

    adjectives, verbs = some(list(ADJECTIVES), 8), some(list(COLLOCATIONS), 8)
    synonyms = {word: ADJECTIVES[word] for word in adjectives} | OTHER_WORDS
    return Wording(
        topics=[some(TOPICS[name].split(), 8) for name in some(list(TOPICS), 6)],
        adjectives=adjectives,
        finer={word: some(finer.split(", "), 4) for word, finer in synonyms.items()},
        pairs=[(verb, noun) for verb in verbs for noun in some(COLLOCATIONS[verb].split(), 4)],
        verbs=verbs,
        strong_links=some(STRONG_LINKS, 13),
        weak_links=some(WEAK_LINKS, 4),
        subordinators=some(SUBORDINATORS, 8),
        contractions=some(CONTRACTIONS, 4),
    )


def make(raw: Path, rng: np.random.Generator) -> None:
    general = rng.normal(size=(ESSAYS, 1))
    special = rng.normal(size=(ESSAYS, len(TARGETS)))
    skills = SHARED**0.5 * general + (1 - SHARED) ** 0.5 * special
    means = rng.uniform(*MEAN_RATING, len(TARGETS))
    noise_free = (means + RATING_PER_SKILL * skills).clip(1, 5)
    blurred = noise_free + rng.normal(scale=RATER_NOISE, size=skills.shape)
    ratings = (np.round(2 * blurred) / 2).clip(1, 5)
    wording = draw_wording(rng)
    shown = skills * rng.uniform(*SHOWING, len(TARGETS))
    texts = [Writer(dict(zip(TARGETS, row, strict=True)), wording, rng).essay() for row in shown]
    ids = [f"{number:012X}" for number in rng.choice(16**12, ESSAYS, replace=False)]
    essays = pd.DataFrame({"text_id": ids, "full_text": texts})
    for name, values in (("train", ratings), ("noise_free", noise_free.round(3))):
        table = essays if name == "train" else essays[["text_id"]]
        table = table.join(pd.DataFrame(values, columns=TARGETS))
        table.to_csv(raw / f"{name}.csv", index=False)


Option = TypeVar("Option")


class Writer:
    """Writes one essay with given skills (0 is an average one)."""

    def __init__(
        self, skills: dict[str, float], wording: Wording, rng: np.random.Generator
    ) -> None:
        self.rng, self.wording = rng, wording
        self.well = {skill: 1 / (1 + np.exp(-value)) for skill, value in skills.items()}
        """How often this writer does the better thing where there is a choice."""
        self.slip = 0.10 * (1 - self.well["conventions"]) ** 2
        self.nouns, self.other_nouns = self.pick(wording.topics), self.pick(wording.topics)
        self.link = self.pick(wording.weak_links)
        self.noun = self.pick(self.nouns)

    def does(self, skill: str) -> bool:
        return self.rng.random() < self.well[skill]

    def pick(self, options: list[Option]) -> Option:
        return options[int(self.rng.random() * len(options))]

    def essay(self) -> str:
        sentences = [self.sentence(first=True)]
        sentences += [self.sentence() for _ in range(8 + int(14 * self.rng.random()))]
        paragraph = 3 + int(5 * self.rng.random())
        parts = [sentences[k : k + paragraph] for k in range(0, len(sentences), paragraph)]
        return "\n\n".join(" ".join(part) for part in parts)

    def sentence(self, first: bool = False) -> str:
        """What is said, and how it is joined to the sentence before."""
        words: list[str] = []
        taken_up = False
        if not first:
            if self.rng.random() < 0.5:
                words += self.joined().split()
            taken_up = self.does("cohesion")
            if not taken_up:
                self.noun = self.pick(self.nouns + self.other_nouns)
        words += self.statement(taken_up)
        return self.written(words)

    def joined(self) -> str:
        return self.pick(self.wording.strong_links) if self.does("cohesion") else self.link

    def statement(self, taken_up: bool) -> list[str]:
        if self.does("syntax"):
            if self.rng.random() < 0.6:
                inner = [self.pick(self.wording.subordinators), *self.clause(False)]
                return [*inner[:-1], inner[-1] + ",", *self.clause(taken_up)]
            return self.clause(taken_up)
        if self.rng.random() < 0.5:
            return self.phrase(taken_up)  # a fragment: nothing is said of it
        chain = self.clause(taken_up)
        for _ in range(1 + int(2 * self.rng.random())):
            chain += ["and", *self.clause(False)]
        return chain

    def clause(self, taken_up: bool) -> list[str]:
        kind = self.rng.random()
        if kind < 0.3:
            subject, singular = [self.pick(["I", "we", "they", "people"])], False
        else:
            subject, singular = self.phrase(taken_up), True
        often = [self.word(self.pick(["always", "sometimes"]))] if self.rng.random() < 0.2 else []
        return subject + often + self.predicate(singular)

    def phrase(self, taken_up: bool) -> list[str]:
        """A noun with what stands before it."""
        adjective = [self.adjective()] if self.rng.random() < 0.5 else []
        if taken_up:
            return ["this", *adjective, self.noun]
        kind = self.rng.random()
        if kind < 0.35:
            after = [*adjective, self.noun]
            vowel = after[0][0] in VOWELS
            return ["an" if vowel == self.does("grammar") else "a", *after]
        return ["the", *adjective, self.noun]

    def predicate(self, singular: bool) -> list[str]:
        kind = self.rng.random()
        if kind < 0.25:
            verb = "is" if singular == self.does("grammar") else "are"
            degree = [self.word("very")] if self.rng.random() < 0.4 else []
            return [verb, *degree, self.adjective()]
        if kind < 0.4:
            noun = self.pick(self.nouns)
            ending = self.plural(noun) if self.does("grammar") else noun
            return [*self.agreeing(self.word("help"), singular), "many", ending]
        verb, noun = self.pick(self.wording.pairs)
        if not self.does("phraseology"):
            verb = self.pick(self.wording.verbs)
        adjective = [self.adjective()] if self.rng.random() < 0.25 else []
        if kind < 0.55:
            return [self.pick(self.wording.contractions), verb, *adjective, noun]
        if kind < 0.7:
            return [*self.agreeing(self.word("think"), singular), "that", "we", verb, noun]
        return [*self.agreeing(verb, singular), *adjective, noun]

    def agreeing(self, verb: str, singular: bool) -> list[str]:
        return [self.third_person(verb) if singular == self.does("grammar") else verb]

    def adjective(self) -> str:
        return self.word(self.pick(self.wording.adjectives))

    def word(self, plain: str) -> str:
        return self.pick(self.wording.finer[plain]) if self.does("vocabulary") else plain

    @staticmethod
    def plural(noun: str) -> str:
        if noun.endswith("y") and noun[-2] not in VOWELS:
            return noun[:-1] + "ies"
        return noun + ("es" if noun.endswith(("s", "ch", "x")) else "s")

    @staticmethod
    def third_person(verb: str) -> str:
        return verb + ("es" if verb.endswith(("ch", "s")) else "s")

    def written(self, words: list[str]) -> str:
        """The sentence on paper, with the writer's slips of spelling, capitals and marks."""
        spelt = [self.misspelt(word) if self.rng.random() < self.slip else word for word in words]
        text = " ".join(spelt)
        if self.rng.random() > 3 * self.slip:
            text = text[0].upper() + text[1:]
        if self.rng.random() < 3 * self.slip:
            text = text.replace("'", "").replace(" I ", " i ")
        mark = self.rng.random()
        if mark < 2 * self.slip:
            return text
        return text + ("," if mark < 3 * self.slip else ".")

    def misspelt(self, word: str) -> str:
        """A letter left out, doubled or swapped with the next."""
        if len(word) < 3:
            return word
        place = 1 + int(self.rng.random() * (len(word) - 2))
        kind = self.rng.random()
        if kind < 0.35:
            return word[:place] + word[place + 1 :]
        if kind < 0.65:
            return word[:place] + word[place] + word[place:]
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
