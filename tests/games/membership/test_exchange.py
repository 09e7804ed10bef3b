"""Helpers of a membership audit: who teaches whom, and what the verdict makes of the ladder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import divulge
from divulge.data.features import Features
from divulge.errors import InputError
from divulge.games.membership import exchange, findings
from divulge.games.membership.pools import Pools
from divulge.mechanisms.knowing import Knowing
from divulge.result.of_helpers import Adjusted, LadderRecord
from divulge.result.shared import NegativeControl
from divulge.shift.helper_losses import table_lessons
from divulge.work import SERIAL
from divulge.work.pieces import Pieces


def table(members: int = 700, kind: str = "parity", target: int = 4000, **options):
    world = Knowing(kind, target, **options).sample(members, members, np.random.default_rng(0))
    columns = {f"x_{j}": world.x[:, j] for j in range(world.x.shape[1])}
    return {"member": world.truth > 0, "loss": world.loss, "y": world.label, **columns}


class Spy:
    """Lessons that remember who was taught."""

    learner = "a spy"
    ignorance = None

    def __init__(self) -> None:
        self.taught: list[np.ndarray] = []

    def identity(self) -> str:
        return "spy"

    def losses(self, taught, seed):
        self.taught.append(taught)
        loss = np.ones(1000)
        loss[taught] = 0.0
        return loss


def pools(lessons, same: int = 0) -> Pools:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1000, 2))
    x[:same] = x[0]
    return Pools(
        truth=np.repeat([1.0, -1.0], 500),
        score=rng.standard_normal((1000, 1)),
        features=Features(x, ("a", "b")),
        reference=None,
        propensity=None,
        score_names=("loss",),
        inputs=(),
        lessons=lessons,
        helpers=3,
    )


def test_nobody_is_audited_with_helpers_that_they_taught():
    spy = Spy()
    given = pools(spy)
    helped = exchange.teach(given, 3, 0, engine=SERIAL, pieces=Pieces())
    assert len(spy.taught) == 12
    assert helped.sizes == (62, 125, 250)
    for k in (0, 1):
        rows = helped.audited(k)
        assert (helped.means[k][rows] == 1.0).all()  # a helper's own lessons have loss 0
        assert set(np.flatnonzero(given.truth < 0)) <= set(rows)
        view = exchange.view(given, helped, k)
        assert view.features.names[-1] == "mean loss of the helpers"
        assert view.lessons is None
    inside = [set(helped.audited(k)) & set(range(500)) for k in (0, 1)]
    assert not inside[0] & inside[1]
    assert len(inside[0] | inside[1]) == 500
    for rung in exchange.rungs(given, helped, 0):
        assert all((t.score == -1.0).all() for t in rung.trials)


def test_equal_records_stay_together():
    part = exchange.split(pools(Spy(), same=40), 3)
    assert np.unique(part[:40]).size == 1
    assert abs(int((part == 0).sum()) - 250) <= 45
    assert (part[500:] == -1).all()


@pytest.mark.slow
def test_helpers_take_away_what_the_target_knows_and_the_verdict_says_so():
    data = table(2000, target=4000)
    given = {"features": "x_*", "corrections": ("balanced", "prior"), "deltas": ()}
    plain = divulge.membership(data, **given)
    assert plain.verdict.status == "leak"
    helped = divulge.membership(data, label="y", helpers="auto", training_size=4000, **given)
    assert helped.verdict.status != "leak"
    assert not helped.verdict.robust
    record = helped.diagnostics.helpers
    assert (record.trained, record.count, record.exchanges) == (True, 3, 2)
    assert 900 < record.records < 1100
    ladder = helped.diagnostics.ladder
    assert [r.records for r in ladder.rungs[:2]] == [record.records // 2, record.records]
    again = divulge.Result.from_json(helped.to_json())
    assert again.diagnostics.ladder.extrapolable == ladder.extrapolable


@pytest.mark.slow
def test_given_losses_are_a_feature():
    data = table(600)
    rng = np.random.default_rng(2)
    for k in range(2):
        data[f"helper_loss_{k}"] = data["loss"] + 0.01 * rng.standard_normal(1200)
    result = divulge.membership(data, features="x_*", helper_loss="helper_loss*", deltas=())
    assert not result.diagnostics.helpers.trained
    assert result.diagnostics.helpers.count == 2
    assert result.trials["features"] == 11
    assert result.verdict.status != "leak"  # helpers that know all that the target knows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"helpers": "two"}, "auto, none or a number"),
        ({"helpers": 2, "label": "y"}, "at least 3"),
        ({"helpers": "auto"}, "label"),
        ({"helpers": "auto", "label": "y", "helper_loss": "loss"}, "not both"),
        ({"helpers": "auto", "label": "y", "learner": "magic"}, "learner"),
        ({"helpers": "auto", "label": "y", "learner": "clone"}, "cloned"),
        ({"training_size": 10}, "ladder"),
        ({"helpers": "auto", "label": "y", "training_size": 0}, "at least 1"),
        ({"helpers": "auto", "label": "y", "propensity": "pi"}, "leave out propensity"),
    ],
)
def test_bad_words_are_refused(words, message):
    data = {**table(60, target=200), "pi": np.full(120, 0.5)}
    with pytest.raises(InputError, match=message):
        divulge.membership(data, **{"features": "x_*", **words})


def test_too_few_members_teach_nothing():
    result = divulge.membership(table(60, target=200), features="x_*", label="y", helpers="auto")
    assert result.verdict.status == "cannot conclude"
    assert "teach" in result.verdict.reasons[0]


def ladder(value: float | None, **more) -> LadderRecord:
    step = Adjusted(parameter="epsilon", delta=0.0, bound=1.0, bias_per_doubling=0.1, value=value)
    given = {"extrapolable": True, "helpers": 100, "training_size": 200, "error": 0.05, **more}
    return LadderRecord(adjusted=(step,), **given)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (ladder(0.8), "leak"),
        (ladder(0.0), "cannot conclude"),
        (ladder(None, extrapolable=False, reason="It grows."), "cannot conclude"),
        (ladder(None, training_size=None), "leak"),
    ],
)
def test_the_ladder_only_takes_from_a_verdict(found, status):
    rng = np.random.default_rng(0)
    member = rng.random(800) < 0.5
    plain = divulge.membership({"member": member, "loss": rng.normal(size=800) - 2.0 * member})
    sure = replace(plain, verdict=replace(plain.verdict, robust=True, reasons=()))
    stated = replace(sure, diagnostics=replace(sure.diagnostics, ladder=found))
    result = findings.beside(stated)
    assert result.verdict.status == status
    assert result.verdict.robust == (found.adjusted_epsilon == 0.8)
    assert bool(result.headline()) == (status == "leak")
    heard = replace(stated.diagnostics, negative_control=NegativeControl(epsilon=0.0))
    checked = findings.beside(replace(stated, diagnostics=heard))
    assert checked.verdict.status == "leak"
    assert checked.verdict.robust == (found.adjusted_epsilon == 0.8 or not found.extrapolable)
    silent = replace(stated, verdict=replace(sure.verdict, status="no evidence", robust=False))
    assert findings.beside(silent) == silent


def test_a_copy_of_the_model_is_taught_by_its_own_columns():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    y = (x[:, 0] > 0).astype(int)
    lessons = table_lessons(x, 0.0 * x, y.tolist(), "auto", LogisticRegression().fit(x, y))
    assert lessons.learner == "untrained copy of LogisticRegression"
    loss = lessons.losses(np.arange(100), 0)
    assert loss[100:].mean() < 0.3
