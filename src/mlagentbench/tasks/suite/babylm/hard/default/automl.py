# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""All that one may guess: respells sources in usual ways, drops repeated lines, learns from the
sample which places of a line follow each other, adds pairs at several distances, and lets the
sample weigh everything."""

from itertools import pairwise

from guesses import pairs_by_place, respelt
from mixtures import Line, Mixture, neighbours, read_folder, read_sample

REACH = 3


def main() -> None:
    sample = read_sample()
    known = {word for line in sample for word in line}
    texts = [
        respelt([list(line) for line in dict.fromkeys(map(tuple, lines))], known)
        for lines in read_folder("babylm_10M").values()
    ]
    mixture = Mixture(sample, texts)
    seen = {pair for line in sample for pair in pairwise(line)}
    chance = len(seen) / len(known) ** 2
    tables = []
    for text in texts:
        stream: list[Line] = [[word for line in text for word in line]]
        lists = [neighbours(text, by) for by in range(-REACH, REACH + 1) if by]
        lists += [neighbours(stream, by) for by in range(2, REACH + 1)]
        lists.append(pairs_by_place(text, seen, chance))
        tables += [mixture.table(pairs) for pairs in lists if pairs]
    mixture.write(tables)


if __name__ == "__main__":
    main()
