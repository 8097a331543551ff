"""Draws: the generated data sets of a task, each from its own seed.

| --draw | the data of the runs                                                       |
|--------|----------------------------------------------------------------------------|
| public | the same for everyone, from a published seed: for development              |
| secret | drawn once on this machine; results disclose the hash of the seed          |
| LABEL  | any word or number; its hash with task, version and tier is the seed       |
| N..M   | the draws N to M in turn: run 1 has draw N, run 2 has draw N+1, and so on  |

The hard tier draws what makes it hard from a pool, too: "eval", or with --pool train another one,
whose draws are named train:DRAW.

DRAW~1-KEY, DRAW~2-KEY, ... are the fresh draws of a draw: what is submitted on it is rebuilt on
them. Their seeds follow from a random key, and KEY begins the key's hash. Other splits of real data
are DRAW~1, DRAW~2, ...; their seeds are public.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from mlagentbench.errors import UsageError
from mlagentbench.records import Record, Tier
from mlagentbench.tasks.task import HARD, Task

PUBLIC = "public"
SECRET = "secret"
SECRET_MARK = f"{SECRET}:"
"""Begins the name under which results disclose a secret draw."""
FRESH_MARK = "~"
MOST_DRAWS = 10_000
"""The most draws of one range."""

Pool = Literal["eval", "train"]
"""Which mechanisms the hard tier draws from: those of results, or those to train agents on."""
TRAIN_MARK = "train:"
"""Begins the names of draws from the train pool."""

_WORDS = (PUBLIC, SECRET)
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,127}")
_RANGE = re.compile(r"(\d{1,18})\.\.(\d{1,18})")


def _policy(text: str) -> str:
    if text.startswith(TRAIN_MARK):
        return _in_train_pool(_policy(text.removeprefix(TRAIN_MARK)))
    if ".." not in text:
        if _LABEL.fullmatch(text) is None:
            raise ValueError(
                "expected public, secret, a range such as 100..107, or a label of letters, digits "
                "and . _ + = -"
            )
        if text not in _WORDS and text.lower() in _WORDS:
            raise ValueError(f"{text.lower()} is a reserved word; write it in lower case")
        return text
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError("expected a range of two numbers such as 100..107")
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + MOST_DRAWS:
        raise ValueError(f"expected a range of 1 to {MOST_DRAWS:,} draws, the smaller number first")
    return str(first) if first == last else f"{first}..{last}"


def _in_train_pool(policy: str) -> str:
    if policy in _WORDS:
        raise ValueError(
            f"the train pool has no {policy} draw; name its draws by numbers or a label, such as "
            "--pool train --draw 1..100"
        )
    return f"{TRAIN_MARK}{policy}"


def _as_text(value: object) -> object:
    """The text of a label that Inspect's command line has read as a number or date."""
    if type(value) is date:
        return value.isoformat()
    if isinstance(value, float | bool | date):
        raise ValueError(
            f"was read as {value!r}, not as text; quote it twice, such as -T 'draw=\"1.50\"'"
        )
    return str(value) if isinstance(value, int) else value


DrawPolicy = Annotated[str, BeforeValidator(_as_text), AfterValidator(_policy)]
"""Which draws runs have, as --draw says it."""


