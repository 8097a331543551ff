# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""Respells sources in usual ways; word pairs at several distances, forwards and backwards."""

from guesses import respelt
from mixtures import Mixture, neighbours, read_folder, read_sample

REACH = 5

sample = read_sample()
known = {word for line in sample for word in line}
texts = [respelt(lines, known) for lines in read_folder("babylm_10M").values()]
mixture = Mixture(sample, texts)
mixture.write(
    [
        mixture.table(neighbours(lines, sign * distance))
        for lines in texts
        for distance in range(1, REACH + 1)
        for sign in (1, -1)
        if lines
    ]
)
