"""The attribute game end to end, on records with a known leak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import divulge
from divulge.bounds.repeated import count_bound
from divulge.data.features import Features
from divulge.data.given import read_table
from divulge.errors import InputError
from divulge.games.attribute import play as attribute_
from divulge.games.attribute.compared import ValueAttack
from divulge.games.attribute.play import attribute, audit_records
from divulge.games.attribute.protected import Protected
from divulge.games.attribute.read import Records, read_records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.shift.pooling import log_probabilities
from divulge.shift.value_prior import vouched


def columns(drawn, names=None, **more):
    k = drawn.truth.shape[1]
    names = names or [str(c) for c in range(k)]
    out = {"y": [names[c] for c in drawn.codes]}
    out |= {f"p_{names[c]}": drawn.target[:, c] for c in range(k)}
    out |= {f"q_{names[c]}": drawn.proxy[:, c] for c in range(k)}
    out |= {f"x_{j}": drawn.features[:, j] for j in range(drawn.features.shape[1])}
    return out | more


def table(records=3000, seed=0, names=None, **kwargs):
    return columns(NoisyLabels(**kwargs).sample(records, np.random.default_rng(seed)), names)


def values(result: Result, correction: str) -> dict[tuple[str, float | None], float]:
    """The first of each kind: what bets and pairs state comes before the published game."""
    found = [b for b in result.bounds if b.correction == correction]
    return {(b.parameter, b.delta): b.value for b in reversed(found)}


def steep(records=3000, epsilon=1.0, seed=0):
    """Noisy labels that the record says nearly all of: a student explains most of the target."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((records, 2))
    log_odds = 3.0 * x[:, 0]
    y = (rng.random(records) < expit(log_odds)).astype(int)
    noisy = np.where(rng.random(records) < expit(epsilon), y, 1 - y)
    p, q = expit(log_odds + epsilon * (2 * noisy - 1)), expit(log_odds)
    said = {"p_0": 1 - p, "p_1": p, "q_0": 1 - q, "q_1": q}
    return {"y": y, **said, "x_0": x[:, 0], "x_1": x[:, 1]}


class Known:
    """A model that gives these log-odds of the label."""

    classes_ = np.array([0, 1])

    def __init__(self, log_odds):
        self.log_odds = log_odds

    def predict_proba(self, x):
        p = expit(self.log_odds(np.asarray(x)))
        return np.column_stack([1.0 - p, p])


@pytest.fixture(scope="module")
def leaking() -> Result:
    data = steep()
    said = dict(zip(data["x_0"], logit(data["p_1"]), strict=True))
    remembering = Known(lambda x: np.array([said[v] for v in x[:, 0]]))
    proxy = Known(lambda x: 3.0 * x[:, 0])
    return attribute(
        data, label="y", features="x_*", model=remembering, proxy_model=proxy, repeats=5
    )


def test_a_leak_is_proved_and_stays_below_the_truth(leaking):
    assert leaking.game == "attribute"
    assert leaking.verdict.status == "leak"
    assert not leaking.verdict.robust  # blind is never robust, not even of a model object
    assert "in a form that a student learns" in leaking.verdict.reasons[0]
    assert "no held-out records were given" in leaking.verdict.reasons[0]
    assert {(b.correction, b.parameter, b.delta) for b in leaking.headline()} == {
        ("prior", "epsilon", 0.0),
        ("balanced", "mu", None),
        ("balanced", "epsilon", 1e-5),
    }
    found = {**values(leaking, "prior"), **values(leaking, "balanced")}
    assert 0.3 < found[("epsilon", 0.0)] < 1.0
    assert 0.2 < found[("epsilon", 1e-5)] < 1.0
    assert found[("mu", None)] > 0.1


