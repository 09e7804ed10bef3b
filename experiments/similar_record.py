"""Figure 1 of 004: an attack with a similar record in hand, by the angle between the two.

    python experiments/similar_record.py [--games 20000] [--seed 0] [--out out/similar_record.svg]

Left: the record z* and the one in hand, seen from the mean of the population, with the ellipse of
its covariance. Middle: the same in the metric of the inverse covariance, where the ellipse is a
circle and the angle theta is the one that counts. Right: the advantage of the attack (Theorem 4.5)
against that angle, and what games with this population show: n = 200 normal records in two
correlated columns, the mean released, the threshold that of the theorem.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.exposure.covariance import Covariance
from divulge.exposure.exposed import Release, advantage, misspecified
from divulge.types import Array

SIZE = 200
MEAN = np.zeros(2)
MATRIX = np.array([[4.0, 1.8], [1.8, 1.0]])
LENGTH = 24.0
"""How far the record lies from the mean, in standard deviations."""
DEGREES = (0, 15, 30, 45, 60, 75, 90, 120, 180)


def at_angle(degrees: float, length: float = LENGTH) -> Array:
    """A record at this angle from the first axis, in the metric of the inverse covariance."""
    turn = np.deg2rad(degrees)
    return np.asarray(
        np.linalg.cholesky(MATRIX) @ (length * np.array([np.cos(turn), np.sin(turn)]))
    )


def simulated(record: Array, held: Array, games: int, rng: np.random.Generator) -> float:
    """True less false positives of the likelihood ratio for the held record (eq. 10)."""
    model, release = Covariance(MEAN, np.zeros(2), matrix=MATRIX), Release(SIZE)
    found = misspecified(record[None], held[None], model, release)
    root, rates = np.linalg.cholesky(MATRIX), []
    for inside in (False, True):
        total = rng.normal(size=(games, 2)) @ root.T * np.sqrt(SIZE - inside) + inside * record
        ratio = model.inner(total / SIZE, np.tile(held, (games, 1))) - found.target[0] / 2.0
        # Where the two records point away from each other, a small ratio speaks for inclusion.
        sign = np.sign(found.product[0]) or 1.0
        rates.append(np.mean(sign * ratio > sign * found.threshold[0]))
    return float(rates[1] - rates[0])


def rows(games: int, seed: int) -> list[dict[str, float]]:
    """One line per angle."""
    rng, record = np.random.default_rng(seed), at_angle(0.0)
    model, release, out = Covariance(MEAN, np.zeros(2), matrix=MATRIX), Release(SIZE), []
    for degrees in DEGREES:
        held = at_angle(degrees, 0.7 * LENGTH)
        found = misspecified(record[None], held[None], model, release)
        out.append(
            {
                "degrees": degrees,
                "effective": float(found.effective[0]),
                "theorem": float(advantage(found.effective)[0]),
                "seen": simulated(record, held, games, rng),
            }
        )
    return out


def draw(lines: Sequence[dict[str, float]], path: Path, degrees: float = 45.0) -> None:
    """Three panels; needs the extra ``report``."""
    import altair as alt

    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = 12.0 * np.column_stack([np.cos(turn), np.sin(turn)])
    root = np.linalg.cholesky(MATRIX)
    back = np.linalg.inv(root)
    ends = {"record z*": at_angle(0.0), "record in hand": at_angle(degrees, 0.7 * LENGTH)}

    def plane(title: str, ring: Array, points: dict[str, Array]) -> Any:
        reach = 1.1 * max(float(np.abs(v).max()) for v in (ring, *points.values()))
        scale = alt.Scale(domain=[-reach, reach])
        x, y = (alt.X("x:Q", title=None, scale=scale), alt.Y("y:Q", title=None, scale=scale))
        oval = [{"x": a, "y": b, "k": k} for k, (a, b) in enumerate(ring.tolist())]
        arrows = [
            {"x": c[0], "y": c[1], "of": name, "k": k}
            for name, v in points.items()
            for k, c in enumerate(([0.0, 0.0], v.tolist()))
        ]
        outline = alt.Chart(alt.Data(values=oval), title=title).mark_line(color="grey")
        lines_ = alt.Chart(alt.Data(values=arrows)).mark_line(point=True)
        both = outline.encode(x=x, y=y, order="k:Q") + lines_.encode(
            x=x, y=y, order="k:Q", color=alt.Color("of:N", title=None)
        )
        return both.properties(width=230, height=230)

    curve = [
        {"x": line["degrees"], "y": line[key], "by": name}
        for line in lines
        for key, name in (("theorem", "Theorem 4.5"), ("seen", "games"))
    ]
    angle = (
        alt.Chart(alt.Data(values=curve), title="advantage by theta")
        .mark_line(point=True)
        .encode(
            x=alt.X("x:Q", title="theta, degrees"),
            y=alt.Y("y:Q", title="advantage"),
            strokeDash=alt.StrokeDash("by:N", title=None),
        )
        .properties(width=260, height=230)
    )
    metric = {name: back @ v for name, v in ends.items()}
    panels = alt.hconcat(
        plane("as they are", circle @ root.T, ends),
        plane("in the metric of the inverse covariance", circle, metric),
        angle,
    )
    panels.resolve_scale(color="shared", strokeDash="independent").save(str(path))


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute, play, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 games")
    parser.add_argument("--games", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/similar_record.svg"))
    args = parser.parse_args(arguments)
    lines = rows(2_000 if args.quick else args.games, args.seed)
    table = Table(title=f"m* = {LENGTH**2 / SIZE:.2f}; another record in hand, at an angle theta")
    for name in ("theta", "effective m*", "Theorem 4.5", "games"):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            f"{line['degrees']:g}", f"{line['effective']:.3f}", f"{line['theorem']:.3f}",
            f"{line['seen']:.3f}",
        )  # fmt: skip
    Console(width=100).print(table)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    draw(lines, args.out)


if __name__ == "__main__":
    main()
