"""Small models, honest and not, graded by babylm's grader: `python babylm_models.py OUT`.

Runs in the task's python env, with torch, which the tests themselves do not have; the task's folder
and its starter are on the path. OUT/results.json gets, for each case, the score and the figures
beside it, or the reason why it is invalid.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpt2
import grade
import language_model
import torch
import transformers
from language_model import LanguageModel
from mlagentbench_task import InvalidSubmission  # type: ignore[import-not-found]
from model_files import read_model_files
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

OUT = Path(sys.argv[1])
TEXTS = [
    "The cat sat.\nIt purred all day,  and then some more.\n",
    "Ça va? 日本語\u2028tab\tend <s> [UNK]\n" * 3,
    "a" * 700 + "\n",
]
SIZES = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "other": {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "intermediate_size": 32, "ffn_dim": 32,
        "word_embed_proj_dim": 16, "max_position_embeddings": 64, "head_dim": 8,
    },
}  # fmt: skip
Change = Callable[[Path], None]


def byte_tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: place for place, character in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE({**vocabulary, "<s>": 256}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def save(directory: Path, kind: str = "gpt2", **settings: Any) -> None:
    """A model with random weights and a tokenizer of single bytes."""
    torch.manual_seed(0)
    model_class = getattr(transformers, language_model.ARCHITECTURES.get(kind, "BertLMHeadModel"))
    sizes = SIZES.get(kind, SIZES["other"])
    known = model_class.config_class().to_dict()
    sizes = {name: value for name, value in sizes.items() if name in known or kind == "gpt2"}
    config = model_class.config_class(
        **{"vocab_size": 257, "bos_token_id": 256, "eos_token_id": 256, "pad_token_id": None}
        | sizes
        | settings
    )
    model_class(config).save_pretrained(directory)
    byte_tokenizer().save(str(directory / "tokenizer.json"))


def change_config(**values: Any) -> Change:
    def change(directory: Path) -> None:
        file = directory / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return change


def change_weights(edit: Callable[[dict[str, torch.Tensor]], Any]) -> Change:
    def change(directory: Path) -> None:
        weights = load_file(directory / "model.safetensors")
        edit(weights)
        save_file(weights, directory / "model.safetensors")

    return change


def change_tokenizer(edit: Callable[[Tokenizer], Any]) -> Change:
    def change(directory: Path) -> None:
        tokenizer = byte_tokenizer()
        edit(tokenizer)
        tokenizer.save(str(directory / "tokenizer.json"))

    return change


def all_unknown(directory: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.save(str(directory / "tokenizer.json"))


def tokenizer_json(**values: Any) -> Change:
    def change(directory: Path) -> None:
        file = directory / "tokenizer.json"
        contents = json.loads(file.read_text())
        contents["model"] |= values
        file.write_text(json.dumps(contents))

    return change


def adds_a_start(tokenizer: Tokenizer) -> None:
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A <s>", None, [("<s>", 256)])


CHANGES: dict[str, Change] = {
    "unchanged": lambda directory: None,
    "uniform": change_weights(lambda weights: [weight.zero_() for weight in weights.values()]),
    "another number format": change_config(dtype="float16", torch_dtype="float16"),
    "a template with special tokens": change_tokenizer(adds_a_start),
    "unknown tokens only": all_unknown,
    "lower case": change_tokenizer(
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Lowercase())
    ),
    "spaces are lost": change_tokenizer(
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Replace(" ", ""))
    ),
    "text is put before": change_tokenizer(
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Prepend("x"))
    ),
    "random tokens": tokenizer_json(dropout=0.5),
    "an unknown kind of tokenizer": tokenizer_json(type="Magic"),
    "a token too many": change_tokenizer(lambda tokenizer: tokenizer.add_tokens(["cat"])),
    "an is_causal setting": change_config(is_causal=False),
    "a cross attention": change_config(add_cross_attention=True),
    "code of its own": change_config(auto_map={"AutoModelForCausalLM": "model.Model"}),
    "quantised": change_config(quantization_config={"quant_method": "gptq", "bits": 4}),
    "another attention": change_config(_attn_implementation="someone/kernel"),
    "no start token": change_config(bos_token_id=None, eos_token_id=None),
    "a start token out of range": change_config(bos_token_id=257, eos_token_id=-1),
    "heads that do not fit": change_config(n_head=3),
    "a width in letters": change_config(n_embd="wide"),
    "many layers": change_config(n_layer=1_000_000),
    "a giant": change_config(n_embd=1_000_000),
    "a giant's labels": change_config(num_labels=9_000_000),
    "endless positions": change_config(n_positions=10**9),
    "no number": change_weights(lambda weights: weights["transformer.ln_f.weight"].fill_(math.nan)),
    "too large numbers": change_weights(
        lambda weights: weights["transformer.wte.weight"].fill_(3e38)
    ),
    "a missing weight": change_weights(lambda weights: weights.pop("transformer.ln_f.weight")),
    "a weight too many": change_weights(lambda weights: weights.update(spare=torch.zeros(2))),
    "a wrong shape": change_weights(
        lambda weights: weights.update({"transformer.ln_f.weight": torch.zeros(17)})
    ),
}


def attempt(directory: Path) -> dict[str, Any]:
    try:
        graded = grade.grade(directory, OUT)
    except InvalidSubmission as error:
        return {"invalid": str(error)}
    return {"score": graded.score, "extra": graded.extra}


def refusal(of: Callable[[], Any]) -> dict[str, Any]:
    try:
        of()
    except InvalidSubmission as error:
        return {"invalid": str(error)}
    return {"accepted": True}


class SeesItsLength(torch.nn.Module):
    """Predicts by how many tokens there are, which is to know the future."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, **settings: Any) -> Any:
        output = self.model(input_ids, **settings)
        output.logits[..., 0] += input_ids.shape[1]
        return output


