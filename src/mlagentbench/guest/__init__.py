"""Programs that run elsewhere: in the sandbox, in a task's python, beside the harness.

They import nothing of mlagentbench: only the standard library, or the packages of the virtual
environment that they run in.
"""

from pathlib import Path

GUEST = Path(__file__).parent
