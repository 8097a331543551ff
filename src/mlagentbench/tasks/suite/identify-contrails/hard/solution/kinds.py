# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Kinds of lines, by their direction and their traits, and how often each kind is marked."""

import numpy as np
from lines import Lines

STRONG = 5.0
"""From this strength on there is a line, in standard deviations of what has none."""
DEGREES, NEAR = 90, 3.0
"""Bins of directions, and how many degrees apart directions are nearly the same."""
PRIOR = 10.0
"""Pixels of a usual line are added to what is seen of each kind."""


def kinds_of_lines(lines: Lines, traits: list[str]) -> np.ndarray:
    """A number for each combination of traits."""
    values = lines.traits()
    kinds = np.zeros(lines.strength.shape, dtype=int)
    for trait in traits:
        kinds = 2 * kinds + values[trait]
    return kinds


class Kinds:
    """How often lines of each direction and combination of traits are marked."""

    def __init__(self, lines: Lines, masks: np.ndarray, traits: list[str]) -> None:
        self.traits = traits
        known = ~np.isnan(masks) & (lines.strength > STRONG)
        seen, hits = count_by_kind(lines, traits, known, masks)
        usual = hits.sum() / seen.sum()
        self.table = (hits + PRIOR * usual) / (seen + PRIOR)

    def rate(self, lines: Lines) -> np.ndarray:
        return self.table[kinds_of_lines(lines, self.traits), direction(lines)]


def count_by_kind(
    lines: Lines, traits: list[str], known: np.ndarray, masks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All pixels and the marked ones, for each combination of traits and direction."""
    places = kinds_of_lines(lines, traits)[known] * DEGREES + direction(lines)[known]
    shape, cells = (2 ** len(traits), DEGREES), 2 ** len(traits) * DEGREES
    seen = np.bincount(places, minlength=cells).reshape(shape)
    hits = np.bincount(places, weights=masks[known], minlength=cells).reshape(shape)
    return smooth(seen), smooth(hits)


def direction(lines: Lines) -> np.ndarray:
    return (lines.angle * DEGREES / 180).astype(int) % DEGREES


def smooth(counts: np.ndarray) -> np.ndarray:
    """Counts by direction, spread over directions that are nearly the same."""
    apart = np.minimum(np.arange(DEGREES), DEGREES - np.arange(DEGREES)) * 180 / DEGREES
    kernel = np.fft.rfft(np.exp(-0.5 * (apart / NEAR) ** 2))
    return np.maximum(np.fft.irfft(np.fft.rfft(counts, axis=1) * kernel, n=DEGREES, axis=1), 0)
