# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What tells the class in the tested source, as far as its labelled pictures show it.

- A feature on a circle, or how two of them stand to each other, may tell it in part.
- A level may tell it in part.
- In other sources classes may be told likewise, but turned round the circle.
- What tells it in other sources may tell nothing in this one.
"""

import numpy as np
from pictures import Measured, relations

BINS = 10
SHOWN = 0.5
"""A feature tells a class if it tells so much of it in nats, chance taken off."""


def find(
    circles: Measured, levels: Measured, labels: np.ndarray, sources: np.ndarray, tested: int
) -> dict:
    own = sources == tested
    related = {
        name: told(sectors(values[own]), labels[own]) for name, values in relations(circles).items()
    }
    steps = {name: told(eighths(values[own]), labels[own]) for name, values in levels.items()}
    genus = max(related, key=related.__getitem__)
    around = relations(circles)[genus]
    return {
        "genus": genus,
        "turns": {
            str(source): turn(around[own], labels[own], around[some], labels[some])
            for source, some in parts(sources, own).items()
        },
        "level": max(steps, key=steps.__getitem__),
        "shortcuts": [
            name
            for name, values in circles.items()
            if related[name] < SHOWN
            and max(
                told(sectors(values[some]), labels[some]) for some in parts(sources, own).values()
            )
            > SHOWN
        ],
    }


def turn(
    around: np.ndarray, labels: np.ndarray, others: np.ndarray, their_labels: np.ndarray
) -> float:
    """The angle by which to turn another source, so that its classes lie as in the tested one."""
    classes = range(labels.max() + 1)
    centres = np.array([around[labels == label].sum() for label in classes])
    theirs = np.array([others[their_labels == label].mean() for label in classes])
    return float(np.angle((centres * theirs.conj()).sum()))


def parts(sources: np.ndarray, own: np.ndarray) -> dict[int, np.ndarray]:
    """The pictures of each other source."""
    return {int(source): sources == source for source in np.unique(sources[~own])}


def sectors(values: np.ndarray) -> np.ndarray:
    return (np.angle(values) / (2 * np.pi) * BINS).astype(int) % BINS


def eighths(values: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.quantile(values, np.arange(1, 8) / 8), values)


def told(cells: np.ndarray, labels: np.ndarray) -> float:
    """Mutual information in nats, less what chance gives."""
    counts = np.zeros((cells.max() + 1, labels.max() + 1))
    np.add.at(counts, (cells, labels), 1)
    joint = counts / counts.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    chance = (counts.shape[0] - 1) * (counts.shape[1] - 1) / (2 * len(labels))
    return float((joint[seen] * np.log(joint[seen] / expected[seen])).sum() - chance)
