"""Tables made to fool an audit: the model leaks nothing, and hardly a learner sees the shift.

In every kind the members differ from the non-members in something that also moves the score: the
level of a category, one of hundreds of small groups, the spread of the score instead of its mean,
many columns at once, whole families of near-copies, or what a model learned of the members'
population from other records. The score is never a function of the truth given the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from divulge.types import Array

OTHERS = 60_000
"""Other records of the members' population that taught the target."""


@dataclass(frozen=True)
class HostileTable:
    """What a user would hand in: columns by name, truths, the score, and that of a control."""

    columns: dict[str, Any] = field(repr=False)
    truth: Array = field(repr=False)
    score: Array = field(repr=False)
    control: Array = field(repr=False)
    """The score from another model of the same kind, which saw none of the members either."""


Sampler = Callable[[int, np.random.Generator], HostileTable]


def _table(
    x: Array, log_odds: Array, mean: Array, spread: Array | float, rng: np.random.Generator
) -> HostileTable:
    """Scores with this mean and spread given x, and a control with noise of its own."""
    member = rng.random(len(x)) < expit(log_odds)
    score, control = (mean + spread * rng.standard_normal(len(x)) for _ in range(2))
    return HostileTable(_named(x), np.where(member, 1.0, -1.0), score, control)


def _named(x: Array) -> dict[str, Any]:
    return {f"x_{j}": x[:, j] for j in range(x.shape[1])}


def categories(levels: int) -> Sampler:
    """A category whose levels differ in their share of members and in their scores."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        effect = rng.standard_normal(levels)
        share = rng.dirichlet(np.full(levels, 2.0))
        level = rng.choice(levels, rows, p=share)
        drawn = _table(rng.standard_normal((rows, 4)), effect[level], effect[level], 1.0, rng)
        words = np.array([f"level {k}" for k in range(levels)])[level]
        return HostileTable(
            {**drawn.columns, "category": words}, drawn.truth, drawn.score, drawn.control
        )

    return sample


def two_categories(levels: int) -> Sampler:
    """Two categories of which only the combination of levels matters."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        effect = rng.standard_normal((levels, levels))
        one, two = rng.integers(levels, size=(2, rows))
        moved = effect[one, two]
        drawn = _table(rng.standard_normal((rows, 4)), moved, moved, 1.0, rng)
        letters = zip(("first", "second"), "ab", (one, two), strict=True)
        words = {name: np.char.add(letter, k.astype(str)) for name, letter, k in letters}
        return HostileTable({**drawn.columns, **words}, drawn.truth, drawn.score, drawn.control)

    return sample


def prototypes(groups: int, width: int) -> Sampler:
    """Small clusters around prototypes, each with a share of members and a level of the score."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        centres = 2.0 * rng.standard_normal((groups, width))
        effect = 1.2 * rng.standard_normal(groups)
        which = rng.integers(groups, size=rows)
        x = centres[which] + 0.3 * rng.standard_normal((rows, width))
        return _table(x, effect[which], effect[which], 1.0, rng)

    return sample


def spread(width: int) -> Sampler:
    """The score's spread, not its mean, follows the signs of products of two columns."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        x = rng.standard_normal((rows, width))
        signs = np.sign(x[:, 0::2] * x[:, 1::2])
        z = signs.sum(axis=1) / np.sqrt(signs.shape[1])
        return _table(x, z, np.zeros(rows), np.exp(0.5 * z), rng)

    return sample


def skewness(width: int) -> Sampler:
    """Mean and variance are the same everywhere; the tail of the score changes sides with x."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        x = rng.standard_normal((rows, width))
        z = x[:, 0] + 0.5 * x[:, 1] * x[:, 2]
        member = rng.random(rows) < expit(z)
        scores = [np.sign(z) * (rng.exponential(size=rows) - 1.0) for _ in range(2)]
        return HostileTable(_named(x), np.where(member, 1.0, -1.0), scores[0], scores[1])

    return sample


def many_columns(width: int) -> Sampler:
    """Every column has a small part in the shift and in the score."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        x = rng.standard_normal((rows, width))
        weight = rng.standard_normal(width) / np.sqrt(width)
        z = x @ weight
        return _table(x, 1.5 * z, z + 0.3 * z * z, 1.0, rng)

    return sample


