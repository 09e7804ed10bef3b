"""What it costs that the model has a say in the number of guesses.

The proof of the f-DP recursion takes the number r of guesses as given. If r is chosen from scores,
the model chooses it: a mechanism may make one kind of output look worth a few guesses and another
worth many, and err in both. Then the errors of the numbers add up, and what they add up to is this.

*Pure epsilon*: to no more than the error. Given the output every guess is right with probability
``sigma(epsilon)`` at most, whatever r is.

*Epsilon at delta*: let ``G_r(w, d)`` be the largest probability of a false claim at r that the
recursion allows to outputs of total probability w with a failure of d. The outputs that choose r
have a probability ``w_r`` and a failure ``d_r``; the ``w_r`` sum to 1, and the ``d_r`` to delta at
most, since the worst events of all r together are one event. The recursion for (epsilon, delta) is
homogeneous and grows with both arguments, so for every ``b > 0``
``G_r(w_r, d_r) <= max(w_r, d_r / (b delta)) G_r(1, b delta)``, and the sum is at most
``(1 + 1 / b) max_r G_r(1, b delta)``. So: test against ``b delta``, at ``error / (1 + 1 / b)``.
The other branch of the curve plays no part: where it is the larger one, the first has refuted
already. If bounds at several deltas come from one count and shall hold together, each of them has
its ``1 / b``. A shift budget tau is a failure of that kind in either direction: two more shares.

*Mu*: the Gaussian curve is not homogeneous, and there is no such proof for the curve itself; its
tangents have one, at a price (``tangents.py``). But the recursion is not
tight, and the exact worst case is a linear program: ``experiments/choosing_guesses.py`` finds that
numbers of 40 and more, near to each other or far apart, add up to less than the stated error in
all that was solved; with a few guesses among them they may exceed it. So nothing is paid, and fewer
than the ``least`` are not considered. A bound on mu is then by a theorem whose worst case was
computed, not derived: its standing is *numerical*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEAST, _MOST = 0.05, 99.0
_CAREFUL = 10.0


def least(trials: int, delta: float | None) -> int:
    """The fewest guesses to consider: 40 for mu, 10 for epsilon."""
    return min(trials, 40 if delta is None else 10)


def standing(delta: float | None) -> str:
    """The most that a bound from a chosen number of guesses can be called; None stands for mu."""
    return "numerical" if delta is None else "proved"


def price(
    trials: int,
    delta: float | None,
    error: float,
    tau: float = 0.0,
    beside: Sequence[float] = (),
) -> tuple[float, float | None]:
    """The error and the delta to test at; a delta of None stands for mu.

    ``beside`` are the other deltas at which the same count proves something.
    ``b`` may depend on the number of trials only. It is large where a delta, however unlucky, could
    hardly fake a count, so that a larger one costs nothing, and small where chance could not.
    """
    shares, against = 1.0, delta
    if delta:
        wider = {d: _wider(trials, d, error) for d in (delta, *beside) if d > 0.0}
        shares += sum(1.0 / b for b in wider.values())
        against = min(wider[delta] * delta, 1.0 - 1e-12)
    if tau > 0.0:
        shares += 2.0
    return error / shares, against


def _wider(trials: int, delta: float, error: float) -> float:
    b = error / (_CAREFUL * delta * math.sqrt(max(1, trials)))
    return min(_MOST, max(_LEAST, b))
