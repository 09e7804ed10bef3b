"""Helpers of a membership audit: who teaches whom, what is added to the features, and the ladder.

The known members are split in two by the seed, equal records and documents whole; the helpers that
one part taught describe the other part and the non-members (``proof/parts.py`` says why that is
valid). On the first exchange helpers of a half and a quarter of the part climb the ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from divulge.data.features import Features, row_keys
from divulge.errors import CannotConclude
from divulge.games.membership.pools import Pools
from divulge.proof import ladder
from divulge.proof.draw import draw
from divulge.proof.learning_curve import LearningCurve
from divulge.proof.parts import PARTS
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.result.of_helpers import HelpersRecord, LadderRecord
from divulge.shift.helper_losses import Lesson, taught
from divulge.trials import Trials
from divulge.types import Array, Index
from divulge.work import Engine
from divulge.work.pieces import Pieces

LEAST_TAUGHT = 100
"""Members of a part, at least: fewer teach nothing."""
SHARES = (4, 2, 1)
"""Sizes of the ladder's helpers, as a whole part divided by this."""
LADDER, PARTING = 11, 5
LOSSES = ("loss", "loss of the model")
"""Scores that are a loss per record, or per token, in nats."""
RULE = (
    "the known members are split in two; helpers taught by one part describe the other part and "
    "the non-members, and never a record that they learned from"
)


@dataclass(frozen=True)
class Helped:
    """The two parts, and what the helpers of each make of every record."""

    part: npt.NDArray[np.int8] = field(repr=False)
    """0 or 1 for members, -1 for non-members."""
    means: tuple[Array, ...] = field(repr=False)
    """Mean loss, per part that taught."""
    ladder: tuple[tuple[Array, ...], ...] = field(repr=False)
    """Losses of the first part's helpers of a quarter, a half and the whole, one per seed."""
    sizes: tuple[int, ...]
    """Records that taught each of these."""
    record: HelpersRecord

    def audited(self, exchange: int) -> Index:
        """Rows that are audited with the helpers of part ``exchange``: none of them taught any."""
        return np.flatnonzero(self.part != exchange)


