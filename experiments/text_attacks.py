"""Which baseline for text? Learners and columns compared on the tables of panoramia_text.py.

    python experiments/text_attacks.py [--tables DIR] [--targets E1 E4 ...] [--seeds N] [--quick]

Half of the audited members and generated chunks train a classifier, a tenth stops it, the rest are
the game. A baseline sees no column of the target, the attack sees the same columns and those too.
Printed: AUC, and PANORAMIA's bound on the log-odds of a correct guess of "member", the largest over
20 shares of the records guessed (exact binomial, error 0.025 over all shares); means over seeds.
RM;RN: the same learner with real non-members in place of the generated ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import beta

from divulge.attacks.text_network import TextNetwork
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import DivulgeError, InputError
from divulge.models.chunks import token_matrix
from divulge.types import Array

SIDES: dict[str, list[str]] = {
    "helper": ["helper_*"],
    "helper, embedding": ["helper_*", "e_*"],
    "three models": ["helper_*", "reference_*", "public_*"],
    "three models, embedding": ["helper_*", "reference_*", "public_*", "e_*"],
}
LEARNERS = ("boosting", "logistic", "network")
SHARES = np.arange(1, 21) / 20
ERROR = 0.025


def log_odds_bound(scores: Array, truth: Array) -> float:
    """Largest lower bound on the log-odds of a correct guess over the shares guessed."""
    order = np.argsort(-scores, kind="stable")
    best = 0.0
    for share in SHARES:
        guessed = max(1, int(share * scores.size))
        right = int((truth[order[:guessed]] > 0).sum())
        if right > 0:
            low = float(beta.ppf(ERROR / SHARES.size, right, guessed - right + 1))
            best = max(best, float(np.log(low / (1.0 - low))))
    return best


def area(scores: Array, truth: Array) -> float:
    """Probability that a member's score is above another's."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth > 0, scores))


def scores_of(
    name: str, x: Array, tokens: Any, truth: Array, parts: Sequence[Any], seed: int
) -> Array:
    """Scores of the game's records by a learner fitted on the others."""
    train, check, test = parts
    if name == "network":
        network = TextNetwork(seed=seed).fit(
            tokens[train], x[train], truth[train], (tokens[check], x[check], truth[check])
        )
        return network.score(tokens[test], x[test])
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.metrics import log_loss
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "logistic":
        both = np.concatenate([train, check])
        model = make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(
                Cs=[1e-3, 1e-2, 1e-1, 1.0],
                cv=3,
                scoring="neg_log_loss",
                max_iter=500,
                l1_ratios=(0,),
                use_legacy_attributes=False,
            ),
        )
        return np.asarray(model.fit(x[both], truth[both]).decision_function(x[test]))
    best: tuple[float, Any] = (np.inf, None)
    for leaves in (7, 31):
        model = HistGradientBoostingClassifier(
            learning_rate=0.05,
            max_iter=300,
            max_leaf_nodes=leaves,
            min_samples_leaf=40,
            max_features=0.3,
            early_stopping=True,
            random_state=seed,
        )
        model.fit(x[train], truth[train], X_val=x[check], y_val=truth[check])
        loss = log_loss(truth[check], model.predict_proba(x[check])[:, 1])
        best = min(best, (loss, model), key=lambda b: b[0])
    return np.asarray(best[1].decision_function(x[test]))


def matrix(frame: Frame, patterns: Sequence[str]) -> Array:
    """The columns as numbers."""
    names = tables.expand(frame, patterns, "the table")
    return np.column_stack([tables.numbers(frame, n, "the table") for n in names])


def play(
    folder: Path, other: str, patterns: Sequence[str], learner: str, seed: int
) -> tuple[float, float]:
    """AUC and bound of one learner on one target's members against generated or real others."""
    members = tables.read(folder / "members.parquet")
    others = tables.read(folder / f"{other}.parquet")
    count = min(len(members), len(others))
    rng = np.random.default_rng(seed)
    both = [f[rng.permutation(len(f))[:count]] for f in (members, others)]
    x = np.concatenate([matrix(f, patterns) for f in both])
    tokens = np.concatenate([token_matrix(f) for f in both])
    truth = np.repeat([1.0, -1.0], count)
    place = np.tile(np.arange(count) / count, 2)
    parts = [np.flatnonzero(p) for p in (place < 0.5, (place >= 0.5) & (place < 0.6), place >= 0.6)]
    # the game: a coin for every place says whether its member or the other record is shown
    test, half = parts[2], parts[2].size // 2
    coin = rng.random(half) < 0.5
    parts[2] = np.where(coin, test[:half], test[half:])
    scores = scores_of(learner, x, tokens, truth, parts, seed)
    return area(scores, truth[parts[2]]), log_odds_bound(scores, truth[parts[2]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Play and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--tables", type=Path, default=Path("out/panoramia_text"))
    options.add_argument("--targets", nargs="*")
    options.add_argument("--learners", nargs="*", choices=LEARNERS, default=list(LEARNERS))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--quick", action="store_true", help="one seed, the widest columns")
    args = options.parse_args(arguments)
    found = sorted(p.parent.name for p in args.tables.glob("*/members.parquet"))
    targets = args.targets or sorted(found, key=lambda t: (t.startswith("DP"), len(t), t))
    if not targets:
        raise InputError(f"{args.tables} holds no tables: run experiments/panoramia_text.py first.")
    sides = dict(list(SIDES.items())[-1:]) if args.quick else SIDES
    seeds = range(1 if args.quick else args.seeds)
    console, start = Console(width=200), time.perf_counter()
    report = Table(title="AUC / bound on the log-odds: c_lb of the baseline, {c+eps}_lb of attacks")
    for heading in ("learner", "columns", "baseline", *targets, *(f"{t} RM;RN" for t in targets)):
        report.add_column(heading, justify="left" if heading in ("learner", "columns") else "right")
    for learner in args.learners:
        for side, patterns in sides.items():

            def cell(
                target: str, other: str, *more: str, learner=learner, patterns=patterns
            ) -> str:
                played = [
                    play(args.tables / target, other, [*patterns, *more], learner, seed)
                    for seed in seeds
                ]
                return " / ".join(f"{v:.2f}" for v in np.mean(played, axis=0))

            cells = [cell(targets[0], "generated")]
            cells += [cell(t, "generated", "target_*") for t in targets]
            cells += [cell(t, "nonmembers", "target_*") for t in targets]
            report.add_row(learner, side, *cells)
            seconds = time.perf_counter() - start
            said = f"[{seconds:5.0f} s] {learner}, {side}: {', '.join(cells)}"
            console.print(said, style="dim", markup=False, highlight=False)
            console.file.flush()
    console.print(report)


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
