# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network that learns for long, on shifted pictures of the tested source alone."""

import torch
from networks import Data, accuracy, build_network, predict, shift, train, write_submission

EPOCHS = 100


def main() -> None:
    data = Data()
    half = data.own & data.kept
    network = learn(data, half)
    found = predict(network, data.images[data.held])
    print(f"validation accuracy={accuracy(found, data.labels[data.held]):.4f}")
    write_submission(predict(learn(data, data.own), data.test))


def learn(data: Data, some: torch.Tensor) -> torch.nn.Module:
    network = build_network(width=12)
    weights = torch.ones(int(some.sum()))
    train(network, data.images[some], data.labels[some], weights, EPOCHS, shift)
    return network


if __name__ == "__main__":
    main()
