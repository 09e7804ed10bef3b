"""Bets against a DP-SGD run while it trains: is its noise where it is claimed to be?

**The claim.** In every step, given all that came before it, the released sum of gradients is ``R =
base + sum_k b_k a_k e_k + s Z``: the clipped gradients of the batch, those of a few canaries, and
noise, Z standard normal in all parameters and independent of everything else, ``s >= sigma c`` and
``|a_k| <= c``. The coins b_k are fair, flipped anew for every step by whoever watches, and
independent of all else; the canaries' directions e_k are distinct coordinates. (The coin of an
audit's canary is flipped once for a whole run, so it could be bet on only once.) Nothing is
assumed of the base, of the batch or of sampling. Two kinds of bets, each with a factor F
whose expectation, given everything before, is at most 1 under the claim:

*Quiet noise.* For a set of n coordinates, ``0 < h < 1`` and any centre m that was known without Z,
``F = h^-n exp(-(h^-2 - 1) |R - m|^2 / (2 sigma^2 c^2))``. Proof: given base and coins every
coordinate of R - m is ``d + s z`` with a constant d, the coordinates are independent, and ``E
exp(-t (d + s z)^2) = (1 + 2 t s^2)^(-1/2) exp(-t d^2 / (1 + 2 t s^2))``, which falls in d^2 and in
s; at d = 0, s = sigma c and ``2 t sigma^2 c^2 = h^-2 - 1`` it is h. So a wrong centre costs power,
never validity. Centres: the batch's own clipped sum where it is seen, and the release of the step
before, which tells noise that repeats itself.

*Fresh coins.* A guess of b_k from R is right with probability at most ``u = Phi(1 / (2 sigma))``:
given base, all other coins and the noise of all other coordinates it sees ``constant + b_k a_k + s
z_k``, and no test tells ``N(0, s^2)`` from ``N(a, s^2)`` with fair coins more often than ``Phi(|a|
/ (2 s))``. So ``F = w / u`` for a right guess and ``(1 - w) / (1 - u)`` for a wrong one, ``u < w <
1``, has expectation at most 1, also given the canaries of the same step that were revealed before:
their noise is independent. Canaries that join the batch before it is clipped are many times as
long as c, so that a missing clip gives them away even among records that are not clipped either;
guesses go by the middle between absent and present canaries of the steps before.

*Together.* Each bet may start at any step: of its capital 1, ``1 / (t (t + 1))`` enters at step t,
and what has not entered stays. ``A_t = (A_{t-1} + 1 / (t (t + 1))) F_t``, capital ``W_t = A_t + 1 /
(t + 1)``, and ``E[W_t | past] <= A_{t-1} + 1 / (t (t + 1)) + 1 / (t + 1) = W_{t-1}``. A weighted
mean of such capitals is one more. It is a non-negative supermartingale that starts at 1, so it ever
reaches ``1 / error`` with probability at most ``error`` (Ville), and the claim is refuted when it
does, at whatever step.

A refutation says that the release is not the claimed mechanism. It does not say how much is given
away: that is for an audit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr

from divulge.errors import DivulgeError, Note, require, require_choice, require_probability
from divulge.types import Array, Index

COINS = 64
RAW = 1000.0
"""How many clipping norms long a gradient is that has yet to be clipped."""
QUIETER = (0.5, 0.8, 0.95)
"""Shares of the claimed noise that are bet on."""
SURER = (0.2, 0.5, 0.8, 0.98)
"""How far from u to 1 the guesses that are bet on come true."""
_ROUNDING = 1e-5
"""The noise is tested at so little less than claimed: sums of single precision are rounded."""


class ClaimRefuted(DivulgeError):
    """A training run is not the mechanism that it is claimed to be."""


@dataclass(frozen=True)
class NoiseClaim:
    """Gaussian noise of standard deviation ``noise_multiplier * clip`` on the sum of gradients."""

    noise_multiplier: float
    clip: float | None = None
    """The clipping norm; None: that of the optimizer."""
    error: float = 0.01
    """Probability with which a run that keeps the claim is ever refuted, at most."""
    refuted: str = "raise"
    """What happens then: 'raise' ends the training, 'warn' says it once."""

    def __post_init__(self) -> None:
        require(
            0.0 < self.noise_multiplier < np.inf,
            f"A claimed noise_multiplier must be above 0. Found {self.noise_multiplier!r}.",
        )
        require(
            self.clip is None or 0.0 < self.clip < np.inf,
            f"A claimed clip must be above 0. Found {self.clip!r}.",
        )
        require_probability("error", self.error)
        require_choice("refuted", self.refuted, ("raise", "warn"))


def log_quiet_factor(squares: float, count: int, share: float) -> float:
    """Log F of quiet noise: ``squares`` is ``|R - m|^2`` in units of the claimed variance."""
    return -count * math.log(share) - 0.5 * (share**-2 - 1.0) * squares


def chance(noise_multiplier: float) -> float:
    """u: how often a guess of a fresh coin may be right."""
    return float(ndtr(0.5 / noise_multiplier))


def log_coin_factor(right: int, count: int, noise_multiplier: float, sure: float) -> float:
    """Log F of so many guesses, where ``sure`` of the way from u to certainty is bet on."""
    u = chance(noise_multiplier)
    w = u + sure * (1.0 - u)
    lost = math.log1p(-sure)  # (1 - w) / (1 - u)
    return right * math.log(w / u) + (count - right) * lost


class Capital:
    """The mean capital of several bets, each of which may begin to pay at any step."""

    def __init__(self, weights: npt.ArrayLike) -> None:
        given = np.asarray(weights, dtype=float)
        self._log_weight = np.log(given / given.sum())
        self._playing = np.full(given.size, -np.inf)
        self.steps = 0

    def step(self, log_factors: npt.ArrayLike) -> float:
        """The log of the capital after one more step."""
        self.steps += 1
        enters = -math.log(self.steps) - math.log(self.steps + 1.0)
        self._playing = np.logaddexp(self._playing, enters) + np.asarray(log_factors)
        return float(logsumexp(self.each + self._log_weight))

    @property
    def each(self) -> Array:
        """The log of every bet's capital."""
        return np.asarray(np.logaddexp(self._playing, -math.log(self.steps + 1.0)))


