"""Images under shift: Figure 2(b) and (c) of Zero-Run auditing (paper 000), on Fashion-MNIST.

    python experiments/vision_shift.py [--seeds 3] [--pictures 5000] [--resamples 200] [--quick]

Two cameras photograph the same clothes: they differ in the mix of classes, in the angle and in the
contrast, by distributions that overlap, so the true propensity of every picture is known. A small
convolutional network learns from half of camera one's pictures. It is audited three times, each
time with the same guesses of membership, the loss:

- *same camera*: that half against the other half. No shift, the true leak;
- *other camera*: that half against pictures of camera two. The same leak, and the shift;
- *never seen*: the other half, called members though the network never saw them, against camera
  two. The shift and no leak: every bound above 0 is false.

What the record shows are its class and the leading components of the embedding that another,
frozen network has of it. The propensity is learned from other pictures (``heldout``), as published;
the published bounds are bootstrapped over them, epsilon by Theorem 5.1.1's own discount. A second
network, taught by as many other pictures of camera one, is the control. Audits are kept in
out/pieces, so a run that was stopped goes on. Prints tables, writes out/vision_shift.csv and
out/vision_shift.svg (extra ``report``). Needs the extra ``torch`` and ``make fashion``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).parent))
from label_tables import FASHION, PARTS, read_idx
from small_networks import SIDE, ConvNet, library

from divulge.errors import DivulgeError, require
from divulge.games.membership.play import membership
from divulge.result import Result, floor_to
from divulge.shift import propensity
from divulge.types import Array, Index
from divulge.work.pieces import Pieces

Row = dict[str, Any]

ARMS = ("same camera", "other camera", "never seen")
DELTA = 1e-5
TILT, SPREAD = 5.0, 10.0
"""Camera one leans by so many degrees to the left, camera two to the right; standard deviation."""
CONTRAST, CONTRAST_SPREAD = 0.1, 0.2
"""The same for the logarithm of the contrast."""
MIX = 0.3
"""Log-odds by which the classes' shares differ from even ones, half of the classes each way."""
BOUNDS = {
    "naive": ("none", ""),
    "composition": ("composition", ""),
    "published": ("conditional", ""),
    "published, bootstrapped": ("conditional", "bootstrapped"),
    "signed": ("signed", ""),
    "ours": ("ours", ""),
    "known propensity": ("ours", ""),
}
"""Rows of the table: the correction and what its method says."""


@dataclass(frozen=True)
class Setting:
    """Sizes."""

    pictures: int = 5000
    """In each part: members, never seen, other camera; and for the propensity, of each camera."""
    embedding: int = 4000
    components: int = 20
    epochs: int = 40
    resamples: int = 200


QUICK = Setting(pictures=800, embedding=800, components=5, epochs=30, resamples=10)


@dataclass(frozen=True)
class Pictures:
    """Rows of pixels, what is pictured, and the true log-odds of camera one given how."""

    x: Array = field(repr=False)
    y: Index = field(repr=False)
    log_odds: Array = field(repr=False)


