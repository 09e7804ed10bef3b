"""Looking at a row as often as one likes: an e-process against "false claims keep their error".

A game makes a false claim with probability ``error`` at most, whatever happened before. For any
rate ``q`` above it the likelihood ratio ``(q/error)^false ((1-q)/(1-error))^true`` is then a
non-negative supermartingale, and so is its mean over all such ``q``. By Ville's inequality it ever
reaches ``1/a`` with probability ``a`` at most: a row may be looked at after every game, and played
on because it looked bad.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincc, betaln


def log_wealth(false: int, games: int, error: float) -> float:
    """Logarithm of the mean likelihood ratio, ``q`` uniform between the error and 1."""
    a, b = false + 1.0, games - false + 1.0
    above = float(betaincc(a, b, error))
    if above <= 0.0:
        return -np.inf
    bet = float(betaln(a, b)) + np.log(above) - np.log1p(-error)
    return float(bet - false * np.log(error) - (games - false) * np.log1p(-error))
