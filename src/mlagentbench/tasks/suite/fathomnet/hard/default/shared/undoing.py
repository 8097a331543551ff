# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Undoes what recorders may have done: codes of bytes, orders of lines, shears, turns, rolls, lags.

What can be seen in the pictures alone is undone so that neighbours become alike; what boxes tell is
undone so that what stands out of the background falls into the boxes.
"""

import numpy as np

GAIN = 0.9  # a candidate must be that much smoother than what is there
AXES = {"rows": 1, "columns": 2}


def restore(pictures: np.ndarray) -> np.ndarray:
    """The pictures of one dive, as smooth as invertible steps make them."""
    pictures = best_of(pictures, codings(pictures))
    pictures = best_of(pictures, mirrors(pictures))
    for axis in AXES.values():
        pictures = best_of(pictures, orders(pictures, axis))
    for axis in AXES.values():
        pictures = best_of(pictures, shears(pictures, axis))
    for axis in AXES.values():
        pictures = cut_at_seam(pictures, axis)
    return pictures


def best_of(pictures: np.ndarray, candidates: list[np.ndarray]) -> np.ndarray:
    costs = [roughness(candidate) for candidate in candidates]
    best = int(np.argmin(costs))
    return candidates[best] if costs[best] < GAIN * roughness(pictures) else pictures


def roughness(pictures: np.ndarray) -> float:
    """How different neighbours are, compared with any two pixels of a picture."""
    values = pictures[::4].astype(np.float32)
    near = (np.abs(np.diff(values, axis=1)).mean() + np.abs(np.diff(values, axis=2)).mean()) / 2
    flat = values.reshape(len(values), -1, values.shape[-1])
    mixed = flat[:, np.random.default_rng(0).permutation(flat.shape[1])]
    return float(near / (np.abs(flat - mixed).mean() + 1e-6))


def codings(pictures: np.ndarray) -> list[np.ndarray]:
    """Decoded bytes: tables of 256 values, sums of differences, xors."""
    value = np.arange(256)
    bits = (value[:, None] >> np.arange(8)) & 1
    gray = value ^ (value >> 1)
    tables = [gray, np.argsort(gray), (bits << np.arange(7, -1, -1)).sum(1)]
    tables += [(value >> n | value << (8 - n)) & 255 for n in range(1, 8)]
    tables += [(value + n) & 255 for n in range(16, 256, 16)]
    tables += [value ^ n for n in (*range(8, 128, 8), 1, 2, 4)]
    tables += [(value * n) & 255 for n in (3, 5, 7, 11, 13, 171, 205, 183, 163, 197)]
    found = [table.astype(np.uint8)[pictures] for table in tables]
    shape = pictures.shape
    raster = pictures.reshape(shape[0], -1, shape[-1])
    for decode in (lambda x, axis: np.cumsum(x, axis, dtype=np.uint8), np.bitwise_xor.accumulate):
        found += [decode(pictures, axis) for axis in (0, 1, 2, 3)]
        found.append(decode(raster, 1).reshape(shape))
    return found


def mirrors(pictures: np.ndarray) -> list[np.ndarray]:
    """Every other line turned round."""
    found = []
    for axis in AXES.values():
        for start in (0, 1):
            lines = np.moveaxis(pictures, axis, 1).copy()
            lines[:, start::2] = lines[:, start::2, ::-1]
            found.append(np.moveaxis(lines, 1, axis))
    return found


def orders(pictures: np.ndarray, axis: int) -> list[np.ndarray]:
    """Lines in other orders: strides, interlaced fields, blocks, and a shortest path."""
    size = pictures.shape[axis]
    line = np.arange(size)
    found = [line * step % size for step in (5, 7, 11)]
    for parts in (2, 3, 4, 6, 8, 12):
        fields = np.concatenate([line[start::parts] for start in range(parts)])
        blocks = line.reshape(parts, -1)
        found += [fields, np.argsort(fields), blocks[:, ::-1].ravel()]
        found.append(line.reshape(-1, 2)[:, ::-1].ravel())
    distances = line_distances(pictures, axis)
    found.append(shortest_tour(distances))
    return [np.take(pictures, order, axis=axis) for order in found]


def line_distances(pictures: np.ndarray, axis: int) -> np.ndarray:
    lines = np.moveaxis(pictures, axis, 0).astype(np.float32)
    lines = lines.reshape(len(lines), -1)[:, ::2]
    return np.abs(lines[:, None] - lines[None]).mean(2)


def shortest_tour(distances: np.ndarray) -> np.ndarray:
    """An order of lines in which neighbours are alike, cut where they are least alike."""
    size = len(distances)
    tour, left = [0], set(range(1, size))
    while left:
        tour.append(min(left, key=lambda n: distances[tour[-1], n]))
        left.remove(tour[-1])
    improved = True
    while improved:
        improved = False
        for a in range(size - 1):
            for b in range(a + 2, size - (a == 0)):
                p, q, r, s = tour[a], tour[a + 1], tour[b], tour[(b + 1) % size]
                if distances[p, r] + distances[q, s] < distances[p, q] + distances[r, s] - 1e-6:
                    tour[a + 1 : b + 1] = tour[a + 1 : b + 1][::-1]
                    improved = True
    order = np.array(tour)
    steps = distances[order, np.roll(order, -1)]
    order = np.roll(order, -int(steps.argmax()) - 1)
    return order if order[0] < order[-1] else order[::-1]


def shears(pictures: np.ndarray, axis: int) -> list[np.ndarray]:
    """Lines along an axis rolled by the same more each, or each as it fits the one before."""
    lines = np.moveaxis(pictures, axis, 1)
    size = lines.shape[1]
    found = [np.arange(size) * step % size for step in range(1, size)]
    found.append(np.arange(size) % 2 * (size // 2))
    fitted, total = [0], 0
    values = lines.astype(np.float32)
    values -= values.mean(2, keepdims=True)
    for n in range(1, size):
        fits = [np.abs(np.roll(values[:, n], s, 1) - values[:, n - 1]).mean() for s in range(size)]
        total = (total + int(np.argmin(fits))) % size
        fitted.append(total)
    found.append(np.array(fitted))
    back = (np.arange(size)[None] - np.array(found)[:, :, None]) % size
    rows = np.arange(size)[:, None]
    return [np.moveaxis(lines[:, rows, source], 1, axis) for source in back]


def cut_at_seam(pictures: np.ndarray, axis: int) -> np.ndarray:
    """Rolled so that the one step between unlike lines is at the edge."""
    lines = np.moveaxis(pictures, axis, 0).astype(np.float32)
    steps = np.abs(lines - np.roll(lines, -1, 0)).reshape(len(lines), -1).mean(1)
    where = int(steps.argmax())
    if steps[where] < 1.4 * np.median(steps):
        return pictures
    return np.roll(pictures, -where - 1, axis=axis)


def turned(pictures: np.ndarray, turn: int) -> np.ndarray:
    """One of the eight ways to lay a square."""
    if turn & 1:
        pictures = np.swapaxes(pictures, 1, 2)
    if turn & 2:
        pictures = pictures[:, ::-1]
    if turn & 4:
        pictures = pictures[:, :, ::-1]
    return pictures


def activity(pictures: np.ndarray) -> np.ndarray:
    """How much a pixel stands out of its picture and of its place in the dive."""
    values = pictures.astype(np.float32)
    values = values - np.median(values, axis=(1, 2), keepdims=True)
    found = np.minimum(np.abs(values), np.abs(values - np.median(values, axis=0))).sum(3)
    found = np.minimum(found, np.quantile(found, 0.97))
    return found - found.mean((1, 2), keepdims=True)


def masks_of(boxes: list, size: int) -> np.ndarray:
    masks = np.zeros((len(boxes), size, size), dtype=np.float32)
    for mask, inside in zip(masks, boxes, strict=True):
        for _, left, top, width, height in inside:
            mask[int(top) : int(top + height), int(left) : int(left + width)] = 1
    return masks - masks.mean((1, 2), keepdims=True)


def align(pictures: np.ndarray, boxes: list) -> tuple[float, tuple]:
    """How well what stands out falls into boxes, and for which turn, lag, drift and roll."""
    stands = activity(pictures)
    size = stands.shape[1]
    frames = np.arange(len(stands))
    masks = masks_of(boxes, size)
    target = np.conj(np.fft.fft2(masks))
    scale = np.sqrt((masks**2).sum() * (stands**2).sum()) + 1e-6
    wave = np.exp(2j * np.pi * np.outer(frames, np.arange(size)) / size)  # a roll by one
    ways = [(turn, lag, 0, 0) for turn in range(8) for lag in frames]
    ways += [(turn, 0, v, 0) for turn in range(8) for v in range(1, size)]
    ways += [(turn, 0, 0, v) for turn in range(8) for v in range(1, size)]
    spectra = [np.fft.fft2(turned(stands, turn)) for turn in range(8)]
    sums = []
    for turn, lag, down, right in ways:
        product = np.roll(spectra[turn], -lag, axis=0) * target
        if down:
            product = product * wave[frames * down % len(wave)][:, :, None]
        if right:
            product = product * wave[frames * right % len(wave)][:, None, :]
        sums.append(product.sum(0))
    maps = np.fft.ifft2(np.array(sums)).real / scale
    plain = maps[0, 0, 0]
    best = int(maps.reshape(len(ways), -1).max(1).argmax())
    peak = maps[best].max()
    if peak < 1.15 * plain or peak < plain + 0.03:
        return float(plain), (*ways[0], 0, 0)
    return float(peak), (*ways[best], *np.unravel_index(maps[best].argmax(), maps[best].shape))


def as_live(pictures: np.ndarray, way: tuple) -> np.ndarray:
    """The pictures as boxes saw them."""
    turn, lag, down, right, top, left = (int(part) for part in way)
    pictures = np.roll(turned(pictures, turn), -lag, axis=0)
    return np.stack(
        [
            np.roll(one, (-top - down * frame, -left - right * frame), (0, 1))
            for frame, one in enumerate(pictures)
        ]
    )


def normalised(pictures: np.ndarray) -> np.ndarray:
    """Channels of a dive with the same middle and spread, so that its light does not matter."""
    values = pictures.astype(np.float32)
    values = values - np.median(values, axis=(0, 1, 2))
    spread = np.sqrt((values**2).mean((0, 1, 2))) + 1e-3
    return np.clip(values / spread, -5, 5)


def live(dives) -> tuple[np.ndarray, np.ndarray, list]:
    """All pictures restored; of training dives also how well they fit the boxes, and how so.

    Test dives get the turn, lag and roll that most training dives have, if most agree.
    """
    found = np.stack([restore(pictures) for pictures in dives.pixels])
    fits, ways = np.zeros(len(found)), []
    for dive in np.flatnonzero(dives.known):
        fits[dive], way = align(found[dive], dives.boxes[dive])
        found[dive] = as_live(found[dive], way)
        ways.append(tuple(int(part) for part in way))
    common = [most(column) for column in zip(*ways, strict=True)]
    for dive in np.flatnonzero(~dives.known):
        found[dive] = as_live(found[dive], tuple(common))
    print("roughness", [round(roughness(one), 2) for one in found[:8]])
    print("fits", np.round(fits[dives.known], 2).tolist())
    print("ways", ways)
    return found, fits, ways


def most(values: tuple) -> int:
    numbers, counts = np.unique(values, return_counts=True)
    return int(numbers[counts.argmax()]) if counts.max() > 0.6 * len(values) else 0