def teach(
    pools: Pools,
    count: int,
    seed: int,
    *,
    engine: Engine,
    pieces: Pieces,
    progress: Callable[[int, int], None] | None = None,
) -> Helped:
    """Split the members, teach every helper, and ask each about every record."""
    lessons, part = pools.lessons, split(pools, seed)
    assert lessons is not None
    of = np.arange(len(pools.truth)) if pools.document is None else pools.document
    members = [np.flatnonzero(part[of] == k) for k in range(PARTS)]
    fewest = min(m.size for m in members)
    if fewest < LEAST_TAUGHT:
        raise CannotConclude(
            f"{fewest} members are too few to teach helpers; at least {LEAST_TAUGHT} are needed in "
            "each of two parts."
        )
    plan = [(0, share, k) for share in SHARES for k in range(count)]
    plan += [(1, 1, k) for k in range(count)]
    sizes = tuple(members[0].size // share for share in SHARES)
    every = []
    for place, share, k in plan:
        rng = np.random.default_rng([seed, LADDER, place, share, k])
        some = rng.permutation(members[place])[: members[place].size // share]
        every.append(Lesson(np.sort(some), int(rng.integers(2**31))))
    found = taught(lessons, every, engine=engine, pieces=pieces, progress=progress)
    if pools.document is not None:
        weight = np.bincount(of, minlength=len(pools.truth)).astype(float)
        found = [np.bincount(of, loss, len(pools.truth)) / weight for loss in found]
    groups = [tuple(found[i : i + count]) for i in range(0, len(found), count)]
    return Helped(
        part=part,
        means=tuple(np.mean(groups[i], axis=0) for i in (SHARES.index(1), len(SHARES))),
        ladder=tuple(groups[: len(SHARES)]),
        sizes=sizes,
        record=HelpersRecord(
            trained=True,
            learner=lessons.learner,
            count=count,
            records=fewest,
            exchanges=PARTS,
            rule=RULE,
        ),
    )


def split(pools: Pools, seed: int) -> npt.NDArray[np.int8]:
    """Two parts of about equally many members; equal records stay together."""
    part = np.full(len(pools.truth), -1, dtype=np.int8)
    members = np.flatnonzero(pools.truth > 0)
    keys = members.astype(np.uint64)
    if pools.features.names:
        keys = row_keys(pools.features.matrix[members])
    _, group = np.unique(keys, return_inverse=True)
    rng = np.random.default_rng([seed, PARTING])
    place = rng.permutation(int(group.max()) + 1 if group.size else 0)[group]
    order = np.argsort(place, kind="stable")
    half = place[order[members.size // 2]] if members.size else 0
    part[members] = (place >= half).astype(np.int8)
    return part


def view(pools: Pools, helped: Helped, exchange: int) -> Pools:
    """The pools that one exchange audits, the helpers' mean loss among their features."""
    rows = helped.audited(exchange)
    some = pools.some(rows)
    return replace(some, features=_beside(some.features, helped.means[exchange][rows]))


def beside_control(pools: Pools) -> Pools:
    """The same pools, a control's score among their features and no control any more."""
    assert pools.reference is not None
    shown = _beside(pools.features, pools.reference, "score of the control")
    return replace(pools, features=shown, reference=None)


def _beside(features: Features, loss: Array, name: str = "mean loss of the helpers") -> Features:
    scale = float(loss.std())
    column = (loss - loss.mean()) / (scale if scale > 0.0 else 1.0)
    return features.beside(column, (name,))


def rungs(pools: Pools, helped: Helped, seed: int) -> list[ladder.Rung]:
    """The audits of the ladder, the lower rung first, all on the same draw of the first exchange.

    Helpers stand in the place of the target, so the score is their loss.
    """
    rows = helped.audited(0)
    some = pools.some(rows)
    drawn = draw(some.truth, np.random.default_rng([seed, LADDER]))
    out = []
    for lower in range(len(SHARES) - 1):
        mean = np.mean(helped.ladder[lower], axis=0)[rows]
        shown = _beside(some.features, mean).rows(drawn.rows)
        trials = tuple(
            Trials(
                score=-loss[rows][drawn.rows],
                truth=drawn.truth,
                features=shown.matrix,
                levels=shown.levels,
                coin=drawn.log_odds,
            )
            for loss in helped.ladder[lower + 1]
        )
        out.append(ladder.Rung(helped.sizes[lower], helped.sizes[lower + 1], trials))
    return out


def climbed(
    pools: Pools,
    helped: Helped,
    bounds: tuple[Bound, ...],
    rule: Rule,
    seed: int,
    *,
    engine: Engine,
    progress: Callable[[int, int], None] | None = None,
) -> LadderRecord:
    """The ladder beside the bounds, or why it cannot be climbed."""
    size = helped.sizes[-1]
    try:
        found = rungs(pools, helped, seed)
        raw = ladder.climb(found, rule, seed, engine=engine, progress=progress)
    except CannotConclude as reason:
        return ladder.failed(str(reason), size, pools.training_size, rule.error)
    outside, audited = np.flatnonzero(pools.truth < 0), np.flatnonzero(helped.part == 1)
    target = target_loss(pools)
    means = [np.mean(own, axis=0) for own in helped.ladder]
    curves = LearningCurve(
        members=tuple(loss[audited] for loss in means),
        nonmembers=tuple(loss[outside] for loss in means),
        target=None if target is None else target[outside],
        ignorance=None if pools.lessons is None else pools.lessons.ignorance,
    )
    size_of_target = pools.training_size
    record = ladder.ladder(
        found, raw, bounds, rule, helpers=size, training_size=size_of_target, curves=curves
    )
    same = pools.lessons is not None and pools.lessons.learner.startswith("untrained")
    return replace(record, same_kind=same)


def target_loss(pools: Pools) -> Array | None:
    """The target's own loss, as the helpers have theirs, if it is among the scores."""
    for place, name in enumerate(pools.score_names):
        if name in LOSSES:
            return -np.asarray(pools.score[:, place], dtype=float)
    return None
