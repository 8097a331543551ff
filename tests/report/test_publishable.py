"""Which runs `report --publish` refuses."""

from typing import Any

import pytest
from made_runs import graded, run

from mlagentbench.errors import UsageError
from mlagentbench.report.publishable import require_publishable


def test_only_known_differences_of_full_data_are_refused() -> None:
    facts: dict[str, Any] = {"tier": "full", "draw": None, "draw_policy": None, "generator": None}
    without_checksums = run(1, graded(0.5), data_verified=False, **facts)
    require_publishable([without_checksums])
    differing = run(
        2, graded(0.5), data_verified=False, data_differences=("rows: 7, expected 12",), **facts
    )
    with pytest.raises(UsageError, match="1 run is on data that differ from the official ones"):
        require_publishable([without_checksums, differing])
    with pytest.raises(UsageError, match="1 run is imported, on unknown data"):
        require_publishable([run(3, graded(0.5), origin="legacy", data_verified=False, **facts)])
