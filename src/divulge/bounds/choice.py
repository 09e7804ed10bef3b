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
already. A shift budget tau is one more failure of that kind and costs one more share.

*Mu*: the Gaussian curve is not homogeneous, and there is no such proof. But the recursion is not
tight, and the exact worst case is a linear program: ``experiments/choosing_guesses.py`` finds that
numbers of 40 and more, near to each other or far apart, add up to less than the stated error, and
so do those from a sixth of the trials on; a few guesses among very many trials may exceed it. So
nothing is paid, and fewer than the ``least`` are not considered.
"""

from __future__ import annotations

import math

_LEAST, _MOST = 0.05, 99.0
_CAREFUL = 10.0


def least(trials: int, delta: float | None) -> int:
    """The fewest guesses to consider: for mu 40, or a sixth of the trials; 10 at least."""
    return min(trials, max(10, min(40, trials // 6)) if delta is None else 10)


def price(
    trials: int, delta: float | None, error: float, tau: float = 0.0
) -> tuple[float, float | None]:
    """The error and the delta to test at; a delta of None stands for mu.

    ``b`` may depend on the number of trials only. It is large where a delta, however unlucky, could
    hardly fake a count, so that a larger one costs nothing, and small where chance could not.
    """
    shares, against = 1.0, delta
    if delta:
        b = min(_MOST, max(_LEAST, error / (_CAREFUL * delta * math.sqrt(max(1, trials)))))
        shares, against = shares + 1.0 / b, min(b * delta, 1.0 - 1e-12)
    if tau > 0.0:
        shares += 1.0
    return error / shares, against
