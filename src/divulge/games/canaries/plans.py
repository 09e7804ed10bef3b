"""Plans of both kinds: coins that include records, and secrets that canaries hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from divulge.attacks.gradient_canaries import KINDS as GRADIENTS
from divulge.data.renaming import renaming
from divulge.drawn.candidates import CANDIDATES
from divulge.errors import require, require_choice
from divulge.exposure.selection import MAHALANOBIS, STRATEGIES
from divulge.games.canaries import (
    choosing,
    crafted_texts,
    crafting,
    gradient_plans,
    planning,
    planting,
)
from divulge.games.canaries.planning import Plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.text import strict_json
from divulge.work.threads import single
from divulge.work.watching import watched

Progress = Callable[[str, int, int], None]
Make = Callable[[str, dict[str, Any]], Plan]


def _chosen(strategy: str, words: dict[str, Any]) -> Plan:
    require("data" in words, "Give the data among whose records canaries are chosen.")
    return choosing.choose(words.pop("data"), strategy=strategy, **words)


def _records(strategy: str, words: dict[str, Any]) -> Plan:
    return crafting.plan_records(words.pop("data", None), strategy, **words)


def _texts(strategy: str, words: dict[str, Any]) -> Plan:
    return crafted_texts.plan_texts(words.pop("data", None), strategy, **words)


def _gradients(strategy: str, words: dict[str, Any]) -> Plan:
    size = words.pop("parameters", None)
    return gradient_plans.plan_gradients(strategy, words.pop("count"), size, **words)


_WAYS: dict[str, tuple[tuple[str, ...], Make]] = {
    **dict.fromkeys(
        STRATEGIES,
        (("data", "reference", "gradients", "features", "id", "noise", "averaged"), _chosen),
    ),
    crafting.MISLABELLED: (("data", "label", "id"), _records),
    crafting.STRANGE: (("data", "features", "label", "id"), _records),
    **dict.fromkeys(crafted_texts.TEXTS, (("data", "text", "model", "tokens"), _texts)),
    crafted_texts.SAMPLED: (("data", "text", "model", "tokens", "temperature"), _texts),
    **dict.fromkeys(GRADIENTS, (("parameters",), _gradients)),
}
"""The words that each strategy takes, and who makes its plan."""
ALL = tuple(_WAYS)


@watched()
@single
@renaming
def plan(
    data: Any = None,
    *,
    reference: Any = None,
    gradients: Sequence[Any] = (),
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    template: str | None = None,
    names: str | os.PathLike[str] | Sequence[str] | None = None,
    column: str | None = None,
    copies: int | None = None,
    id: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: str | os.PathLike[str] | None = None,
    draw: str | None = None,
    candidates: int | None = None,
    count: int | None = None,
    lineup: int | None = None,
    strategy: str | None = None,
    parameters: int | None = None,
    tokens: int | None = None,
    temperature: float | None = None,
    noise: float | Sequence[float] = 0.0,
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
    ``averaged`` records, by default all of the data, or one for each column; for DP-SGD ``sigma c /
    B`` on a mean of B gradients. ``probability`` is that of inclusion.

    Crafted canaries take the place of random records, 'mislabelled' (in the column ``label``) or
    'out-of-distribution' (``features`` drawn one by one); or they are texts of so many ``tokens``
    beside those of the data: 'random-tokens' of a ``model``'s folder, 'new-tokens' at the end of
    other texts, or 'sampled' by the model at a ``temperature``. 'one-hot' and 'orthogonal' need no
    data: the canaries are gradients, directions among so many ``parameters`` of a model, which a
    recorder inserts into its training.

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
            "template": template,
            "names": names,
            "column": column,
            "copies": copies,
            "draw": draw,
            "candidates": candidates,
        }
        _refuse(planted, "belong to planted line-ups: give lineup, the number of canaries")
        method = MAHALANOBIS if strategy is None else strategy
        require_choice("strategy", method, ALL)
        own: dict[str, Any] = {
            "data": data,
            "reference": reference,
            "gradients": gradients or None,
            "features": features or None,
            "label": label,
            "text": text,
            "id": id,
            "model": model,
            "parameters": parameters,
            "tokens": tokens,
            "temperature": temperature,
            "noise": None if isinstance(noise, int | float) and noise == 0.0 else noise,
            "averaged": averaged,
        }
        use, make = _WAYS[method]
        _refuse(
            {w: v for w, v in own.items() if w not in use}, f"are of no use to {method} canaries"
        )
        size = {"count": 1000 if count is None else count, "probability": probability}
        words = {w: v for w, v in own.items() if w in use and v is not None}
        if progress is not None:
            progress("choosing canaries", 0, 2)
        return make(method, {**size, **words, "seed": seed})
    coins = {
        "label": label,
        "model": model,
        "tokens": tokens,
        "temperature": temperature,
        "reference": reference,
        "gradients": gradients or None,
        "features": features or None,
        "id": id,
        "count": count,
        "strategy": strategy,
        "parameters": parameters,
        "noise": None if isinstance(noise, int | float) and noise == 0.0 else noise,
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
