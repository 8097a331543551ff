# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A convolution layer whose filters are combinations of shifted motifs, and some that are not.

Images are cut into blocks of stride x stride pixels. One product gives every block's share in every
motif. Shares are added up to the motifs' responses, and a second product combines these, read at
several places, with single pixels at stray taps.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

EXACT = 1e-12
"""How far combinations of motifs may be from the filters, as a share of the largest weight."""
ROWS = 2


class Family(NamedTuple):
    filters: list[int]
    motif: np.ndarray
    times: np.ndarray
    """The coefficients of all copies: (down, across, filters)."""


class Kind(NamedTuple):
    """Families whose motifs have the same size: where their shares are, how they are combined."""

    first: int
    blocks: tuple[int, int]
    copies: tuple[int, int]
    count: int
    mixing: np.ndarray
    """(filters of these families, copies and families, then stray taps, then the bias)"""


class Layer(NamedTuple):
    shape: tuple[int, ...]
    stride: int
    padding: int
    bias: np.ndarray
    kinds: list[Kind]
    shares: np.ndarray
    """(blocks of all motifs, values of a block)"""
    strays: list[tuple[int, int, int]]
    """Block row, block column and place in the block of each stray tap."""
    order: np.ndarray
    """For each filter of the layer, its place among filters of families, then the others."""
    others: np.ndarray
    """Where filters without a family are."""
    rest: np.ndarray
    """These filters, as they are."""


def build(found: dict, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int) -> Layer:
    """The layer, made of what was found in its filters as far as that is true of them."""
    rows, columns, channels, count = filters.shape
    taps = rows * columns * channels
    strays = [place for place in found["strays"] if place < taps]
    kept = np.ones(taps, dtype=bool)
    kept[strays] = False
    kept = kept.reshape(rows, columns, channels)
    families = [
        family
        for one in found["families"]
        if max(one["filters"]) < count
        and (family := fit(filters, one["filters"], one["motif"], kept, stride))
    ]
    families.sort(key=lambda family: family.motif.shape)
    places = np.array([place for family in families for place in family.filters], dtype=int)
    others = np.setdiff1d(np.arange(count), places)
    left = (filters - explain(families, filters.shape, stride)).reshape(taps, count)
    kinds, shares = stack_motifs(families, np.vstack([left[strays], bias]), stride)
    return Layer(
        filters.shape, stride, padding, bias, kinds, shares,
        [place_in_blocks(tap, filters.shape, stride) for tap in strays],
        np.argsort(np.concatenate([places, others])), others,
        np.ascontiguousarray(filters[..., others]),
    )  # fmt: skip


def fit(
    filters: np.ndarray, members: list[int], size: list[int], kept: np.ndarray, stride: int
) -> Family | None:
    """The motif of a family and the coefficients of its copies; None unless they are exact."""
    rows, columns = filters.shape[:2]
    (height, width), family = size, filters[..., members]
    if height > rows or width > columns:
        return None
    down, across = (rows - height) // stride + 1, (columns - width) // stride + 1
    largest = np.abs(family).max(axis=(0, 1, 2))
    family = family / largest
    motif = np.zeros((height, width, filters.shape[2]))
    known = np.zeros(motif.shape, dtype=bool)
    for y, x in np.ndindex(down, across):
        place = np.s_[y * stride : y * stride + height, x * stride : x * stride + width]
        outside = kept.copy()
        outside[place] = False
        if outside.sum() < len(members):
            return None
        _, values, combinations = np.linalg.svd(family[outside], full_matrices=False)
        if values[-1] > EXACT * values[0]:
            continue
        copy, sure = family[place] @ combinations[-1], kept[place]
        both = known & sure
        if known.any():
            copy = copy * (copy[both] @ motif[both]) / (copy[both] @ copy[both])
        new = sure & ~known
        motif[new], known = copy[new], known | sure
    if not known.any():
        return None
    copies = np.stack(list(shifted(motif, (rows, columns), stride)), axis=-1)
    times = np.linalg.lstsq(copies[kept], family[kept], rcond=None)[0]
    if np.abs(copies[kept] @ times - family[kept]).max() > EXACT:
        return None
    return Family(members, motif, (times * largest).reshape(down, across, -1))


def shifted(motif: np.ndarray, window: tuple[int, int], stride: int):
    """The motif at every place in the window where it fits, in strides."""
    height, width, channels = motif.shape
    for top in range(0, window[0] - height + 1, stride):
        for left in range(0, window[1] - width + 1, stride):
            copy = np.zeros((*window, channels))
            copy[top : top + height, left : left + width] = motif
            yield copy


def explain(families: list[Family], shape: tuple[int, ...], stride: int) -> np.ndarray:
    """The filters as combinations of motifs."""
    explained = np.zeros(shape)
    for family in families:
        copies = np.stack(list(shifted(family.motif, shape[:2], stride)), axis=-1)
        explained[..., family.filters] = copies @ family.times.reshape(copies.shape[-1], -1)
    return explained


def stack_motifs(
    families: list[Family], single: np.ndarray, stride: int
) -> tuple[list[Kind], np.ndarray]:
    """All blocks of all motifs as rows: by kind, then block, then family."""
    kinds, rows, first = [], [], 0
    for size in sorted({family.motif.shape for family in families}):
        same = [family for family in families if family.motif.shape == size]
        cut = in_blocks(np.stack([family.motif for family in same], axis=-1), stride)
        rows.append(cut.transpose(0, 1, 3, 2).reshape(-1, cut.shape[2]))
        copies, mixing = same[0].times.shape[:2], mix(same, single)
        kinds.append(Kind(first, cut.shape[:2], copies, len(same), mixing))
        first += len(rows[-1])
    return kinds, np.concatenate(rows) if rows else np.zeros((0, 0))


