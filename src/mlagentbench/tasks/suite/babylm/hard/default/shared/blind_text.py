"""What the programs written blind share: reading, deciphering, word orders, bigrams, saving."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from scipy.optimize import linear_sum_assignment
from tokenizers import ByteLevelBPETokenizer

END = "<|endoftext|>"
Lines = list[list[str]]
LONGEST = 8
LETTERS = 27
"""Code 0 stands for no letter."""


def read_lines(file: Path) -> Lines:
    """Words without stops, in small letters."""
    lines = file.read_text(encoding="utf-8", errors="replace").lower().splitlines()
    return [words for line in lines if (words := re.findall(r"[^\W\d_]+", line))]


def read_all() -> tuple[Lines, dict[str, Lines]]:
    dev = [line for file in sorted(Path("babylm_dev").iterdir()) for line in read_lines(file)]
    return dev, {file.stem: read_lines(file) for file in sorted(Path("babylm_10M").iterdir())}


def counts_of(lines: Lines) -> Counter:
    return Counter(word for line in lines for word in line)


def known_share(lines: Lines, lexicon: set[str]) -> float:
    counts = counts_of(lines)
    return sum(n for word, n in counts.items() if word in lexicon) / max(1, counts.total())


def split_plain(dev: Lines, sources: dict[str, Lines]) -> tuple[list[str], Counter]:
    """Names of the sources that are written in the words of the development text; all words."""
    lexicon = set(counts_of(dev))
    plain = [name for name, lines in sources.items() if known_share(lines, lexicon) > 0.5]
    counts = counts_of(dev)
    for name in plain:
        counts += counts_of(sources[name])
    words = Counter({word: n for word, n in counts.items() if n >= 5 or word in lexicon})
    return plain, words


# Deciphering: words of a source are words of the language, letters are replaced ---------------


def codes(words: list[str], flip: bool) -> np.ndarray:
    table = np.zeros((len(words), LONGEST), int)
    for row, word in enumerate(words):
        letters = word[::-1] if flip else word
        for at, letter in enumerate(letters[:LONGEST]):
            table[row, at] = (ord(letter) - ord("a")) % 26 + 1
    return table


def decipher(lines: Lines, words: Counter) -> dict[str, str] | None:
    """Which word of the language each word of a source is; None if it has too many words."""
    counts = Counter({w: n for w, n in counts_of(lines).items() if len(w) <= LONGEST})
    if not 0.3 * len(words) < len([n for n in counts.values() if n > 2]) < 2 * len(words):
        return None
    ours = [word for word, _ in counts.most_common(int(1.5 * len(words)))]
    theirs = list(words)
    trials = [
        Trial(ours, theirs, counts, words, flip=flip, context=context)
        for flip in (False, True)
        for context in ("place", "before", "plain before")
    ]
    for trial in trials:
        trial.run(15)
    best = max(trials, key=lambda trial: trial.likelihood)
    best.run(30)
    return best.assign()


class Trial:
    """Expectation-maximisation of one kind of cipher: a table of letters for each context."""

    def __init__(
        self, ours: list[str], theirs: list[str], counts: Counter, words: Counter, **how: object
    ) -> None:
        self.ours, self.theirs = ours, theirs
        mine, other = codes(ours, bool(how["flip"])), codes(theirs, False)
        lengths, wanted = (mine > 0).sum(1), (other > 0).sum(1)
        self.row, self.column = np.nonzero(lengths[:, None] == wanted[None])
        cipher, plain = mine[self.row], other[self.column]
        shift = np.zeros_like(cipher)
        if how["context"] == "place":
            shift[:] = np.arange(LONGEST)
        else:
            shift[:, 1:] = (cipher if how["context"] == "before" else plain)[:, :-1]
        self.keys = (shift * LETTERS + plain) * LETTERS + cipher
        self.there = cipher > 0
        share = np.log(np.array([counts[w] for w in ours]) / counts.total())
        usual = np.log(np.array([words[w] for w in theirs]) / words.total())
        gap = share[self.row] - usual[self.column]
        self.prior = -0.5 * (gap / 0.4) ** 2
        self.weight = np.sqrt(np.array([counts[w] for w in ours], float))
        self.score = self.prior.copy()
        self.likelihood = -np.inf

    def run(self, steps: int) -> None:
        size = LETTERS**3
        for _ in range(steps):
            share = self.matched()
            mass = (share * self.weight[self.row])[:, None] * self.there
            table = np.bincount(self.keys.ravel(), mass.ravel(), size).reshape(-1, LETTERS) + 0.02
            chance = np.log(table / table.sum(1, keepdims=True)).ravel()
            self.score = self.prior + (chance[self.keys] * self.there).sum(1)
        best = np.full(len(self.ours), -60.0)
        np.maximum.at(best, self.row, self.score)
        self.likelihood = float((best * self.weight).sum())

    def matched(self) -> np.ndarray:
        """Shares of the pairs, nearly one to one."""
        top = np.full(len(self.ours), -np.inf)
        np.maximum.at(top, self.row, self.score)
        share = np.exp(self.score - top[self.row])
        for _ in range(4):
            column = np.bincount(self.column, share, len(self.theirs))
            share /= np.maximum(column, 1e-12)[self.column]
            row = np.bincount(self.row, share, len(self.ours))
            share /= np.maximum(row, 1e-12)[self.row]
        return share

    def assign(self) -> dict[str, str]:
        cost = np.full((len(self.ours), len(self.theirs)), 1e4)
        cost[self.row, self.column] = -self.score
        rows, columns = linear_sum_assignment(cost)
        pairs = zip(rows, columns, strict=True)
        return {self.ours[r]: self.theirs[c] for r, c in pairs if cost[r, c] < 1e4}


def translate(lines: Lines, key: dict[str, str]) -> Lines:
    return [[key.get(word, "?") for word in line] for line in lines]


# Word orders: which words of a source's lines stand for neighbours -------------------------------


def steps_of(length: int) -> dict[str, np.ndarray]:
    """For each way of going on through a line: the place after each place, -1 for none."""
    at = np.arange(length)
    ways = {f"by {step}": at + step for step in range(-8, 9) if step}
    half = (length + 1) // 2
    for name, size in (("half", half), ("lower half", length // 2)):
        for more in (-1, 0, 1):
            ways[f"{name} {more}"] = at + size + more
            ways[f"back {name} {more}"] = at - size + more
    ways["mirror"] = length - 1 - at
    ways["mirror on"] = length - at
    ways["mirror back"] = length - 2 - at
    for parity in (0, 1):
        for step in (-3, -1, 1, 3):
            ways[f"parity {parity} by {step}"] = np.where(at % 2 == parity, at + step, -1)
    return ways


def tables_of(lines: Lines, index: dict[str, int]) -> dict[str, np.ndarray]:
    """How often a word follows another, for each way of going on."""
    size = len(index)
    found: dict[str, list[np.ndarray]] = {}
    numbered = [np.array([index.get(word, -1) for word in line]) for line in lines]
    for length in {len(line) for line in numbered}:
        block = np.stack([line for line in numbered if len(line) == length])
        for name, to in steps_of(length).items():
            good = np.flatnonzero((to >= 0) & (to < length) & (to != np.arange(length)))
            pairs = np.stack([block[:, good].ravel(), block[:, to[good]].ravel()])
            found.setdefault(name, []).append(pairs)
    for step in (-1, 1):
        ways = [
            np.stack([one[:n], two[:n]])
            for one, two in zip(numbered[max(0, -step) :], numbered[max(0, step) :], strict=False)
            if (n := min(len(one), len(two)))
        ]
        found[f"line {step}"] = ways
    tables = {}
    for name, parts in found.items():
        one, two = np.concatenate(parts, 1)
        good = (one >= 0) & (two >= 0)
        flat = np.bincount(one[good] * size + two[good], minlength=size * size)
        tables[name] = flat.reshape(size, size).astype(np.float32)
    return tables


def smooth(table: np.ndarray, unigram: np.ndarray, amount: float) -> np.ndarray:
    return (table + amount * unigram) / (table.sum(1, keepdims=True) + amount)


def mixture(chances: np.ndarray, rounds: int = 60) -> np.ndarray:
    """Weights of the rows that make the columns likeliest."""
    weights = np.full(len(chances), 1 / len(chances))
    for _ in range(rounds):
        share = weights[:, None] * chances
        weights = (share / share.sum(0)).mean(1)
    return weights


def neighbours(lines: Lines, index: dict[str, int], pairs: np.ndarray, unigram: np.ndarray):
    """A source's table of neighbours, what each pair of the development text has by it, its gain."""
    base = unigram[pairs[1]]
    tables = tables_of(lines, index)
    gains = {}
    for name, table in tables.items():
        total = table.sum(1)[pairs[0]]
        chance = (table[pairs[0], pairs[1]] + 20 * base) / (total + 20)
        weights = mixture(np.stack([chance, base]), 15)
        gains[name] = float(np.log(weights @ np.stack([chance, base]) / base).mean())
    order = sorted(gains, key=gains.__getitem__, reverse=True)
    chosen, best = tables[order[0]], gains[order[0]]
    for name in order[1:6]:
        if gains[name] < 0.2 * gains[order[0]]:
            break
        trial = chosen + tables[name]
        chance = (trial[pairs[0], pairs[1]] + 20 * base) / (trial.sum(1)[pairs[0]] + 20)
        weights = mixture(np.stack([chance, base]), 15)
        gain = float(np.log(weights @ np.stack([chance, base]) / base).mean())
        if gain > best * 1.03:
            chosen, best = trial, gain
    print(f"  {order[0]}: gain {best:.3f}; " + ", ".join(f"{n} {gains[n]:.3f}" for n in order[1:4]))
    return chosen, order[0], best


