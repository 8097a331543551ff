# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Tries networks with several kinds of varied pictures; the best two on the tested source vote."""

import torch
from networks import (
    Data,
    accuracy,
    build_network,
    mirror,
    mix_colours,
    predict,
    shift,
    train,
    turn,
    write_submission,
)

EPOCHS, VOTERS = 4, 2
KINDS = {
    "shift": shift,
    "mirror": lambda images: shift(mirror(images)),
    "turn": turn,
    "colours": lambda images: shift(mix_colours(images)),
    "turn and colours": lambda images: turn(mix_colours(images)),
    "grey": lambda images: shift(images.mean(1, keepdim=True).expand(-1, 3, -1, -1)),
}


def main() -> None:
    data = Data()
    kept = data.kept
    weights = (data.own / data.own.sum() + ~data.own / (~data.own).sum())[kept]
    tried = []
    for name, vary in KINDS.items():
        network = build_network(width=8)
        train(network, data.images[kept], data.labels[kept], weights, EPOCHS, vary)
        score = accuracy(predict(network, data.images[data.held]), data.labels[data.held])
        print(f"{name} accuracy={score:.4f}")
        tried.append((score, name, network))
    best = sorted(tried, key=lambda one: one[0], reverse=True)[:VOTERS]
    print(f"validation accuracy={best[0][0]:.4f}")
    own = torch.ones(int(data.own.sum()))
    for _, name, network in best:
        images, labels = data.images[data.own], data.labels[data.own]
        train(network, images, labels, own, EPOCHS, KINDS[name], rate=0.003)
    write_submission(sum(predict(network, data.test) for _, _, network in best) / VOTERS)


if __name__ == "__main__":
    main()
