"""Figures 2, 3 and 4 of Observational auditing (paper 001): randomised response on labels.

    python experiments/label_privacy.py [--records 200000] [--repetitions 20] [--quick]

Balanced Gaussian classes, x given y ~ N(e_y, I); labels go through k-ary randomised response and
the noisy labels are released. What the adversary can compute from them is the posterior of the
label given x and its noisy label: that is the target. Proxies: the true P(y | x), a logistic
regression of fresh records, and (Figure 4) the true P(y = 1 | x) moved up by tau.

Three procedures on the same records: bets (epsilon at delta 0; the proxy vouched for, or corrected
blindly), the published one (a share of guesses fixed beforehand, Gaussian family, mu converted to
epsilon at 1e-5; also with the noisy label itself as target, since the paper does not say which) and
the same counts against f_{epsilon,delta} directly. Figure 4 is also played with a target that leaks
nothing, the true P(y | x): whatever is claimed there is false.

Prints tables; writes label_privacy.csv and two SVG figures under out/ (extra ``report``). The paper
has d = 5 for every k, but e_y needs k coordinates: d = max(5, k) here.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import softmax

from divulge.attacks.shown_value import LIKELIHOOD_RATIO, PUBLISHED
from divulge.bounds import recursion
from divulge.curves import Gaussian
from divulge.data.features import Features
from divulge.games.attribute.compared import ValueAttack
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labels import label_channel, posterior
from divulge.proof.rule import Rule
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index

Row = dict[str, Any]

CLASSES = (2, 5, 10)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
SHARES = (0.001, 0.01)
SWEEP = tuple(i / 100 for i in range(1, 101))
SHIFT_EPSILONS = (0.5, 2.0, 4.0)
TAUS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
SHIFT_SHARES = (0.001, 0.01, 0.1, 0.5, 1.0)
SLOW = {2: (1.0, 2.0, 4.0), 5: (), 10: (4.0,)}
SLOW_TAUS = (1e-2, 1e-1)
"""Where the proxy is corrected: half a minute at two classes, two minutes at ten."""
DELTA, ERROR = 1e-5, 0.05
TRUTH, LOGISTIC, SHIFTED = "ground truth", "logistic regression", "shifted"
CORRECTED = "corrected"
KINDS = {"epsilon": ("classes", "linear", "~g"), "tau": ("epsilon", "log", "~e")}
FIELDS = ("figure", "classes", "epsilon", "proxy", "tau", "share", "method", "dataset")
FIELDS += ("mean", "sd", "largest", "above", "count")


@dataclass(frozen=True)
class Setting:
    """What is simulated."""

    records: int = 200_000
    repetitions: int = 20
    datasets: int = 3
    nulls: int = 3
    taus: tuple[float, ...] = TAUS
    correct: bool = True


@dataclass(frozen=True)
class World:
    """Records of k Gaussian classes, and P(y | x)."""

    x: Array = field(repr=False)
    codes: Index = field(repr=False)
    truth: Array = field(repr=False)


def world(records: int, classes: int, rng: np.random.Generator) -> World:
    """Balanced classes around the unit vectors, so that their densities differ in x_y only."""
    codes = rng.integers(classes, size=records)
    x = rng.standard_normal((records, max(5, classes)))
    x[np.arange(records), codes] += 1.0
    return World(x, codes, softmax(x[:, :classes], axis=1))


def released(given: World, epsilon: float, rng: np.random.Generator) -> Array:
    """P(y | x, noisy label): all that randomised response gives away."""
    channel = label_channel(epsilon, given.truth.shape[1])
    noisy = channel.sample(given.codes, rng)
    return posterior(channel.log_likelihood(noisy), given.truth)


def logistic_proxy(given: World, rng: np.random.Generator) -> Array:
    """A logistic regression with its default settings, of as many fresh records."""
    from sklearn.linear_model import LogisticRegression

    fresh = world(given.codes.size, given.truth.shape[1], rng)
    model = LogisticRegression().fit(fresh.x, fresh.codes)
    return np.asarray(model.predict_proba(given.x), dtype=float)


def shifted_proxy(truth: Array, tau: float) -> Array:
    """Two classes; P(y = 1 | x) moved up by tau, at most to 1."""
    one = np.minimum(truth[:, 1] + tau, 1.0)
    return np.column_stack([1.0 - one, one])


@dataclass(frozen=True)
class Case:
    """Records, what the target and the proxy say of them, and the epsilon that is true."""

    codes: Index = field(repr=False)
    x: Array = field(repr=False)
    target: Array = field(repr=False)
    proxy: Array = field(repr=False)
    limit: float


@dataclass(frozen=True)
class Published:
    """The published adversary: the sign of the score on the records where it is largest."""

    codes: Index = field(repr=False)
    total: Array = field(repr=False)
    """Cumulative probabilities of the proxy."""
    score: Array = field(repr=False)

    @staticmethod
    def of(codes: Index, target: Array, proxy: Array) -> Published:
        score = (target - proxy) * (1.0 - proxy) ** 2
        return Published(codes, np.cumsum(proxy, axis=1), score)

    def play(self, shares: Sequence[float], rng: np.random.Generator) -> tuple[Index, Index]:
        """One game over all records: (guesses, correct guesses) per share of records."""
        size = self.codes.size
        true = rng.random(size) < 0.5
        uniforms = rng.random(size) * self.total[:, -1]
        drawn = (uniforms[:, None] >= self.total[:, :-1]).sum(axis=1)
        shown = np.where(true, self.codes, drawn)
        score = self.score[np.arange(size), shown]
        order = np.argsort(-np.abs(score), kind="stable")
        right = np.cumsum(((score > 0.0) == true)[order])
        guesses = np.maximum(1, np.round(np.asarray(shares) * size)).astype(np.intp)
        return guesses, np.asarray(right[guesses - 1], dtype=np.intp)


def converted(trials: int, guesses: Index, correct: Index, tau: float = 0.0) -> float:
    """The published figure: the largest mu over the counts, uncorrected, as epsilon at 1e-5."""
    mu = recursion.sweep(trials, guesses, correct, error=ERROR, tau=tau)
    return Gaussian(mu).epsilon(DELTA) if mu > 0.0 else 0.0


def direct(trials: int, guesses: Index, correct: Index, tau: float = 0.0) -> float:
    """The same counts against f_{epsilon,delta}, without a detour over mu."""
    return recursion.sweep(trials, guesses, correct, delta=DELTA, error=ERROR, tau=tau)


def published_rows(
    case: Case,
    shares: Sequence[float],
    repetitions: int,
    rng: np.random.Generator,
    *,
    tau: float | None = None,
    sweep: bool = True,
) -> Iterator[Row]:
    """What is claimed over the repetitions; with ``tau``, both told it and taking it as 0."""
    adversary = Published.of(case.codes, case.target, case.proxy)
    asked = (*shares, *(SWEEP if sweep else ()))
    games = [adversary.play(asked, rng) for _ in range(repetitions)]
    places: list[tuple[Any, slice]] = [(s, slice(i, i + 1)) for i, s in enumerate(shares)]
    if sweep:
        places.append(("sweep", slice(len(shares), None)))
    for told, words in ((0.0, ""),) if tau is None else ((tau, ", tau told"), (0.0, ", tau 0")):
        for share, place in places:
            if share == "sweep" and told > 0.0:
                continue  # the paper sweeps with tau = 0 only
            for name, claim in (("published", converted), ("direct", direct)):
                found = [claim(case.codes.size, r[place], c[place], told) for r, c in games]
                yield {"method": name + words, "share": share, **summary(found, case.limit)}


def summary(found: Sequence[float], limit: float) -> Row:
    """What was claimed over repetitions, and how often it was above the limit."""
    claims = np.asarray(found, dtype=float)
    return {
        "mean": float(claims.mean()),
        "sd": float(claims.std(ddof=1)) if claims.size > 1 else 0.0,
        "largest": float(claims.max()),
        "above": float((claims > limit).mean()),
        "count": int(claims.size),
    }


def bet_rows(case: Case, seed: int, how: str) -> Iterator[Row]:
    """Epsilon at delta 0 by ``divulge.games.attribute.play``: bets on the labels themselves.

    Half of the error of an audit goes to the bet: 0.1 gives it 0.05, and the default 0.025.
    """
    records = Records(
        codes=case.codes,
        classes=tuple(str(c) for c in range(case.proxy.shape[1])),
        training=case.codes.size,
        features=Features(case.x, tuple(f"x{j}" for j in range(case.x.shape[1]))),
        log_target=log_probabilities(case.target),
        log_proxy=log_probabilities(case.proxy),
        proxy=case.proxy,
    )
    options: Row = {"seed": seed, "compare": False}
    ways = [(LIKELIHOOD_RATIO, 2.0 * ERROR)]
    if how != CORRECTED:  # a correction takes long
        options["proxy_exact"] = True
        ways += [(LIKELIHOOD_RATIO, ERROR), (PUBLISHED, 2.0 * ERROR)]
    for score, error in ways:
        result = audit_records(records, Rule((), error), ValueAttack(score), **options)
        correction = "prior" if how == CORRECTED else "none"  # no headline if it stays undecided
        (bound,) = (
            b for b in result.bounds if b.method == "betting" and b.correction == correction
        )
        method = f"bet, {score}, {how}, error {error / 2.0:g}"
        yield {"method": method, **summary([bound.value], case.limit)}


def figures_2_and_3(classes: int, epsilons: Sequence[float], setting: Setting) -> Iterator[Row]:
    """Every theoretical epsilon with both proxies; further data sets for the bets only."""
    times = setting.repetitions
    for dataset in range(setting.datasets):
        rng = np.random.default_rng([2, classes, dataset])
        given = world(setting.records, classes, rng)
        proxies = {TRUTH: given.truth}
        if dataset == 0:
            proxies[LOGISTIC] = logistic_proxy(given, rng)
        for epsilon in epsilons:
            target = released(given, epsilon, rng)
            for name, proxy in proxies.items():
                case = Case(given.codes, given.x, target, proxy, epsilon)
                how = "vouched" if name == TRUTH else "at its word"
                seed = int(rng.integers(2**31))
                rows = [*bet_rows(case, seed, how)]
                if dataset == 0:
                    rows += published_rows(case, SHARES, times, rng, sweep=name == TRUTH)
                    rows += noisy_label_rows(case, given.truth, times)
                if name == LOGISTIC and setting.correct and epsilon in SLOW[classes]:
                    rows += bet_rows(case, seed, CORRECTED)
                where = {"figure": "2 and 3", "classes": classes, "epsilon": epsilon}
                yield from ({**where, "proxy": name, "dataset": dataset, **r} for r in rows)


def noisy_label_rows(case: Case, truth: Array, repetitions: int) -> Iterator[Row]:
    """The published adversary who takes the noisy label as it is: certain of it."""
    noisy = (case.target / truth).argmax(axis=1)
    certain = replace(case, target=np.eye(truth.shape[1])[noisy])
    rng = np.random.default_rng([3, truth.shape[1], round(100 * case.limit)])
    for row in published_rows(certain, SHARES, repetitions, rng, sweep=False):
        yield {**row, "method": f"{row['method']}, noisy label"}


def figure_4(epsilon: float, setting: Setting) -> Iterator[Row]:
    """Proxies moved by tau. Epsilon 0 is the target that leaks nothing, on several data sets."""
    times, null = setting.repetitions, epsilon == 0.0
    for dataset in range(setting.nulls if null else 1):
        rng = np.random.default_rng([4, round(100 * epsilon), dataset])
        given = world(setting.records, 2, rng)
        target = given.truth if null else released(given, epsilon, rng)
        for tau in setting.taus:
            case = Case(given.codes, given.x, target, shifted_proxy(given.truth, tau), epsilon)
            rows = [*published_rows(case, SHIFT_SHARES, times, rng, tau=tau, sweep=null)]
            if setting.correct and tau in SLOW_TAUS:
                rows += bet_rows(case, int(rng.integers(2**31)), CORRECTED)
            where = {"figure": "4", "classes": 2, "epsilon": epsilon, "proxy": SHIFTED}
            yield from ({**where, "tau": tau, "dataset": dataset, **r} for r in rows)


def label(row: Row) -> str:
    """The column of a row: its method and share of guesses."""
    share = row.get("share", "")
    shown = f"{share:.1%}".replace(".0%", "%") if isinstance(share, float) else share
    return f"{row['method']}, {shown}" if shown else row["method"]


def cell(rows: Sequence[Row]) -> str:
    """Mean over data sets and repetitions, sd of one data set; how many claims were too large."""
    if not rows:
        return ""
    claims = sum(r["count"] for r in rows)
    mean = sum(r["mean"] * r["count"] for r in rows) / claims
    above = round(sum(r["above"] * r["count"] for r in rows))
    spread = f" +-{rows[0]['sd']:.2f}" if rows[0]["count"] > 1 else ""
    return f"{mean:.3f}{spread}" + (f" [{above}/{claims} above]" if above else "")


def show(rows: list[Row], title: str, by: str, console: Console) -> None:
    """One line per method, one column per value of ``by``."""
    table, across = Table(f"{title}; {by}"), list(dict.fromkeys(r[by] for r in rows))
    for value in across:
        table.add_column(f"{value:g}", justify="right")
    for name in dict.fromkeys(label(r) for r in rows):
        same = [r for r in rows if label(r) == name]
        table.add_row(name, *(cell([r for r in same if r[by] == value]) for value in across))
    console.print(table)


def best_share(rows: list[Row], console: Console) -> None:
    """The share of guesses with the largest mean: chosen after the fact, so no bound."""
    told = [r for r in rows if r["method"] == "published, tau told"]
    for tau in dict.fromkeys(r["tau"] for r in told):
        best = max((r for r in told if r["tau"] == tau), key=lambda r: r["mean"])
        share = f"{best['share']:.1%}" if best["mean"] > 0.0 else "none"
        console.print(f"tau {tau:g}: best share afterwards {share}: {best['mean']:.3f}")


def draw(rows: list[Row], across: str, path: Path) -> None:
    """One panel per k and proxy (or epsilon), one line per procedure; the dashes are the truth."""
    import altair as alt

    panel, kind, form = KINDS[across]
    kept = [r for r in rows if r["dataset"] == 0 and r["share"] in ("", "sweep", *SHARES)]
    points = [
        {"x": r[across], "y": r["mean"], "procedure": label(r), "truth": r["epsilon"]}
        | {"panel": f"{panel} {r[panel]:g}, {r['proxy']}"}
        for r in kept
        if not any(left_out in r["method"] for left_out in ("direct", "error 0.025"))
    ]
    ticks = alt.Axis(values=sorted({p["x"] for p in points}), format=form)
    base = alt.Chart().encode(x=alt.X("x:Q", title=across, scale=alt.Scale(type=kind), axis=ticks))
    lines = base.mark_line(point=True).encode(
        y=alt.Y("y:Q", title="claimed epsilon"),
        color=alt.Color("procedure:N", title=None, legend=alt.Legend(labelLimit=400)),
    )
    truth = base.mark_line(strokeDash=[4, 3], color="black").encode(y="truth:Q")
    chart = alt.layer(lines, truth, data=alt.Data(values=points)).properties(width=300, height=220)
    panels = alt.Facet("panel:N", title=None, sort=[p["panel"] for p in points])
    chart.facet(panels, columns=2).save(str(path))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--records", type=int, default=Setting.records)
    options.add_argument("--repetitions", type=int, default=Setting.repetitions)
    options.add_argument("--datasets", type=int, default=Setting.datasets, help="for the bets")
    options.add_argument("--nulls", type=int, default=Setting.nulls, help="without any leak")
    options.add_argument("--classes", type=int, nargs="+", default=CLASSES, choices=CLASSES)
    options.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options.add_argument("--figures", type=int, nargs="+", default=(2, 4), choices=(2, 4))
    options.add_argument("--uncorrected", action="store_true", help="no blind correction: fast")
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="20,000 records, few repetitions")
    args = options.parse_args(arguments)
    setting = Setting(args.records, args.repetitions, args.datasets, args.nulls)
    leaks = (4.0, 0.0) if args.quick else (*SHIFT_EPSILONS, 0.0)
    if args.quick:
        setting, args.classes, args.epsilons = Setting(20_000, 5, 1, 1, (1e-3, 1e-1)), [2], [1, 4]
    setting = replace(setting, correct=not args.uncorrected)
    rows: list[Row] = []
    console, start = Console(width=200), time.perf_counter()
    console.print(setting)
    args.out.mkdir(parents=True, exist_ok=True)

    def run(produced: Iterator[Row], title: str, by: str) -> list[Row]:
        new = [{**dict.fromkeys(FIELDS, ""), **r} for r in produced]
        rows.extend(new)
        for name in dict.fromkeys(r["proxy"] for r in new):
            show([r for r in new if r["proxy"] == name], f"{title}, proxy: {name}", by, console)
        with (args.out / "label_privacy.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, fieldnames=FIELDS)
            out.writeheader()
            out.writerows(rows)
        console.print(f"{time.perf_counter() - start:.0f} s", style="dim")
        return new

    if 2 in args.figures:
        for k in args.classes:
            run(figures_2_and_3(k, args.epsilons, setting), f"{k} classes", "epsilon")
        draw(rows, "epsilon", args.out / "label_privacy.svg")
    if 4 in args.figures:
        for epsilon in leaks:
            title = f"figure 4, epsilon {epsilon:g}" if epsilon else "figure 4, NOTHING LEAKS"
            best_share(run(figure_4(epsilon, setting), title, "tau"), console)
        draw([r for r in rows if r["figure"] == "4"], "tau", args.out / "label_shift.svg")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    console.print(f"Wrote {args.out}; {time.perf_counter() - start:.0f} s, peak {peak:.2f} GiB.")


if __name__ == "__main__":
    main()
