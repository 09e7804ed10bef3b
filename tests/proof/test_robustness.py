"""Each requirement of a robust finding fails on its own, and says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from divulge.proof.controls import Controls
from divulge.proof.prepared import Prepared
from divulge.proof.robustness import Evidence, requirements
from divulge.result.of_helpers import Adjusted, LadderRecord
from divulge.shift.benchmark import LeftOut

ONE = np.ones(1)
PREPARED = Prepared(
    ONE, ONE, ONE, ONE, 0.0, np.zeros(1, dtype=np.intp), 1, ONE, ONE, trim=1.5, c_lb=0.0
)
SILENT = Controls(reference=0.0, likeness=0.8, sizes=(1000, 1000), as_given=0.8, apart=0.01)
GOOD = Evidence(PREPARED, 3.0, SILENT, (), (LeftOut("age", 1.5),))


def ladder_of(near, extrapolable, left, same_kind=True):
    adjusted = Adjusted(
        parameter="epsilon", delta=0.0, bound=0.6, bias_per_doubling=0.1, value=left
    )
    return LadderRecord(
        extrapolable=extrapolable,
        helpers=1000,
        doublings=1.0 if near else 3.0,
        error=0.05,
        adjusted=(adjusted,),
        same_kind=same_kind,
    )


def failing(evidence):
    return [r.sentence for r in requirements(evidence) if not r.holds]


def test_all_hold():
    assert failing(GOOD) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"around": Controls()}, "There is no control"),
        ({"around": Controls(), "text": True}, "describe a text only in part"),
        ({"around": Controls(reference=0.0, likeness=0.9)}, "not comparable"),
        ({"around": Controls(unheard="It was not heard.")}, "It was not heard."),
        ({"prepared": replace(PREPARED, c_lb=0.3)}, "blind baseline"),
        ({"prepared": replace(PREPARED, c_lb=None, unchecked="Not checked.")}, "Not checked."),
        ({"gamma_star": 1.8}, "would explain the finding away; robust needs at least 2"),
        ({"left_out": (LeftOut("age", 3.5),)}, "a hidden feature as strong as that one"),
        ({"left_out": ()}, "No observed feature"),
        ({"folded": ("8 levels of 'town' count as one",)}, "8 levels of 'town' count as one"),
    ],
)
def test_one_that_does_not_hold_is_said(changed, said):
    (sentence,) = failing(replace(GOOD, **changed))
    assert said in sentence


STATED = Controls(reference=0.0, likeness=0.1, sizes=(1000, 900), as_given=0.6, apart=0.02)


def test_a_control_is_comparable_by_word_where_nothing_contradicts_it():
    assert failing(replace(GOOD, around=STATED)) == []
    (said,) = (r.sentence for r in requirements(replace(GOOD, around=STATED)) if "contr" in r.name)
    assert "by your word it learned from 900 records" in said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sizes": None}, "--reference-size"),
        ({"sizes": (1000, 700)}, "it learned from 700 records, the target from 1,000"),
        ({"as_given": 0.3}, "rank correlation of their scores is 0.30"),
        ({"apart": 0.2}, "0.20 standard deviations apart"),
        ({"as_given": None, "apart": None}, "cannot be compared"),
    ],
)
def test_a_word_that_is_contradicted_does_not_count(changed, said):
    (sentence,) = failing(replace(GOOD, around=replace(STATED, **changed)))
    assert said in sentence


@pytest.mark.parametrize(
    ("reference", "before", "target", "speaks"),
    [
        (0.0, 0.1, 2.0, False),
        (0.0, 1.0, 2.0, True),
        (0.3, 0.4, 2.0, True),
        (0.0, 0.0, 0.0, False),
        (0.0, 0.5, float("inf"), False),
    ],
)
def test_a_control_speaks_before_its_allowance_too(reference, before, target, speaks):
    control = Controls(reference=reference, before=before, target_before=target)
    assert control.speaks is speaks
    assert replace(control, unheard="It was not heard.").speaks


@pytest.mark.parametrize(
    ("ladder", "holds"),
    [
        (ladder_of(True, True, 0.4), True),
        (ladder_of(True, True, 0.0), False),
        (ladder_of(True, False, 0.4), False),
        (ladder_of(False, True, 0.4), False),
        (ladder_of(True, True, 0.4, same_kind=False), False),
    ],
)
def test_helpers_with_a_ladder_may_stand_for_a_control(ladder, holds):
    assert (failing(replace(GOOD, around=Controls(ladder=ladder))) == []) is holds


def test_helpers_of_another_kind_are_told_so():
    around = Controls(ladder=ladder_of(True, True, 0.4, same_kind=False))
    assert "--learner clone" in failing(replace(GOOD, around=around))[0]


def test_a_ladder_does_not_silence_a_control_that_speaks():
    speaking = Controls(reference=0.5, likeness=0.9, ladder=ladder_of(True, True, 0.4))
    assert "residual confounding" in failing(replace(GOOD, around=speaking))[0]
