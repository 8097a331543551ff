# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Writes convolution.py, which looks for motifs in the filters that it is given.

It is one file, so that it is made of findings.py and layer.py. What is found in the published
layer is printed.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import findings
import layer
from serve import read_layer

PREPARE = '''
def prepare(filters, bias, stride, padding):
    """Whatever can be done before inputs are known."""
    return build({find}(filters, stride), filters, bias, stride, padding)
'''


def main(find: Callable[..., dict] = findings.find) -> None:
    """Write the layer; `find` may be a function that changes what findings.find returns."""
    parts = [inspect.getsource(module) for module in (findings, layer)]
    if find is not findings.find:
        parts.append(inspect.getsource(find))
    parts.append(PREPARE.format(find=find.__name__))
    Path("convolution.py").write_text("\n\n".join(parts))
    filters, _bias, stride, _padding = read_layer("layer.npz")
    print("findings", json.dumps(find(filters, stride)), flush=True)
    subprocess.run([sys.executable, "benchmark.py"], check=True)


if __name__ == "__main__":
    main()
