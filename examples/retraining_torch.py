"""Needs: pip install 'divulge[torch]'

Train a small torch network again and again, with and without one record whose label is wrong. The
callable seeds itself and uses one thread, so that every model can be trained again as it was.
"""

import numpy as np
import torch

import divulge

MODELS, STEPS = 20, 30


def train(data, seed):
    """A network from training data and a seed."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    features = torch.as_tensor(data[0], dtype=torch.float32)
    labels = torch.as_tensor(data[1], dtype=torch.long)
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(features), labels).backward()
        optimiser.step()
    return network


def loss(network, record):
    """The cross-entropy of the record."""
    features = torch.as_tensor(record[0], dtype=torch.float32)[None, :]
    label = torch.as_tensor([int(record[1])])
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(network(features), label))


def main():
    """Two pairs (dataset, record), then what their counts say."""
    rows = []
    for number in range(2):
        rng = np.random.default_rng(number)
        features = rng.normal(size=(30, 2))
        base, record = (features, (features[:, 0] > 0).astype(int)), (np.array([2.0, 0.0]), 0)
        measured = divulge.retraining.measure(
            train, base, record, loss=loss, models=MODELS, seed=number
        )
        rows.append(list(measured.row(0.1).values()))
        print("false positives, negatives, false negatives, positives:", *rows[-1])
    result = divulge.retraining(rows, deltas=(1e-3,), correlated=measured.correlated)
    print(result.verdict.sentence)


if __name__ == "__main__":
    main()