class NoiseWatch:
    """Watches the released sums of a run; ``step`` raises ClaimRefuted, or warns.

    ``sizes`` are the numbers of parameters of the tensors, each of which is bet on by itself and
    with all others. Of ``coins`` canaries (0: none are inserted) every tensor has a share. In a
    step call ``gradients()`` for the canaries to be clipped with the batch, or ``insert(total)``,
    then ``step``. ``seed`` draws the canaries and coins, by default the operating system does.
    """

    def __init__(
        self,
        claim: NoiseClaim,
        sizes: Sequence[int],
        *,
        names: Sequence[str] | None = None,
        coins: int = COINS,
        seed: int | None = None,
    ) -> None:
        require(claim.clip is not None, "The claim of a plain loop must name its clip.")
        assert claim.clip is not None
        require(len(sizes) > 0 and min(sizes) > 0, "There are no parameters to watch.")
        require(coins >= 0, f"coins must be at least 0. Found {coins}.")
        self.claim, self.clip = claim, claim.clip
        self.log_capital, self.steps, self.refuted_at = 0.0, 0, 0
        self._rng = np.random.default_rng(seed)
        self._size, self._cuts = sum(sizes), np.cumsum(sizes)[:-1]
        self._tensors = list(names or [f"tensor {k}" for k in range(len(sizes))])
        self._places, self._tensor = _stratified(sizes, coins, self._rng)
        self._flips: npt.NDArray[np.bool_] | None = None
        self._before: Array | None = None
        self._means, self._seen = [0.0, self.clip], [1, 1]
        groups = len(sizes) + 1
        centres, shares = 2, len(QUIETER)
        self._bets = [
            f"the noise on {self._named(g)} is smaller than claimed"
            for g in range(groups)
            for _ in range(centres * shares)
        ] + [
            f"canaries in {self._named(g)} are told more often than the noise allows"
            for g in range(groups)
            for _ in SURER
        ]
        each = np.array([1.0 / (groups - 1)] * (groups - 1) + [1.0])
        weights = np.concatenate([np.repeat(each, centres * shares) / (centres * shares),
                                  np.repeat(each, len(SURER)) / len(SURER)])  # fmt: skip
        self._capital = Capital(weights)

    def gradients(self) -> Array:
        """Flips this step's coins; the canaries' gradients, a row each, before any clipping."""
        flips = self._flip()
        rows = np.zeros((int(flips.sum()), self._size))
        rows[np.arange(len(rows)), self._places[flips]] = RAW * self.clip
        return rows

    def insert(self, total: npt.ArrayLike) -> Array:
        """Flips this step's coins; the sum of clipped gradients with the canaries in it."""
        whole = np.array(total, dtype=float)
        flat = whole.reshape(-1)
        flat[self._places[self._flip()]] += self.clip
        return whole

    def inserted(self) -> Array:
        """What this step's canaries add to a sum: not noise, so whoever scores may subtract it."""
        whole = np.zeros(self._size)
        if self._flips is not None:
            whole[self._places[self._flips]] = self.clip
        return whole

    def step(self, released: npt.ArrayLike, total: npt.ArrayLike | None = None) -> float:
        """Bet on one release, a sum; returns the log of the capital.

        ``total`` is the batch's sum of clipped gradients without these canaries, where it is known.
        """
        given = np.asarray(released, dtype=float).reshape(-1)
        require(
            given.size == self._size and bool(np.isfinite(given).all()),
            f"A release must hold {self._size} finite numbers. Found {given.size}.",
        )
        base = np.zeros(self._size) if total is None else np.asarray(total, dtype=float).reshape(-1)
        factors = [*self._quiet(given, base), *self._guesses(given, base)]
        self.steps += 1
        self.log_capital = self._capital.step(factors)
        self._flips = None
        self._before = given
        if self.log_capital >= -math.log(self.claim.error) and not self.refuted_at:
            self.refuted_at = self.steps
            self._refute()
        return self.log_capital

    def _flip(self) -> npt.NDArray[np.bool_]:
        self._flips = self._rng.random(self._places.size) < 0.5
        return self._flips

    def _quiet(self, given: Array, base: Array) -> list[float]:
        expected = base + self.inserted()
        scale = self.claim.noise_multiplier * self.clip * (1.0 - _ROUNDING)
        apart = [(given - expected) / scale]
        if self._before is not None:
            apart.append((given - self._before) / scale)
        squares = [[float(part @ part) for part in np.split(a, self._cuts)] for a in apart]
        counts = [part.size for part in np.split(given, self._cuts)]
        found = []
        for g in range(len(counts) + 1):
            one = slice(None) if g == len(counts) else slice(g, g + 1)
            for k in range(2):
                for share in QUIETER:
                    seen = k < len(squares)
                    found.append(
                        log_quiet_factor(sum(squares[k][one]), sum(counts[one]), share)
                        if seen
                        else 0.0
                    )
        return found

    def _guesses(self, given: Array, base: Array) -> list[float]:
        groups = len(self._tensors) + 1
        if self._flips is None:
            return [0.0] * (groups * len(SURER))
        seen = (given - base)[self._places]
        guess = seen > 0.5 * (self._means[0] + self._means[1])
        right = guess == self._flips
        self._learn(seen, self._flips)
        found = []
        for g in range(groups):
            here = right if g == groups - 1 else right[self._tensor == g]
            hits, sigma = int(here.sum()), self.claim.noise_multiplier
            found += [log_coin_factor(hits, here.size, sigma, sure) for sure in SURER]
        return found

    def _learn(self, seen: Array, flips: npt.NDArray[np.bool_]) -> None:
        """Where absent and present canaries stand: the next step's guesses go by the middle."""
        for k, here in enumerate((~flips, flips)):
            count = self._seen[k] + int(here.sum())
            self._means[k] += (float(seen[here].sum()) - here.sum() * self._means[k]) / count
            self._seen[k] = count

    def _named(self, group: int) -> str:
        return self._tensors[group] if group < len(self._tensors) else "all parameters"

    def _refute(self) -> None:
        best = self._bets[int(np.argmax(self._capital.each))]
        said = (
            f"Step {self.steps} refutes the claimed noise multiplier "
            f"{self.claim.noise_multiplier:g} at clipping norm {self.clip:g}: {best}. A run that "
            f"keeps the claim would come this far with probability {self.claim.error:g} at most."
        )
        if self.claim.refuted == "raise":
            raise ClaimRefuted(said)
        warnings.warn(said, Note, stacklevel=3)


def _stratified(
    sizes: Sequence[int], coins: int, rng: np.random.Generator
) -> tuple[Index, npt.NDArray[np.intp]]:
    """Distinct coordinates, as evenly over the tensors as can be, and the tensor of each."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    asked = [coins // len(sizes) + (k < coins % len(sizes)) for k in range(len(sizes))]
    drawn = [
        start + rng.choice(size, min(size, count), replace=False)
        for start, size, count in zip(starts, sizes, asked, strict=True)
    ]
    owner = [np.full(places.size, k) for k, places in enumerate(drawn)]
    return np.concatenate(drawn).astype(np.intp), np.concatenate(owner).astype(np.intp)