def pairs_of(lines: Lines, index: dict[str, int]) -> np.ndarray:
    found = [(index[a], index[b]) for line in lines for a, b in pairwise(line)]
    return np.array(found).T


def bigrams(dev: Lines, sources: dict[str, Lines], words: Counter) -> np.ndarray:
    """Chances of the next word, from all sources in which the development text is found again."""
    index = {word: at for at, word in enumerate(words)}
    unigram = np.array([words[w] for w in index], float) + 1
    unigram /= unigram.sum()
    pairs = pairs_of(dev, index)
    useful = []
    for name, lines in sources.items():
        print(name)
        table, _, gain = neighbours(lines, index, pairs, unigram)
        if gain > 0.01:
            useful.append(table)
    pool = sum(useful, np.zeros((len(index), len(index)), np.float32))
    models = [smooth(table, unigram, 10) for table in [pool, *useful]]
    models.append(np.tile(unigram, (len(index), 1)))
    weights = mixture(np.stack([model[pairs[0], pairs[1]] for model in models]))
    print("weights", weights.round(3))
    mixed = sum(w * model for w, model in zip(weights, models, strict=True))
    seen = np.zeros_like(mixed)
    np.add.at(seen, (pairs[0], pairs[1]), 1)
    print(f"word bits {-np.log2(mixed[pairs[0], pairs[1]]).mean():.3f}")
    return smooth(seen, mixed, 30)


