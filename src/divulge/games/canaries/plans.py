"""Plans of both kinds: coins that include records, and secrets that canaries hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from divulge.attacks.gradient_canaries import KINDS as GRADIENTS
from divulge.drawn.candidates import CANDIDATES
from divulge.errors import require
from divulge.exposure.selection import MAHALANOBIS
from divulge.games.canaries import choosing, gradient_plans, planning, planting
from divulge.games.canaries.planning import Plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.text import strict_json
from divulge.work.threads import single

Progress = Callable[[str, int, int], None]


@single
def plan(
    data: Any = None,
    *,
    reference: Any = None,
    gradients: Sequence[Any] = (),
    features: str | Sequence[str] = (),
    text: str | None = None,
    template: str | None = None,
    names: str | os.PathLike[str] | Sequence[str] | None = None,
    column: str | None = None,
    copies: int | None = None,
    id: str | None = None,
    draw: str | None = None,
    candidates: int | None = None,
    count: int | None = None,
    lineup: int | None = None,
    strategy: str | None = None,
    parameters: int | None = None,
    noise: float = 0.0,
    averaged: float | None = None,
    probability: float = 0.5,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Plan | LineUpPlan:
    """Choose canaries among the records of ``data`` and flip a coin for each, or plant secrets.

    ``count`` canaries (default 1000) by ``strategy``: 'mahalanobis' (the default: farthest from the
    reference records, in units of their spread and of the noise), 'norm' (longest) or 'random'.
    ``features`` names columns of numbers or lists of numbers (embeddings); by default all columns.
    With ``gradients``, one table of clipped gradients per step, a row for each record, the ranks of
    the steps are summed (004, Algorithm 6). ``reference`` are other records than the data to
    measure from. ``noise`` is the standard deviation of the noise on every column of a mean of
    ``averaged`` records, by default all of the data; for DP-SGD ``sigma c / B`` on a mean of B
    gradients. ``probability`` is that of inclusion.

    Strategies 'one-hot' and 'orthogonal' need no data: the canaries are gradients, directions among
    so many ``parameters`` of a model, which a recorder inserts into its training.

    With ``lineup``, so many canaries are all trained on, and each holds a value that the plan draws
    among ``candidates`` (default 32). By a ``template`` such as ``the code of {name} is
    {secret:digits:6}`` they are texts, added to the column ``text`` (default ``text``) of the data,
    if there are any; ``names`` are a list, a file with a name per line or a column of the data, and
    numbers by default. Or they are records of the data whose ``column`` is drawn anew: by ``draw``,
    or among the column's own values. ``copies`` says in how many training records each one stands.

    Coins and secrets follow from ``seed`` and a SHA-256 of what is planned; by default the
    operating system draws the seed, and the plan stores it.
    """
    if lineup is None:
        planted: dict[str, Any] = {
            "text": text,
            "template": template,
            "names": names,
            "column": column,
        }
        planted |= {"copies": copies, "draw": draw, "candidates": candidates}
        _refuse(planted, "belong to planted line-ups: give lineup, the number of canaries")
        chosen = {"data": data, "reference": reference, "gradients": gradients or None}
        chosen |= {"features": features or None, "id": id, "noise": noise or None}
        if strategy in GRADIENTS:
            _refuse(chosen | {"averaged": averaged}, f"are of no use to {strategy} canaries")
            return gradient_plans.plan_gradients(
                strategy,
                1000 if count is None else count,
                parameters,
                probability=probability,
                seed=seed,
            )
        _refuse({"parameters": parameters}, f"belong to the strategies {', '.join(GRADIENTS)}")
        require(data is not None, "Give the data among whose records canaries are chosen.")
        return choosing.choose(
            data,
            reference=reference,
            gradients=gradients,
            features=features,
            id=id,
            count=1000 if count is None else count,
            strategy=MAHALANOBIS if strategy is None else strategy,
            noise=noise,
            averaged=averaged,
            probability=probability,
            seed=seed,
            progress=progress,
        )
    coins = {
        "reference": reference,
        "gradients": gradients or None,
        "features": features or None,
        "id": id,
        "count": count,
        "strategy": strategy,
        "parameters": parameters,
        "noise": noise or None,
        "averaged": averaged,
        "probability": None if probability == 0.5 else probability,
    }
    _refuse(coins, "belong to coin flips, not to planted line-ups")
    if progress is not None:
        progress("planting canaries", 0, 2)
    return planting.plan_line_ups(
        data,
        text=planting.TEXT if text is None else text,
        template=template,
        names=names,
        column=column,
        copies=1 if copies is None else copies,
        draw=draw,
        candidates=CANDIDATES if candidates is None else candidates,
        count=lineup,
        seed=seed,
    )


def load(path: str | os.PathLike[str]) -> Plan | LineUpPlan:
    """Read plan.json, of either kind; InputError says what is wrong with it."""
    data = strict_json.load(path, planning.LARGEST)
    if isinstance(data, Mapping) and data.get("kind") == planting.KIND:
        return LineUpPlan.from_json(data, os.fspath(path))
    return Plan.from_json(data, os.fspath(path))


def _refuse(words: Mapping[str, Any], why: str) -> None:
    given = [word for word, value in words.items() if value is not None]
    require(not given, f"{', '.join(given)} {why}.")
