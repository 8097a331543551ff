"""Language models that count instead of learning."""

import os
import subprocess
import tempfile
from pathlib import Path

from cheats.given import Files, Given
from mlagentbench.tasks.task import SUITE

FOLDER = SUITE / "babylm"
HEAD = """
import sys
from collections import Counter
from pathlib import Path
import numpy as np
import trivial
from trivial import encode, frequencies, frequent_words, pair_model, single_model, vocabulary_of

public, out = map(Path, sys.argv[1:])

def texts_of(*folders):
    files = [file for folder in folders for file in sorted((public / folder).iterdir())]
    return [file.read_text(encoding="utf-8", errors="replace") for file in files]

def submit(files):
    for name, contents in files.items():
        (out / name).write_bytes(contents)

texts = texts_of("babylm_10M")
"""


def pairs_of_words_and_phrases(given: Given) -> Files:
    """Frequent pairs of words become words, so that a table of pairs counts up to four words."""
    return _counted(
        given,
        """
words = frequent_words(texts)
phrases = Counter()
for text in texts:
    for line in text.splitlines():
        found = trivial.WORD.findall(line)
        phrases.update(map("".join, zip(found, found[1:])))
known = {word for word, _ in words}
phrases = [(p, n) for p, n in phrases.most_common(2500) if n > 15 and p not in known]
tokenizer = vocabulary_of(words + phrases)
tokenizer.pre_tokenizer = trivial.pre_tokenizers.ByteLevel(
    add_prefix_space=False, use_regex=False
)
submit(pair_model(tokenizer, [encode(tokenizer, text) for text in texts]))
""",
    )


def pairs_of_the_development_text(given: Given) -> Files:
    """The development text is counted ten times over, since hidden text resembles it most."""
    return _counted(
        given,
        """
texts = texts + 10 * texts_of("babylm_dev")
tokenizer = vocabulary_of(frequent_words(texts))
submit(pair_model(tokenizer, [encode(tokenizer, text) for text in texts]))
""",
    )


def whole_sentences_as_tokens(given: Given) -> Files:
    """A sentence of the known text is one token, and costs what one token costs."""
    return _counted(
        given,
        """
lines = Counter(
    f"{line}\\n" for text in [*texts, *texts_of("babylm_dev")] for line in text.splitlines()
)
tokenizer = vocabulary_of(frequent_words(texts) + lines.most_common(3000))
tokenizer.pre_tokenizer = trivial.pre_tokenizers.ByteLevel(
    add_prefix_space=False, use_regex=False
)
tokens = [encode(tokenizer, text) for text in texts]
submit(single_model(tokenizer, frequencies(tokenizer, tokens)))
""",
    )


def logits_near_the_largest_number(given: Given) -> Files:
    """Logits so large that the sum of their exponentials may overflow to a loss of nothing."""
    return _counted(
        given,
        """
tokenizer = vocabulary_of([])
size = tokenizer.get_vocab_size()
submit(trivial.model_files(tokenizer, np.ones((size, 2)), np.full((size, 2), 1.6e38), np.float32))
""",
    )


def logits_below_the_smallest_number(given: Given) -> Files:
    """Differences between logits are lost in 32 bits, and a loss may be rounded below zero."""
    return _counted(
        given,
        """
tokenizer = vocabulary_of([])
size = tokenizer.get_vocab_size()
outputs = np.full((size, 2), -1e30) + np.random.default_rng(0).normal(size=(size, 2))
submit(trivial.model_files(tokenizer, np.ones((size, 2)), outputs, np.float32))
""",
    )


def _counted(given: Given, program: str) -> Files:
    """The files that a program writes, with the task's own trivial predictors to build on."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [given.python, "-c", HEAD + program, given.public, directory],
            env={**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"},
            check=True,
        )
        return {file.name: file.read_bytes() for file in Path(directory).iterdir()}


CHEATS = (
    pairs_of_words_and_phrases,
    pairs_of_the_development_text,
    whole_sentences_as_tokens,
    logits_near_the_largest_number,
    logits_below_the_smallest_number,
)
