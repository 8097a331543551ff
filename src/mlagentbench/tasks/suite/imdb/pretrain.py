"""Trains the mini tier's checkpoint: `python pretrain.py DIRECTORY`, by hand, once.

The checkpoint is part of the task, in checkpoint/: what is trained while data are prepared would
differ from machine to machine. It is a DistilBERT, too, only tiny, and learns as the real one did:
to fill in hidden words of texts without labels. The texts are reviews by mini.py's generator, from
a seed of their own. Needs the task's python env; takes about a quarter of an hour on one core.
"""

import re
import string
import sys
import time
from pathlib import Path

import mini
import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import DistilBertConfig, DistilBertForMaskedLM, DistilBertTokenizerFast

SEED = 20_231_005
KINDS = [(6000, 0.0, (12, 50)), (6000, 0.3, (12, 50)), (3000, 0.3, (60, 120))]
"""How many reviews, how many of their clauses negated, and how many words they have."""
STEPS = 2000
BATCH = 64
PEAK_RATE = 2.5e-3
HIDDEN_COMMON, HIDDEN_RARE = 0.05, 0.25
RARE = 1 / 200
"""Words that make up at most this share of the texts are hidden more often: they tell more."""
MAX_TOKENS = 192
SIZE = 64
COMPANY = 16
"""So many of a word's numbers start from the company it keeps."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer = make_tokenizer(directory)
    rng = np.random.default_rng(SEED)
    texts = write_texts(rng)
    tokens = [torch.tensor(ids) for ids in tokenizer(texts)["input_ids"]]
    tokens.sort(key=len)  # neighbours make a batch with little padding
    model = DistilBertForMaskedLM(
        DistilBertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=MAX_TOKENS,
            n_layers=2, n_heads=4, dim=SIZE, hidden_dim=2 * SIZE,
            dropout=0.0, attention_dropout=0.0,
        )
    )  # fmt: skip
    shares = torch.bincount(torch.cat(tokens), minlength=len(tokenizer)) / sum(map(len, tokens))
    rare = (shares > 0) & (shares < RARE)
    hiding = torch.where(rare, HIDDEN_RARE, HIDDEN_COMMON)
    hiding[: len(SPECIAL)] = 0
    start_well(model, tokens, rare)
    train(model, tokens, hiding)
    save(model, directory)


def make_tokenizer(directory: Path) -> DistilBertTokenizerFast:
    """Whole words of the generator; letters, so that every other word can be spelt."""
    patterns = [*mini.PLAIN, *mini.NEGATIONS, *mini.FALSE_NEGATIONS, *mini.FILLERS, "but"]
    words = [*mini.ASPECTS, *mini.POSITIVE, *mini.NEGATIVE, *mini.DEGREES, *patterns]
    words += [value for values in mini.SLOTS.values() for value in values]
    known = sorted(set(re.findall("[a-z]+", re.sub("{.*?}", " ", " ".join(words)).lower())))
    letters = sorted(set(string.ascii_lowercase + string.digits) - set(known))
    pieces = [f"##{letter}" for letter in string.ascii_lowercase + string.digits]
    vocabulary = [*SPECIAL, *".,;:!?'\"()-/", *letters, *pieces, *known]
    (directory / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = DistilBertTokenizerFast(
        vocab=str(directory / "vocab.txt"), model_max_length=MAX_TOKENS
    )
    tokenizer.save_pretrained(directory)
    return tokenizer


def write_texts(rng: np.random.Generator) -> list[str]:
    """Reviews by reviewers of one mind, with and without negations, most of them short.

    What words mean is learnt where nothing is negated, and then what negations do.
    """
    mini.LEANING, mini.LEAST_MARGIN = 1.0, 1
    texts = []
    for count, negated, words in KINDS:
        mini.NEGATED, mini.WORDS = negated, words
        texts += [mini.write_review(bool(rng.integers(2)), rng) for _ in range(count)]
    return texts


@torch.no_grad()
def start_well(model: DistilBertForMaskedLM, tokens: list[torch.Tensor], rare: torch.Tensor):
    """Words of the same company start alike, and so do neighbouring positions.

    Without this, the first thousands of steps pass before the first meaning is found.
    """
    embeddings = model.distilbert.embeddings
    present = torch.zeros(len(tokens), len(rare))
    for row, text in enumerate(tokens):
        present[row, text] = 1
    present = present[:, rare]
    alone = present.mean(0)
    together = present.T @ present / len(tokens)
    company = torch.log((together + 1e-4) / (torch.outer(alone, alone) + 1e-4))
    company.fill_diagonal_(0)
    vectors = torch.linalg.svd(company).U[:, :COMPANY]
    embeddings.word_embeddings.weight[rare, :COMPANY] = 0.05 * vectors * len(vectors) ** 0.5
    place = torch.arange(MAX_TOKENS)[:, None]
    waves = place / 1000 ** (torch.arange(0, SIZE, 2) / SIZE)
    embeddings.position_embeddings.weight.copy_(0.03 * torch.cat([waves.sin(), waves.cos()], dim=1))


def train(model: DistilBertForMaskedLM, tokens: list[torch.Tensor], hiding: torch.Tensor) -> None:
    """Masked language modelling; the learning rate rises to its peak and falls to nothing."""
    mask = SPECIAL.index("[MASK]")
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, total_steps=STEPS, pct_start=0.1
    )
    model.train()
    losses = []
    started = time.time()
    for step in range(1, STEPS + 1):
        start = int(torch.randint(len(tokens) - BATCH, (1,)))
        batch = pad_sequence(tokens[start : start + BATCH], batch_first=True)
        attention = (batch != 0).long()
        hidden = torch.rand(batch.shape) < hiding[batch]
        states = model.distilbert(batch.masked_fill(hidden, mask), attention)[0][hidden]
        states = model.vocab_layer_norm(model.activation(model.vocab_transform(states)))
        loss = functional.cross_entropy(model.vocab_projector(states), batch[hidden])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 250 == 0:
            print(
                f"step {step} loss={np.mean(losses[-250:]):.4f} {time.time() - started:.0f}",
                flush=True,
            )


def save(model: DistilBertForMaskedLM, directory: Path) -> None:
    """Weights in half precision, to be loaded in single precision."""
    model.config.save_pretrained(directory)
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    del weights["vocab_projector.weight"]  # the same as the embeddings of words
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
