"""Comparisons of agents take seconds, so those of unchanged leaderboards are kept."""

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.records import Record
from mlagentbench.report.cache import KeptEntries, package_hash
from mlagentbench.statistics.comparison import Comparison, all_comparisons
from mlagentbench.statistics.leaderboard import Leaderboard


class KeptComparisons(Record):
    """The comparisons of each leaderboard, and of which leaderboards."""

    fingerprint: str
    comparisons: tuple[tuple[Comparison, ...], ...]


def comparisons_of(
    leaderboards: Sequence[Leaderboard], outs: Sequence[Path]
) -> tuple[tuple[Comparison, ...], ...]:
    """The comparisons on each leaderboard of a report about these directories."""
    sha = hashlib.sha256(package_hash().encode())
    for leaderboard in leaderboards:
        sha.update(leaderboard.model_dump_json().encode())
    kept, key = KeptEntries("comparisons"), "\n".join(map(str, outs))
    known = _unpacked(kept.get(key))
    if known is None or known.fingerprint != sha.hexdigest():
        computed = tuple(tuple(all_comparisons(leaderboard)) for leaderboard in leaderboards)
        known = KeptComparisons(fingerprint=sha.hexdigest(), comparisons=computed)
        kept.store([(key, zlib.compress(known.model_dump_json().encode()))])
    return known.comparisons


def _unpacked(entry: bytes | None) -> KeptComparisons | None:
    try:
        return (
            None if entry is None else KeptComparisons.model_validate_json(zlib.decompress(entry))
        )
    except (ValidationError, zlib.error):
        return None
