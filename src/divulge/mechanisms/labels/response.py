"""Randomised response on labels, plain or restricted to the likeliest labels of a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from divulge.errors import require
from divulge.mechanisms.labels.guarantee import (
    NO_PRIVACY,
    Guarantee,
    check_epsilon,
    randomised_response_curve,
)

Array: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ResponseChannel:
    """RRTop-k of Ghazi et al. (2021), Algorithm 1: label codes in, noisy label codes out.

    ``allowed[i]`` marks the k answers that record i may give. A label among them is kept with
    probability ``e^eps / (e^eps + k - 1)`` and otherwise replaced by one of the k - 1 others; a
    label outside is replaced by any of the k. With all answers allowed this is k-ary randomised
    response. One row of ``allowed`` serves every record.
    """

    epsilon: float
    allowed: npt.NDArray[np.bool_] = field(repr=False)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        require(
            self.allowed.ndim == 2 and bool(self.allowed.any(axis=1).all()),
            "allowed must have one row per record and at least one answer in each.",
        )

    @property
    def classes(self) -> int:
        """The number of labels."""
        return int(self.allowed.shape[1])

    @property
    def sizes(self) -> Codes:
        """The k of every record."""
        return np.asarray(self.allowed.sum(axis=1), dtype=np.intp)

    def probabilities(self, codes: npt.ArrayLike) -> Array:
        """One row per record: the distribution of its answer if its label has this code."""
        code = check_codes(codes, self.classes)
        allowed = self._rows(code.size)
        k = allowed.sum(axis=1)
        shrink = math.exp(-self.epsilon)
        inside = allowed[np.arange(code.size), code]
        keep = 1.0 / (1.0 + (k - 1) * shrink)
        other = np.where(inside, shrink * keep, 1.0 / k)
        out = np.where(allowed, other[:, None], 0.0)
        out[np.flatnonzero(inside), code[inside]] = keep[inside]
        return out

    def transition(self, record: int = 0) -> Array:
        """The matrix of one record: row y is the distribution of the answer to label y."""
        one = ResponseChannel(self.epsilon, self.allowed[[record]])
        return one.probabilities(np.arange(self.classes))

    def sample(self, codes: npt.ArrayLike, rng: np.random.Generator) -> Codes:
        """The noisy label codes."""
        cumulated = np.cumsum(self.probabilities(codes), axis=1)
        u = rng.random(cumulated.shape[0]) * cumulated[:, -1]
        return np.asarray((cumulated <= u[:, None]).sum(axis=1), dtype=np.intp)

    def log_likelihood(self, noisy: npt.ArrayLike) -> Array:
        """One row per record: log P(this answer given label y), for every y."""
        answer = check_codes(noisy, self.classes)
        columns = [
            self.probabilities(np.full(answer.size, y))[np.arange(answer.size), answer]
            for y in range(self.classes)
        ]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.stack(columns, axis=1)), dtype=float)

    def invert(self, probabilities: Array, prior: Array) -> Array:
        """P(label given x) from P(answer given x); what the answers cannot say is the prior's.

        An allowed answer j has probability ``other + (keep - other) p_j + (1/k - other) p_out``,
        where p_out, the mass outside the k answers, comes from the prior. Solved for p_j, clipped
        and rescaled to the mass inside. With all answers allowed this is the inverse matrix.
        """
        if math.isinf(self.epsilon):
            return probabilities
        allowed = self._rows(probabilities.shape[0])
        k = allowed.sum(axis=1, keepdims=True)
        shrink = math.exp(-self.epsilon)
        outside = np.where(allowed, 0.0, prior).sum(axis=1, keepdims=True)
        # everything times e^-eps (e^eps + k - 1), so that a small epsilon divides by nothing small
        total = 1.0 + (k - 1) * shrink
        stretched = probabilities * total - shrink - (total / k - shrink) * outside
        inside = np.where(allowed, np.maximum(stretched, 0.0), 0.0)
        mass = inside.sum(axis=1, keepdims=True)
        fallback = (mass <= 0.0) | (k == 1)
        found = np.where(allowed, inside * (1.0 - outside) / np.where(fallback, 1.0, mass), prior)
        return np.asarray(np.where(fallback, prior, found), dtype=float)

    @property
    def guarantee(self) -> Guarantee:
        """Exact: the curve of the record with the fewest answers, but at least two.

        Two labels inside the k answers are a pair of k-ary randomised response. A label outside has
        the average of the k distributions inside, so by joint convexity it is harder to tell apart
        from any of them; two labels outside cannot be told apart.
        """
        if math.isinf(self.epsilon):
            return NO_PRIVACY
        several = self.sizes[self.sizes > 1]
        k = int(several.min()) if several.size else 1
        return Guarantee(
            randomised_response_curve(self.epsilon, k),
            "Randomised response over k answers (Warner 1965; Ghazi et al. 2021, Lemma 1),"
            f" smallest k above 1 is {k}."
            if k > 1
            else "The answers do not depend on the labels.",
            pure=self.epsilon if k > 1 else 0.0,
        )

    def _rows(self, n: int) -> npt.NDArray[np.bool_]:
        own = self.allowed.shape[0]
        require(own in (1, n), f"The channel is for {own} records, but {n} labels were given.")
        return np.broadcast_to(self.allowed, (n, self.classes))


def label_channel(
    epsilon: float, classes: int, prior: npt.ArrayLike | None = None
) -> ResponseChannel:
    """RRWithPrior of Ghazi et al. (2021), Algorithm 2; without a prior, k-ary randomised response.

    ``prior`` holds one row of probabilities per record (or one row for all). It must be public or
    private already: nothing in it may depend on the labels that go through the channel.
    """
    check_epsilon(epsilon)
    require(classes >= 2, f"A channel needs at least 2 labels. Found {classes}.")
    if prior is None:
        return ResponseChannel(epsilon, np.ones((1, classes), dtype=bool))
    p = check_prior(prior, classes)
    order = np.argsort(-p, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return ResponseChannel(epsilon, rank < best_sizes(p, epsilon)[:, None])


def best_sizes(prior: Array, epsilon: float) -> Codes:
    """The k that maximises ``e^eps / (e^eps + k - 1) * (sum of the k largest prior values)``.

    This is P(answer = label) under the prior, which RRWithPrior maximises; smallest k on a tie.
    Without noise every answer is allowed, so that labels pass unchanged.
    """
    n, classes = prior.shape
    if math.isinf(epsilon):
        return np.full(n, classes, dtype=np.intp)
    top = np.cumsum(-np.sort(-prior, axis=1), axis=1)
    right = top / (1.0 + np.arange(classes) * math.exp(-epsilon))
    return np.asarray(np.argmax(right, axis=1) + 1, dtype=np.intp)


def check_prior(prior: npt.ArrayLike, classes: int) -> Array:
    """Rows of probabilities over the classes."""
    p = np.atleast_2d(np.asarray(prior, dtype=float))
    require(
        p.ndim == 2 and p.shape[1] == classes,
        f"The prior must have one column per class ({classes}). Found shape {p.shape}.",
    )
    require(
        bool(np.all(p >= 0.0) and np.all(np.abs(p.sum(axis=1) - 1.0) < 1e-4)),
        "Every row of the prior must be probabilities that sum to 1.",
    )
    return np.asarray(p / p.sum(axis=1, keepdims=True), dtype=float)


def transition_matrix(epsilon: float, classes: int) -> Array:
    """k-ary randomised response: row y is the distribution of the noisy label of label y."""
    return label_channel(epsilon, classes).transition()


def invert_response(probabilities: Array, epsilon: float) -> Array:
    """P(label given x) from P(noisy label given x), through the inverse transition matrix.

    Negative values are clipped and rows renormalised. Post-processing: it costs no privacy.
    """
    classes = probabilities.shape[1]
    uniform = np.full((1, classes), 1.0 / classes)
    return label_channel(epsilon, classes).invert(probabilities, uniform)


def check_codes(codes: npt.ArrayLike, classes: int) -> Codes:
    """Positions in the sorted label set."""
    code = np.asarray(codes)
    require(
        code.ndim == 1
        and np.issubdtype(code.dtype, np.integer)
        and bool(np.all((code >= 0) & (code < classes))),
        f"Label codes must be whole numbers from 0 to {classes - 1}.",
    )
    return np.asarray(code, dtype=np.intp)
