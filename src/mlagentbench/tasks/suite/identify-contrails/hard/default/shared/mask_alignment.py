"""Finds how an annotator's masks have to be turned, moved and reordered to lie on lines."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch

SLOPES = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0)
PHASES = 12


def turned(masks: np.ndarray, way: tuple[int, int, int]) -> np.ndarray:
    """Masks (n, size, size) turned by quarters, perhaps mirrored, perhaps with slanted rows."""
    quarters, mirrored, slant = way
    out = np.rot90(masks, quarters, axes=(1, 2))
    if mirrored:
        out = out[:, :, ::-1]
    if slant:
        out = np.stack(
            [np.roll(out[:, row], slant * row, axis=1) for row in range(out.shape[1])], 1
        )
    return np.ascontiguousarray(out)


WAYS = [(q, m, s) for s in (0, 1, -1) for q in range(4) for m in (0, 1)]


def orders(count: int) -> list[np.ndarray]:
    """Which mask may belong to which image."""
    own = np.arange(count)
    moved = [np.roll(own, step) for step in range(-5, 6) if step]
    swapped = np.minimum(own ^ 1, count - 1)
    return [own, *moved, own[::-1].copy(), swapped]


@dataclass
class Rule:
    """How much better than chance a rule does, and what it makes of the masks."""

    gain: float
    name: str
    order: np.ndarray
    steps: list[tuple[tuple[int, int, int], int, int]] = field(default_factory=list)

    def apply(self, masks: np.ndarray) -> np.ndarray:
        out = np.zeros_like(masks)
        for place, (way, down, right) in enumerate(self.steps):
            mask = turned(masks[self.order[place]][None], way)[0]
            out[place] = np.roll(mask, (down, right), axis=(0, 1))
        return out


def scores(lineness: torch.Tensor, masks: np.ndarray) -> torch.Tensor:
    """(n, size, size): how well each mask, moved by each step, lies on its image's lines."""
    product = torch.fft.rfft2(torch.from_numpy(masks.astype(np.float32))).conj()
    product = product * torch.fft.rfft2(lineness)
    found = torch.fft.irfft2(product, s=lineness.shape[-2:])
    found = found - found.mean((1, 2), keepdim=True)
    deviation = found.std((1, 2), keepdim=True)
    return torch.where(deviation > 1e-3, found / deviation.clamp(min=1e-3), 0.0)


def chance(count: int, hypotheses: float) -> float:
    """What the best of so many hypotheses (its logarithm) reaches by chance."""
    return math.sqrt(2 * count * hypotheses)


def align(lineness: torch.Tensor, masks: np.ndarray) -> tuple[np.ndarray, Rule]:
    """The masks as they belong to the images, and the rule that did it."""
    masks = masks.astype(np.uint8)
    if masks.mean() > 0.5:
        masks = 1 - masks
    lineness = lineness - lineness.mean((1, 2), keepdim=True)
    count = len(masks)
    marked = int((masks.sum((1, 2)) > 0).sum())
    everyone = orders(count)
    rules = []
    for number, order in enumerate(everyone):
        sums = {}
        for way in WAYS:
            if way[2] and number:
                continue
            found = scores(lineness, turned(masks, way)[order])
            sums[way] = phase_sums(found)
            rules.append(free(found, way, order, marked))
            if not number and not way[2]:
                rules.append(drifting(found, way, order, marked))
        rules += [periodic(sums, order, period, marked, count) for period in (1, 2, 3, 4)]
    best = max(rules, key=lambda rule: rule.gain)
    return best.apply(masks), best


def phase_sums(found: torch.Tensor) -> torch.Tensor:
    return torch.stack([found[phase::PHASES].sum(0) for phase in range(PHASES)])


def periodic(sums: dict, order: np.ndarray, period: int, marked: int, count: int) -> Rule:
    """Each place modulo the period has a way and a step of its own."""
    total, chosen = 0.0, []
    for phase in range(period):
        best = (-math.inf, (0, 0, 0), 0, 0)
        for way, values in sums.items():
            value = values[phase::period].sum(0)
            top = int(value.argmax())
            down, right = divmod(top, value.shape[1])
            best = max(best, (float(value.max()), way, down, right))
        total += best[0]
        chosen.append(best[1:])
    hypotheses = period * math.log(24 * 1600) + 3
    steps = [chosen[place % period] for place in range(count)]
    return Rule(total - chance(marked, hypotheses), f"period {period}", order, steps)


def free(found: torch.Tensor, way: tuple[int, int, int], order: np.ndarray, marked: int) -> Rule:
    """Each mask has a step of its own."""
    flat = found.flatten(1)
    value, top = flat.max(1)
    steps = [(way, *divmod(int(place), found.shape[2])) for place in top]
    gain = float(value.sum()) - marked * math.sqrt(2 * math.log(1600)) - chance(marked, 8)
    return Rule(gain, "free", order, steps)


def drifting(
    found: torch.Tensor, way: tuple[int, int, int], order: np.ndarray, marked: int
) -> Rule:
    """The step grows from mask to mask."""
    count, size, _ = found.shape
    places = torch.arange(count)
    grid = torch.arange(size)
    best = (-math.inf, 0, 0, 0.0, 0.0)
    for slope in SLOPES:
        rows = (grid[None] + (slope * places).round().long()[:, None]) % size
        moved = found.gather(1, rows[:, :, None].expand(-1, -1, size))
        for other in SLOPES:
            if not (slope or other):
                continue
            columns = (grid[None] + (other * places).round().long()[:, None]) % size
            value = moved.gather(2, columns[:, None].expand(-1, size, -1)).sum(0)
            down, right = divmod(int(value.argmax()), size)
            best = max(best, (float(value.max()), down, right, slope, other))
    value, down, right, slope, other = best
    steps = [
        (way, down + round(slope * place), right + round(other * place)) for place in range(count)
    ]
    return Rule(value - chance(marked, math.log(8 * 48 * 1600) + 1), "drift", order, steps)


def aligned_masks(lineness: torch.Tensor, masks: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    """All training masks as they belong to the images."""
    out = masks.copy()
    for annotator in np.unique(annotators[annotators > 0]):
        rows = np.flatnonzero(annotators == annotator)
        out[rows], rule = align(lineness[torch.from_numpy(rows)], masks[rows])
        print(f"annotator {annotator}: {rule.name} {rule.steps[0]} gain={rule.gain:.1f}")
    return out
