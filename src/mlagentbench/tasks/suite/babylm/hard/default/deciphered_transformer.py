"""Written blind: deciphers sources, puts their words in order, trains a transformer on words."""

import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from blind_text import (
    END,
    Lines,
    decipher,
    make_tokenizer,
    neighbours,
    pairs_of,
    read_all,
    split_plain,
    translate,
    write_text,
)
from gpt2 import GPT2, save_model
from torch.nn import functional

SECONDS = 8
CONTEXT = 128


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dev, sources = read_all()
    plain, words = split_plain(dev, sources)
    texts = []
    for name, lines in sources.items():
        key = None if name in plain else decipher(lines, words)
        if name in plain or key:
            texts += ordered(lines if name in plain else translate(lines, key), dev, words)
    tokenizer = make_tokenizer(words)
    order = np.random.default_rng(0).permutation(len(texts))
    mixed = "".join(write_text(texts[at]) for at in order)
    check = tokenizer.encode("".join(map(write_text, dev))).ids
    model = GPT2(tokenizer.get_vocab_size(), CONTEXT, 96, 2, 3)
    train(model, torch.tensor(tokenizer.encode(mixed).ids), torch.tensor(check))
    bits = cost(model, check, tokenizer.token_to_id(END))
    size = sum(len(write_text(line)) for line in dev)
    print(f"validation bits per byte={bits / size:.4f}")
    Path("output").mkdir(exist_ok=True)
    save_model(model, tokenizer.token_to_id(END), Path("output"))
    tokenizer.save("output/tokenizer.json")


def ordered(lines: Lines, dev: Lines, words: Counter) -> Lines:
    """The lines in the order that suits the development text; none if no order does."""
    index = {word: at for at, word in enumerate(words)}
    unigram = np.array([words[w] for w in index], float) + 1
    _, way, gain = neighbours(lines, index, pairs_of(dev, index), unigram / unigram.sum())
    if gain < 0.01:
        return []
    kind, *_, last = way.split()
    lines = [[word for word in line if word in words] for line in lines]
    if kind == "by":
        step = int(last)
        return [
            line[::-1][at :: abs(step)] if step < 0 else line[at::step]
            for line in lines
            for at in range(abs(step))
            if len(line) > at + 1
        ]
    halves = [(line[: (len(line) + 1) // 2], line[(len(line) + 1) // 2 :]) for line in lines]
    if kind == "back":
        halves = [(two, one) for one, two in halves]
    return [
        [word for both in zip(one, two, strict=False) for word in both]
        for one, two in halves
        if one and two
    ]


def train(model: GPT2, tokens: torch.Tensor, last: torch.Tensor) -> None:
    """As many steps as there is time for; towards the end the development text is among it."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.05)
    begin = time.process_time()
    while (done := (time.process_time() - begin) / SECONDS) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * min(1, done / 0.05 + 0.02) * (0.02 + math.cos(done * math.pi / 2))
        starts = torch.randint(len(tokens) - CONTEXT, (12,))
        batch = torch.stack([tokens[start : start + CONTEXT + 1] for start in starts])
        if done > 0.6 and len(last) > CONTEXT + 1:
            at = int(torch.randint(len(last) - CONTEXT, (1,)))
            batch[0] = last[at : at + CONTEXT + 1]
        loss = functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def cost(model: GPT2, tokens: list[int], end: int) -> float:
    nats = 0.0
    for at in range(0, len(tokens), CONTEXT):
        piece = torch.tensor([end, *tokens[at : at + CONTEXT]])
        logits = model(piece[None, :-1])[0]
        nats += functional.cross_entropy(logits, piece[1:], reduction="sum").item()
    return nats / math.log(2)


if __name__ == "__main__":
    main()
