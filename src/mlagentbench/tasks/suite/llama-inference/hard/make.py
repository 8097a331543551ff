"""The hard tier: a checkpoint in which the next token depends on two or three tokens only.

The residual stream holds one direction that is the same for all tokens. Weights that read it fix
what heads look at, switch neurons off and keep tokens from being generated. No matrix has a zero
row or column or a low rank because of that: it shows only when the model runs.

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| lag heads | look a fixed number of tokens back | 1 or 2 lags, one layer | 1 lag, two layers |
| own heads | look at their own place | the other groups | the other groups |
| start heads | look at the first token only | 2 groups | 2 groups |
| lag decoys | look at other lags, and cancel out | 3 groups | 2 groups |
| wide decoys | look at everything, and cancel out | 2 groups | 2 groups |
| asleep | neurons that never fire | 35 to 55 % | 35 to 55 % |
| rarely awake | neurons that fire for one token only (a trap) | 4 in the first layer | 4 |
| silent tokens | most tokens are never generated | all but 24 to 48 | all but 24 to 32 |

Which layers, groups, lags, neurons and tokens these are is drawn. Because the tokens that matter
are few, and few tokens are generated, a table that is made when the checkpoint is loaded has all
next tokens. It takes both: with all tokens, or with the decoys' lags, it would be far too large.
What sleeps is worth a little time only.

There is no ceiling: nobody knows the fastest program.
"""

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from mini import SPECIAL, draw_text, draw_words, make_config, make_tokenizer, write_safetensors
from prepare import prepare

LAYERS, HIDDEN, INNER, HEADS, GROUPS, SIZE = 3, 128, 512, 8, 4, 32
VOCABULARY = 2048
WORDS = {"valid": 4_000, "test": 60_000}
SETTINGS = {
    "batch": 16, "prompt_tokens": 128, "new_tokens": 64, "threads": 1,
    "warm_up": 2, "timed": 11, "checks": 4,
}  # fmt: skip
SAME, CONTENT, START = 36.0, 4.0, 13.0
"""Lengths in an embedding: what all tokens share, what is a token's own, the first token's mark."""
LOWEST = 9.5
"""Of the shared direction after any norm; the largest possible is the root of HIDDEN."""
THETA = 10_000.0
FREQUENCIES = 5
"""Of the rotary embedding, those that tell places apart."""
SHARPNESS = 80.0
"""By a score: how far a head's place is above others, for each frequency."""
LAGS = {1: (4, 12), 2: (2, 5)}
"""By the number of lags in a layer."""
TWICE = (2, 3)
"""The lag of two layers."""
DECOY_LAGS = (1, 12)
STRENGTH = 4.0
"""Of what lag heads write, by what others write."""
SCALES = (1.0, 0.75, 0.6)
"""Of weights that read what is not shared, by layer: there is more of it in later layers."""
ASLEEP, RARELY = (0.35, 0.55), 4
GENERATED = {1: (32, 48), 2: (24, 32)}
"""By the number of earlier tokens that matter."""


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    drawn = Draw(rng)
    groups, earlier = draw_groups(rng, pool)
    heads = [draw_heads(drawn, *layer) for layer in zip(groups, SCALES, strict=True)]
    possible = draw_possible(rng, earlier)
    neurons = [draw_neurons(drawn, n, possible) for n in range(LAYERS)]
    weights = {"model.embed_tokens.weight": drawn.embedding}
    for n in range(LAYERS):
        layer = {**heads[n][0], **neurons[n][0]}
        weights |= {f"model.layers.{n}.{name}.weight": values for name, values in layer.items()}
    weights["lm_head.weight"] = draw_head(drawn, possible)
    norms = ["model.norm"]
    for n in range(LAYERS):
        norms += [f"model.layers.{n}.{name}_layernorm" for name in ("input", "post_attention")]
    weights |= {f"{name}.weight": np.ones(HIDDEN) for name in norms}
    half = {name: values.astype(np.float16) for name, values in weights.items()}
    with tempfile.TemporaryDirectory() as folder:
        write_raw(Path(folder), half, rng)
        prepare(Path(folder), public, private, rng)
    mechanisms = {
        "heads": [found for _, found in heads],
        "neurons": [found for _, found in neurons],
        "generated": sorted(possible.tolist()),
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms) + "\n")


