# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains a GPT-2 that begins as a model of word pairs, computed from counts, and so saves time.

A factorised table of how much more often one token follows another than chance gives the input and
output vectors; a second one, of tokens that occur near each other, adds vectors of what the text is
about. Training then teaches the layers between to use the whole context.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

END = "<|endoftext|>"
MAX_VOCABULARY = 8192
VALIDATION_BYTES = 60_000
NEAR = 16
"""Tokens at most so far apart tell something about each other's topic."""


@dataclass(frozen=True)
class Settings:
    width: int
    layers: int
    heads: int
    context: int
    batch: int
    steps: int
    peak_rate: float
    dropout: float


SMALL = Settings(64, 2, 2, 128, batch=8, steps=170, peak_rate=4e-3, dropout=0.0)
FULL = {
    "cpu": Settings(192, 4, 4, 128, batch=32, steps=900, peak_rate=2e-3, dropout=0.0),
    "gpu": Settings(256, 6, 4, 256, batch=32, steps=6000, peak_rate=1e-3, dropout=0.1),
}
SETTINGS = FULL.get(os.environ.get("MLAGENTBENCH_PROFILE"), SMALL)
"""By the hardware that the limits assume; in the mini tier the variable is not set."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main() -> None:
    if SETTINGS is SMALL:
        torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    disable_progress_bar()
    texts = read_texts("babylm_10M")
    tokenizer = train_tokenizer(texts)
    tokens = torch.tensor([token for part in tokenizer.encode_batch(texts) for token in part.ids])
    end = tokenizer.token_to_id(END)
    model = build_model(SETTINGS, tokenizer.get_vocab_size(), end)
    start_from_counts(model, tokens)
    train(model.to(DEVICE), tokens, SETTINGS)
    print(f"validation bits per byte={validate(model, tokenizer, end):.4f}")
    model.cpu().save_pretrained("output")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END
    ).save_pretrained("output")


def read_texts(folder: str) -> list[str]:
    return [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted(Path(folder).iterdir())
    ]


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """Byte-pair encoding finds the pieces; only those that the text needs are kept."""
    merged = Tokenizer(models.BPE())
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    merged.pre_tokenizer = split
    alphabet = sorted(split.alphabet())
    merged.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=MAX_VOCABULARY, initial_alphabet=alphabet, show_progress=False
        ),
    )
    counts = torch.bincount(
        torch.tensor([token for part in merged.encode_batch(texts) for token in part.ids]),
        minlength=merged.get_vocab_size(),
    )
    total = int(counts.sum())
    pieces = [
        (merged.id_to_token(token), math.log(max(count, 0.01) / total))
        for token, count in enumerate(counts.tolist())
        if count > 0 or merged.id_to_token(token) in alphabet
    ]
    tokenizer = Tokenizer(models.Unigram([*pieces, (END, -100.0)], unk_id=len(pieces)))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer


def build_model(settings: Settings, vocabulary: int, end: int) -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=settings.context, n_embd=settings.width,
        n_layer=settings.layers, n_head=settings.heads, bos_token_id=end, eos_token_id=end,
        resid_pdrop=settings.dropout, embd_pdrop=settings.dropout, attn_pdrop=settings.dropout,
        tie_word_embeddings=False,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


@torch.no_grad()
def start_from_counts(model: GPT2LMHeadModel, tokens: torch.Tensor) -> None:
    """Input and output vectors such that, at first, the model predicts from the last token alone.

    The last number of every vector is left to the bias, which gives each token its frequency.
    """
    size, width = model.transformer.wte.weight.shape
    share = (torch.bincount(tokens, minlength=size) + 0.5) / (len(tokens) + 0.5 * size)
    following = factors(surprises(tokens, [1], share, prior=20.0), share, 2 * width // 3)
    near = range(2, NEAR)
    topical = factors(
        surprises(tokens, near, share, prior=200.0), share, width - 1 - 2 * width // 3
    )
    inputs = torch.cat([following[0], topical[0], torch.zeros(size, 1)], dim=1)
    outputs = torch.cat([following[1], 0.3 * topical[1]], dim=1)
    scale = (inputs.std(dim=1) * share).sum()
    model.transformer.wte.weight.copy_(0.3 * inputs / scale)
    model.transformer.wpe.weight.mul_(0.1)
    model.transformer.ln_f.weight[-1] = 0
    model.transformer.ln_f.bias[-1] = 1
    model.lm_head.weight.copy_(torch.cat([outputs * scale, share.log()[:, None]], dim=1))


def surprises(
    tokens: torch.Tensor, distances: range | list[int], share: torch.Tensor, prior: float
) -> torch.Tensor:
    """The logarithm of how much more often than by chance a token has another one after it."""
    size = len(share)
    counts = torch.zeros(size * size)
    for distance in distances:
        pairs = tokens[:-distance] * size + tokens[distance:]
        counts += torch.bincount(pairs, minlength=size * size)
    table = counts.view(size, size)
    return torch.log((table + prior * share) / ((table.sum(1, keepdim=True) + prior) * share))


def factors(
    table: torch.Tensor, share: torch.Tensor, rank: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices whose product is near the table, above all where tokens are frequent."""
    weight = share.sqrt()[:, None]
    left, values, right = torch.svd_lowrank(weight * table * weight.T, q=rank, niter=3)
    return left * values.sqrt() / weight, right * values.sqrt() / weight


def train(model: GPT2LMHeadModel, tokens: torch.Tensor, settings: Settings) -> None:
    """AdamW; the learning rate rises quickly and falls to nothing."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.peak_rate, betas=(0.9, 0.98), weight_decay=0.05
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.peak_rate, total_steps=settings.steps, pct_start=0.1
    )
    model.train()
    for step in range(1, settings.steps + 1):
        starts = torch.randint(len(tokens) - settings.context, (settings.batch,))
        pieces = [tokens[start : start + settings.context + 1] for start in starts]
        batch = torch.stack(pieces).to(DEVICE)
        logits = model(batch[:, :-1]).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == settings.steps:
            print(f"step {step} loss={loss.item():.4f}", flush=True)


@torch.no_grad()
def validate(model: GPT2LMHeadModel, tokenizer: Tokenizer, end: int) -> float:
    """Bits per byte on the beginnings of the development files."""
    model.eval()
    length, nats, size = model.config.n_positions, 0.0, 0
    texts = read_texts("babylm_dev")
    share = min(1.0, VALIDATION_BYTES / sum(len(text.encode()) for text in texts))
    for text in texts:
        beginning = text[: int(len(text) * share)]
        size += len(beginning.encode())
        tokens = tokenizer.encode(beginning).ids
        for at in range(0, len(tokens), length):
            piece = torch.tensor([end, *tokens[at : at + length]], device=DEVICE)
            logits = model(piece[None, :-1]).logits[0]
            nats += functional.cross_entropy(logits, piece[1:], reduction="sum").item()
    return nats / math.log(2) / size


if __name__ == "__main__":
    main()
