"""Canaries that are no records: gradients in DP-SGD whose mu is known exactly, or in none at all.

And crafted records and texts whose scores see the canaries alone: nothing may be proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.attacks.gradient import GradientSteps
from divulge.attacks.gradient_canaries import KINDS, GradientCanaryRecorder
from divulge.games.canaries.crafted_texts import NEW_TOKENS
from divulge.games.canaries.crafting import RECORDS
from divulge.games.canaries.gradient_plans import plan_gradients
from divulge.games.canaries.planning import Plan
from divulge.games.canaries.plans import plan
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import DPSGD
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.types import Array

CANARIES, OTHERS, COLUMNS = 200, 30, 149
DELTA = 1e-5
_PARAMETERS = (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA))


@dataclass(frozen=True)
class Inserted:
    """A plan, a run with its canaries (``null``: without), their scores and the audit."""

    strategy: str
    complete: bool
    training: DPSGD
    null: bool

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        run = self.training
        size = run.start(COLUMNS).size
        made = plan_gradients(self.strategy, CANARIES, size, seed=int(rng.integers(2**31)))
        known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
        recorder = GradientCanaryRecorder(
            made.gradients(),
            known,
            run.learning_rate,
            complete=self.complete,
            seed=int(rng.integers(2**31)),
        )
        x = rng.standard_normal((OTHERS, COLUMNS))
        y = (x[:, 0] > 0.0).astype(np.intp)

        def forget(total: Array) -> Array:
            recorder.insert(total)
            return total

        insert = forget if self.null else recorder.insert
        for before, after in run.train(x, y, rng, insert):
            recorder.step(before, after)
        result = audit_trials(
            recorder.scores.total,
            made.truth,
            deltas=(DELTA,),
            error=2.0 * error,  # half of it goes to the bet, half to the counts
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


@dataclass(frozen=True)
class CraftedUntrained:
    """A plan of crafted canaries, scored by what they look like and where they stand."""

    strategy: str

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        labels = rng.integers(0, 3, 2 * CANARIES)
        data = {
            "x": labels + rng.standard_normal(labels.size) / 9.0,
            "label": labels,
            "text": np.array([f"letter {k} of {v}" for k, v in enumerate(labels)]),
        }
        label = "label" if self.strategy in RECORDS else None
        seed = int(rng.integers(2**31))
        made = plan(data, strategy=self.strategy, count=CANARIES, label=label, seed=seed)
        assert isinstance(made, Plan)
        shown = made.canaries(data)
        texts = [len(str(v)) for v in shown["text"].to_list()]
        columns = [np.arange(CANARIES), np.array(texts)]
        if self.strategy in RECORDS:
            x, y = (np.array(shown[c].to_list()) for c in ("x", "label"))
            columns += [np.abs(x - y)]
        score = np.column_stack([*columns, rng.standard_normal(CANARIES)]).astype(float)
        result = audit_trials(
            score, made.truth, deltas=(DELTA,), error=2.0 * error, seed=int(rng.integers(2**31))
        )
        return by_name(result.headline())


def cases() -> Iterator[Case]:
    """Both kinds of directions, with and without canaries in the run; crafted canaries."""
    for strategy in (*RECORDS, NEW_TOKENS):
        for parameter, delta in (("mu", None), ("epsilon", 0.0)):
            yield Case(
                bound=f"canaries, crafted, {parameter}" + ("" if delta is None else " at 0"),
                parameter=parameter,
                delta=delta,
                mechanism="null, nothing trained",
                setting=f"{CANARIES} canaries, {strategy}",
                play=Reading(CraftedUntrained(strategy), (parameter, delta)),
                truth=0.0,
                quick=parameter == "mu",
            )
    run = DPSGD(noise_multiplier=3.0, rate=1.0, steps=9, records=OTHERS)
    for strategy, complete in (*((kind, False) for kind in KINDS), (KINDS[0], True)):
        known = ", others known" if complete else ""
        for null in (True, False):
            for parameter, delta in _PARAMETERS:
                at = "" if delta is None else f" at {delta:g}"
                exact = run.curve.mu() if delta is None else run.curve.epsilon(delta)
                yield Case(
                    bound=f"canaries, gradients, {parameter}{at}",
                    parameter=parameter,
                    delta=delta,
                    mechanism="dp-sgd, nothing inserted" if null else run.name,
                    setting=f"{CANARIES} canaries, {strategy}{known}",
                    play=Reading(Inserted(strategy, complete, run, null), (parameter, delta)),
                    truth=0.0 if null else exact,
                    quick=parameter == "mu" and strategy == KINDS[0],
                )
