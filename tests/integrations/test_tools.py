from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_validate

import divulge
from divulge.errors import InputError
from divulge.integrations import pytest_plugin
from divulge.integrations.asserting import assert_privacy
from divulge.integrations.scikit_learn import PrivacyScorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 5))
Y = np.where(X[:, 0] + RNG.normal(size=1200) > 0.0, "yes", "no")


@pytest.fixture(scope="module")
def leaky() -> divulge.Result:
    member = np.arange(2000) % 2 == 0
    return divulge.membership({"member": member, "loss": RNG.normal(size=2000) - 2.0 * member})


def test_a_claim_as_an_assertion(assert_privacy, leaky, tmp_path):
    assert_privacy(leaky, epsilon=50.0)
    with pytest.raises(AssertionError, match="Refuted"):
        assert_privacy(leaky, epsilon=0.5, delta=0.0)
    with pytest.raises(AssertionError, match="Refuted"):
        assert_privacy(leaky, mu=0.1)
    leaky.save(tmp_path / "result.json")
    with pytest.raises(AssertionError, match="Refuted"):
        assert_privacy(tmp_path / "result.json", epsilon=0.5)


def test_the_fixture_comes_with_the_package():
    """`make test` names the plugin; everybody else finds it by this entry point."""
    page = Path(__file__).parents[2] / "pyproject.toml"
    entries = tomllib.loads(page.read_text())["project"]["entry-points"]["pytest11"]
    assert entries == {"divulge": pytest_plugin.__name__}


def test_an_open_question_fails_unless_it_may_pass():
    nothing = divulge.membership({"member": [0, 1] * 300, "loss": np.zeros(600)})
    with pytest.raises(AssertionError, match="Not comparable"):
        assert_privacy(nothing, epsilon=8.0)
    assert_privacy(nothing, epsilon=8.0, undecided="pass")
    with pytest.raises(InputError, match="or mu"):
        assert_privacy(nothing)
    with pytest.raises(InputError, match="'fail' or 'pass'"):
        assert_privacy(nothing, mu=1.0, undecided="no")


@pytest.mark.parametrize("framed", [False, True])
def test_a_scorer_of_cross_validation(framed):
    import pandas as pd

    x = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]) if framed else X
    folds = KFold(2, shuffle=True, random_state=0)
    scoring = {"privacy": PrivacyScorer(x, Y), "accuracy": "accuracy"}
    deep = cross_validate(RandomForestClassifier(30, random_state=0), x, Y, scoring=scoring,
                          cv=folds)  # fmt: skip
    plain = cross_validate(LogisticRegression(), x, Y, scoring=scoring, cv=folds)
    assert deep["test_privacy"].max() < -0.5
    assert plain["test_privacy"].min() > -0.3
    assert deep["test_accuracy"].mean() > 0.6


def test_records_from_elsewhere_are_refused():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(InputError, match="test fold"):
        PrivacyScorer(X, Y).audit(model, X + 1.0)


def test_a_result_reports_draws_and_tabulates(leaky, tmp_path):
    pytest.importorskip("altair")
    result = leaky
    result.report(tmp_path / "r.html", claim="epsilon=8")
    assert "What it means" in (tmp_path / "r.html").read_text()
    assert result.plot().to_dict()
    with pytest.raises(InputError, match="no chart 'nothing'"):
        result.plot("nothing")
    frame = result.to_frame()
    assert frame["headline"].iloc[0]
    assert len(frame) == len(result.bounds)


def test_a_section_for_a_model_card(leaky):
    card = leaky.card()
    assert card.startswith("## Privacy: leak")
    assert "| epsilon at delta 0 |" in card
    open_ = divulge.membership({"member": [0, 1] * 300, "loss": np.zeros(600)}).verdict
    named = {"model": {"name": "<b>[x](y)"}}
    hostile = divulge.Result("membership", open_, (), provenance=named)
    assert "<b>" not in hostile.card()
    assert "[x](y)" not in hostile.card()
