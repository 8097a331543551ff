# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Measures the parts that every picture has: a frame, a ground lit from one side, a striped disc."""

from itertools import combinations

import numpy as np

FRAME = 3
RADII = np.arange(4.5, 8.5, 0.5)
FINE = 64
"""Stripes are measured on a spectrum of so many steps."""
AT_ONCE = 200
TINTS = np.array([[1, -1, 0], [0.5, 0.5, -1]]) / np.array([[2**0.5], [1.5**0.5]])
"""Two directions of colour that leave the brightness as it is."""

Measured = dict[str, np.ndarray]


def measure(images: np.ndarray) -> tuple[Measured, Measured]:
    """Features on a circle, as unit complex numbers, and levels; one value for each picture."""
    parts = [measure_some(images[n : n + AT_ONCE]) for n in range(0, len(images), AT_ONCE)]
    circles = {name: np.concatenate([part[0][name] for part in parts]) for name in parts[0][0]}
    levels = {name: np.concatenate([part[1][name] for part in parts]) for name in parts[0][1]}
    return {name: values / (abs(values) + 1e-9) for name, values in circles.items()}, levels


def relations(circles: Measured) -> dict[str, np.ndarray]:
    """Each feature, and each sum and difference of two of them."""
    found = dict(circles)
    for (one, first), (other, second) in combinations(circles.items(), 2):
        found[f"{one} + {other}"] = first * second
        found[f"{one} - {other}"] = first * second.conj()
    return found


def measure_some(images: np.ndarray) -> tuple[Measured, Measured]:
    pixels = images / 255
    bright = pixels.mean(axis=3)
    colour = (pixels @ TINTS.T) @ np.array([1, 1j])
    size = images.shape[1]
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    frame = np.maximum(abs(x), abs(y)) > size / 2 - FRAME
    centre, radius = find_disc(bright, colour, x, y, ~frame)
    disc = np.hypot(x - centre.real[:, None, None], y - centre.imag[:, None, None])
    inner, outer = disc < radius[:, None, None] - 0.5, disc > radius[:, None, None] + 1
    ground = outer & ~frame
    slope = planes(bright, x, y, ground)
    direction, width, contrast = stripes(bright, inner)
    circles = {
        "frame hue": colour[:, frame].mean(axis=1),
        "ground hue": mean(colour, ground),
        "disc hue": mean(colour, inner),
        "light direction": slope[:, 1] + 1j * slope[:, 2],
        "disc place": centre,
        "stripe direction": direction,
    }
    levels = {
        "frame brightness": bright[:, frame].mean(axis=1),
        "ground colourfulness": abs(circles["ground hue"]),
        "disc brightness": mean(bright, inner),
        "disc size": radius,
        "stripe contrast": contrast,
        "stripe width": width,
    }
    return circles, levels


def mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    return (values * where).sum(axis=(1, 2)) / where.sum(axis=(1, 2))


def find_disc(
    bright: np.ndarray, colour: np.ndarray, x: np.ndarray, y: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The disc, outside of which pictures are smooth: its centre, x + iy, and its radius."""
    usual = np.median(colour[:, inside].real, axis=1) + 1j * np.median(colour[:, inside].imag, 1)
    slope = planes(bright, x, y, np.broadcast_to(inside, bright.shape))
    smooth = slope[:, 0, None, None] + slope[:, 1, None, None] * x + slope[:, 2, None, None] * y
    strange = blurred((bright - smooth) ** 2) + abs(blurred(colour - usual[:, None, None])) ** 2
    strange = np.minimum(strange, np.quantile(strange[:, inside], 0.9, axis=1)[:, None, None])
    level = (strange[:, inside].max(axis=1) + np.median(strange[:, inside], axis=1)) / 2
    gain = np.fft.rfft2(np.where(inside, strange - level[:, None, None], 0))
    best, found, radius = np.full(len(bright), -np.inf), np.zeros(len(bright), int), None
    for size in RADII:
        shape = np.fft.rfft2(np.fft.ifftshift(np.hypot(x - 0.5, y - 0.5) < size))
        scores = np.fft.irfft2(gain * shape, s=x.shape).reshape(len(bright), -1)
        top = scores.argmax(axis=1)
        value = scores[np.arange(len(top)), top]
        radius = np.where(value > best, size, size if radius is None else radius)
        found = np.where(value > best, top, found)
        best = np.maximum(best, value)
    return (x + 1j * y).ravel()[found], radius


def blurred(values: np.ndarray) -> np.ndarray:
    """Means of each pixel and its neighbours."""
    values = (values + np.roll(values, 1, axis=1) + np.roll(values, -1, axis=1)) / 3
    return (values + np.roll(values, 1, axis=2) + np.roll(values, -1, axis=2)) / 3


def planes(bright: np.ndarray, x: np.ndarray, y: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Brightness in the middle, and how it grows with x and y, by least squares."""
    basis = np.stack([np.ones_like(x), x, y], axis=-1).reshape(-1, 3)
    weights = where.reshape(len(bright), -1).astype(float)
    squares = np.einsum("np,pi,pj->nij", weights, basis, basis, optimize=True)
    products = (weights * bright.reshape(len(bright), -1)) @ basis
    return np.linalg.solve(squares, products[..., None])[..., 0]


def stripes(bright: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Their direction (twice its angle, as stripes have no head), their width, their strength."""
    waves = (bright - mean(bright, inner)[:, None, None]) * inner
    power = abs(np.fft.fft2(waves, s=(FINE, FINE))) ** 2
    fy, fx = np.meshgrid(np.fft.fftfreq(FINE), np.fft.fftfreq(FINE), indexing="ij")
    seen = (np.hypot(fx, fy) > 0.12) & (np.hypot(fx, fy) < 0.45)
    power = np.where(seen, power, 0).reshape(len(bright), -1)
    near = np.where(power > power.max(axis=1, keepdims=True) / 2, power, 0)
    twice = near @ ((fx + 1j * fy) ** 2).ravel()
    frequency = near @ np.hypot(fx, fy).ravel() / near.sum(axis=1)
    return twice, 1 / frequency, np.sqrt(mean(waves**2, inner))
