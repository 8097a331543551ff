"""Trains a small GPT-2 from scratch on the BabyLM text and saves it, with its tokenizer."""

import json
import math
import os
from pathlib import Path

import torch
from gpt2 import GPT2, save_model
from tokenizers import ByteLevelBPETokenizer
from torch.nn import functional

OUTPUT = Path("output")
END = "<|endoftext|>"
VALIDATION_BYTES = 60_000
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PROFILE = os.environ.get("MLAGENTBENCH_PROFILE")
"""The hardware that the limits assume: cpu or gpu; None in the mini tier."""
FULL = {
    "cpu": {
        "vocabulary": 8192,
        "layers": 4,
        "heads": 4,
        "width": 256,
        "batch_size": 16,
        "steps": 600,
    },
    "gpu": {},
}
"""What differs from training.json."""


def main() -> None:
    if PROFILE is None:
        torch.set_num_threads(1)  # on small models more threads only wait for each other
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    settings = json.loads(Path("training.json").read_text()) | FULL.get(PROFILE, {})
    tokenizer = train_tokenizer(settings["vocabulary"])
    text = read_texts("babylm_10M")
    tokens = torch.tensor([token for part in tokenizer.encode_batch(text) for token in part.ids])
    end = tokenizer.token_to_id(END)
    sizes = {name: settings[name] for name in ("context", "width", "layers", "heads")}
    model = GPT2(tokenizer.get_vocab_size(), **sizes).to(DEVICE)
    train(model, tokens, settings)

    share = VALIDATION_BYTES / sum(len(part.encode()) for part in read_texts("babylm_dev"))
    validation = [part[: int(len(part) * min(1, share))] for part in read_texts("babylm_dev")]
    encoded = [part.ids for part in tokenizer.encode_batch(validation)]
    size = sum(len(part.encode()) for part in validation)
    bits = total_bits(model, encoded, end, settings["context"])
    print(f"validation bits per byte={bits / size:.4f}")

    OUTPUT.mkdir(exist_ok=True)
    save_model(model.cpu(), end, OUTPUT)
    tokenizer.save(str(OUTPUT / "tokenizer.json"))


def read_texts(folder: str) -> list[str]:
    return [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted(Path(folder).iterdir())
    ]


def train_tokenizer(vocabulary: int) -> ByteLevelBPETokenizer:
    tokenizer = ByteLevelBPETokenizer()
    files = [str(file) for file in sorted(Path("babylm_10M").iterdir())]
    tokenizer.train(files, vocab_size=vocabulary, special_tokens=[END], show_progress=False)
    return tokenizer


def train(model: GPT2, tokens: torch.Tensor, settings: dict) -> None:
    """Random pieces of the text, one learning rate from start to end."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])
    length = settings["context"]
    for step in range(1, settings["steps"] + 1):
        starts = torch.randint(len(tokens) - length, (settings["batch_size"],))
        batch = torch.stack([tokens[start : start + length + 1] for start in starts]).to(DEVICE)
        logits = model(batch[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == settings["steps"]:
            print(f"step {step} loss={loss.item():.4f}", flush=True)


@torch.no_grad()
def total_bits(model: GPT2, documents: list[list[int]], end: int, length: int) -> float:
    """What the documents cost, in pieces as long as the model's context."""
    nats = 0.0
    for document in documents:
        for at in range(0, len(document), length):
            piece = torch.tensor([end, *document[at : at + length]], device=DEVICE)
            logits = model(piece[None, :-1])[0]
            nats += functional.cross_entropy(logits, piece[1:], reduction="sum").item()
    return nats / math.log(2)


if __name__ == "__main__":
    main()
