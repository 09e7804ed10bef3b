"""Gradient canaries inside an Opacus loop: inserted by the plan's coins, scored from releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks.claimed_noise import RAW, NoiseClaim
from divulge.attacks.gradient import GradientSteps
from divulge.attacks.gradient_canaries import (
    GradientCanaries,
    GradientCanaryScores,
    combined_gradient,
    takes_part,
)
from divulge.attacks.opacus_tap import OpacusTap
from divulge.attacks.opacus_watch import OpacusWatch
from divulge.errors import require
from divulge.types import Array


class OpacusGradientRecorder:
    """Use as a context around the training loop, then read ``columns()``.

    ``optimizer`` is what ``PrivacyEngine.make_private`` returned, ``canaries`` are those of a plan
    (``plan.gradients()``), for as many parameters as the optimizer trains. ``rate`` is the
    probability with which a record takes part in a step, and so does an included canary; ``seed``
    draws in which, by default the operating system's.

    Canaries join the sum of clipped gradients. With ``clipping`` they join the batch instead, a
    thousand times as long as the clipping norm, and Opacus clips them as it clips everybody: the
    audit then covers the clipping, at the price of holding the gradients of those that take part.
    With ``complete`` the sum of the batch's other records is known to the scores, as to an
    adversary of differential privacy; all noise must then be added by ``add_noise``. A ``claim`` is
    bet against in every step, with further canaries; a run that breaks it is ended.
    """

    def __init__(
        self,
        optimizer: Any,
        canaries: GradientCanaries,
        *,
        rate: float,
        clipping: bool = False,
        complete: bool = False,
        claim: NoiseClaim | None = None,
        seed: int | None = None,
    ) -> None:
        self._tap = OpacusTap(optimizer)
        trained = sum(self._tap.sizes)
        require(
            canaries.parameters == trained,
            f"The plan's gradient canaries are for {canaries.parameters} parameters; the optimizer "
            f"trains {trained}.",
        )
        self.training = GradientSteps(
            rate=rate,
            batch=float(optimizer.expected_batch_size),
            clip=float(optimizer.max_grad_norm),
            noise_multiplier=float(optimizer.noise_multiplier),
        )
        self.scores = GradientCanaryScores(canaries, self.training)
        self._clipping, self._complete = clipping, complete
        self._others: Array | None = None
        self._watch = None if claim is None else OpacusWatch(optimizer, claim, seed=seed)
        self._rng = np.random.default_rng(seed)

    def __enter__(self) -> OpacusGradientRecorder:
        first = {"clipping": self._join_batch} if self._clipping else {"noise": self._join_sum}
        self._tap.attach(**first, step=self._step)
        if self._watch is not None:
            self._watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.__exit__()
        self._tap.detach()

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The scores of all canaries, included or not."""
        return self.scores.columns()

    def _join_sum(self) -> None:
        if self._complete:
            self._others = self._tap.summed()
        self._tap.add_to_sum(combined_gradient(self.scores.canaries, self.training, self._rng))

    def _join_batch(self) -> None:
        if self._complete:
            own = self._tap.clipped_sum(self.training.clip)
            self._others = own if self._others is None else np.asarray(self._others + own)
        if self._tap.last_part:
            canaries = self.scores.canaries
            taken = takes_part(canaries, self.training.rate, self._rng)
            self._tap.add_records(RAW * self.training.clip * canaries.directions(taken))

    def _step(self) -> None:
        released = self._tap.released()
        if self._others is not None:  # canaries of a watch among them
            released = released - self._others
        elif self._watch is not None:
            released = released - self._watch.watch.inserted()
        self._others = None
        self.scores.add(released / self.training.batch)