# Saving ------------------------------------------------------------------------------------------


def make_tokenizer(words: Counter) -> ByteLevelBPETokenizer:
    """Each word is a token, with a space before it or at the start of a line."""
    tokenizer = ByteLevelBPETokenizer()
    text = [f"{word}\n{word} {word} {word}.\n" for word in words for _ in range(3)]
    tokenizer.train_from_iterator(
        text, vocab_size=20_000, min_frequency=2, special_tokens=[END], show_progress=False
    )
    return tokenizer


def write_text(line: list[str]) -> str:
    return " ".join(line) + ".\n"


def save_bigrams(chances: np.ndarray, dev: Lines, words: Counter) -> None:
    """A Llama whose only state is the last token; its layer adds nothing."""
    tokenizer = make_tokenizer(words)
    number = tokenizer.token_to_id
    size, vocabulary = len(words), tokenizer.get_vocab_size()
    width = -(-(size + 4) // 4) * 4
    start, stop, line, other = size, size + 1, size + 2, size + 3
    starts = np.array([number(word) for word in words])
    inner = [tokenizer.encode(" " + word).ids for word in words]
    after = np.array([ids[0] if len(ids) == 1 else -1 for ids in inner])
    unigram = np.array([words[w] for w in words], float)
    first = np.full(size, 0.0)
    for sentence in dev:
        first[list(words).index(sentence[0])] += 1
    first = (first + 60 * unigram / unigram.sum()) / (first.sum() + 60)
    stopping = len(dev) / sum(len(sentence) for sentence in dev)
    logs = np.full((vocabulary, width), -16.0)
    logs[after, :size] = np.log(chances.T * (1 - stopping) + 1e-9)
    logs[number("."), :size] = np.log(stopping)
    logs[number("\u010a"), stop] = -1e-6
    for state in (start, line):
        logs[starts, state] = np.log(first + 1e-9)
    logs[:, other] = 0
    state = np.full(vocabulary, other)
    state[starts], state[after] = np.arange(size), np.arange(size)
    state[number(".")], state[number("\u010a")], state[number(END)] = stop, line, start
    embedding = np.zeros((vocabulary, width))
    embedding[np.arange(vocabulary), state] = 1
    save_llama(embedding, logs, number(END))
    tokenizer.save("output/tokenizer.json")
    flat = np.array(tokenizer.encode("".join(map(write_text, dev))).ids)
    chance = logs - np.log(np.exp(logs).sum(0))
    before = state[np.concatenate([[number(END)], flat[:-1]])]
    bits = -chance[flat, before].sum() / np.log(2)
    print(f"validation bits per byte={bits / len(''.join(map(write_text, dev)).encode()):.4f}")


def save_llama(embedding: np.ndarray, logs: np.ndarray, start: int) -> None:
    vocabulary, width = embedding.shape
    Path("output").mkdir(exist_ok=True)
    inner = 8
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": vocabulary,
        "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-9,
        "max_position_embeddings": 512, "tie_word_embeddings": False, "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False, "bos_token_id": start, "eos_token_id": start,
    }  # fmt: skip
    Path("output/config.json").write_text(json.dumps(config, indent=2) + "\n")
    layer = "model.layers.0."
    square = {f"{layer}self_attn.{name}_proj.weight": (width, width) for name in "qkvo"}
    shapes = square | {
        f"{layer}mlp.gate_proj.weight": (inner, width),
        f"{layer}mlp.up_proj.weight": (inner, width),
        f"{layer}mlp.down_proj.weight": (width, inner),
    }
    weights = {name: torch.zeros(shape) for name, shape in shapes.items()}
    for name in ("input_layernorm", "post_attention_layernorm"):
        weights[f"{layer}{name}.weight"] = torch.ones(width)
    weights["model.norm.weight"] = torch.full((width,), width**-0.5)
    weights["model.embed_tokens.weight"] = torch.tensor(embedding, dtype=torch.float32)
    weights["lm_head.weight"] = torch.tensor(logs, dtype=torch.float32)
    save_file(weights, "output/model.safetensors", metadata={"format": "pt"})
