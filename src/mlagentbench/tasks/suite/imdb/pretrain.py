"""Trains the mini tier's checkpoint: `python pretrain.py DIRECTORY`, by hand, once.

The checkpoint is part of the task, in checkpoint/: what is trained while data are prepared would
differ from machine to machine. It is a DistilBERT, too, only tiny, and learns without labels, from
reviews by mini.py's generator with a seed of their own: it reads some sentences of a reviewer and
tells which words of opinion the next sentences, plain ones, have; so does its first layer, at every
word of opinion that is read. Nobody tells it which words are good and which are bad; that they go
together, and what negations do, is what it has to find out.
Needs the task's python env; takes about two minutes of one core.
"""

import re
import string
import sys
from pathlib import Path

import mini
import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional
from transformers import DistilBertConfig, DistilBertModel, DistilBertTokenizerFast

SEED = 20_231_005
LESSONS = [
    {"steps": 150, "sentences": (1, 1), "NEGATED": 0.0, "DECOYS": 0.0, "LEANING": 1.0},
    {"steps": 300, "sentences": (1, 2), "NEGATED": 0.4, "DECOYS": 0.25, "LEANING": 1.0},
    {"steps": 300, "sentences": (1, 5), "NEGATED": 0.35, "DECOYS": 0.2, "LEANING": 1.0},
    {"steps": 200, "sentences": (8, 13), "NEGATED": 0.35, "DECOYS": 0.2, "LEANING": 0.8},
]
"""What words mean is learnt where nothing is negated, then what negations do, then to add up."""
BATCH = 64
NEXT = 5
"""So many sentences are told from those that are read."""
PEAK_RATE = 2e-3
MAX_TOKENS = 128
SIZE = 64
LOOK_BACK, SHARPNESS = 2, 1.4
"""How far to the left two heads look at the start, and how closely."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    tokenizer = make_tokenizer(directory)
    model = DistilBertModel(
        DistilBertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=MAX_TOKENS,
            n_layers=2, n_heads=4, dim=SIZE, hidden_dim=2 * SIZE,
            dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0, initializer_range=0.1,
        )
    )  # fmt: skip
    start_well(model)
    train(model, tokenizer, rng)
    save(model, directory)


def make_tokenizer(directory: Path) -> DistilBertTokenizerFast:
    """Whole words of the generator; letters, so that every other word can be spelt."""
    words = [*mini.DEGREES, *(word for kind in mini.ALL_WORDS for word in kind)]
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


@torch.no_grad()
def start_well(model: DistilBertModel) -> None:
    """Half of the numbers are a word's, half its position's, and two heads look a bit to the left.

    Without this, thousands of steps pass before the first negation is found.
    """
    half = SIZE // 2
    rates = 30 ** -(torch.arange(0, half, 2) / half)

    def waves(positions: torch.Tensor) -> torch.Tensor:
        angles = positions[:, None] * rates
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)

    embeddings, attention = model.embeddings, model.transformer.layer[0].attention
    embeddings.word_embeddings.weight[:, :half] = 0
    embeddings.position_embeddings.weight.zero_()
    embeddings.position_embeddings.weight[:, :half] = 0.15 * waves(torch.arange(MAX_TOKENS))
    turn = torch.zeros(half, half)  # takes the waves of a position to those of LOOK_BACK before
    sine, cosine = (LOOK_BACK * rates).sin(), (LOOK_BACK * rates).cos()
    even = torch.arange(0, half, 2)
    turn[even, even], turn[even, even + 1] = cosine, -sine
    turn[even + 1, even + 1], turn[even + 1, even] = cosine, sine
    for part, start in ((attention.q_lin, turn), (attention.k_lin, torch.eye(half))):
        part.weight[:half] = 0
        part.weight[:half, :half] = SHARPNESS * start


def train(
    model: DistilBertModel, tokenizer: DistilBertTokenizerFast, rng: np.random.Generator
) -> None:
    """The learning rate rises to its peak and falls to nothing."""
    words = mini.ALL_WORDS.praise + mini.ALL_WORDS.blame
    opinions = torch.tensor(tokenizer.convert_tokens_to_ids(words))
    tell_early, tell = nn.Linear(SIZE, len(words)), nn.Linear(SIZE, len(words))
    parameters = [*model.parameters(), *tell_early.parameters(), *tell.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=PEAK_RATE, weight_decay=0.01)
    steps = [lesson for lesson in LESSONS for _ in range(lesson["steps"])]
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, total_steps=len(steps), pct_start=0.05
    )
    losses = []
    for step, lesson in enumerate(steps, start=1):
        texts, following = zip(*(write_parts(lesson, rng) for _ in range(BATCH)), strict=True)
        batch = tokenizer(list(texts), padding=True, return_tensors="pt")
        begin = torch.randint(MAX_TOKENS - batch["input_ids"].shape[1], (BATCH, 1))
        places = begin + torch.arange(batch["input_ids"].shape[1])  # all positions are learnt
        _, early, last = model(
            **batch, position_ids=places, output_hidden_states=True
        ).hidden_states
        told = torch.tensor(following)
        rows, columns = torch.isin(batch["input_ids"], opinions).nonzero(as_tuple=True)
        loss = surprise(tell(last[:, 0]), told) + surprise(
            tell_early(early[rows, columns]), told[rows]
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step} loss={np.mean(losses[-50:]):.4f}", flush=True)


def surprise(logits: torch.Tensor, told: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of several words for each row of logits."""
    return -functional.log_softmax(logits, dim=1).gather(1, told).mean()


def write_parts(lesson: dict, rng: np.random.Generator) -> tuple[str, list[int]]:
    """Some sentences to read, and the numbers of the words of opinion in the next ones."""
    leaning = 1 if rng.random() < 0.5 else -1
    mini.NEGATED, mini.DECOYS, mini.LEANING = (
        lesson["NEGATED"], lesson["DECOYS"], lesson["LEANING"],
    )  # fmt: skip
    count = rng.integers(lesson["sentences"][0], lesson["sentences"][1] + 1)
    words = mini.ALL_WORDS
    text = ". ".join(mini.write_sentence(leaning, words, rng)[0] for _ in range(count)) + "."
    mini.NEGATED = mini.DECOYS = 0.0
    plain = [mini.write_clause(leaning, words, rng).split()[-1] for _ in range(NEXT)]
    return text, [(words.praise + words.blame).index(word) for word in plain]


def save(model: DistilBertModel, directory: Path) -> None:
    model.config.save_pretrained(directory)
    weights = {f"distilbert.{name}": tensor for name, tensor in model.state_dict().items()}
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
