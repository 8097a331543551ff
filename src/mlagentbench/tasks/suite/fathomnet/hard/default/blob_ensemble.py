# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Cuts out what stands out, describes shape and colour, and names it by an ensemble of classifiers.

Pictures are restored and aligned first. What classifiers of transits say on surveys tells how the
crew's names translate into the specialist's.
"""

import os

import numpy as np
from dives import mean_average_precision, read, write
from scipy import ndimage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.preprocessing import StandardScaler
from undoing import live, normalised

SIDE = 11  # of a cut-out
SURVEY_COPIES = 3


def main() -> None:
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    dives = read()
    pictures, _, _ = live(dives)
    pictures = np.stack([normalised(one) for one in pictures])
    known = np.flatnonzero(dives.known)
    surveys = known[dives.survey[known]]
    held = surveys[: max(1, len(surveys) // 3)]
    rest = np.setdiff1d(known, held)
    scores = named(dives, pictures, rest, held, seed)
    shape = (-1, len(dives.categories))
    score = mean_average_precision(scores.reshape(shape), dives.labels[held].reshape(shape))
    print(f"validation MAP@20={score:.4f}")
    write(dives, named(dives, pictures, known, np.flatnonzero(~dives.known), seed))


def named(dives, pictures: np.ndarray, chosen: np.ndarray, asked: np.ndarray, seed: int):
    """Scores of all pictures of the dives that are asked for."""
    cuts = [boxed(dives, pictures, dive) for dive in chosen]
    features = np.concatenate([found[0] for found in cuts])
    names = np.concatenate([found[1] for found in cuts])
    dive_of = np.repeat(chosen, [len(found[1]) for found in cuts])
    survey = dives.survey[dive_of]
    count = len(dives.categories)

    crew = Ensemble(count, seed).fit(features[~survey], names[~survey])
    translation = translate(crew.chances(features[survey]), names[survey], dives.groups)
    copies = np.where(survey, SURVEY_COPIES, 1)
    both = Ensemble(count, seed + 1).fit(features.repeat(copies, 0), names.repeat(copies))
    renamed = crew.chances(features[~survey]) @ translation
    confident = renamed.argmax(1)
    relabelled = np.concatenate([confident, names[survey]])
    mixed = np.concatenate([features[~survey], features[survey]])
    again = Ensemble(count, seed + 2).fit(mixed, relabelled)

    scores = np.zeros((len(asked), pictures.shape[1], count))
    for place, dive in enumerate(asked):
        spots = [standing_out(picture) for picture in pictures[dive]]
        frame_of = np.repeat(np.arange(len(spots)), [len(found) for found in spots])
        weights = np.array([weight for found in spots for _, weight in found])[:, None]
        found = np.array(
            [
                describe(cut(picture, *spot))
                for picture, places in zip(pictures[dive], spots, strict=True)
                for spot, _ in places
            ]
        )
        chances = 0.4 * crew.chances(found) @ translation
        chances += 0.3 * both.chances(found) + 0.3 * again.chances(found)
        absent = 1 - 0.98 * weights * chances
        for frame in range(len(spots)):
            scores[place, frame] = 1 - np.prod(absent[frame_of == frame], axis=0)
    prior = scores.mean((0, 1)) + 0.01
    return scores * (prior / prior.mean()) ** 0.2


def boxed(dives, pictures: np.ndarray, dive: int) -> tuple[np.ndarray, np.ndarray]:
    """Descriptions of the animals in a training dive, and their categories; each moved a little."""
    found, names = [], []
    for picture, boxes in zip(pictures[dive], dives.boxes[dive], strict=True):
        for category, left, top, width, height in boxes:
            row, column = top + height / 2 - 0.5, left + width / 2 - 0.5
            near = centred(picture, row, column)
            for spot in {(round(row), round(column)), near}:
                found.append(describe(cut(picture, *spot)))
                names.append(category)
    return np.array(found), np.array(names)


def outstanding(picture: np.ndarray) -> np.ndarray:
    return ndimage.gaussian_filter(np.abs(picture).sum(2), 2.0, mode="wrap")


def centred(picture: np.ndarray, row: float, column: float) -> tuple[int, int]:
    """The pixel near the middle of a box at which most stands out."""
    energy = outstanding(picture)
    size = len(picture)
    spots = [(round(row) + a, round(column) + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return max(spots, key=lambda spot: energy[spot[0] % size, spot[1] % size])


def standing_out(picture: np.ndarray) -> list[tuple[tuple[int, int], float]]:
    """One or two places of animals, with how sure each is."""
    energy = outstanding(picture)
    peaks = np.argwhere(ndimage.maximum_filter(energy, 7, mode="wrap") == energy)
    heights = energy[tuple(peaks.T)] - np.median(energy)
    order = np.argsort(-heights)[:3]
    top = heights[order[0]] + 1e-6
    found = [((int(peaks[n][0]), int(peaks[n][1])), heights[n] / top) for n in order]
    return [(spot, min(1.0, 0.2 + share)) for spot, share in found if share > 0.35]


def cut(picture: np.ndarray, row: int, column: int) -> np.ndarray:
    reach = np.arange(-(SIDE // 2), SIDE // 2 + 1)
    size = len(picture)
    return picture[np.ix_((row + reach) % size, (column + reach) % size)]


def describe(part: np.ndarray) -> np.ndarray:
    """Shape in few pixels, colour of what stands out, moments, and edges by direction."""
    base = np.median(part.reshape(-1, 3), axis=0)
    values = part - base
    energy = np.sqrt((values**2).sum(2))
    shape = energy / (energy.max() + 1e-3)
    weight = np.clip(shape - 0.3, 0, None)
    total = weight.sum() + 1e-6
    colour = (values * weight[..., None]).sum((0, 1)) / total
    spread = np.sqrt((((values - colour) ** 2) * weight[..., None]).sum((0, 1)) / total)
    y, x = np.mgrid[: len(part), : len(part)] - len(part) // 2
    my, mx = (weight * y).sum() / total, (weight * x).sum() / total
    dy, dx = y - my, x - mx
    moments = [(weight * a).sum() / total for a in (dy**2, dx**2, dy * dx, dy**3, dx**3)]
    down, right = np.gradient(shape)
    angle = (np.arctan2(down, right) / (2 * np.pi) * 8).astype(int) % 8
    strength = np.hypot(down, right)
    edges = [strength[angle == n].sum() for n in range(8)]
    ring = np.round(np.hypot(dy, dx)).astype(int)
    rings = [shape[ring == n].mean() if (ring == n).any() else 0.0 for n in range(6)]
    small = ndimage.zoom(shape, 7 / SIDE, order=1).ravel()
    pixels = ndimage.zoom(values, (6 / SIDE, 6 / SIDE, 1), order=1).ravel()
    norm = colour / (np.linalg.norm(colour) + 1e-3)
    parts = (small, pixels, colour, norm, spread, moments, edges, rings, [weight.sum()])
    return np.concatenate([np.asarray(part, dtype=np.float32).ravel() for part in parts])


class Ensemble:
    """Linear discriminants and random trees; their chances are multiplied."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.scaler = StandardScaler()
        self.linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)
        self.trees = ExtraTreesClassifier(
            80, min_samples_leaf=2, max_features=0.2, random_state=seed
        )

    def fit(self, features: np.ndarray, names: np.ndarray) -> "Ensemble":
        scaled = self.scaler.fit_transform(features)
        self.linear.fit(scaled, names)
        self.trees.fit(scaled, names)
        return self

    def chances(self, features: np.ndarray) -> np.ndarray:
        scaled = self.scaler.transform(features)
        found = np.full((len(features), self.count), 1e-4)
        linear = self.linear.predict_proba(scaled) + 1e-3
        trees = self.trees.predict_proba(scaled) + 1e-2
        found[:, self.linear.classes_] = np.sqrt(linear * trees)
        return found / found.sum(1, keepdims=True)


def translate(chances: np.ndarray, names: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """For each of the crew's names, how likely the specialist's are."""
    count = chances.shape[1]
    together = np.zeros((count, count))
    for row, name in zip(chances, names, strict=True):
        together[:, name] += row
    together += 0.5 * np.eye(count) + 0.02 * (groups[:, None] == groups[None]) + 1e-3
    return together / together.sum(1, keepdims=True)


if __name__ == "__main__":
    main()