def families(size: int, width: int = 8) -> Sampler:
    """Near-copies that are members together, or not, and have a score in common."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        count = rows // size
        family = np.repeat(np.arange(count), size)
        x = rng.standard_normal((count, width))[family]
        x += 0.02 * rng.standard_normal(x.shape)
        truth = np.where(rng.random(count) < 0.5, 1.0, -1.0)[family]
        own = rng.standard_normal((2, count))
        scores = [o[family] + 0.3 * rng.standard_normal(family.size) for o in own]
        return HostileTable(_named(x), truth, scores[0], scores[1])

    return sample


def population(kind: str, width: int = 10) -> Sampler:
    """The target knows the labels of the members' population; other records taught it.

    Members have labels from one law given x, non-members from another; x and the label are what
    the auditor sees, and the score is the log-likelihood of the label.
    """

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        x = rng.standard_normal((rows, width))
        member = np.arange(rows) % 2 == 0
        line = 0.7 * x[:, 0]
        law = _law(kind, width, rng)
        label = rng.random(rows) < expit(line + np.where(member, law(x), 0.0))
        scores = []
        for _ in range(2):
            if kind == "trees":
                told = _taught(law, width, rng)(x)
            else:  # each model errs in its own way
                told = line + law(x) + 0.5 * rng.standard_normal(rows)
            scores.append(log_expit(np.where(label, told, -told)))
        truth = np.where(member, 1.0, -1.0)
        order = rng.permutation(rows)
        columns = {name: column[order] for name, column in _named(x).items()}
        columns["label"] = label[order].astype(float)
        return HostileTable(columns, truth[order], scores[0][order], scores[1][order])

    return sample


def _law(kind: str, width: int, rng: np.random.Generator) -> Callable[[Array], Array]:
    """What the members' labels depend on beyond a line that all have in common."""
    if kind == "parity":
        return lambda x: 1.5 * np.prod(np.sign(x[:, 1:5]), axis=1)
    if kind == "waves":
        turn = 3.0 * rng.standard_normal((2, width)) / np.sqrt(width / 4.0)
        return lambda x: 1.5 * np.sin(x @ turn[0]) + np.cos(x @ turn[1])
    splits = rng.integers(width, size=(40, 4))
    cuts = rng.normal(scale=0.7, size=(40, 4))
    leaves = rng.normal(scale=0.4, size=(40, 16))

    def trees(x: Array) -> Array:
        out = np.zeros(len(x))
        for k in range(40):
            leaf = ((x[:, splits[k]] > cuts[k]) * (1, 2, 4, 8)).sum(axis=1)
            out += leaves[k, leaf]
        return out

    return trees