def test_what_the_report_needs_is_there(leaking):
    shown = leaking.to_json()["diagnostics"]
    assert {"proxy", "roc", "wealth", "sensitivity", "tau", "repetitions", "comparison"} <= set(
        shown
    )
    assert set(shown["proxy"]["log_loss"]) == {"proxy", "target", "constant", "corrected proxy"}
    assert 0.5 < shown["proxy"]["agreement"] < 0.9
    assert shown["comparison"][0]["attack"] == "log-likelihood ratio"
    assert len(shown["repetitions"]["mu"]) == 5
    assert shown["comparison"][-1]["attack"] == "log-likelihood ratio, published game"
    assert Result.from_json(leaking.to_json()).to_json() == leaking.to_json()


def test_the_agreement_is_the_share_of_equal_labels(leaking):
    data = steep()
    own = np.where(data["y"] == 1, data["q_1"], data["q_0"])
    assert leaking.measurements["agreement"] == pytest.approx(own.mean(), abs=1e-4)


def test_it_is_called_attribute():
    assert divulge.attribute is attribute


def test_the_same_seed_gives_the_same_result():
    data = table(epsilon=1.0, records=1000)
    first, second, third = (
        attribute(data, label="y", proxy_exact=True, seed=seed).to_json() for seed in (1, 1, 2)
    )
    assert first == second
    assert first["bounds"] != third["bounds"] or first["trials"] != third["trials"]


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame])
def test_data_frames_of_both_kinds(convert):
    data = table(epsilon=1.0, records=600)
    expected = attribute(data, label="y", proxy_exact=True, repeats=2)
    found = attribute(convert(data), label="y", proxy_exact=True, repeats=2)
    assert found.bounds == expected.bounds


@pytest.mark.slow
def test_a_wrong_proxy_fools_the_published_audit_and_not_the_corrected_one():
    """The target is the exact distribution of the label: it leaks nothing."""
    result = attribute(table(tau=0.1, records=6000), label="y", features="x_*", repeats=3)
    assert values(result, "none")[("epsilon", 0.0)] > 0.4
    assert all(b.value == 0.0 for b in result.headline())
    assert result.verdict.status == "no evidence"


@pytest.mark.slow
def test_the_correction_keeps_a_bound_where_the_additive_one_has_none():
    data = steep(6000)
    data["q_1"] = np.minimum(data["q_1"] + 0.05, 1.0)
    data["q_0"] = 1.0 - data["q_1"]
    corrected = attribute(data, label="y", features="x_*", repeats=3)
    additive = attribute(data, label="y", tau=0.05, repeats=3)
    assert all(b.value == 0.0 for b in additive.headline())
    assert {b.correction for b in additive.headline()} == {"tau"}
    assert max(b.value for b in corrected.headline() if b.parameter == "epsilon") > 0.3


def test_a_small_tau_costs_something_and_no_tau_nothing():
    data = table(epsilon=3.0, kind="uniform", records=4000)
    found = [attribute(data, label="y", tau=tau, repeats=1) for tau in (0.0, 1e-4, 1e-3)]
    mu = [values(r, "tau")[("mu", None)] for r in found]
    assert mu[0] > mu[1] > mu[2]
    assert mu[0] == values(found[0], "none")[("mu", None)]


def test_held_out_records_make_a_smart_target_harmless():
    """The target knows waves and products that the proxy does not; it leaks nothing."""
    drawn = NoisyLabels("curved").sample(5000, np.random.default_rng(4))
    both = pd.DataFrame(columns(drawn))
    train, rest = both[:3000], both[3000:]
    result = attribute(train, label="y", heldout=rest, repeats=3)
    assert values(result, "none")[("epsilon", 0.0)] > 1.0
    assert all(b.value == 0.0 for b in result.headline())
    assert "target, held-out" in result.diagnostics.proxy.log_loss
    assert [a.attack for a in result.diagnostics.comparison][2:4] == [
        "difficulty calibration (membership)",
        "offline RMIA (membership)",
    ]


