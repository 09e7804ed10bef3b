"""Gradient canaries in DP-SGD with full batches, whose mu is known exactly, and in none at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.attacks.gradient import GradientSteps
from divulge.attacks.gradient_canaries import KINDS, GradientCanaryRecorder
from divulge.games.canaries.gradient_plans import plan_gradients
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import DPSGD
from divulge.selftest.canaries import claimed
from divulge.selftest.case import Case

CANARIES, RECORDS, COLUMNS = 200, 30, 149
DELTA = 1e-5
SHARE = 0.2
_PARAMETERS = (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA))


@dataclass(frozen=True)
class Inserted:
    """A plan, a run with its canaries (``null``: without), their scores and the audit."""

    strategy: str
    training: DPSGD
    null: bool
    parameter: str
    delta: float | None

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        run = self.training
        size = run.start(COLUMNS).size
        made = plan_gradients(self.strategy, CANARIES, size, seed=int(rng.integers(2**31)))
        known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
        recorder = GradientCanaryRecorder(
            made.gradients(), known, run.learning_rate, seed=int(rng.integers(2**31))
        )
        x = rng.standard_normal((RECORDS, COLUMNS))
        y = (x[:, 0] > 0.0).astype(np.intp)
        insert = None if self.null else recorder.insert
        for before, after in run.train(x, y, rng, insert):
            recorder.step(before, after)
        result = audit_trials(
            recorder.scores.total,
            made.truth,
            deltas=(DELTA,),
            error=2.0 * error,  # half of it goes to the bet, half to the counts
            seed=int(rng.integers(2**31)),
        )
        return claimed(result, self.parameter, self.delta)


def cases() -> Iterator[Case]:
    """Both kinds of directions, with and without canaries in the run."""
    run = DPSGD(noise_multiplier=3.0, rate=1.0, steps=9, records=RECORDS)
    for strategy in KINDS:
        for null in (True, False):
            for parameter, delta in _PARAMETERS:
                at = "" if delta is None else f" at {delta:g}"
                exact = run.curve.mu() if delta is None else run.curve.epsilon(delta)
                yield Case(
                    bound=f"canaries, gradients, {parameter}{at}",
                    parameter=parameter,
                    delta=delta,
                    mechanism="dp-sgd, nothing inserted" if null else run.name,
                    setting=f"{CANARIES} canaries, {strategy}",
                    play=Inserted(strategy, run, null, parameter, delta),
                    truth=0.0 if null else exact,
                    quick=parameter == "mu" and strategy == KINDS[0],
                    share=SHARE,
                )
