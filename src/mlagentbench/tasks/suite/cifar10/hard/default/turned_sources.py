"""Patch dictionary; finds how other sources are turned or recoloured; stacks models of each."""

import os

import described
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0")) % 2**31
PATCH, STRIDE, WORDS = 6, 2, 160
FOLDS = 4
COLOURS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
SHAPES = [(turns, mirrored) for mirrored in (False, True) for turns in range(4)]
PLAIN = ((0, False), (0, 1, 2), False)
MARGIN = 0.08  # how much better than as it is a changed image has to be told
Change = tuple[tuple[int, bool], tuple[int, ...], bool]


class Dictionary:
    """How much of each of some whitened patches is in each quarter of an image."""

    def __init__(self, images: np.ndarray) -> None:
        rng = np.random.default_rng(SEED)
        cut = cuts(images)
        rows = cut.reshape(-1, cut.shape[-1])
        rows = rows[rng.choice(len(rows), 20000, replace=False)]
        self.mean = rows.mean(0)
        values, vectors = np.linalg.eigh(np.cov(rows.T))
        self.white = (vectors / np.sqrt(np.maximum(values, 0) + 0.02)).astype(np.float32) @ (
            vectors.T.astype(np.float32)
        )
        words = (rows - self.mean) @ self.white
        words = words[np.linalg.norm(words, axis=1) > 1e-3]
        words = words[rng.choice(len(words), WORDS, replace=False)]
        self.words = words / np.linalg.norm(words, axis=1, keepdims=True)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        parts = [self.quarters(part) for part in np.array_split(images, max(1, len(images) // 200))]
        return np.vstack(parts)

    def quarters(self, images: np.ndarray) -> np.ndarray:
        found = (cuts(images) - self.mean) @ self.white @ self.words.T
        both = np.concatenate([np.maximum(found - 0.5, 0), np.maximum(-found - 0.5, 0)], -1)
        half = both.shape[1] // 2
        parts = [
            both[:, rows, columns].mean(axis=(1, 2))
            for rows in (slice(None, half), slice(half, None))
            for columns in (slice(None, half), slice(half, None))
        ]
        colours = images.astype(np.float32).mean(axis=(1, 2)) / 64
        return np.sqrt(np.hstack([*parts, colours]))


def cuts(images: np.ndarray) -> np.ndarray:
    """All patches at the stride: image, row, column, numbers."""
    pixels = images.astype(np.float32) / 64
    views = np.lib.stride_tricks.sliding_window_view(pixels, (PATCH, PATCH), axis=(1, 2))
    chosen = views[:, ::STRIDE, ::STRIDE]
    return chosen.reshape(*chosen.shape[:3], -1)


def changed(images: np.ndarray, change: Change) -> np.ndarray:
    (turns, mirrored), order, inverted = change
    result = images[:, :, ::-1] if mirrored else images
    result = np.rot90(result, turns, axes=(1, 2))[..., list(order)]
    return 255 - result if inverted else result


def undone(images: np.ndarray, change: Change) -> np.ndarray:
    (turns, mirrored), order, inverted = change
    result = 255 - images if inverted else images
    result = np.rot90(result[..., np.argsort(order)], -turns, axes=(1, 2))
    return result[:, :, ::-1] if mirrored else result


class Told:
    """A linear model of a head on patches of one source."""

    def __init__(self, features: np.ndarray, targets: np.ndarray) -> None:
        self.scaler = StandardScaler().fit(features)
        self.pca = PCA(80, random_state=SEED).fit(self.scaler.transform(features))
        values = self.pca.transform(self.scaler.transform(features))
        self.model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2).fit(values, targets)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        values = self.pca.transform(self.scaler.transform(features))
        return logs_of(self.model.predict_proba(values))


def logs_of(guesses: np.ndarray) -> np.ndarray:
    return np.log(0.97 * guesses + 0.03 / guesses.shape[1])


def main() -> None:
    data = described.load()
    dictionary = Dictionary(np.vstack([data.images[::4], data.test[::4]]))
    patches, test_patches = dictionary(data.images), dictionary(data.test)
    own = data.own
    extra, test_extra = [described.describe(data.images[own])], [described.describe(data.test)]
    moved = patches.copy()
    for source in np.unique(data.sources):
        if source == data.tested:
            continue
        rows = np.flatnonzero(data.sources == source)
        genus = Told(patches[rows], data.genus[data.labels[rows]])
        classes = Told(patches[rows], data.labels[rows])
        change = best_change(data, dictionary, genus)
        print(f"source {source}: {change}")
        if change != PLAIN:
            moved[rows] = dictionary(undone(data.images[rows], change))
        here = patches[own] if change == PLAIN else dictionary(changed(data.images[own], change))
        there = test_patches if change == PLAIN else dictionary(changed(data.test, change))
        extra.append(np.hstack([genus(here), classes(here)]))
        test_extra.append(np.hstack([genus(there), classes(there)]))
    finish(data, moved, test_patches, np.hstack(extra), np.hstack(test_extra))


def best_change(data: described.Data, dictionary: Dictionary, genus: Told) -> Change:
    """The change of the tested source's images under which another source's model tells them."""
    images, truth = data.images[data.own], data.genus[data.labels[data.own]]

    def share(change: Change) -> float:
        guesses = genus(dictionary(changed(images, change))).argmax(1)
        return float((guesses == truth).mean())

    plain = share(PLAIN)
    shapes = {shape: share((shape, PLAIN[1], False)) for shape in SHAPES[1:]}
    shapes[SHAPES[0]] = plain + MARGIN / 2
    shape = max(shapes, key=lambda key: shapes[key])
    found = {
        (shape, order, inverted): share((shape, order, inverted))
        for order in COLOURS
        for inverted in (False, True)
    }
    found[shape, PLAIN[1], False] += MARGIN / 2
    best = max(found, key=lambda key: found[key])
    print(f"as it is {plain:.3f}, best {found[best]:.3f}")
    return best if found[best] > plain + MARGIN else PLAIN


def finish(
    data: described.Data,
    patches: np.ndarray,
    test_patches: np.ndarray,
    extra: np.ndarray,
    test_extra: np.ndarray,
) -> None:
    """Chooses between the ways on the tested source, and writes the mean of the best two."""
    own = data.own
    others = np.flatnonzero(data.sources != data.tested)
    scaler = StandardScaler().fit(patches)
    pca = PCA(100, random_state=SEED).fit(scaler.transform(patches))
    known, asked = (pca.transform(scaler.transform(v)) for v in (patches, test_patches))
    scaler = StandardScaler().fit(extra)
    known_extra, asked_extra = (np.clip(scaler.transform(v), -4, 4) for v in (extra, test_extra))

    def pooled(targets: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        used = np.r_[others, np.repeat(own[rows], 3)]
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
        model.fit(known[used], targets[used])
        return logs_of(model.predict_proba(known[own[numbers]] if len(numbers) else asked))

    def stacked(targets: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        model = LogisticRegression(C=0.01, max_iter=200).fit(known_extra[rows], targets[own[rows]])
        return logs_of(model.predict_proba(known_extra[numbers] if len(numbers) else asked_extra))

    def grown(targets: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        model = ExtraTreesClassifier(
            120, min_samples_leaf=2, max_features=0.1, random_state=SEED, n_jobs=1
        ).fit(known_extra[rows], targets[own[rows]])
        return logs_of(model.predict_proba(known_extra[numbers] if len(numbers) else asked_extra))

    ways = {"pooled": pooled, "stacked": stacked, "grown": grown}
    folds = list(
        StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(own, data.labels[own])
    )
    held, final = {}, {}
    for head, meaning in data.heads().items():
        targets = meaning[data.labels]
        results = {}
        for name, way in ways.items():
            out = np.zeros((len(own), targets.max() + 1))
            for rows, hidden in folds:
                out[hidden] = way(targets, rows, hidden)
            loss = -out[np.arange(len(own)), targets[own]].mean()
            results[name] = (loss, out)
            print(f"{head}: {name}: loss {loss:.3f}")
        chosen = sorted(results, key=lambda name: results[name][0])[:2]
        held[head] = np.mean([results[name][1] for name in chosen], axis=0)
        everything, nothing = np.arange(len(own)), np.array([], dtype=int)
        final[head] = np.mean([ways[name](targets, everything, nothing) for name in chosen], axis=0)
    accuracy = (described.joined(data, held, 0.3).argmax(1) == data.labels[own]).mean()
    print(f"validation accuracy={accuracy:.4f}")
    described.write(described.joined(data, final, 0.3))


if __name__ == "__main__":
    main()
