"""What clear votes cost: never less than the exact Renyi divergence, never more than the worst."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from divulge.errors import InputError
from divulge.mechanisms.labels import TeacherLabels, epsilon_of_votes, scale_of_votes
from divulge.mechanisms.labels.teachers import vote_guarantee
from divulge.mechanisms.labels.vote_accounting import ORDERS, losing_chance, renyi


def divergence(p: float, q: float, order: float) -> float:
    """Renyi divergence of two coins, the first of which seldom shows heads."""
    tails = order * math.log1p(-p) + (1 - order) * math.log1p(-q)
    heads = order * math.log(p) + (1 - order) * math.log(q)
    if heads > 500.0:
        return heads / (order - 1)
    return math.log1p(math.expm1(tails) + math.exp(heads)) / (order - 1)


@pytest.mark.parametrize("scale", [2.0, 5.0, 20.0])
@pytest.mark.parametrize("lead", [0, 4, 20, 60])
def test_two_labels_cost_at_least_the_exact_divergence(scale: float, lead: int) -> None:
    votes = np.array([[50 + lead, 50.0]])
    found = renyi(losing_chance(votes, scale), scale)[0]
    loses, *others = (norm.sf((lead - move) / (scale * math.sqrt(2))) for move in (0, 2, -2))
    for i in range(0, ORDERS.size, 7):
        for other in others:
            if loses > 1e-30 and other > 1e-30:
                # from these votes to a neighbour; the way back may cost more
                assert divergence(loses, other, ORDERS[i]) <= found[i] * (1 + 1e-6) + 1e-13
        assert found[i] <= ORDERS[i] / scale**2 + 1e-12


def test_the_chance_to_lose_is_that_of_two_labels_and_a_bound_for_more() -> None:
    rng = np.random.default_rng(0)
    votes, scale = np.array([[30.0, 20.0, 25.0]]), 6.0
    noisy = votes + rng.normal(scale=scale, size=(200_000, 3))
    lost = float((noisy.argmax(axis=1) != 0).mean())
    assert losing_chance(votes, scale)[0] >= lost - 0.005
    two = losing_chance(np.array([[30.0, 20.0]]), scale)[0]
    assert two == pytest.approx(norm.sf(10.0 / (scale * math.sqrt(2))))


def test_clear_votes_cost_less_and_contested_ones_what_the_worst_case_says() -> None:
    clear, even = np.tile([250.0, 0.0, 0.0], (400, 1)), np.tile([84.0, 83.0, 83.0], (400, 1))
    worst = vote_guarantee(40.0, 400).epsilon(1e-5)
    assert epsilon_of_votes(clear, 40.0, 1e-5) < 0.1 * worst
    contested = epsilon_of_votes(even, 40.0, 1e-5)
    # Renyi accounting costs a little more than the exact curve
    assert worst <= contested <= 1.25 * worst
    assert epsilon_of_votes(clear, 0.0, 1e-5) == math.inf


def test_the_scale_is_the_last_that_stays_within_epsilon() -> None:
    votes = np.tile([200.0, 30.0, 20.0], (400, 1))
    scale = scale_of_votes(votes, 2.0, 1e-5, 400.0)
    assert scale < 200.0
    assert epsilon_of_votes(votes, scale, 1e-5) <= 2.0
    assert epsilon_of_votes(votes, 0.95 * scale, 1e-5) > 2.0
    contested = np.tile([100.0, 100.0], (400, 1))
    assert scale_of_votes(contested, 0.01, 1e-5, 5.0) == 5.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="scale"):
        epsilon_of_votes(np.ones((2, 2)), -1.0, 1e-5)
    with pytest.raises(InputError, match="delta"):
        epsilon_of_votes(np.ones((2, 2)), 1.0, 0.0)


class Counted(LogisticRegression):
    """A learner that says how many records it was shown."""

    sizes: list[int] = []  # noqa: RUF012

    def fit(self, X, y):  # noqa: N803
        Counted.sizes.append(len(y))
        return super().fit(X, y)


def test_teachers_may_learn_otherwise_than_their_student() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = (x[:, 0] > 0.0).astype(int)
    Counted.sizes.clear()
    model = TeacherLabels(
        LogisticRegression(), 100.0, teachers=4, queries=50, teacher=Counted(), random_state=0
    ).fit(x, y)
    assert Counted.sizes == [50] * 4
    assert model.spent_ > 0.0
    assert (model.predict(x) == y).mean() > 0.7
    with pytest.raises(InputError, match="learner"):
        TeacherLabels(LogisticRegression(), 5.0, teacher=LogisticRegression).fit(x, y)


class Soft(LogisticRegression):
    """A learner that takes distributions."""

    def fit_soft(self, X, soft, classes):  # noqa: N803
        self.given_ = soft
        return self.fit(X, np.asarray(classes)[soft.argmax(axis=1)])


def test_a_learner_with_fit_soft_is_given_the_distributions() -> None:
    from divulge.mechanisms.labels.learner import fit_soft_labels

    rng = np.random.default_rng(1)
    x, soft = rng.normal(size=(30, 2)), rng.dirichlet([1.0, 1.0], size=30)
    found = fit_soft_labels(Soft(), x, soft, np.array(["a", "b"]), rng)
    assert (found.model.given_ == soft).all()
    assert found.predict_proba(x).shape == (30, 2)
