"""Needs: pip install divulge

Train a small scikit-learn network again and again, with and without one record.

Losses on the record tell the two kinds of model apart; the errors of that test give a posterior of
epsilon and a lower bound with confidence. The record's label is wrong, so that the network has to
remember it. Each row of counts is one pair (dataset, record).
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import divulge

MODELS, PAIRS = 20, 3


def train(data, seed):
    """A network from training data and a seed: its start and the order of its batches."""
    features, labels = data
    network = MLPClassifier((8,), learning_rate_init=0.05, max_iter=20, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few steps are enough here
        return network.fit(features, labels)


def loss(network, record):
    """The cross-entropy of the record."""
    features, label = record
    probability = network.predict_proba(features[None, :])[0, int(label)]
    return -np.log(max(probability, 1e-12))


def pair(number):
    """30 labelled points, and a record whose label is wrong."""
    rng = np.random.default_rng(number)
    features = rng.normal(size=(30, 2))
    labels = (features[:, 0] > 0).astype(int)
    return (features, labels), (np.array([2.0, 0.0]), 0)


def main():
    """Measure every pair, then ask what the counts say."""
    rows = []
    for number in range(PAIRS):
        base, record = pair(number)
        measured = divulge.retraining.measure(
            train, base, record, loss=loss, models=MODELS, seed=number
        )
        rows.append(list(measured.row(0.1).values()))
        print("false positives, negatives, false negatives, positives:", *rows[-1])
    result = divulge.retraining(rows, deltas=(1e-3,), correlated=measured.correlated)
    print(result.verdict.sentence)


if __name__ == "__main__":
    main()
