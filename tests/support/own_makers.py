"""Code of the user's own that makes fresh models, as tests name it: own_makers:tree."""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

ESTIMATOR = DecisionTreeClassifier(max_depth=4)


def tree(seed, depth=None):
    return DecisionTreeClassifier(max_depth=depth, random_state=seed)


def forest(seed):
    return RandomForestClassifier(25, random_state=seed)


def nearest(seed):
    """It remembers every record that it was fitted on, and nothing about it is random."""
    return KNeighborsClassifier(1)


def network(seed):
    import torch

    return torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


def broken(seed):
    raise RuntimeError("no luck")


def text(seed):
    return "not a model"
