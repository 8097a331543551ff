"""What models cost: a file of the person's, so that a budget in dollars means something."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from mlagentbench.errors import UsageError

if TYPE_CHECKING:
    from inspect_ai.model import ModelCost

PAGE = "see docs/models.md"


def read_prices(file: Path, models: set[str]) -> "dict[str, ModelCost]":
    """Dollars per million tokens by model; a UsageError when one of `models` has no price."""
    import yaml
    from inspect_ai.model import ModelCost

    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        prices = TypeAdapter(dict[str, ModelCost]).validate_python(values)
    except OSError as error:
        raise UsageError(f"--prices {file}: {error.strerror} ({PAGE})") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "contents"
        raise UsageError(f"--prices {file}: {place}: {first['msg']} ({PAGE})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"--prices {file}: neither JSON nor YAML ({PAGE})") from error
    missing = sorted(models - set(prices))
    if missing:
        raise UsageError(f"--prices {file}: no price for {', '.join(missing)}; add it there")
    return prices
