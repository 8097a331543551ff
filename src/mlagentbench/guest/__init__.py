"""Programs that run outside of the harness: in a sandbox or in a task's virtual environment.

They import nothing of mlagentbench, only the standard library or the packages of the virtual
environment they run in.
"""

from pathlib import Path

GUEST = Path(__file__).parent