class Shop:
    """Clothes that are photographed once each."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        images, labels, more, more_labels = (read_idx(folder / f"{p}-ubyte") for p in PARTS)
        self.images = np.concatenate([images, more])
        self.labels = np.concatenate([labels, more_labels]).astype(np.intp)
        self.rng, order = rng, rng.permutation(self.labels.size)
        self.left = [order[self.labels[order] == c] for c in range(10)]

    def take(self, camera: int, number: int) -> Pictures:
        """Photograph so many pieces with camera 1 or 2; 0 is either, by a coin for each."""
        rng = self.rng
        sign = np.full(number, {0: 0.0, 1: 1.0, 2: -1.0}[camera])
        sign = np.where(rng.random(number) < 0.5, 1.0, -1.0) if camera == 0 else sign
        share = expit(MIX * np.where(np.arange(10) % 2 == 0, 1.0, -1.0) * sign[:, None])
        total = np.cumsum(share, axis=1)
        y = (rng.random((number, 1)) * total[:, -1:] >= total).sum(axis=1)
        chosen = np.empty(number, dtype=np.intp)
        for c in range(10):
            own = np.flatnonzero(y == c)
            require(own.size <= self.left[c].size, "Too few images: lower the number of pictures.")
            chosen[own], self.left[c] = self.left[c][: own.size], self.left[c][own.size :]
        angle = rng.normal(TILT * sign, SPREAD)
        contrast = rng.normal(CONTRAST * sign, CONTRAST_SPREAD)
        even = np.log(expit(MIX)) - np.log(expit(-MIX))
        true = np.where(y % 2 == 0, even, -even)
        true += 2.0 * TILT * angle / SPREAD**2
        true += 2.0 * CONTRAST * contrast / CONTRAST_SPREAD**2
        return Pictures(photographed(self.images[chosen], angle, contrast), y, true)


def photographed(images: Any, angle: Array, contrast: Array) -> Array:
    """Turned, with another contrast, and averaged to a quarter of the pixels."""
    torch = library()
    out = []
    for part in np.array_split(np.arange(len(images)), -(-len(images) // 2000)):
        pixels = torch.from_numpy(images[part].astype(np.float32) / 255.0)[:, None]
        radians = torch.from_numpy(np.deg2rad(angle[part]).astype(np.float32))
        zero = torch.zeros_like(radians)
        turn = torch.stack(
            [radians.cos(), -radians.sin(), zero, radians.sin(), radians.cos(), zero]
        )
        grid = torch.nn.functional.affine_grid(
            turn.T.reshape(-1, 2, 3), list(pixels.shape), align_corners=False
        )
        seen = torch.nn.functional.grid_sample(pixels, grid, align_corners=False)
        small = torch.nn.functional.adaptive_avg_pool2d(seen, SIDE).reshape(len(part), -1).numpy()
        out.append(small * np.exp(contrast[part])[:, None])
    return np.concatenate(out)


@dataclass(frozen=True)
class World:
    """One target and all that is audited of it."""

    parts: dict[str, Pictures] = field(repr=False)
    score: dict[str, Array] = field(repr=False)
    control: dict[str, Array] = field(repr=False)
    shown: dict[str, Array] = field(repr=False)
    """Components of the frozen embedding, standardised."""
    accuracy: tuple[float, float]
    """On the members, and on what was never seen of the same camera."""


NAMES = {"members": 1, "never": 1, "taught one": 1, "taught two": 2, "other": 2}


def make(folder: Path, s: Setting, seed: int) -> World:
    """Photograph, train the frozen network, the target and the control, and ask them."""
    from sklearn.decomposition import PCA

    shop = Shop(folder, np.random.default_rng(seed))
    parts = {name: shop.take(camera, s.pictures) for name, camera in NAMES.items()}
    public = shop.take(0, s.embedding)
    frozen = ConvNet(15, random_state=seed).fit(public.x, public.y)
    basis = PCA(s.components, svd_solver="randomized", random_state=0).fit(frozen.embed(public.x))
    scale = basis.transform(frozen.embed(public.x)).std(axis=0)
    shown = {n: basis.transform(frozen.embed(p.x)) / scale for n, p in parts.items()}
    target, twin = (
        ConvNet(s.epochs, batch=64, hidden=256, random_state=seed).fit(parts[n].x, parts[n].y)
        for n in ("members", "taught one")
    )
    own = [parts[n] for n in ("members", "never")]
    right = [float((target.predict_proba(p.x).argmax(axis=1) == p.y).mean()) for p in own]
    audited = ("members", "never", "other")
    score = {n: losses(target, parts[n]) for n in audited}
    control = {n: losses(twin, parts[n]) for n in audited}
    return World(parts, score, control, shown, (right[0], right[1]))


def losses(model: ConvNet, pictures: Pictures) -> Array:
    """Cross-entropy."""
    p = model.predict_proba(pictures.x)[np.arange(pictures.y.size), pictures.y]
    return np.asarray(-np.log(np.maximum(p, 1e-12)))


def table(world: World, yes: str, no: str) -> dict[str, Any]:
    """Two parts as members and non-members; ``known`` is the true propensity."""
    same = {yes, no} <= {"members", "never", "taught one", "first half", "second half"}
    parts = [world.parts[n] for n in (yes, no)]
    shown = np.concatenate([world.shown[n] for n in (yes, no)])
    out: dict[str, Any] = {
        "member": np.repeat([True, False], [p.y.size for p in parts]),
        "kind": np.array([f"class {c}" for p in parts for c in p.y]),
        "known": np.concatenate(
            [np.full(p.y.size, 0.5) if same else expit(p.log_odds) for p in parts]
        ),
        **{f"e{j}": shown[:, j] for j in range(shown.shape[1])},
    }
    if yes in world.score:
        out["loss"] = np.concatenate([world.score[n] for n in (yes, no)])
        out["control"] = np.concatenate([world.control[n] for n in (yes, no)])
    return out


def halves(world: World) -> World:
    """With camera one's other pictures in two halves, which differ in nothing."""
    given, shown = world.parts["taught one"], world.shown["taught one"]
    middle = given.y.size // 2
    cut = {"first half": slice(None, middle), "second half": slice(middle, None)}
    parts = {n: Pictures(given.x[p], given.y[p], given.log_odds[p]) for n, p in cut.items()}
    seen = {n: shown[p] for n, p in cut.items()}
    both = {**world.parts, **parts}, {**world.shown, **seen}
    return World(both[0], world.score, world.control, both[1], world.accuracy)


