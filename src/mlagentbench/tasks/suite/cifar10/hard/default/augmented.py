# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network on pictures that are turned, mirrored, shifted and recoloured; then the tested source."""

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

EPOCHS = 10


def main() -> None:
    data = Data()
    network = build_network(width=12)
    kept = data.kept
    weights = 1 + 5.0 * data.own
    train(network, data.images[kept], data.labels[kept], weights[kept], EPOCHS, vary)
    found = predict(network, data.images[data.held])
    print(f"validation accuracy={accuracy(found, data.labels[data.held]):.4f}")
    own = torch.ones(int(data.own.sum()))
    train(network, data.images[data.own], data.labels[data.own], own, EPOCHS, vary, rate=0.002)
    write_submission(predict(network, data.test))


def vary(images: torch.Tensor) -> torch.Tensor:
    return shift(turn(mirror(mix_colours(images))))


if __name__ == "__main__":
    main()
