# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network on shifted pictures of all sources; those of the tested source count as much as all others."""

import torch
from networks import Data, accuracy, build_network, predict, shift, train, write_submission

EPOCHS = 10


def main() -> None:
    data = Data()
    network = build_network(width=12)
    kept = data.kept
    train(network, data.images[kept], data.labels[kept], weights(data.own[kept]), EPOCHS, shift)
    found = predict(network, data.images[data.held])
    print(f"validation accuracy={accuracy(found, data.labels[data.held]):.4f}")
    train(network, data.images, data.labels, weights(data.own), EPOCHS, shift)
    write_submission(predict(network, data.test))


def weights(own: torch.Tensor) -> torch.Tensor:
    return own / own.sum() + ~own / (~own).sum()


if __name__ == "__main__":
    main()
