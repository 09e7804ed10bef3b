"""Line-ups as users bring them: tables with repeated values, texts, and everybody's seed.

*Popular values*: values are drawn with very different probabilities, so that chance repeats them,
and the model merely knows which are popular. *Numbers in texts*: another number of a text may hold
the value by chance, and the model knows all such numbers. *Seed 0*: mechanisms tested at their own
epsilon by audits that all have the same seed. A refusal claims nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from divulge.data.features import Features
from divulge.errors import InputError
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.games.lineup.play import lineup
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.selftest.case import Case
from divulge.shift.pooling import log_probabilities

DELTA = 1e-5
POPULAR, CANDIDATES = 2000, 8
TEXTS, KNOWN = 1500, 300
TOLD, OF, EPSILON = 400, 6, 1.5
LABELS = 600


def claimed(result: Result, parameter: str | None = None, delta: float | None = None) -> float:
    """The largest headline bound, or that of one parameter."""
    found = result.headline()
    if parameter is not None:
        found = tuple(b for b in found if (b.parameter, b.delta) == (parameter, delta))
    return max((b.value for b in found), default=0.0)


def popular(error: float, rng: np.random.Generator) -> float:
    """A wide table whose column of values repeats by chance."""
    weight = 1.0 / np.arange(1, POPULAR + 1)
    weight /= weight.sum()
    drawn = rng.choice(POPULAR, (POPULAR, CANDIDATES), p=weight)
    score = np.log(weight)[drawn] + 0.3 * rng.standard_normal(drawn.shape)
    table: dict[str, Any] = {f"s_{j}": column for j, column in enumerate(score.T)}
    table["value"] = [f"v{k:05d}" for k in drawn[:, 0]]
    try:
        found = lineup(table, value="value", error=error, seed=int(rng.integers(2**31)))
    except InputError:
        return 0.0
    return claimed(found)


def numbers_in_texts(error: float, rng: np.random.Generator) -> float:
    """Codes of three digits in texts that also hold a number of six, which the model knows."""
    known = [f"{k:06d}" for k in rng.integers(0, 10**6, KNOWN)]
    codes = [f"{k:03d}" for k in rng.integers(0, 1000, TEXTS)]
    texts = [f"Ref {known[rng.integers(KNOWN)]}: the code is {code}." for code in codes]
    noise = np.random.default_rng(int(rng.integers(2**31)))

    def loss(rows: Any) -> Any:
        unknown = np.array([text[4:10] not in known for text in rows["text"].to_pylist()])
        return 10.0 * unknown + 1e-3 * noise.standard_normal(unknown.size)

    found = lineup(
        {"text": texts, "code": codes},
        model=loss,
        attack="loss",
        text="text",
        value="code",
        draw="digits:3",
        error=error,
        seed=int(rng.integers(2**31)),
    )
    return claimed(found)


def told_at_seed_0(error: float, rng: np.random.Generator) -> float:
    """Line-ups of randomised response, at the default seed."""
    stay = 1.0 / (1.0 + (OF - 1.0) * math.exp(-EPSILON))
    said = np.where(rng.random(TOLD) < stay, 0, rng.integers(1, OF, TOLD))
    table = {f"s_{j}": (said == j).astype(float) for j in range(OF)}
    found = lineup(table, error=2.0 * error, deltas=(DELTA,), seed=0)  # half is for the counts
    return claimed(found, "epsilon", DELTA)


def labels_at_seed_0(error: float, rng: np.random.Generator) -> float:
    """Labels of randomised response with an exact proxy, at the default seed."""
    codes = rng.integers(0, 2, LABELS)
    noisy = np.where(rng.random(LABELS) < expit(1.0), codes, 1 - codes)
    target = np.where(noisy[:, None] == np.arange(2), expit(1.0), expit(-1.0))
    proxy = np.full((LABELS, 2), 0.5)
    records = Records(
        codes=codes.astype(np.intp),
        classes=("0", "1"),
        training=LABELS,
        features=Features(np.zeros((LABELS, 0)), ()),
        log_target=log_probabilities(target),
        log_proxy=log_probabilities(proxy),
        proxy=proxy,
    )
    rule = Rule((DELTA,), 2.0 * error)
    found = audit_records(records, rule, proxy_exact=True, seed=0, compare=False)
    return claimed(found, "epsilon", DELTA)


def cases() -> Iterator[Case]:
    """Traps that a table or a text sets, and the seed that everybody uses."""
    p = 1.0 / (1.0 + (OF - 1.0) * math.exp(-EPSILON))
    own = math.log((p - DELTA) / (p * math.exp(-EPSILON)))
    label = math.log((expit(1.0) - DELTA) / expit(-1.0))
    rows: tuple[tuple[str, str, Any, float], ...] = (
        ("lineup tables", "null (popular values)", popular, 0.0),
        ("lineup texts", "null (numbers in texts)", numbers_in_texts, 0.0),
        ("lineup, seed 0", "randomised response", told_at_seed_0, own),
        ("attribute, seed 0", "randomised response", labels_at_seed_0, label),
    )
    for bound, mechanism, game, truth in rows:
        yield Case(
            bound=bound,
            parameter="headline" if truth == 0.0 else "epsilon",
            delta=None if truth == 0.0 else DELTA,
            mechanism=mechanism,
            setting="whole audits",
            play=game,
            truth=truth,
            quick=True,
        )
