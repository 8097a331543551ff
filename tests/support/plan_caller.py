"""A worker of a plan that only asks its model: `python plan_caller.py DIRECTORY MODEL CALLS`.

It says "ready", waits for a line, then prints a line for each call: the reply, or the error.
"""

import sys
from pathlib import Path

import anyio
from inspect_ai.model import GenerateConfig, ModelCost, get_model, set_model_cost

from mlagentbench.errors import RunFailed
from mlagentbench.models.sharing.shared_calls import join_plan

DOLLARS = 1.0
"""What a reply costs: its 20 tokens at 50,000 dollars a million."""


async def main() -> None:
    directory, name, calls = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    price = ModelCost(input=0, output=DOLLARS * 1e6 / 20, input_cache_write=0, input_cache_read=0)
    set_model_cost(name, price)
    model = get_model(name)
    print("ready", flush=True)
    sys.stdin.readline()
    join_plan(directory, say=lambda text: print(f"said: {text}", flush=True))
    for _ in range(calls):
        try:
            output = await model.generate("And now?", config=GenerateConfig(max_retries=0))
            print(f"reply: {output.completion}", flush=True)
        except RunFailed as error:
            print(f"{type(error).__name__}: {error.detail}", flush=True)
        except Exception as error:  # noqa: BLE001 - providers raise errors of their own
            print(f"{type(error).__name__}", flush=True)


anyio.run(main)