def write_raw(raw: Path, weights: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    sizes = {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": GROUPS,
        "head_dim": SIZE,
        "vocab_size": VOCABULARY,
    }
    (raw / "config.json").write_text(json.dumps({**make_config(), **sizes}, indent=2) + "\n")
    write_safetensors(raw / "model.safetensors", weights)
    words = draw_words(VOCABULARY - len(SPECIAL), rng)
    (raw / "tokenizer.json").write_text(json.dumps(make_tokenizer(words)))
    text = raw / "wikitext-2-raw"
    text.mkdir()
    for part, count in WORDS.items():
        (text / f"wiki.{part}.raw").write_text(draw_text(words, count, rng))
    (raw / "requests.json").write_text(json.dumps(SETTINGS))


class Draw:
    """The directions that a draw's weights agree on, and weights that keep off them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        # Of equal size everywhere, so that rounding leaves the direction as it is.
        signs = rng.permutation(np.repeat([-1.0, 1.0], HIDDEN // 2))
        self.same = signs / HIDDEN**0.5
        other = np.where(np.arange(HIDDEN) % 2, signs, -signs)
        while abs(other @ signs) > 0:
            other = rng.permutation(signs)
        self.mark = other / HIDDEN**0.5
        content = self.rows(VOCABULARY)
        content *= CONTENT / np.linalg.norm(content, axis=1, keepdims=True)
        self.embedding = SAME * self.same + content
        self.embedding[SPECIAL.index("<s>")] += START * self.mark

    def rows(self, count: int, scale: float = 1.0) -> np.ndarray:
        """Random directions across those that are agreed on."""
        drawn = scale * self.rng.normal(size=(count, HIDDEN))
        for direction in (self.same, self.mark):
            drawn -= np.outer(drawn @ direction, direction)
        return drawn


@dataclass(frozen=True)
class Group:
    """A group of heads: what kind it is, and how far back its heads look."""

    kind: str
    lags: tuple[int, ...] = ()


def draw_groups(rng: np.random.Generator, pool: str) -> tuple[list[list[Group]], int]:
    """The groups of heads by layer, and how many earlier tokens matter."""
    layers: list[list[Group]] = [[] for _ in range(LAYERS)]
    if pool == "train":
        earlier = 2
        lags = [int(rng.integers(*TWICE, endpoint=True))]
        for n in rng.permutation(LAYERS)[:2]:
            layers[n].append(lag_group(lags[0], rng))
    else:
        earlier = int(rng.integers(1, 3))
        least, most = LAGS[earlier]
        lags = rng.choice(np.arange(least, most + 1), size=earlier, replace=False).tolist()
        layers[rng.integers(LAYERS)] += [lag_group(lags[n % earlier], rng) for n in range(2)]
    others = np.setdiff1d(np.arange(DECOY_LAGS[0], DECOY_LAGS[1] + 1), lags)
    decoys = 3 if pool == "eval" else 2
    rest = [Group("decoy", (lag, lag)) for lag in rng.choice(others, decoys, False).tolist()]
    rest += [Group("wide")] * 2 + [Group("start")] * 2
    rest += [Group("own", (0, 0))] * (LAYERS * GROUPS - 2 - len(rest))
    rng.shuffle(rest)
    for layer in layers:
        while len(layer) < GROUPS:
            layer.append(rest.pop())
        rng.shuffle(layer)
    return layers, earlier


def lag_group(lag: int, rng: np.random.Generator) -> Group:
    """One of the heads may look at its own place."""
    return Group("lag", (lag, int(rng.choice([0, lag]))))


def draw_heads(drawn: Draw, groups: list[Group], scale: float) -> tuple[dict, list[dict]]:
    """The weights of a layer's attention, and what its groups do."""
    per = HEADS // GROUPS
    queries, keys, values, outputs = [], [], [], []
    for group in groups:
        key, query = drawn.rows(SIZE, 0.02), drawn.rows(per * SIZE, 0.02)
        value, output = drawn.rows(SIZE, 0.11 * scale), drawn.rows(per * SIZE, 0.11)
        if group.kind in ("decoy", "wide"):  # equal heads, opposite outputs
            query = np.tile(query[:SIZE], (per, 1))
            output = np.concatenate([output[:SIZE], -output[:SIZE]])
        if group.lags:
            phases = drawn.rng.uniform(0, 2 * np.pi, size=SIZE // 2)
            key += np.outer(place(phases, 0), drawn.same)
            turned = [place(phases, lag) for lag in group.lags]
            query += np.outer(np.concatenate(turned), drawn.same)
            output *= STRENGTH if group.kind == "lag" else 1
        elif group.kind == "start":
            slow = np.zeros(SIZE)
            slow[[SIZE // 2 - 1, SIZE - 1]] = drawn.rng.normal(size=2)
            slow *= 4.0 / np.linalg.norm(slow)
            key += np.outer(slow, drawn.mark)
            query += np.outer(np.tile(slow, per), drawn.same)
            output *= 0.4
        else:
            key, query = key * 12, query * 12
        queries.append(query)
        keys.append(key)
        values.append(value)
        outputs.append(output)
    weights = {
        "self_attn.q_proj": np.concatenate(queries),
        "self_attn.k_proj": np.concatenate(keys),
        "self_attn.v_proj": np.concatenate(values),
        "self_attn.o_proj": np.concatenate(outputs).T,
    }
    return weights, [asdict(group) for group in groups]


def place(phases: np.ndarray, back: int) -> np.ndarray:
    """A vector that meets the one without an offset best when turned by so many places."""
    speeds = THETA ** -(np.arange(SIZE // 2) / (SIZE // 2))
    length = np.where(np.arange(SIZE // 2) < FREQUENCIES, (SHARPNESS * SIZE**0.5) ** 0.5, 0)
    turned = phases - back * speeds
    return np.concatenate([np.cos(turned) * length, np.sin(turned) * length]) / LOWEST


def draw_possible(rng: np.random.Generator, earlier: int) -> np.ndarray:
    """The tokens that can be generated."""
    count = rng.integers(*GENERATED[earlier], endpoint=True)
    return len(SPECIAL) + rng.permutation(VOCABULARY - len(SPECIAL))[:count]


def draw_neurons(
    drawn: Draw, layer: int, possible: np.ndarray
) -> tuple[dict, dict[str, list[int]]]:
    """The weights of a layer's neurons, and which of these sleep or rarely wake."""
    rng = drawn.rng
    scale = 0.5 * SCALES[layer]
    gate, up, down = (drawn.rows(INNER, size) for size in (scale, scale, 0.02))
    order = rng.permutation(INNER)
    asleep = order[: int(INNER * rng.uniform(*ASLEEP))]
    rarely = order[len(asleep) :][: RARELY if layer == 0 else 0]
    gate[asleep] -= rng.uniform(26, 34, size=len(asleep))[:, None] / LOWEST * drawn.same
    for neuron, token in zip(rarely, rng.choice(possible, size=RARELY), strict=False):
        own = drawn.embedding[token] - SAME * drawn.same
        gate[neuron] = own / CONTENT * 24 - 3.0 * drawn.same
    weights = {"mlp.gate_proj": gate, "mlp.up_proj": up, "mlp.down_proj": down.T}
    return weights, {"asleep": np.sort(asleep).tolist(), "rarely": np.sort(rarely).tolist()}


def draw_head(drawn: Draw, possible: np.ndarray) -> np.ndarray:
    """All tokens but some are far behind, whatever came before."""
    head = drawn.rows(VOCABULARY, 0.8)
    silent = np.ones(VOCABULARY, dtype=bool)
    silent[possible] = False
    head[silent] -= 30 / LOWEST * drawn.same
    return head
