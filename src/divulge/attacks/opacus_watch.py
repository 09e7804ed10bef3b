"""Bets against the claimed noise of an Opacus run, step by step (``claimed_noise.py``).

The batch's own sum of clipped gradients is computed here once more, from the gradients that Opacus
is about to clip; fresh canaries join the batch before it is clipped, much longer than the clipping
norm. Both go through all that the optimizer does to them, whatever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.attacks.claimed_noise import COINS, NoiseClaim, NoiseWatch
from divulge.attacks.opacus_tap import OpacusTap
from divulge.types import Array

HELD = COINS << 20
"""Numbers in the gradients of all canaries, at most, unless their number is given."""


class OpacusWatch:
    """Use as a context around the training loop: it raises ClaimRefuted, or warns.

    ``optimizer`` is what ``PrivacyEngine.make_private`` returned; the claim is yours, and is not
    read from it. ``coins`` is the number of canaries, by default 64, and fewer in a model of more
    than a million parameters, since half of their gradients are held at once. With 0 nothing is
    inserted, and only the noise itself is bet on.
    """

    def __init__(
        self,
        optimizer: Any,
        claim: NoiseClaim,
        *,
        names: Sequence[str] | None = None,
        coins: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._tap = OpacusTap(optimizer)
        if claim.clip is None:
            claim = replace(claim, clip=float(optimizer.max_grad_norm))
        self._coins = min(COINS, HELD // sum(self._tap.sizes)) if coins is None else coins
        self.watch = NoiseWatch(claim, self._tap.sizes, names=names, coins=self._coins, seed=seed)
        self._total: Array | None = None

    def __enter__(self) -> OpacusWatch:
        self._total = None
        self._tap.attach(clipping=self._clipping, step=self._step)
        return self

    def __exit__(self, *_: object) -> None:
        self._tap.detach()

    def inserted(self) -> dict[int, Array]:
        """What this step's canaries add to the sum, by the identity of each parameter."""
        parts = np.split(self.watch.inserted(), np.cumsum(self._tap.sizes)[:-1])
        return {id(p): part for p, part in zip(self._tap.params, parts, strict=True)}

    def _clipping(self) -> None:
        own = self._tap.clipped_sum(self.watch.clip)
        self._total = own if self._total is None else np.asarray(self._total + own)
        if self._coins and self._tap.last_part:
            self._tap.add_records(self.watch.gradients())

    def _step(self) -> None:
        released, total = self._tap.released(), self._total
        self._total = None
        self.watch.step(released, total)
