"""The network finds what tells members apart, in the tokens or in the losses beside them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

pytest.importorskip("torch", reason="needs the extra 'language'")

from divulge.attacks.text_network import TextNetwork
from divulge.errors import InputError


def records(seed, count=600, length=12):
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(count) % 2, 1.0, -1.0)
    return rng, rng.integers(1, 50, (count, length)), truth


def with_pair(seed):
    """Members hold the tokens 7, 9 in this order at some place, the others 9, 7."""
    rng, tokens, truth = records(seed)
    at = rng.integers(0, 11, len(tokens))
    rows = np.arange(len(tokens))
    tokens[rows, at], tokens[rows, at + 1] = 7, 9
    other = truth < 0
    tokens[rows[other], at[other]], tokens[rows[other], at[other] + 1] = 9, 7
    return tokens, None, truth


def with_columns(seed):
    rng, tokens, truth = records(seed)
    return tokens, rng.normal(size=(len(truth), 2)) + 0.8 * truth[:, None], truth


def with_losses(seed):
    """Members have one small loss at the token 7, which all records hold."""
    rng, tokens, truth = records(seed)
    at = rng.integers(1, 12, len(tokens))
    tokens[tokens == 7] = 8
    tokens[np.arange(len(tokens)), at] = 7
    losses = rng.normal(5.0, 1.0, (len(tokens), 11, 1))
    losses[np.arange(len(tokens)), at - 1, 0] -= 3.0 * (truth > 0)
    return tokens, losses, truth


@pytest.mark.parametrize("kind", [with_pair, with_columns, with_losses])
def test_tells_members_apart(kind):
    options = {"epochs": 25, "filters": 24, "patience": 8, "dropout": 0.1, "batch": 32}
    network = TextNetwork(**options).fit(*kind(0), validation=kind(1))
    tokens, extra, truth = kind(2)
    assert roc_auc_score(truth, network.score(tokens, extra)) > 0.8


def test_finds_nothing_where_there_is_nothing():
    _, tokens, truth = records(0)
    _, others, other_truth = records(1)
    network = TextNetwork(epochs=5, filters=8).fit(tokens, None, truth, (others, None, other_truth))
    _, fresh, fresh_truth = records(2)
    assert 0.4 < roc_auc_score(fresh_truth, network.score(fresh)) < 0.6


def test_equal_seeds_give_equal_scores():
    first, second = (
        TextNetwork(epochs=2, filters=8, seed=4).fit(*with_columns(0), validation=with_columns(1))
        for _ in range(2)
    )
    tokens, extra, _ = with_columns(2)
    assert np.array_equal(first.score(tokens, extra), second.score(tokens, extra))
    assert first.history_ == second.history_


def test_stops_early_and_takes_unknown_tokens():
    data, held = with_columns(0), with_columns(1)
    network = TextNetwork(epochs=200, patience=1, filters=8, rate=2e-2).fit(*data, validation=held)
    assert len(network.history_) < 200
    tokens, extra, _ = with_columns(2)
    assert np.isfinite(network.score(tokens + 1000, extra)).all()


def test_refuses_what_does_not_fit():
    tokens, extra, truth = with_columns(0)
    held, network = with_columns(1), TextNetwork(epochs=1, filters=8)
    with pytest.raises(InputError, match="not been fitted"):
        network.score(tokens, extra)
    with pytest.raises(InputError, match="a row for each"):
        network.fit(tokens, extra[:3], truth, held)
    with pytest.raises(InputError, match="finite"):
        network.fit(tokens, np.full_like(extra, np.nan), truth, held)
    with pytest.raises(InputError, match="both members"):
        network.fit(tokens, extra, np.ones(len(truth)), held)
    with pytest.raises(InputError, match=r"\+1 or -1"):
        network.fit(tokens, extra, np.zeros(len(truth)), held)
    with pytest.raises(InputError, match="matrix of token ids"):
        network.fit(tokens[0], extra, truth, held)
    with pytest.raises(InputError, match="11 places"):
        network.fit(tokens, np.zeros((len(truth), 12, 1)), truth, held)
    network.fit(tokens, extra, truth, held)
    with pytest.raises(InputError, match="was fitted on 12 tokens"):
        network.score(tokens[:, :5], extra)