def _taught(
    law: Callable[[Array], Array], width: int, rng: np.random.Generator
) -> Callable[[Array], Array]:
    """Log-odds of the label by boosting that learned from other records."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from divulge.work.threads import Sized

    x = rng.standard_normal((OTHERS, width))
    label = rng.random(OTHERS) < expit(0.7 * x[:, 0] + law(x))
    seed = int(rng.integers(2**31))
    model = HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=seed)
    fitted = Sized(model).fit(x, label)
    return lambda rows: np.asarray(fitted.decision_function(rows), dtype=float)


def calibrated(width: int = 8, taught: int = 1500) -> Sampler:
    """Difficulty-calibrated scores: a reference model's loss less the target's.

    The target learned from other records of the members' population, the reference from both.
    """

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        move = 0.7 * rng.standard_normal(width) / np.sqrt(width / 4.0)
        member = rng.random(rows) < 0.5
        x = rng.standard_normal((rows, width)) + np.where(member[:, None], move, -move) / 2.0

        def told(x: Array) -> Array:
            return np.asarray(x[:, 0] + x[:, 1] * x[:, 2])

        label = rng.random(rows) < expit(told(x))
        losses = []
        for centre in (0.5, 0.5, 0.0, 0.0):  # target, control, and a reference for each
            side = np.where(rng.random(taught) < 0.5 + centre, 0.5, -0.5)
            z = rng.standard_normal((taught, width)) + side[:, None] * move
            fitted = _small(z, rng.random(taught) < expit(told(z)), rng)(x)
            losses.append(-log_expit(np.where(label, fitted, -fitted)))
        columns = {**_named(x), "label": label.astype(float)}
        truth = np.where(member, 1.0, -1.0)
        return HostileTable(columns, truth, losses[2] - losses[0], losses[3] - losses[1])

    return sample


def _small(x: Array, label: Array, rng: np.random.Generator) -> Callable[[Array], Array]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from divulge.work.threads import Sized

    seed = int(rng.integers(2**31))
    model = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=seed)
    fitted = Sized(model).fit(x, label)
    return lambda rows: np.asarray(fitted.decision_function(rows), dtype=float)


def known_to_both(odds: float, own: float) -> Sampler:
    """Something that no column shows tells the groups apart; the target knows it, its twin too.

    Both also share how hard a record is. With few rows the control is often silent by chance.
    """

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        x = rng.standard_normal((rows, 5))
        hidden, hard = rng.standard_normal((2, rows))
        mean = 0.5 * hidden + 0.5 * hard + 0.3 * x[:, 0]
        return _table(x, odds * hidden, mean, own, rng)

    return sample


def saw_the_others(rows: int, rng: np.random.Generator) -> HostileTable:
    """A control that memorised the non-members: given its score the target seems to know all."""
    x = rng.standard_normal((rows, 5))
    mean = rng.standard_normal(rows) + 0.3 * x[:, 0]
    drawn = _table(x, 0.5 * x[:, 0], mean, 0.03, rng)
    return replace(drawn, control=drawn.control + 0.09 * (drawn.truth < 0.0))


def known_to_the_control(rows: int, rng: np.random.Generator) -> HostileTable:
    """Something hidden moves the groups and the control, and not the target."""
    x = rng.standard_normal((rows, 5))
    hidden, hard = rng.standard_normal((2, rows))
    drawn = _table(x, 0.5 * x[:, 0] + 1.5 * hidden, hard + 0.3 * x[:, 0], 0.05, rng)
    return replace(drawn, control=drawn.control - 0.15 * hidden)


KINDS: dict[str, Sampler] = {
    "category of 60 levels": categories(60),
    "category of 500 levels": categories(500),
    "300 prototypes": prototypes(300, 8),
    "spread, d=12": spread(12),
    "spread, d=60": spread(60),
    "100 columns": many_columns(100),
    "families of 5": families(5),
    "population, 60,000 others": population("trees"),
    "population, waves": population("waves"),
    "population, parity": population("parity"),
    "difficulty-calibrated": calibrated(),
}
"""What the guards were built against."""
FEW: dict[str, Sampler] = {
    "a hidden thing known to both": known_to_both(0.6, 0.5),
    "the same, more of it": known_to_both(0.8, 0.3),
    "a control that saw the others": saw_the_others,
    "a hidden thing known to the control": known_to_the_control,
}
"""With few rows and a control: the first two let pass one that is silent by chance, the others are
false findings *given* the control's score."""
UNSEEN: dict[str, Sampler] = {
    "category of 200 levels": categories(200),
    "two categories, 30 x 30": two_categories(30),
    "150 prototypes, d=16": prototypes(150, 16),
    "spread, d=30": spread(30),
    "skewness, d=10": skewness(10),
    "200 columns": many_columns(200),
    "families of 3": families(3, 12),
}
"""Kinds that no guard was tuned on."""