def test_a_blind_finding_whose_student_does_not_follow_is_undecided():
    """Labels that stand in the model, and no features to explain anything by."""
    data = table(1200, epsilon=3.0)
    data = {k: v for k, v in data.items() if not k.startswith("x_")}
    result = attribute(data, label="y", repeats=2)
    assert result.verdict.status == "cannot conclude"
    assert not result.headline()
    assert "its student explains only" in result.verdict.reasons[0]
    assert "Held-out records with" in result.verdict.reasons[0]
    assert "no held-out records were given" in result.verdict.reasons[1]
    assert values(result, "prior")[("epsilon", 0.0)] > 0.5  # there to be read, not claimed


@pytest.mark.parametrize(
    "log_odds",
    [
        lambda x: 2.0 * np.prod(np.sign(x[:, :6]), axis=1),
        pytest.param(
            lambda x: 2.0 * x[:, 6] + 2.0 * np.sin(40.0 * x[:, 0] + 31.0 * x[:, 1]),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["parity", "waves and a line"],
)
def test_knowledge_that_no_student_learns_is_no_leak(log_odds):
    rng = np.random.default_rng(14)
    x = rng.standard_normal((1000, 8))
    y = (rng.random(1000) < expit(log_odds(x))).astype(int)
    data = {f"x_{j}": x[:, j] for j in range(8)} | {"y": y}
    result = attribute(data, label="y", features="x_*", model=Known(log_odds), repeats=2)
    assert result.verdict.status == "cannot conclude"
    assert not result.headline()
    assert result.diagnostics.nuisance["student_explained"] < 0.8
    assert values(result, "prior")[("epsilon", 0.0)] > 0.05  # what it would have claimed


@pytest.mark.slow
def test_too_few_held_out_records_are_said_to_be_too_few():
    data = pd.DataFrame(table(epsilon=3.0, records=1000))
    result = attribute(data[:900], label="y", heldout=data[900:], repeats=1)
    assert any("the 100 held-out records were too few" in r for r in result.verdict.reasons)


def shifted(share, records=2000, epsilon=0.0, seed=15):
    """Half of the labels are 1 among held-out records, another share among training records.

    The target knows the share of each and nothing of a single record, unless it leaks.
    """
    rng = np.random.default_rng(seed)
    inside = np.arange(2 * records) < records
    x = rng.standard_normal((2 * records, 3))
    y = (rng.random(2 * records) < np.where(inside, share, 0.5)).astype(int)
    noisy = np.where(rng.random(2 * records) < expit(epsilon), y, 1 - y)
    p = expit(logit(share) + np.where(inside, epsilon * (2 * noisy - 1), 0.1 * x[:, 0]))
    data = pd.DataFrame(x, columns=["x_0", "x_1", "x_2"])
    data = data.assign(y=y, p_0=1 - p, p_1=p, q_0=0.5, q_1=0.5)
    return data[:records], data[records:]


@pytest.mark.parametrize("share", [0.62, pytest.param(0.7, marks=pytest.mark.slow)])
def test_held_out_records_with_other_shares_of_labels_prove_nothing(share):
    train, rest = shifted(share)
    result = attribute(train, label="y", features="x_*", heldout=rest, repeats=3)
    assert all(b.value == 0.0 for b in result.headline())
    if result.verdict.status == "cannot conclude":
        assert "do not have the distribution" in result.verdict.reasons[0]


def test_held_out_records_of_one_population_keep_a_leak():
    train, rest = shifted(0.5, epsilon=2.0)
    result = attribute(train, label="y", features="x_*", heldout=rest, repeats=3)
    assert 0.5 < values(result, "prior")[("epsilon", 0.0)] < 2.0
    assert result.diagnostics.nuisance["known_share"] < 0.1
    assert result.verdict.status == "leak"


@pytest.mark.parametrize("records", [5, 600])
def test_the_training_table_as_held_out_records_is_refused(records, tmp_path):
    data = pd.DataFrame(table(records=600, epsilon=2.0))[:records]
    mixed = data.sample(frac=1.0, random_state=0)[data.columns[::-1]]
    mixed.to_csv(tmp_path / "again.csv", index=False)
    for same in (data, mixed, tmp_path / "again.csv"):
        with pytest.raises(InputError, match="hold the same rows"):
            attribute(data, label="y", heldout=same)


def test_training_rows_among_the_held_out_ones_are_named():
    data = pd.DataFrame(table(records=1000, epsilon=2.0))
    rest = pd.concat([data[500:], data[7:9]])
    records = read_records(data[:500], label="y", heldout=rest)
    assert "2 of the 502 held-out rows equal a training row" in records.overlap
    assert "500 (training row 7), 501 (training row 8)" in records.overlap
    result = attribute(data[:500], label="y", heldout=rest, repeats=1)
    assert records.overlap in result.verdict.reasons
    assert read_records(data[:500], label="y", heldout=data[500:]).overlap is None


def test_kinds_of_records_are_not_taken_for_records(people):
    train, rest, forest = people
    records = read_records(
        train, label="rich", features=["male", "age"], model=forest, heldout=rest
    )
    assert records.overlap is None


def test_bins_that_differ_in_the_eighth_digit_are_different_classes():
    days = [20260101 + d for d in range(28)]
    rng = np.random.default_rng(16)
    frame = pd.DataFrame({"day": rng.choice(days, size=400), "z": rng.normal(size=400)})
    frame["y"] = rng.integers(2, size=400)
    model = LogisticRegression().fit(frame[["day", "z"]], frame["y"])
    records = read_records(
        frame, label="y", protected="day", bins=4, features=["day", "z"], model=model
    )
    assert len(records.classes) == 4
    assert np.bincount(records.codes).min() > 60
    assert records.classes[0].startswith("20260101 to 2026010")
    tiny = frame.assign(day=1.0 + 1e-13 * (frame["day"] - 20260101))
    finer = read_records(
        tiny, label="y", protected="day", bins=4, features=["day", "z"], model=model
    )
    assert len(finer.classes) == 4


def test_a_vouched_proxy_makes_a_strong_finding_robust():
    result = attribute(table(epsilon=3.0), label="y", proxy_exact=True)
    assert result.verdict.robust


@pytest.mark.parametrize("kind", ["gaussian", pytest.param("curved", marks=pytest.mark.slow)])
def test_a_target_that_is_surer_of_training_records_is_no_leak(kind):
    """It saw their x, not their labels; held-out records alone would make this look like one."""
    drawn = NoisyLabels(kind, sharp=3.0).sample(4000, np.random.default_rng(8), trained=2000)
    both = pd.DataFrame(columns(drawn))
    result = attribute(both[:2000], label="y", heldout=both[2000:], repeats=3)
    assert all(b.value <= 0.02 for b in result.headline())


@pytest.mark.slow
def test_a_target_that_is_less_sure_of_training_records_is_pointed_out():
    drawn = NoisyLabels(sharp=0.3).sample(4000, np.random.default_rng(8), trained=2000)
    both = pd.DataFrame(columns(drawn))
    result = attribute(both[:2000], label="y", heldout=both[2000:], repeats=1)
    assert any("less confident on its training records" in r for r in result.verdict.reasons)


@pytest.mark.slow
def test_interpolated_noisy_labels_stay_below_their_epsilon():
    rng = np.random.default_rng(9)
    drawn = NoisyLabels().sample(4000, rng)
    noisy = np.where(rng.random(4000) < 1 / (1 + np.exp(-0.5)), drawn.codes, 1 - drawn.codes)
    trees = ExtraTreesClassifier(100, random_state=0).fit(drawn.features[:2000], noisy[:2000])
    said = trees.predict_proba(drawn.features)
    both = pd.DataFrame(columns(drawn) | {"p_0": said[:, 0], "p_1": said[:, 1]})
    result = attribute(both[:2000], label="y", heldout=both[2000:], repeats=3)
    assert all(b.value <= 0.5 for b in result.headline() if b.parameter == "epsilon")


def test_values_that_the_proxy_excludes_are_never_drawn():
    """300 classes, three of them possible per record, and an exact proxy: nothing leaks."""
    rng = np.random.default_rng(11)
    records, classes = 750, 300
    possible = rng.integers(classes, size=(records, 3))
    proxy = np.zeros((records, classes))
    np.put_along_axis(proxy, possible, 1.0, axis=1)
    proxy /= proxy.sum(axis=1, keepdims=True)
    codes = possible[np.arange(records), rng.integers(3, size=records)]
    target = 0.999 * proxy + 0.001 * rng.dirichlet(np.ones(classes), size=records)
    read = Records(
        codes, tuple(map(str, range(classes))), records,
        Features(np.zeros((records, 0)), ()), log_probabilities(target),
        log_probabilities(proxy), proxy,
    )  # fmt: skip
    result = audit_records(read, Rule(repetitions=3), proxy_exact=True, compare=False)
    assert all(b.value == 0.0 for b in result.headline())


def test_every_bound_is_at_half_of_the_error():
    drawn = NoisyLabels(epsilon=2.0).sample(2000, np.random.default_rng(12))
    log_target, log_proxy = (log_probabilities(p) for p in (drawn.target, drawn.proxy))
    head, tail = np.arange(300), np.arange(300, 2000)
    priors = vouched(log_proxy, drawn.proxy, head, tail)
    game = prove(
        ValueAttack().values(drawn.codes, log_target, priors),
        Rule((1e-5,), 0.1, repetitions=4),
        np.random.default_rng(0),
    )
    assert all(b.headline for b in game.bounds)
    found = {(b.parameter, b.delta): b for b in game.bounds}
    assert (found["epsilon", 0.0].value, game.bet.error) == (game.bet.epsilon, 0.05)
    assert game.bet.trials == 2000  # every record, those that teach the guesses too
    assert found["mu", None].value == count_bound(game.counts, error=0.05)
    assert found["epsilon", 1e-5].value == count_bound(game.counts, delta=1e-5, error=0.05)
    assert {b.confidence for b in found.values()} == {0.95}
    assert len(set(game.counts)) > 1
    assert game.void + game.shown[1].size == tail.size


def test_the_fitted_proxy_does_not_know_the_audited_values(people):
    train, _, forest = people
    arguments = {
        "label": "rich", "protected": "male", "features": ["male", "age"], "model": forest,
    }  # fmt: skip
    records = read_records(train, **arguments)
    head, tail = np.arange(1000), np.arange(1000, 2000)
    swapped = records.codes.copy()
    swapped[tail] = 1 - swapped[tail]
    fitted = [
        attribute_._fit_proxy(
            replace(records, codes=c), head, tail, False, np.random.default_rng(0), None
        )
        for c in (records.codes, swapped)
    ]
    assert np.array_equal(*fitted)


def test_copies_of_a_person_are_pointed_out():
    drawn = NoisyLabels(epsilon=2.0).sample(200, np.random.default_rng(13))
    copies = pd.concat([pd.DataFrame(columns(drawn))] * 4)
    result = attribute(copies, label="y", features="x_*", proxy_exact=True, repeats=1)
    assert any("belong to the same person" in r for r in result.verdict.reasons)
    assert result.diagnostics.draw.records_equal_to_another == pytest.approx(0.75)


def test_several_classes_by_name():
    names = ["apple", "pear", "fig"]
    data = table(classes=3, epsilon=3.0, names=names)
    result = attribute(data, label="y", proxy_exact=True)
    assert result.trials["classes"] == 3
    assert 0.8 < values(result, "none")[("epsilon", 0.0)] < 3.0


def test_one_column_is_enough_for_two_classes():
    data = table(epsilon=2.0, records=800)
    expected = attribute(data, label="y", proxy_exact=True)
    for name in ("p_0", "q_0"):
        del data[name]
    found = attribute(data, label="y", proxy_exact=True)
    assert found.measurements["agreement"] == pytest.approx(expected.measurements["agreement"])


@pytest.fixture(scope="module")
def people():
    """Income depends on sex and age; a forest that reads both remembers."""
    rng = np.random.default_rng(6)
    sex = np.where(rng.random(3000) < 0.5, "f", "m")
    age = rng.integers(20, 70, size=3000)
    rich = (rng.random(3000) < 1 / (1 + np.exp(-(age - 45) / 10 - (sex == "m")))).astype(int)
    frame = pd.DataFrame({"male": (sex == "m").astype(int), "age": age, "rich": rich})
    train, rest = frame[:2000], frame[2000:]
    forest = RandomForestClassifier(50, random_state=0).fit(train[["male", "age"]], train["rich"])
    return train, rest, forest


def test_models_in_place_of_columns(people):
    train, rest, forest = people[0][:800], *people[1:]
    proxy = LogisticRegression().fit(rest[["male", "age"]], rest["rich"])
    result = attribute(
        train,
        label="rich",
        features=["male", "age"],
        model=forest,
        proxy_model=proxy,
        repeats=2,
    )
    by_hand = train.assign(
        **{f"p_{c}": forest.predict_proba(train[["male", "age"]])[:, c] for c in (0, 1)},
        **{f"q_{c}": proxy.predict_proba(train[["male", "age"]])[:, c] for c in (0, 1)},
    )
    again = attribute(by_hand, label="rich", features=["male", "age"], repeats=2)
    assert result.bounds == again.bounds


@pytest.mark.slow
@pytest.mark.parametrize("outside", [True, False])
def test_a_protected_column_gets_a_proxy_of_its_own(people, outside):
    train, rest, forest = people[0][:1000], *people[1:]
    result = attribute(
        train,
        label="rich",
        protected="male",
        features=["male", "age"],
        model=forest,
        heldout=rest if outside else None,
        repeats=2,
    )
    assert result.trials["value"] == "male"
    assert result.trials["classes"] == 2
    losses = result.diagnostics.proxy.log_loss
    assert losses["proxy"] < losses["constant"] + 0.05
    assert "male" in result.verdict.sentence


@pytest.mark.slow
def test_a_numeric_protected_column_in_bins(people):
    train, rest, forest = people[0][:1000], *people[1:]
    result = attribute(
        train,
        label="rich",
        protected="age",
        bins=3,
        features=["male", "age"],
        model=forest,
        heldout=rest,
        repeats=1,
    )
    assert result.trials["classes"] == 3


@pytest.fixture(scope="module")
def secrets():
    """A secret column that nothing depends on, and random labels, learned by heart."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"z": rng.normal(size=1800), "secret": rng.integers(2, size=1800)})
    frame["other"] = rng.choice(["a", "b", "c"], size=1800)
    frame["y"] = rng.integers(2, size=1800)
    return frame[:1200], frame[1200:]


class Memory:
    """Knows every training record by heart, and nothing else."""

    classes_ = np.array([0, 1])

    def __init__(self, frame):
        self.known = {(z, s): y for z, s, y in frame[["z", "secret", "y"]].to_numpy()}

    def predict_proba(self, rows):
        said = np.array([self.known.get((z, s), 0.5) for z, s in np.asarray(rows)])
        return np.column_stack([0.95 - 0.9 * said, 0.05 + 0.9 * said])


@pytest.mark.slow
def test_a_remembering_model_gives_its_protected_column_away(secrets):
    """Asked with a wrong secret it does not know the record."""
    frame, rest = secrets
    model = Memory(frame)
    result = attribute(
        frame, label="y", protected="secret", features=["z", "secret"], model=model, heldout=rest
    )
    assert result.verdict.status == "leak"
    assert values(result, "prior")[("epsilon", 0.0)] > 0.5


@pytest.mark.slow
def test_several_protected_columns_share_the_error(people):
    train, rest, forest = people
    arguments = {
        "label": "rich", "features": ["male", "age"], "model": forest, "heldout": rest,
    }  # fmt: skip
    result = attribute(train, protected=["male", "age"], **arguments)
    assert {b.of for b in result.bounds} == {"male", "age"}
    assert {b.confidence for b in result.headline()} == {1.0 - 0.6 * 0.05 / 2}
    assert [c.value for c in result.diagnostics.columns] == ["male", "age"]
    alone = attribute(train, protected="age", error=0.025, **arguments)
    same = [replace(b, of=None) for b in result.bounds if b.of == "age"]
    assert same == list(alone.bounds)
    assert Result.from_json(result.to_json()).to_json() == result.to_json()


@pytest.mark.slow
def test_several_protected_columns_jointly_are_one_value(people):
    train, rest, forest = people[0][:1000], *people[1:]
    arguments = {
        "label": "rich", "features": ["male", "age"], "model": forest, "heldout": rest,
    }  # fmt: skip
    records = read_records(train, protected=["male", "age"], bins=2, **arguments)
    assert len(records.classes) == 4
    assert records.classes[0].startswith("male 0, age 20 to ")
    assert records.value == "male, age"
    result = attribute(train, protected=["male", "age"], jointly=True, **arguments)
    assert result.trials["value"] == "male, age"
    with pytest.raises(InputError, match="need a model"):
        attribute(table(), label="y", protected=["y", "x_0"])
    with pytest.raises(InputError, match="named twice"):
        attribute(train, protected=["age", "age"], **arguments)


def test_columns_of_any_kind_are_posed():
    rng = np.random.default_rng(8)
    size = 1000
    frame = pd.DataFrame(
        {
            "born": pd.Timestamp("1990-01-01")
            + pd.to_timedelta(rng.integers(9000, size=size), "D"),
            "income": rng.gamma(2.0, 1e4, size=size),
            "street": [f"street {k}" for k in np.minimum(rng.geometric(0.05, size), 90)],
            "y": rng.integers(2, size=size),
        }
    )

    dates = Protected.of(read_table("the table", frame).frame, ["born"], None, posed=True)
    words = dates.words(read_table("the table", frame))
    assert len(set(words)) == 4
    assert all(" to " in w and w[4] == "-" for w in words)
    posed = dates.stands_for(read_table("the table", frame))
    assert {type(v["born"]).__name__ for v in posed.values()} <= {"datetime", "Timestamp"}
    street = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["street"]), remainder="passthrough"
    )
    inputs = ["income", "street"]
    model = make_pipeline(street, LogisticRegression(max_iter=2000))
    model.fit(frame[inputs].assign(income=frame["income"] / 1e4), frame["y"])
    for name, classes in (("income", 4), ("street", 50)):
        records = read_records(frame, label="y", protected=name, features=inputs, model=model)
        assert len(records.classes) == classes, name
        assert (records.left_out > 0) == (name == "street")
        assert records.training + records.left_out == size
    unlike = frame.assign(street=[f"house {k}" for k in range(size)])
    with pytest.raises(InputError, match="no value that many share"):
        read_records(unlike, label="y", protected="street", features=inputs, model=model)


@pytest.mark.slow
def test_a_proxy_that_saw_the_training_records_is_flagged():
    seen = NoisyLabels(epsilon=2.0).sample(2000, np.random.default_rng(0))
    fresh = NoisyLabels(epsilon=0.0).sample(2000, np.random.default_rng(1))
    spied = columns(seen) | {f"q_{c}": seen.target[:, c] for c in (0, 1)}
    spied |= {f"p_{c}": seen.truth[:, c] for c in (0, 1)}
    rest = columns(fresh)
    rest["p_0"], rest["p_1"] = 0.9 * rest["p_0"] + 0.05, 0.9 * rest["p_1"] + 0.05
    result = attribute(spied, label="y", heldout=rest, repeats=1)
    assert any("seems to have been trained on them" in r for r in result.verdict.reasons)
    fair = attribute(columns(seen), label="y", heldout=rest, repeats=1)
    assert not any("seems to have been trained on them" in r for r in fair.verdict.reasons)


def test_a_value_that_no_held_out_record_has_allows_no_conclusion():
    data = pd.DataFrame(table(records=2000, epsilon=2.0))
    rest = data[1000:][data[1000:]["y"] == "0"]
    result = attribute(data[:1000], label="y", heldout=rest)
    assert result.verdict.status == "cannot conclude"
    assert "no 'y' of '1'" in result.verdict.reasons[0]


def test_too_few_records_allow_no_conclusion():
    result = attribute(table(records=100, epsilon=2.0), label="y")
    assert result.verdict.status == "cannot conclude"
    assert "too few" in result.verdict.reasons[0]
    exact = attribute(table(records=100, epsilon=2.0), label="y", proxy_exact=True)
    assert exact.verdict.status in ("leak", "no evidence")


def broken(**changes):
    return {**table(records=500), **changes}


@pytest.mark.parametrize(
    ("data", "kwargs", "words"),
    [
        (
            broken(p_0=np.full(500, 0.9), p_1=np.full(500, 0.3)),
            {},
            r"sum to 1\. Found 1\.2 in row \d+ \(500 of 500 rows\)",
        ),
        (broken(p_0=np.full(500, -0.1)), {}, "'p_0' of the table must hold probabilities"),
        (broken(p_0=np.full(500, np.nan)), {}, "'p_0' of the table must be finite"),
        (broken(y=["0"] * 499 + ["7"]), {}, "'7' in row 499, which is not one of the classes"),
        (broken(y=["0"] * 500), {}, "only one value"),
        (broken(), {"label": "z"}, "has no column 'z'"),
        (broken(), {"label": None}, "Name the label column"),
        (broken(), {"target": "r_"}, "has no column 'r_0'"),
        (broken(), {"proxy": "r_"}, "There is no proxy"),
        (broken(), {"proxy": "p_"}, "the same model"),
        (broken(), {"tau": 1.5}, "tau must lie"),
        (broken(), {"proxy": "r_", "features": "x_*", "tau": 0.1}, "no proxy to treat as exact"),
        (broken(), {"proxy": "r_", "features": "x_*", "proxy_exact": True}, "to treat as exact"),
        (broken(q_0=np.ones(500), q_1=np.zeros(500)), {"proxy_exact": True}, "cannot be exact"),
        (broken(), {"tau": 0.1, "proxy_exact": True}, "not both"),
        (broken(), {"tau": 0.1, "form": "values"}, "A tau belongs to the published form"),
        (broken(), {"form": "coins"}, "Unknown form"),
        (broken(), {"attack": "loss"}, "Unknown attack"),
        (broken(), {"repeats": 0}, "repeats must be at least 1"),
        (broken(), {"deltas": (2.0,)}, "delta"),
        (broken(), {"error": 0.0}, "error"),
        (broken(), {"power": -1.0}, "power"),
        (broken(), {"bins": 1}, "2 bins"),
        (broken(), {"model": object()}, "predict_proba or a callable"),
        (broken(), {"proxy_model": object()}, "target model"),
        (broken(), {"features": "nothing_*"}, "matches the pattern"),
        (broken(y=[None, *["0", "1"] * 249, "1"]), {}, "missing values"),
        (broken(q_2=np.zeros(500)), {}, "lacks '2'"),
    ],
)
def test_bad_input_is_one_clear_error(data, kwargs, words):
    with pytest.raises(InputError, match=words):
        attribute(data, **{"label": "y", **kwargs})


def test_a_protected_column_must_be_read_by_the_model(people):
    train, _, forest = people
    with pytest.raises(InputError, match="does not read the column 'age'"):
        attribute(train, label="rich", protected="age", features=["male"], model=forest)
    with pytest.raises(InputError, match="needs the label"):
        attribute(train, protected="age", features=["male", "age"], model=forest)
