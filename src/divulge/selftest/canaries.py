"""Canary audits: mechanisms of known mu, fair and loaded coins, and whole white-box audits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from divulge.attacks.gradient import GradientSteps, Recorder
from divulge.games.canaries.planning import LEAST
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import DPSGD, GaussianMechanism, Mechanism, Null, RandomisedResponse
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name

CANARIES, FEW = 500, LEAST
DELTA = 1e-5
COLUMNS = 60
_PARAMETERS = (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA))


@dataclass(frozen=True)
class CanaryGame:
    """One audit of canaries whose scores come from a mechanism with a known answer."""

    mechanism: Mechanism
    canaries: int
    probability: float

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        drawn = self.mechanism.sample(self.canaries, rng, float(logit(self.probability)))
        result = audit_trials(
            drawn.score,
            drawn.truth,
            probability=self.probability,
            deltas=(DELTA,),
            error=2.0 * error,  # half of it goes to the bet, half to the counts
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


@dataclass(frozen=True)
class WhiteBox:
    """A run of DP-SGD scored step by step; ``null``: no canary is ever trained on."""

    training: DPSGD
    canaries: int
    others: int
    null: bool

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        count = self.canaries + self.others
        x = rng.standard_normal((count, COLUMNS))
        y = (x[:, 0] + rng.standard_normal(count) > 0.0).astype(np.intp)
        truth = np.where(rng.random(self.canaries) < 0.5, 1.0, -1.0)
        used = np.ones(count, dtype=bool)
        used[: self.canaries] = (truth > 0.0) & (not self.null)
        recorder = white_box(self.training, x, y, self.canaries)
        for before, after in self.training.train(x[used], y[used], rng):
            recorder.step(before, after)
        result = audit_trials(
            recorder.scores.total,
            truth,
            deltas=(DELTA,),
            error=2.0 * error,
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


def white_box(training: DPSGD, x: np.ndarray, y: np.ndarray, canaries: int) -> Recorder:
    """The recorder of a run whose first records are the canaries; it knows all the others."""
    known = GradientSteps(training.rate, training.batch, training.clip, training.noise_multiplier)
    return Recorder(
        known,
        training.learning_rate,
        lambda theta: training.gradients(theta, x[:canaries], y[:canaries]),
        lambda theta: training.gradients(theta, x[canaries:], y[canaries:]),
        complete=True,
    )


def cases() -> Iterator[Case]:
    """Fair and loaded coins, few canaries; DP-SGD with full batches, whose mu is known exactly."""
    mechanisms: tuple[Mechanism, ...] = (Null(), GaussianMechanism(1.0), RandomisedResponse(1.0))
    for mechanism in mechanisms:
        for count, probability in ((CANARIES, 0.5), (CANARIES, 0.8), (FEW, 0.5)):
            for parameter, delta in _PARAMETERS:
                coin = "" if probability == 0.5 else f", {probability:.0%} included"
                yield Case(
                    bound=f"canaries, {parameter}" + ("" if delta is None else f" at {delta:g}"),
                    parameter=parameter,
                    delta=delta,
                    mechanism=mechanism.name,
                    setting=f"{count} canaries{coin}",
                    play=Reading(CanaryGame(mechanism, count, probability), (parameter, delta)),
                    truth=_truth(mechanism, delta),
                    quick=count == CANARIES
                    and (isinstance(mechanism, GaussianMechanism) or probability != 0.5),
                )
    for null in (True, False):
        run = DPSGD(noise_multiplier=3.0, rate=1.0, steps=9, records=200)
        for parameter, delta in _PARAMETERS:
            yield Case(
                bound=f"canaries, white box, {parameter}"
                + ("" if delta is None else f" at {delta:g}"),
                parameter=parameter,
                delta=delta,
                mechanism="dp-sgd, no canary included" if null else run.name,
                setting="100 canaries, 150 others",
                play=Reading(WhiteBox(run, 100, 150, null), (parameter, delta)),
                truth=0.0 if null else _truth(run, delta),
                quick=parameter == "mu",
            )


def _truth(mechanism: Mechanism | DPSGD, delta: float | None) -> float:
    return mechanism.curve.mu() if delta is None else mechanism.curve.epsilon(delta)
