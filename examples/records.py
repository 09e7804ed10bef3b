"""What the examples share: handwritten digits as ten numbers each, members drawn at random."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

FEATURES = [f"x_{j}" for j in range(10)]


def members_and_others() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables with the columns x_0 to x_9 and digit."""
    pixels, digit = load_digits(return_X_y=True)
    numbers = PCA(10, random_state=0).fit_transform(pixels)
    table = pd.DataFrame(numbers, columns=FEATURES).assign(digit=digit)
    chosen = np.random.default_rng(0).permutation(len(table)) < len(table) // 2
    return table[chosen].reset_index(drop=True), table[~chosen].reset_index(drop=True)
