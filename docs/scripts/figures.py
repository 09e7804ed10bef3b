"""The drawings of the page *The ideas*, as SVG, with every number printed: ``make figures``.

    python docs/scripts/figures.py [tradeoff] [trials] [shift] [ladder] [lineup]

All numbers come from divulge itself: its curves, its bounds, and games with a known answer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "images"
COLOURS = ["#2563a8", "#c2410c", "#15803d", "#7c3aed"]
TICKS = {
    "candidates": [2, 4, 8, 16, 32],
    "records": [300, 600, 1_200, 2_400],
    "trials": [100, 1_000, 10_000, 100_000],
}
Rows = list[dict[str, Any]]


def down(value: float) -> float:
    """Three digits of a claim, never more than was proved."""
    return math.floor(1000.0 * value) / 1000.0


def tradeoff() -> tuple[Rows, dict[str, Any]]:
    """The best ROC curves that a guarantee allows, from the curves of divulge."""
    from divulge.curves import ApproximateDP, Gaussian

    curves = {
        "epsilon 1": ApproximateDP(1.0),
        "epsilon 2": ApproximateDP(2.0),
        "mu 1": Gaussian(1.0),
        "guessing": ApproximateDP(0.0),
    }
    fpr = np.linspace(0.0, 1.0, 101)
    rows = [
        {"fpr": float(x), "tpr": round(float(y), 4), "line": name}
        for name, curve in curves.items()
        for x, y in zip(fpr, curve.tpr(fpr), strict=True)
    ]
    for name, curve in curves.items():
        print(f"  {name}: at 5% false positives at most {float(curve.tpr(0.05)):.1%} true ones")
    return rows, lines("fpr", "false-positive rate", "tpr", "true-positive rate, at most")


def trials() -> tuple[Rows, dict[str, Any]]:
    """What a perfect count proves: 5% of the trials guessed, as many right as expected."""
    from scipy.stats import norm

    from divulge.bounds import epsilon_lower_bound

    rows = []
    for mu in (1.0, 2.0):
        for size in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000):
            guesses = round(0.05 * size)
            rate = surest(mu, 0.05, norm)
            proved = down(epsilon_lower_bound(size, guesses, int(rate * guesses), delta=1e-5))
            rows.append({"trials": size, "epsilon": proved, "line": f"mu {mu:g}"})
            print(f"  mu {mu:g}, {size} trials: epsilon at 1e-5 at least {proved:.3f}")
    return rows, lines("trials", "trials", "epsilon", "proved epsilon at 1e-5", log=True, dots=True)


def surest(mu: float, share: float, norm: Any) -> float:
    """How often the surest guesses are right, half of them of members, half of others."""
    from scipy.optimize import brentq

    def guessed(t: float) -> float:
        return 0.5 * (norm.sf(t - mu) + norm.sf(t))

    t = brentq(lambda t: guessed(t) - share / 2.0, -5.0, 10.0)
    return float(0.5 * norm.sf(t - mu) / guessed(t))


def shift() -> tuple[Rows, dict[str, Any]]:
    """Nothing leaks, and the members differ: bets with and without what the record gives away."""
    from divulge.bounds import bet
    from divulge.mechanisms.shifted import Shifted
    from divulge.proof.measures import auc

    rows = []
    for size in (0.0, 0.5, 1.0, 1.5, 2.0):
        table = Shifted(size=size, mu=0.0).sample(10_000, np.random.default_rng(0))
        naive = down(bet(table.score, table.truth, rng=0).epsilon)
        fair = down(bet(table.score, table.truth, table.log_odds, rng=0).epsilon)
        rows += [
            {"size": size, "epsilon": naive, "line": "shift ignored"},
            {"size": size, "epsilon": fair, "line": "shift taken out"},
        ]
        print(
            f"  shift {size:g}: AUC {auc(table.score, table.truth):.3f}, "
            f"epsilon at least {naive:.3f} if ignored, {fair:.3f} if taken out (truth 0)"
        )
    given = lines("size", "size of the shift (sd of the log-odds)", "epsilon", "claimed epsilon")
    return rows, given


def ladder() -> tuple[Rows, dict[str, Any]]:
    """Nothing leaks, and the target knows the population: two audits have two rungs each."""
    import divulge
    from divulge.mechanisms.knowing import Knowing

    rows = []
    for kind, name in (("waves", "a wave"), ("parity", "a parity")):
        for members in (1_200, 4_800):
            world = Knowing(kind, 60_000).sample(members, members, np.random.default_rng(0))
            columns = {f"x_{j}": world.x[:, j] for j in range(world.x.shape[1])}
            table = {"member": world.truth > 0, "loss": world.loss, "y": world.label, **columns}
            words = {"label": "y", "helpers": "auto", "training_size": 60_000, "deltas": ()}
            found = divulge.membership(table, features="x_*", **words)
            for rung in (r for r in found.diagnostics.ladder.rungs if r.parameter == "epsilon"):
                at_most = math.ceil(1000.0 * rung.upper) / 1000.0
                row = {"records": rung.records, "epsilon": rung.bias, "upper": at_most}
                rows.append({**row, "line": f"the label is {name}"})
                print(
                    f"  {name}, helpers of {rung.records} over helpers of {rung.helpers}: "
                    f"epsilon {rung.bias:.3f} is found, at most {at_most:.3f}"
                )
            print(f"  {name}, {members} members: {found.diagnostics.ladder.sentence}")
    return rows, limited(
        lines("records", "records that helpers learned from", "epsilon", "epsilon found", log=True)
    )


def limited(chart: dict[str, Any]) -> dict[str, Any]:
    """A chart of lines, and above every point a bar up to its upper limit."""
    given = chart["encoding"]
    given["x"]["scale"]["domain"] = [250, 3_000]
    given["color"]["legend"] |= {"symbolType": "stroke", "symbolOpacity": 1.0, "symbolSize": 300}
    line = {"mark": {"type": "line", "point": True, "strokeWidth": 2}}
    bar = {
        "mark": {"type": "bar", "size": 6, "opacity": 0.3},
        "encoding": {"y2": {"field": "upper"}},
    }
    return {"encoding": given, "layer": [bar, line]}


def lineup() -> tuple[Rows, dict[str, Any]]:
    """The same memory, shown among more candidates: the mean of five line-ups of 500."""
    import divulge

    rows = []
    for memory in (1.0, 3.0):
        for candidates in (2, 4, 8, 16, 32):
            found = []
            for seed in range(5):
                score = np.random.default_rng(seed).normal(size=(500, candidates))
                score[:, 0] += memory
                table = {f"s_{k}": score[:, k] for k in range(candidates)}
                result = divulge.lineup(table, seed=seed)
                found.append(next(b.value for b in result.headline() if b.delta == 0.0))
            mean = down(float(np.mean(found)))
            name = f"true score {memory:g} sd higher"
            rows.append({"candidates": candidates, "epsilon": mean, "line": name})
            print(f"  {name}, {candidates} candidates: epsilon at least {mean:.3f}")
    given = lines("candidates", "candidates", "epsilon", "proved epsilon", log=True, dots=True)
    return rows, given


def lines(
    x: str, x_title: str, y: str, y_title: str, *, log: bool = False, dots: bool = False
) -> dict[str, Any]:
    """A small line chart in Vega-Lite; lines differ by dash as well as by colour."""
    scale = {"type": "log", "base": 2 if x == "candidates" else 10} if log else {"zero": True}
    axis = {"grid": False, **({"values": TICKS[x]} if x in TICKS else {})}
    return {
        "mark": {"type": "line", "point": dots, "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": x,
                "type": "quantitative",
                "title": x_title,
                "scale": scale,
                "axis": axis,
            },
            "y": {"field": y, "type": "quantitative", "title": y_title},
            "color": {
                "field": "line",
                "title": None,
                "sort": None,
                "scale": {"range": COLOURS},
                "legend": {"orient": "top", "columnPadding": 30},
            },
            "strokeDash": {"field": "line", "title": None, "sort": None},
        },
    }


def draw(rows: Rows, chart: dict[str, Any]) -> str:
    """The chart as SVG on white, so that it can be read on a dark page too."""
    import vl_convert

    text = {"labelFontSize": 12, "titleFontSize": 12}
    given = {
        "background": "white",
        "padding": 10,
        "width": 420,
        "height": 240,
        "data": {"values": rows},
        "config": {"font": "sans-serif", "axis": text, "legend": text, "view": {"stroke": None}},
        **chart,
    }
    return str(vl_convert.vegalite_to_svg(json.dumps(given)))


FIGURES: dict[str, Callable[[], tuple[Rows, dict[str, Any]]]] = {
    "tradeoff": tradeoff,
    "trials": trials,
    "shift": shift,
    "ladder": ladder,
    "lineup": lineup,
}


def main(names: list[str]) -> None:
    """Draw those named, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or list(FIGURES):
        print(f"{name}:")
        (FOLDER / f"{name}.svg").write_text(draw(*FIGURES[name]()) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
