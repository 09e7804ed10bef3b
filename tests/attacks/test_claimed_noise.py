"""Bets against a claimed noise in a plain loop: what breaks the claim is refuted at once."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.attacks.claimed_noise import Capital, ClaimRefuted, NoiseClaim, NoiseWatch
from divulge.attacks.gradient import GradientSteps, Recorder, clipped
from divulge.attacks.gradient_canaries import GradientCanaryRecorder
from divulge.errors import InputError, Note
from divulge.games.canaries.gradient_plans import plan_gradients
from divulge.mechanisms import DPSGD

SIZES, CLIP, SIGMA, STEPS = (400, 20, 60, 3), 0.5, 0.8, 60
SIZE = sum(SIZES)


def run(bug: str = "", seed: int = 0, steps: int = STEPS, known: bool = True, **words) -> int:
    """A loop of DP-SGD on fixed gradients; the step at which it was refuted, or 0."""
    rng = np.random.default_rng(seed)
    claim = NoiseClaim(SIGMA, CLIP, **words)
    watch = NoiseWatch(claim, SIZES, names=["w", "b", "v", "a"], seed=seed)
    records = rng.normal(size=(40, SIZE))
    repeated = rng.normal(size=SIZE)
    for t in range(steps):
        batch = records[rng.random(40) < 0.5] + 0.1 * rng.normal(size=SIZE)
        total = clipped(batch, CLIP).sum(axis=0)
        joined = np.concatenate([batch, watch.gradients()])
        noise = SIGMA * CLIP * rng.normal(size=SIZE)
        if bug == "no noise":
            noise[:] = 0.0
        if bug == "too little noise":
            noise *= 0.7
        if bug == "noise on the wrong tensor":
            noise[: SIZES[0]] = 0.0
        if bug == "noise divided twice":
            noise /= 20.0
        if bug == "noise repeated":
            noise = SIGMA * CLIP * repeated
        if bug == "no noise from step 30" and t >= 29:
            noise[:] = 0.0
        norm = {"clipping off": 1e9, "clipping too long": 3.0 * CLIP}.get(bug, CLIP)
        watch.step(clipped(joined, norm).sum(axis=0) + noise, total if known else None)
    return watch.refuted_at


BUGS = (
    "no noise",
    "too little noise",
    "noise on the wrong tensor",
    "noise divided twice",
    "noise repeated",
    "clipping off",
    "clipping too long",
)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_keeps_the_claim_passes(seed):
    assert run(seed=seed) == 0


@pytest.mark.parametrize("bug", BUGS)
def test_what_breaks_the_claim_is_refuted_within_a_tenth_of_the_steps(bug):
    for seed in range(3):
        found = []
        with pytest.raises(ClaimRefuted, match="refutes the claimed noise multiplier"):
            run(bug, seed)
        with pytest.warns(Note, match=r"with probability 0\.01 at most"):
            found.append(run(bug, seed, refuted="warn"))
        assert 1 <= found[0] <= STEPS // 10


def test_noise_that_stops_is_refuted_then():
    with pytest.warns(Note, match="smaller than claimed"):
        assert run("no noise from step 30", refuted="warn") == 30


def test_a_small_tensor_without_noise_is_named():
    rng = np.random.default_rng(0)
    watch = NoiseWatch(NoiseClaim(SIGMA, CLIP), SIZES, names=["w", "b", "v", "a"], coins=0)
    watch.step(SIGMA * CLIP * rng.normal(size=SIZE), np.zeros(SIZE))
    noise = SIGMA * CLIP * rng.normal(size=SIZE)
    noise[400:420] = 0.0
    with pytest.raises(ClaimRefuted, match="the noise on b is smaller"):
        watch.step(noise, np.zeros(SIZE))


def test_the_plain_recorders_watch():
    rng = np.random.default_rng(0)
    run = DPSGD(1.0, 0.5, 40, 60)
    x = rng.normal(size=(60, 200))
    y = (x[:, 0] > 0).astype(int)
    known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
    plan = plan_gradients("one-hot", 30, run.start(200).size, seed=0)
    for claimed, broken in ((1.0, False), (2.0, True)):
        watch = NoiseWatch(NoiseClaim(claimed, run.clip), [402], seed=1)
        recorder = GradientCanaryRecorder(
            plan.gradients(), known, run.learning_rate, watch=watch, seed=2
        )
        done = 0
        try:
            for before, after in run.train(x, y, rng, recorder.insert):
                recorder.step(before, after)
                done += 1
            assert not broken
        except ClaimRefuted:
            assert broken
            assert done < 4
    watch = NoiseWatch(NoiseClaim(3.0, run.clip), [402], coins=0)
    beside = Recorder(
        known,
        run.learning_rate,
        lambda theta: run.gradients(theta, x[:20], y[:20]),
        lambda theta: run.gradients(theta, x[20:], y[20:]),
        complete=True,
        watch=watch,
    )
    steps = list(run.train(x, y, rng))
    with pytest.raises(ClaimRefuted):  # from the releases alone
        beside.checkpoints([steps[0][0], *(after for _, after in steps)])


def test_the_capital_is_kept_for_later():
    capital = Capital([1.0])
    for _ in range(9):
        last = capital.step([-np.inf])
    assert np.exp(last) == pytest.approx(0.1)


def test_what_is_wrong_is_said():
    with pytest.raises(InputError, match="noise_multiplier must be above 0"):
        NoiseClaim(0.0)
    with pytest.raises(InputError, match="claimed clip"):
        NoiseClaim(1.0, -1.0)
    with pytest.raises(InputError, match="refuted"):
        NoiseClaim(1.0, refuted="shout")
    with pytest.raises(InputError, match="must name its clip"):
        NoiseWatch(NoiseClaim(1.0), [3])
    with pytest.raises(InputError, match="no parameters"):
        NoiseWatch(NoiseClaim(1.0, 1.0), [])
    watch = NoiseWatch(NoiseClaim(1.0, 1.0), [3])
    with pytest.raises(InputError, match="3 finite numbers"):
        watch.step(np.zeros(4))