def read_policy(text: str, tier: Tier, option: str = "--draw") -> str:
    """A policy from the command line; a UsageError says what is wrong with it."""
    try:
        policy = _policy(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error
    require_pool(pool_of(policy) if text.startswith(TRAIN_MARK) else None, tier)
    if tier == "full" and policy != PUBLIC:
        raise UsageError(
            f"{option} {text}: is for generated data; the full tier has one data set, with its "
            f"official split; leave out {option}"
        )
    return policy


def in_pool(draw: str, pool: Pool | None, tier: Tier) -> str:
    """What --draw and --pool say together."""
    require_pool(pool, tier)
    return f"{TRAIN_MARK}{draw}" if pool == "train" else draw


def require_pool(pool: Pool | None, tier: Tier) -> None:
    """UsageError if a pool was asked for in another tier than the hard one."""
    if pool is not None and tier != HARD:
        raise UsageError(
            f"--pool {pool}: only the hard tier has pools; add --tier hard, or leave out --pool"
        )


def pool_of(draw: str) -> Pool:
    """The pool that the mechanisms of a draw of the hard tier are drawn from."""
    return "train" if draw.startswith(TRAIN_MARK) else "eval"


def drawn_numbers(policy: str) -> range | None:
    """The numbers of a range; None for a policy that is one draw."""
    match = _RANGE.fullmatch(policy.removeprefix(TRAIN_MARK))
    return None if match is None else range(int(match[1]), int(match[2]) + 1)


def draw_of(policy: str, epoch: int) -> str:
    """The draw of a run; a range begins again when there are more runs than draws."""
    numbers = drawn_numbers(policy)
    if numbers is None:
        return policy
    return f"{_mark_of(policy)}{numbers[(epoch - 1) % len(numbers)]}"


def all_draws(policy: str) -> list[str]:
    """The draws of a policy."""
    numbers = drawn_numbers(policy)
    return [policy] if numbers is None else [f"{_mark_of(policy)}{one}" for one in numbers]


def _mark_of(policy: str) -> str:
    return TRAIN_MARK if pool_of(policy) == "train" else ""


def draws_text(policy: str) -> str:
    """Such as "public draw", "draws 100..107"."""
    if policy == PUBLIC:
        return "public draw"
    if is_secret(policy):
        return policy.replace(SECRET, "secret draw", 1).replace(":", " ")
    name = policy.removeprefix(TRAIN_MARK)
    which = f"draw {name}" if drawn_numbers(policy) is None else f"draws {name}"
    return f"{which} of the train pool" if pool_of(policy) == "train" else which


def table_text(policy: str) -> str:
    """A policy in the title of a table."""
    if policy == PUBLIC:
        return "public draw: for development"
    return "secret draw" if is_secret(policy) else draws_text(policy)


def is_sample(policy: str) -> bool:
    """Whether a policy is a range of several draws."""
    numbers = drawn_numbers(policy)
    return numbers is not None and len(numbers) > 1


def draw_list_text(draws: Sequence[str]) -> str:
    """Draws in their order, such as "100..103, 107"."""
    if draws and all(pool_of(draw) == "train" for draw in draws):
        names = [draw.removeprefix(TRAIN_MARK) for draw in draws]
        return f"{TRAIN_MARK}{draw_list_text(names)}"
    parts: list[list[str]] = []
    for draw in draws:
        last = parts[-1][-1] if parts else ""
        if draw.isdecimal() and last.isdecimal() and int(draw) == int(last) + 1:
            parts[-1].append(draw)
        else:
            parts.append([draw])
    return ", ".join(f"{part[0]}..{part[-1]}" if len(part) > 1 else part[0] for part in parts)


class FreshKey(Record):
    """The random key that the seeds of fresh draws follow from."""

    value: str
    """32 hexadecimal digits."""

    @property
    def hash(self) -> str:
        """What is disclosed of it."""
        return hashlib.sha256(f"fresh draws/{self.value}".encode()).hexdigest()

    @property
    def short(self) -> str:
        """What names of draws have of it, so that those of different keys are never mixed."""
        return self.hash[:8]


def fresh_draws(draw: str, count: int, first: int = 1, *, key: FreshKey | None = None) -> list[str]:
    """The draws that submissions for a draw are rebuilt on; without a key, splits of real data."""
    end = "" if key is None else f"-{key.short}"
    return [f"{draw}{FRESH_MARK}{number}{end}" for number in range(first, first + count)]


def is_keyed(task: Task, tier: Tier) -> bool:
    """Whether fresh draws are generated from a key; else they are splits of real data."""
    return tier != "full" or task.generated


def is_fresh(draw: str) -> bool:
    return FRESH_MARK in draw


def given_draw(draw: str) -> str:
    """The draw that a fresh draw belongs to."""
    return draw.split(FRESH_MARK)[0]


def is_secret(draw: str) -> bool:
    """Whether it is secret, or a fresh draw of a secret one."""
    return given_draw(draw) == SECRET or draw.startswith(SECRET_MARK)


def is_public(draw: str | None) -> bool:
    """Whether everyone has had the data before the run."""
    return draw == PUBLIC


def disclosed_secret(seed: int) -> str:
    """The name of a secret draw in results: the hash of its seed."""
    digest = hashlib.sha256(f"draw seed/{seed:032x}".encode()).hexdigest()
    return f"{SECRET_MARK}{digest[:16]}"


def policy_of(disclosed: str) -> str:
    """The policy as --draw says it, from a disclosed one."""
    return SECRET if is_secret(disclosed) else disclosed


def draw_seed(
    task: Task,
    tier: Tier,
    draw: str,
    secret: int | None = None,
    key: FreshKey | None = None,
) -> int:
    """The 128-bit seed of a draw; that of a fresh one follows from the key."""
    if draw == PUBLIC:
        return task.public_seed(tier)
    if secret is not None:
        return secret
    if is_fresh(draw) and is_keyed(task, tier):
        number, _, short = draw.partition(FRESH_MARK)[2].partition("-")
        if key is None or short != key.short or given_draw(draw) == SECRET:
            raise ValueError(f"{draw}: not a fresh draw of a disclosed draw and this key")
        facts = (task.original_id, task.spec.version, tier, given_draw(draw), number)
        return _seed("fresh", key.value, *facts)
    return _seed("draw", task.original_id, task.spec.version, tier, draw)


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:16], "big")
