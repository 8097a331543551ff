"""Downloads from the Hugging Face hub; `ref` is [datasets/]OWNER/NAME@REVISION."""

import importlib.util
import json
import re
import sys
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.download import FileNotInSource
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.spec import Source, SourceFile
from mlagentbench.tasks.subprocesses import run_command

_REF = re.compile(r"(datasets/)?((?:[\w.-]+/)?[\w.-]+)@([\w.-]+)")
_FETCH = """
import json, sys
from huggingface_hub import hf_hub_download
hf_hub_download(**json.loads(sys.argv[1]))
"""
_NOT_ALLOWED = r"GatedRepo|\b401\b|\b403\b"
_NOT_THERE = r"EntryNotFound|RevisionNotFound|RepositoryNotFound|\b404\b"
_NO_NETWORK = r"LocalEntryNotFound|ConnectionError|ConnectError|NameResolution|Timeout"


async def fetch(source: Source, file: SourceFile, target: Path, progress: Progress) -> None:
    """Download one file to `target`; the hub's client resumes an interrupted download."""
    match = _REF.fullmatch(source.ref)
    if match is None:
        raise UsageError(f"sources.ref: {source.ref!r} is not of the form OWNER/NAME@REVISION")
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UsageError(
            "huggingface_hub is not installed; run: pip install 'mlagentbench[huggingface]'"
        )
    collected = target.parent / ".huggingface"
    wanted = {
        "repo_id": match[2],
        "repo_type": "dataset" if match[1] else "model",
        "revision": match[3],
        "filename": file.path,
        "local_dir": str(collected),
    }
    done = await run_command([sys.executable, "-c", _FETCH, json.dumps(wanted)])
    if done.exit_code != 0:
        raise _explained(source, file, done.stderr, done.last_lines(3))
    target.parent.mkdir(parents=True, exist_ok=True)
    (collected / file.path).replace(target)
    progress.transfer(file.path, target.stat().st_size, file.bytes)


def _explained(source: Source, file: SourceFile, output: str, last: str) -> UsageError:
    again = "then run the same command again"
    if re.search(_NO_NETWORK, output):
        return UsageError(f"Hugging Face cannot be reached; check your network connection, {again}")
    if re.search(_NOT_ALLOWED, output):
        return UsageError(
            f"Hugging Face does not let you download {source.ref}; accept its conditions on its "
            f"page, sign in with `hf auth login` or set HF_TOKEN, {again}"
        )
    if re.search(_NOT_THERE, output):
        return FileNotInSource(f"Hugging Face has no {file.path} in {source.ref}")
    return UsageError(f"huggingface_hub failed: {last}")
