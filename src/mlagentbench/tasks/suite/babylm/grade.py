"""Bits per byte that the submitted model needs for hidden text; perplexity per word beside it.

The model's files are data here: see model_files.py for what may be in them, and language_model.py
for how they are loaded and tried.
"""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade
from model_files import read_model_files

if TYPE_CHECKING:
    from language_model import LanguageModel

SUBMISSION = "output"
TRIED_FILES = 10
TRIED_CHARACTERS = 800
Document = dict[str, Any]


def grade(outputs: Path, private: Path) -> Grade:
    documents = read_documents(private)
    model = load(outputs / SUBMISSION)
    encoded = model.encode([document["text"] for document in documents])
    model.require_causality(encoded)
    bits = model.bits(encoded)
    everything = list(zip(documents, bits, strict=True))
    words = sum(len(document["text"].split()) for document in documents)
    by_source: dict[str, list[tuple[Document, float]]] = defaultdict(list)
    for document, amount in everything:
        by_source[document["source"]].append((document, amount))
    new = [pair for pair in everything if not pair[0]["copy"]]
    return Grade(
        bits_per_byte(everything),
        extra={
            "n": sum(map(size_of, documents)),
            "groups": len(documents),
            "standard_error": standard_error(everything),
            "test_set_interval": resampled_interval(
                range(len(documents)), bits, [size_of(document) for document in documents]
            ),
            "perplexity_per_word": 2 ** min(sum(bits) / words, 1000),
            "copies_of_training_text": len(everything) - len(new),
            "score_without_copies": bits_per_byte(new) if new else None,
            "by_source": {name: bits_per_byte(pairs) for name, pairs in sorted(by_source.items())},
            "tokens": sum(map(len, encoded)),
            "parameters": model.parameters,
        },
    )


def check_format(submission: Path, public: Path) -> None:
    """All that is asked of a model, tried on the beginnings of the development files."""
    texts = []
    for file in sorted((public / "babylm_dev").iterdir())[:TRIED_FILES]:
        beginning = file.read_bytes()[: 4 * TRIED_CHARACTERS].decode(errors="ignore")
        texts.append(beginning[:TRIED_CHARACTERS])
    model = load(submission)
    encoded = model.encode(texts)
    model.require_causality(encoded)
    model.bits(encoded)


def ceiling(private: Path) -> float | None:
    """The bits per byte of the process that made the text, where it is known."""
    documents = read_documents(private)
    if any(document["true_bits"] is None for document in documents):
        return None
    return bits_per_byte([(document, document["true_bits"]) for document in documents])


def load(directory: Path) -> "LanguageModel":
    """What can be seen without torch is checked before torch is loaded."""
    files = read_model_files(directory)
    from language_model import LanguageModel

    return LanguageModel(files)


def read_documents(private: Path) -> list[Document]:
    documents: list[Document] = json.loads((private / "documents.json").read_text("utf-8"))
    return documents


def size_of(document: Document) -> int:
    return len(document["text"].encode())


def bits_per_byte(pairs: list[tuple[Document, float]]) -> float:
    return sum(bits for _, bits in pairs) / sum(size_of(document) for document, _ in pairs)


def standard_error(pairs: list[tuple[Document, float]]) -> float:
    """Of the ratio, with whole documents as the units that were drawn."""
    score, count = bits_per_byte(pairs), len(pairs)
    mean = sum(size_of(document) for document, _ in pairs) / count
    squares = sum((bits - score * size_of(document)) ** 2 for document, bits in pairs)
    return math.sqrt(squares / (count * max(1, count - 1))) / mean
