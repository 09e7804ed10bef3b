"""What the two text examples share: sentences from the descriptions of scikit-learn's data sets."""

import re

import numpy as np
from sklearn import datasets


def sentences() -> tuple[list[str], list[str]]:
    """Two lists, split at random: members and others."""
    loaders = (
        datasets.load_breast_cancer, datasets.load_diabetes, datasets.load_digits,
        datasets.load_iris, datasets.load_linnerud, datasets.load_wine,
    )  # fmt: skip
    text = " ".join(loader().DESCR for loader in loaders)
    words = re.findall(r"\w+", text)
    parts = [" ".join(words[i : i + 4]) for i in range(0, len(words) - 4, 4)]
    parts = sorted(set(parts))
    order = np.random.default_rng(0).permutation(len(parts))
    half = len(parts) // 2
    return [parts[i] for i in order[:half]], [parts[i] for i in order[half : 2 * half]]