def probes(directory: Path) -> dict[str, dict[str, Any]]:
    """The causality probe on models that get past the checks of their files."""
    model = LanguageModel(read_model_files(directory / "output"))
    encoded = model.encode(TEXTS)
    results = {"probe: causal": refusal(lambda: model.require_causality(encoded))}
    inner = model.model
    model.model = SeesItsLength(inner)
    results["probe: length"] = refusal(lambda: model.require_causality(encoded))
    model.model = inner
    inner.config.is_causal = False
    results["probe: future"] = refusal(lambda: model.require_causality(encoded))
    inner.config.is_causal = True
    language_model.MAX_WORK = 1e6
    results["too much work"] = refusal(lambda: model.bits(encoded))
    language_model.MAX_WORK = 1e13
    return results


def bits_by_hand(directory: Path) -> float:
    """One prediction at a time, from at most half a window's to a whole window's tokens."""
    model = transformers.AutoModelForCausalLM.from_pretrained(directory).eval()
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    nats, size = 0.0, 64
    for text in TEXTS:
        tokens = [256, *tokenizer.encode(text).ids]
        for place in range(1, len(tokens)):
            first = max(0, -(-(place + 1 - size) // (size // 2)) * (size // 2))
            seen = torch.tensor([tokens[first:place]])
            with torch.no_grad():
                logits = model(seen).logits[0, -1]
            nats -= float(logits.log_softmax(-1)[tokens[place]])
    return nats / math.log(2) / sum(len(text.encode()) for text in TEXTS)


def starters_model(directory: Path) -> dict[str, Any]:
    """How far the starter's GPT-2 is from what Transformers makes of its files, and their score."""
    directory.mkdir(parents=True)
    torch.manual_seed(0)
    model = gpt2.GPT2(257, context=64, width=16, layers=2, heads=2)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    gpt2.save_model(model, 256, directory)
    byte_tokenizer().save(str(directory / "tokenizer.json"))
    loaded = transformers.AutoModelForCausalLM.from_pretrained(directory).eval()
    tokens = torch.randint(257, (3, 64))
    with torch.no_grad():
        logits = model(tokens)
        difference = (loaded(tokens).logits - logits).abs().max()
    apart = float(difference / logits.abs().max())
    return {**attempt(directory.parent), "apart": apart}


def main() -> None:
    transformers.utils.logging.disable_progress_bar()
    documents = [
        {"source": f"s{place % 2}", "text": text, "copy": place == 2, "true_bits": None}
        for place, text in enumerate(TEXTS)
    ]
    (OUT / "documents.json").write_text(json.dumps(documents))
    results: dict[str, Any] = {}
    for name, change in CHANGES.items():
        directory = OUT / name / "output"
        save(directory)
        change(directory)
        results[name] = attempt(directory.parent)
    for kind in language_model.ARCHITECTURES:
        save(OUT / kind / "output", kind)
        results[kind] = attempt(OUT / kind)
    save(OUT / "bert" / "output", "bert", is_decoder=False)
    results["bert"] = attempt(OUT / "bert")
    results["again"] = attempt(OUT / "unchanged")
    results["by hand"] = {"score": bits_by_hand(OUT / "unchanged" / "output")}
    results["starter"] = starters_model(OUT / "starter" / "output")
    results |= probes(OUT / "llama")
    (OUT / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
