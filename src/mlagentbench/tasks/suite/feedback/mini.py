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
"""

from pathlib import Path

import numpy as np
import pandas as pd

ESSAYS = 2000
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
SHARED = 0.6
"""How much of a skill's variance is a general one, common to all six."""
MEAN_RATING, RATING_PER_SKILL, RATER_NOISE = 3.05, 0.6, 0.32

TOPICS = {
    "school": "teacher lesson classroom exam uniform student library subject",
    "phones": "phone message screen parent game video friend application",
    "work": "office boss interview worker skill company task uncle",
    "travel": "island train guide museum ticket village airport hotel",
    "sport": "coach team match athlete injury player stadium exercise",
    "nature": "forest river animal park garden engineer ocean farmer",
}
# A plain word, then its finer synonyms; neither kind is longer than the other on the whole.
SYNONYMS = {
    "good": "apt, valuable, sound, rewarding",
    "bad": "dire, harmful, grim, damaging",
    "big": "vast, considerable, ample, immense",
    "important": "vital, key, crucial, essential",
    "interesting": "vivid, keen, engaging, novel",
    "different": "diverse, varied, odd, distinct",
    "difficult": "tough, hard, arduous, demanding",
    "beautiful": "fair, lovely, graceful, charming",
    "think": "believe, hold, argue, maintain",
    "help": "aid, assist, support, serve",
    "always": "ever, constantly, invariably, ceaselessly",
    "sometimes": "at times, now and then, occasionally, rarely",
    "very": "quite, deeply, remarkably, truly",
}
COLLOCATIONS = {
    "make": "decisions mistakes progress plans friends",
    "pay": "attention bills respect visits",
    "take": "risks breaks notes photographs turns",
    "solve": "problems puzzles mysteries equations",
    "keep": "promises secrets diaries records",
    "reach": "goals agreements conclusions heights",
    "give": "advice speeches presents examples",
    "show": "interest courage patience talent",
}
STRONG_LINKS = [
    "however", "therefore", "for example", "in addition", "as a result", "moreover", "meanwhile",
    "on the other hand", "in fact", "consequently", "similarly", "nevertheless", "in short",
]  # fmt: skip
WEAK_LINKS = ["also", "and then", "so", "also then"]
SUBORDINATORS = ["although", "because", "while", "unless", "whenever", "since", "if", "whereas"]
CONTRACTIONS = ["don't", "can't", "won't", "shouldn't"]
VOWELS = "aeiou"

PAIRS = [(verb, noun) for verb, nouns in COLLOCATIONS.items() for noun in nouns.split()]
FINER = {plain: finer.split(", ") for plain, finer in SYNONYMS.items()}
ADJECTIVES = [
    "good", "bad", "big", "important", "interesting", "different", "difficult", "beautiful",
]  # fmt: skip


def make(raw: Path, rng: np.random.Generator) -> None:
    general = rng.normal(size=(ESSAYS, 1))
    special = rng.normal(size=(ESSAYS, len(TARGETS)))
    skills = SHARED**0.5 * general + (1 - SHARED) ** 0.5 * special
    noise_free = (MEAN_RATING + RATING_PER_SKILL * skills).clip(1, 5)
    blurred = noise_free + rng.normal(scale=RATER_NOISE, size=skills.shape)
    ratings = (np.round(2 * blurred) / 2).clip(1, 5)
    texts = [Writer(dict(zip(TARGETS, row, strict=True)), rng).essay() for row in skills]
    ids = [f"{number:012X}" for number in range(ESSAYS)]
    essays = pd.DataFrame({"text_id": ids, "full_text": texts})
    for name, values in (("train", ratings), ("noise_free", noise_free.round(3))):
        table = essays if name == "train" else essays[["text_id"]]
        table = table.join(pd.DataFrame(values, columns=TARGETS))
        table.to_csv(raw / f"{name}.csv", index=False)


class Writer:
    """Writes one essay with given skills (0 is an average one, 1 a standard deviation more)."""

    def __init__(self, skills: dict[str, float], rng: np.random.Generator) -> None:
        self.rng = rng
        self.well = {skill: 1 / (1 + np.exp(-1.3 * value)) for skill, value in skills.items()}
        """How often this writer does the better thing where there is a choice."""
        self.slip = 0.10 * (1 - self.well["conventions"]) ** 2
        topics = list(TOPICS)
        self.nouns = TOPICS[self.pick(topics)].split()
        self.other_nouns = TOPICS[self.pick(topics)].split()
        self.link = self.pick(WEAK_LINKS)
        self.noun = self.pick(self.nouns)

    def does(self, skill: str) -> bool:
        return self.rng.random() < self.well[skill]

    def pick(self, options: list[str]) -> str:
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
        return self.pick(STRONG_LINKS) if self.does("cohesion") else self.link

    def statement(self, taken_up: bool) -> list[str]:
        if self.does("syntax"):
            if self.rng.random() < 0.6:
                inner = [self.pick(SUBORDINATORS), *self.clause(False)]
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
        verb, noun = PAIRS[int(self.rng.random() * len(PAIRS))]
        if not self.does("phraseology"):
            verb = self.pick(list(COLLOCATIONS))
        adjective = [self.adjective()] if self.rng.random() < 0.25 else []
        if kind < 0.55:
            return [self.pick(CONTRACTIONS), verb, *adjective, noun]
        if kind < 0.7:
            return [*self.agreeing(self.word("think"), singular), "that", "we", verb, noun]
        return [*self.agreeing(verb, singular), *adjective, noun]

    def agreeing(self, verb: str, singular: bool) -> list[str]:
        return [self.third_person(verb) if singular == self.does("grammar") else verb]

    def adjective(self) -> str:
        return self.word(self.pick(ADJECTIVES))

    def word(self, plain: str) -> str:
        return self.pick(FINER[plain]) if self.does("vocabulary") else plain

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