def mix(families: list[Family], single: np.ndarray) -> np.ndarray:
    """The coefficients of these families, one family's filters after the other's."""
    down, across, _ = families[0].times.shape
    members = [place for family in families for place in family.filters]
    mixing = np.zeros((len(members), down * across, len(families)))
    first = 0
    for number, family in enumerate(families):
        last = first + len(family.filters)
        mixing[first:last, :, number] = family.times.reshape(down * across, -1).T
        first = last
    return np.hstack([mixing.reshape(len(mixing), -1), single[:, members].T])


def in_blocks(motifs: np.ndarray, stride: int) -> np.ndarray:
    """(rows, columns, channels, count) as (block rows, block columns, values of a block, count)."""
    height, width, channels, count = motifs.shape
    down, across = -(-height // stride), -(-width // stride)
    padded = np.zeros((down * stride, across * stride, channels, count))
    padded[:height, :width] = motifs
    blocks = padded.reshape(down, stride, across, stride, channels, count)
    return blocks.transpose(0, 2, 1, 3, 4, 5).reshape(down, across, -1, count)


def place_in_blocks(tap: int, shape: tuple[int, ...], stride: int) -> tuple[int, int, int]:
    row, column, channel = (int(one) for one in np.unravel_index(tap, shape[:3]))
    within = ((row % stride) * stride + column % stride) * shape[2] + channel
    return row // stride, column // stride, within


def forward(inputs: np.ndarray, layer: Layer) -> np.ndarray:
    """Convolve a batch of images with the layer's filters, add the bias and apply relu.

    inputs: (batch, height, width, channels). Returns (batch, output height, output width, filters).
    """
    if not layer.kinds:
        return np.maximum(plain(inputs, layer) + layer.bias, 0.0)
    return np.stack([combined(image, layer) for image in inputs])


def combined(image: np.ndarray, layer: Layer) -> np.ndarray:
    """The outputs for one image, by filters of families and others."""
    height, width, channels = image.shape
    stride, padding = layer.stride, layer.padding
    high = (height + 2 * padding - layer.shape[0]) // stride + 1
    wide = (width + 2 * padding - layer.shape[1]) // stride + 1
    down = max(high + -(-layer.shape[0] // stride) - 1, -(-(height + 2 * padding) // stride))
    across = max(wide + -(-layer.shape[1] // stride) - 1, -(-(width + 2 * padding) // stride))
    padded = np.zeros((down * stride, across * stride, channels))
    padded[padding : padding + height, padding : padding + width] = image
    blocks = padded.reshape(down, stride, across, stride, channels).transpose(1, 3, 4, 0, 2)
    blocks = blocks.reshape(-1, down, across)
    shares = (layer.shares @ blocks.reshape(len(blocks), -1)).reshape(-1, down, across)
    single = [blocks[within, y : y + high, x : x + wide] for y, x, within in layer.strays]
    single.append(np.ones((high, wide)))
    outputs, place = np.empty((layer.shape[3], high * wide)), 0
    for kind in layer.kinds:
        read = responses(shares, kind, single)
        np.matmul(kind.mixing, read, out=outputs[place : place + len(kind.mixing)])
        place += len(kind.mixing)
    if len(layer.others):
        others = plain(image[None], layer) + layer.bias[layer.others]
        outputs[place:] = others.reshape(high * wide, -1).T
    return np.maximum(outputs[layer.order].T, 0.0, order="C").reshape(high, wide, -1)


def responses(shares: np.ndarray, kind: Kind, single: list[np.ndarray]) -> np.ndarray:
    """What is mixed: responses to a kind's motifs at all copies, stray pixels, and ones."""
    high, wide = single[0].shape
    tall, broad = high + kind.copies[0] - 1, wide + kind.copies[1] - 1
    response = np.zeros((kind.count, tall, broad))
    for number, (y, x) in enumerate(np.ndindex(kind.blocks)):
        first = kind.first + number * kind.count
        response += shares[first : first + kind.count, y : y + tall, x : x + broad]
    read = np.empty((kind.mixing.shape[1], high, wide))
    for number, (y, x) in enumerate(np.ndindex(kind.copies)):
        first = number * kind.count
        read[first : first + kind.count] = response[:, y : y + high, x : x + wide]
    read[-len(single) :] = single
    return read.reshape(len(read), -1)


def plain(inputs: np.ndarray, layer: Layer) -> np.ndarray:
    """What filters without a family give: pieces of patches times filters, added up."""
    batch, height, width, channels = inputs.shape
    rows, columns, _, count = layer.rest.shape
    stride, padding = layer.stride, layer.padding
    padded = np.zeros((batch, height + 2 * padding, width + 2 * padding, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    high = (height + 2 * padding - rows) // stride + 1
    wide = (width + 2 * padding - columns) // stride + 1
    image_step, row_step, column_step, value_step = padded.strides
    patches = as_strided(
        padded,
        shape=(batch, high, wide, rows, columns * channels),
        strides=(image_step, row_step * stride, column_step * stride, row_step, value_step),
        writeable=False,
    )
    outputs = np.zeros((batch * high * wide, count))
    for row in range(0, rows, ROWS):
        pieces = patches[:, :, :, row : row + ROWS].reshape(len(outputs), -1)
        outputs += pieces @ layer.rest[row : row + ROWS].reshape(-1, count)
    return outputs.reshape(batch, high, wide, count)