def audit(world: World, arm: str, s: Setting, seed: int, cache: Path) -> list[Row]:
    """One row per correction: mu, epsilon at delta 0 and at 1e-5."""
    yes, no, first, second = {
        "same camera": ("members", "never", "first half", "second half"),
        "other camera": ("members", "other", "taught one", "taught two"),
        "never seen": ("never", "other", "taught one", "taught two"),
    }[arm]
    start = time.perf_counter()
    data, learned = table(world, yes, no), table(halves(world), first, second)
    shared: dict[str, Any] = {"score": "loss", "deltas": (DELTA,), "seed": seed}
    features = ["kind", *(f"e{j}" for j in range(s.components))]
    result = membership(
        data,
        heldout=learned,
        features=features,
        reference_score="control",
        training_size=s.pictures,
        reference_size=s.pictures,
        corrections=("none", "composition", "conditional", "signed", "balanced", "prior"),
        bootstrap=s.resamples,
        cache=cache,
        **shared,
    )
    known = membership(data, propensity="known", **shared)
    middle = 0.0 if result.diagnostics.bootstrap is None else result.diagnostics.bootstrap.point
    spent = time.perf_counter() - start
    said = {"verdict": result.verdict.status, "robust": result.verdict.robust, "seconds": spent}
    said["control"] = result.measurements.get("negative_control_epsilon", float("nan"))
    rows = []
    for name, (correction, method) in BOUNDS.items():
        source = known if name == "known propensity" else result
        found = values(source, correction, method)
        rows.append({"arm": arm, "seed": seed, "correction": name, **found, **said})
    return [{**r, "before_bootstrap": middle} for r in rows]


def values(result: Result, correction: str, method: str) -> Row:
    """The largest bound of each kind under a correction; ours are those of the headline's kind."""
    wanted = ("balanced", "prior") if correction == "ours" else (correction,)
    found = {"mu": float("nan"), "epsilon": float("nan"), "epsilon_1e-5": float("nan")}
    keys = {("mu", None): "mu", ("epsilon", 0.0): "epsilon", ("epsilon", DELTA): "epsilon_1e-5"}
    for b in result.bounds:
        fits = b.correction in wanted and ("bootstrapped" in b.method) == bool(method)
        if correction == "ours" and b.parameter == "epsilon" and b.delta == 0.0:
            fits = fits and b.correction == "prior"  # the bet, which a headline rests on
        key = keys.get((b.parameter, b.delta))
        if fits and key is not None:
            found[key] = float(np.fmax(found[key], b.value))
    return found


def spread_of_propensities(world: World) -> dict[str, Array]:
    """Figure 2(c): propensities by logistic regression with Platt scaling, cross-fitted."""
    out = {}
    for name, (yes, no) in {
        "same camera": ("members", "never"),
        "other camera": ("members", "other"),
    }.items():
        x = np.concatenate([world.shown[n] for n in (yes, no)])
        truth = np.repeat([1.0, -1.0], [world.shown[n].shape[0] for n in (yes, no)])
        rng = np.random.default_rng(0)
        out[name] = expit(propensity.cross_fit(x, truth, learner="logistic", rng=rng))
    return out


