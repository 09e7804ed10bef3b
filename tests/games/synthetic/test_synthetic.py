"""Members against generated records: what is measured, what is proved, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from divulge.data import tables
from divulge.errors import InputError
from divulge.games.synthetic import answers, helper_models, prepare
from divulge.games.synthetic.play import synthetic
from divulge.generators.trees import SequentialTrees
from divulge.result import Result
from divulge.work import Engine
from divulge.work import engine as engine_
from divulge.work.pieces import Pieces

D = 5


def records(n, seed, scale=1.0):
    """Five columns, and a label that follows the first two with much noise."""
    rng = np.random.default_rng(seed)
    x = scale * rng.normal(size=(n, D))
    y = (x[:, 0] + x[:, 1] + 2.0 * rng.normal(size=n) > 0).astype(int)
    return {**{f"x_{j}": x[:, j] for j in range(D)}, "y": y}


def matrix(data):
    return np.column_stack([data[f"x_{j}"] for j in range(D)])


def fitted(model, data):
    return model.fit(matrix(data), data["y"])


@dataclass
class Known:
    """A generator that knows the distribution; counts how often it was asked."""

    scale: float = 1.0
    calls: list = field(default_factory=list)
    name: str = "known"

    @property
    def settings(self):
        return {"scale": self.scale}

    def generate(self, given, count, rng):
        self.calls.append(len(given))
        return tables.read(records(count, rng, self.scale))


def value(result: Result, parameter: str) -> float:
    return max(b.value for b in result.headline() if b.parameter == parameter)


TOLD = []
"""Stages of the audit below."""


def leak(**options):
    data = records(2400, 1)
    model = fitted(KNeighborsClassifier(n_neighbors=1, algorithm="brute"), data)
    outside = records(900, 2)
    given = {"model": model, "label": "y", "generator": Known(), "nonmembers": outside}
    return synthetic(data, **given, repeats=3, **options)


@pytest.fixture(scope="module")
def leaking():
    return leak(progress=lambda stage, done, total: TOLD.append(stage))


def given_losses():
    """Members whose loss is lower and generated records, with the losses of target and helper."""
    rng = np.random.default_rng(7)
    tables_ = []
    for n, shift, seed in ((700, 1.5, 8), (700, 0.0, 9)):
        data = records(n, seed)
        loss = data["x_0"] ** 2 + rng.normal(size=n)
        tables_.append({**data, "loss": loss - shift, "other": loss + rng.normal(size=n)})
    return tables_


def of_losses_alone(**options):
    """An audit of a loss and nothing else: no helper, no real non-members."""
    members, made = ({k: v for k, v in t.items() if k != "other"} for t in given_losses())
    given = {"generated": made, "target_loss": "loss", "label": "y", "deltas": (1e-6,)}
    return synthetic(members, **given, **options)


@pytest.fixture(scope="module")
def alone():
    return of_losses_alone()


def test_a_model_that_remembers_its_records_is_found_out(leaking):
    assert leaking.verdict.status == "leak"
    assert value(leaking, "epsilon") > 0.3
    found = leaking.measurements
    assert found["c_lb"] < 0.1
    assert found["epsilon_tilde"] > 0.2
    assert found["epsilon_tilde"] == pytest.approx(
        found["c_plus_epsilon_lb"] - found["c_lb"], abs=2e-6
    )
    assert "a measurement, not a bound" in leaking.verdict.sentence


def test_the_comparisons_with_real_nonmembers_are_in_the_same_result(leaking):
    found = leaking.measurements
    assert found["real_nonmembers_epsilon"] > 0.2
    assert found["one_run_epsilon"] > 0.2
    assert found["real_nonmembers_c_lb"] < 0.1
    assert len(leaking.diagnostics.comparison) == 5


def test_repeats_give_a_t_interval(leaking):
    spread = leaking.diagnostics.repeats
    assert spread.count == 3
    for one in (spread.c_lb, spread.c_plus_epsilon_lb, spread.epsilon_tilde):
        assert len(one.values) == 3
        assert one.low <= one.mean <= one.high
    values = np.array(spread.c_plus_epsilon_lb.values)
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)
    assert spread.c_plus_epsilon_lb.high - values.mean() == pytest.approx(half, rel=1e-5)


@pytest.mark.slow
def test_other_processes_find_the_same(leaking):
    assert leak(n_jobs=2).dumps() == leaking.dumps()


def test_the_result_survives_json_and_holds_the_curves(leaking):
    again = Result.from_json(json.loads(leaking.dumps()))
    assert again.game == "synthetic"
    recall = again.diagnostics.recall
    for view in (recall.baseline, recall.attack):
        assert len({len(v) for v in view.to_json().values()}) == 1
        assert max(view.precision) <= 1.0
    assert {row.rule for row in again.diagnostics.rules} == {"grid", "all"}
    assert again.diagnostics.relaxed[0].delta == 1e-5
    assert again.diagnostics.models.helper == "untrained copy of KNeighborsClassifier"


def test_a_model_that_never_saw_the_members_leaks_nothing():
    model = fitted(KNeighborsClassifier(n_neighbors=1, algorithm="brute"), records(1500, 3))
    result = synthetic(records(1500, 4), model=model, label="y", generator=Known())
    assert result.verdict.status == "no evidence"
    assert all(b.value == 0.0 for b in result.headline())
    assert result.measurements["epsilon_tilde"] < 0.2


@pytest.mark.slow
def test_a_poor_generator_shows_in_c_not_in_the_bounds():
    data = records(1500, 5)
    model = fitted(LogisticRegression(), records(1500, 6))
    result = synthetic(data, model=model, label="y", generator=Known(scale=0.7))
    assert result.measurements["c_lb"] > 0.5
    assert all(b.value < 0.05 for b in result.headline())


def test_losses_and_generated_records_may_come_as_columns(alone):
    tables_ = given_losses()
    result = synthetic(
        tables_[0], generated=tables_[1], target_loss="loss", helper_loss="other", label="y"
    )
    assert result.verdict.status == "leak"
    assert result.diagnostics.models.generator == "given"
    assert result.diagnostics.models.helper == "given"
    assert not result.verdict.robust
    assert any("may see more of a record" in reason for reason in result.verdict.reasons)
    assert any("no helper" in reason for reason in alone.verdict.reasons)


@pytest.mark.slow
def test_gamma_is_part_of_the_verdict(alone):
    found = of_losses_alone(gamma=2e-6)
    told = found.diagnostics.measurement
    assert told.gamma == 2e-6
    assert "but for a mass of gamma = 2e-06 of the data." in found.verdict.sentence
    relaxed = found.diagnostics.relaxed[0]
    assert (relaxed.gamma, relaxed.delta, relaxed.c_lb) == (2e-6, 1e-6, told.c_lb)
    assert 0.0 < relaxed.c_plus_epsilon_lb <= told.c_plus_epsilon_lb
    assert found.measurements["c_plus_epsilon_lb"] == told.c_plus_epsilon_lb
    assert "gamma" not in alone.verdict.sentence
    assert 0.3 < told.c_plus_epsilon_lb < alone.measurements["c_plus_epsilon_lb"] - 0.01


def test_a_callable_model_and_a_user_s_generator():
    data = records(700, 10)
    known = {row.tobytes() for row in matrix(data)}

    def loss(frame):
        rows = np.column_stack([frame[f"x_{j}"].to_numpy() for j in range(D)])
        rng = np.random.default_rng(0)
        return np.array([-2.0 * (r.tobytes() in known) for r in rows]) + rng.normal(size=len(rows))

    result = synthetic(data, model=loss, generated=records(700, 11))
    assert result.verdict.status == "leak"


@pytest.mark.slow
def test_finished_stages_are_not_repeated_and_a_failure_loses_only_its_own(tmp_path, monkeypatch):
    data = records(1500, 12)
    model, generator = fitted(KNeighborsClassifier(n_neighbors=1, algorithm="brute"), data), Known()

    def audit():
        return synthetic(data, model=model, label="y", generator=generator, cache=tmp_path, seed=3)

    from divulge.games.synthetic import contest

    with monkeypatch.context() as broken:
        broken.setattr(contest, "play", lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            audit()
    assert len(generator.calls) == 1
    first = audit()
    assert len(generator.calls) == 1
    with monkeypatch.context() as broken:
        broken.setattr(contest, "play", lambda *a, **k: 1 / 0)
        answer = KNeighborsClassifier.predict_proba

        def only_first(self, x):
            assert len(x) <= answers.FIRST, "more than the first records were asked about again"
            return answer(self, x)

        broken.setattr(KNeighborsClassifier, "predict_proba", only_first)
        assert audit().dumps() == first.dumps()
    for piece in tmp_path.glob("generated-*"):
        piece.write_bytes(piece.read_bytes()[:-3])
    assert audit().dumps() == first.dumps()
    assert len(generator.calls) == 2


def gathered(work):
    """What is played, with the default generator and two helpers."""
    data = tables.read(records(1200, 14))
    model = fitted(RandomForestClassifier(5, random_state=0), records(300, 15))
    names = {"features": (), "label": "y", "target": (), "helper": ()}
    columns = prepare.read_columns(data, model=model, **names)
    given = {"generated": None, "nonmembers": None, "generator": SequentialTrees(trees=3)}
    seen = prepare.gather(data, columns, model=model, work=work, **given).seen
    return [part.tobytes() for part in (seen.record, seen.helper, seen.target)]


def test_generator_and_helpers_are_trained_in_pieces_by_any_process(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "WORTH_SHARING", 0)
    keys, told = {"members": "m", "model": "f"}, []
    two = answers.Work(
        keys,
        pieces=Pieces(tmp_path),
        engine=Engine("loky", 2),
        progress=lambda *now: told.append(now),
    )
    first = gathered(two)
    assert gathered(answers.Work({"members": "m"})) == first
    forests, helpers = (sorted(tmp_path.glob(f"{name}-*")) for name in ("forest", "helper"))
    assert len(forests) == D
    assert len(helpers) == 2
    assert [now[1:] for now in told if "forests" in now[0]] == [(k, D) for k in range(1, D + 1)]
    assert [now[1:] for now in told if "helpers" in now[0]] == [(0, 1), (1, 2), (2, 2)]

    times = {p: p.stat().st_mtime_ns for p in [*forests, *helpers]}
    next(tmp_path.glob("generated-*")).unlink()
    for damaged in (forests[1], helpers[0]):
        damaged.write_bytes(b"damaged")
    assert gathered(answers.Work(keys, pieces=Pieces(tmp_path))) == first
    again = [p for p, before in times.items() if p.stat().st_mtime_ns != before]
    assert again == [forests[1], helpers[0]]


def test_few_records_start_no_process(monkeypatch):
    monkeypatch.setattr(engine_, "Processes", None)
    assert gathered(answers.Work({"members": "m"}, engine=Engine("loky", 2)))


@pytest.mark.usefixtures("leaking")
def test_stages_are_told():
    for word in ("generating", "querying the target", "helpers", "baseline and attack"):
        assert any(word in stage for stage in TOLD), word


def test_real_nonmembers_are_a_negative_control(leaking):
    assert leaking.diagnostics.negative_control.status == "no evidence"
    assert leaking.measurements["negative_control_epsilon"] == 0.0
    assert leaking.measurements["direct_epsilon"] > 0.3
    assert leaking.measurements["negative_control_sight"] > 0.1
    assert not any("--nonmembers" in reason for reason in leaking.verdict.reasons)


def test_without_a_control_nothing_is_robust(alone):
    assert alone.verdict.status == "leak"
    assert not alone.verdict.robust
    assert any("--nonmembers" in reason for reason in alone.verdict.reasons)


@pytest.mark.slow
def test_generated_records_may_be_sorted_and_the_seed_fixes_everything():
    data, made = records(1200, 17), records(1200, 18)
    order = np.argsort(made["y"], kind="stable")
    made = {k: v[order] for k, v in made.items()}
    model = fitted(RandomForestClassifier(20), data)
    one, two = (synthetic(data, model=model, label="y", generated=made, seed=5) for _ in range(2))
    assert one.verdict.status == "leak"
    assert one.dumps() == two.dumps()


def test_a_frozen_target_is_not_its_own_helper():
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn before 1.6")
    kept = frozen.FrozenEstimator(fitted(LogisticRegression(), records(500, 19)))
    assert helper_models.same_kind(kept, 0)[1] == "HistGradientBoostingClassifier"
    assert "LogisticRegression" in helper_models.same_kind(LogisticRegression(), 0)[1]
    assert helper_models.same_kind(RandomForestClassifier(), 7)[0].random_state == 7


MODEL = fitted(LogisticRegression(), records(500, 14))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"members": records(300, 0)}, "300 members are too few"),
        ({"generated": records(300, 0)}, "generated records are left"),
    ],
)
def test_too_few_records_conclude_nothing(change, reason):
    given = {"members": records(2000, 15), "model": MODEL, "label": "y", "generator": Known()}
    result = synthetic(**given | change)
    assert result.verdict.status == "cannot conclude"
    assert reason in result.verdict.reasons[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generated": records(2000, 15)}, "exact copies of members"),
        ({"generated": {"x_0": np.zeros(500), "y": np.zeros(500)}}, "'x_1', 'x_2', 'x_3'"),
        ({"generated": {**records(900, 0), "x_1": ["a"] * 900}}, "'x_1' .numbers .* words"),
        ({"model": None}, "Nothing is known of the target"),
        ({"target_loss": "x_0"}, "not both"),
        ({"model": None, "target_loss": "x_0"}, "give the generated records"),
        ({"label": "z"}, "no column 'z'"),
        ({"label": None}, "needs the label"),
        ({"model": lambda frame: np.full(len(frame), np.nan)}, "must return finite losses"),
        ({"rule": "best"}, "Unknown rule"),
        ({"repeats": 0}, "repeats"),
        ({"gamma": 1.0}, "gamma"),
        ({"generator": "wgan"}, "Unknown generator"),
        ({"nonmembers": records(50, 0)}, "real non-members are too few"),
        ({"features": "x_0", "model": None, "target_loss": "x_0"}, "feature and a loss"),
    ],
)
def test_bad_input_is_one_clear_error(change, message):
    given = {"members": records(2000, 15), "model": MODEL, "label": "y", "generator": Known()}
    given |= change
    with pytest.raises(InputError, match=message):
        synthetic(given.pop("members"), **given)