def show(rows: list[Row], console: Console) -> None:
    """Means over the seeds, one table per arm; then the false claims."""
    for arm in ARMS:
        printed = Table(title="mean lower bounds over the seeds, error 0.05")
        for heading in (arm, "mu", "epsilon", "epsilon at 1e-5", "audits above 0"):
            printed.add_column(heading, justify="left" if heading == arm else "right")
        for name in BOUNDS:
            same = [r for r in rows if (r["arm"], r["correction"]) == (arm, name)]
            if not same:
                continue
            keys = ("mu", "epsilon", "epsilon_1e-5")
            means = [np.mean([r[k] for r in same]) for k in keys]
            shown = ["-" if np.isnan(m) else f"{floor_to(float(m), 3):.3f}" for m in means]
            above = sum(any(r[k] > 0.0 for k in keys) for r in same)
            printed.add_row(name, *shown, f"{above} of {len(same)}")
        console.print(printed)
        verdicts = [(r["seed"], r["verdict"], r["robust"]) for r in rows if r["arm"] == arm]
        said = [f"{v}{' (robust)' if robust else ''}" for _, v, robust in sorted(set(verdicts))]
        console.print(f"{arm}, verdicts with the control: {', '.join(said)}")


def draw(spread: dict[str, Array], path: Path) -> None:
    """Figure 2(c)."""
    import altair as alt

    edges = np.linspace(0.0, 1.0, 41)
    points = [
        {"propensity": float(edges[i]), "share": float(c) / p.size, "non-members": name}
        for name, p in spread.items()
        for i, c in enumerate(np.histogram(p, edges)[0])
    ]
    chart = alt.Chart(alt.Data(values=points)).mark_line(interpolate="step-after")
    chart.encode(
        x=alt.X("propensity:Q", title="estimated propensity"),
        y=alt.Y("share:Q", title="share of the pictures"),
        color=alt.Color("non-members:N"),
    ).properties(width=420, height=240).save(str(path))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--pictures", type=int, default=Setting.pictures, help="in each part")
    options.add_argument("--resamples", type=int, default=Setting.resamples)
    options.add_argument("--epochs", type=int, default=Setting.epochs)
    options.add_argument("--fashion", type=Path, default=FASHION)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="800 pictures, 10 resamples")
    args = options.parse_args(arguments)
    sizes = {"resamples": args.resamples, "epochs": args.epochs, "pictures": args.pictures}
    setting = QUICK if args.quick else Setting(**sizes)
    console, start = Console(width=200), time.perf_counter()
    pieces, rows = Pieces(args.out / "pieces"), []
    args.out.mkdir(parents=True, exist_ok=True)
    for seed in range(args.seeds):
        world = make(args.fashion, setting, seed)
        said = "accuracy of the target: {:.3f} on members, {:.3f} else"
        console.print(said.format(*world.accuracy))
        if seed == 0:
            spread = spread_of_propensities(world)
            for name, p in spread.items():
                said = ", ".join(f"{v:.2f}" for v in np.quantile(p, (0.05, 0.25, 0.5, 0.75, 0.95)))
                console.print(f"{name}: 5, 25, 50, 75 and 95% of the propensities: {said}")
            draw(spread, args.out / "vision_shift.svg")
        for arm in ARMS:
            inputs = {"setting": asdict(setting), "seed": seed, "arm": arm}
            kept = pieces.find("vision-shift", inputs)
            if kept is None:
                new = audit(world, arm, setting, seed, args.out / "pieces")
                columns = {key: np.array([r[key] for r in new]) for key in new[0]}
                kept = pieces.store("vision-shift", inputs, columns)
            plain = {key: column.tolist() for key, column in kept.items()}
            rows += [{k: v[i] for k, v in plain.items()} for i in range(len(BOUNDS))]
            console.print(f"seed {seed}, {arm}: {time.perf_counter() - start:.0f} s", style="dim")
    show(rows, console)
    with (args.out / "vision_shift.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    console.print(f"Wrote {args.out / 'vision_shift.csv'}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
