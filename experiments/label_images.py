"""Tables 1, 4 and 6 of Observational auditing (paper 001) with convolutional networks.

    python experiments/label_images.py [--images 4000] [--epsilons 1 10 inf] [--quick]

Fashion-MNIST at 14 x 14 pixels. Proxy, target and null row learn from disjoint training images,
test images are held out. Every label-private learner of divulge is wrapped around a small
convolutional network, and audited as published (sweep, 1%; Tables 1 and 6), by two membership
attacks (Figures 1 and 5), and by ``divulge`` on held-out records; Table 4 is its accuracy.

- *Out-of-domain priors* come from a network that learned other images, turned by ``--turned``
  degrees (and with ``--negative`` black for white, of which nothing carries over).
- *PATE* asks ``--queries`` images (4,000); its teachers are linear models of the embedding that the
  out-of-domain network has. Its noise is the least at which the votes of teachers of the *proxy's*
  images, which are public here, cost epsilon by data-dependent accounting; what the target's own
  votes cost is printed.
- *PATE-FM* asks few images (250), by worst-case accounting, and its student is a FixMatch network,
  which also learns from all images without their labels.

Every cell is kept in out/pieces. In the null row the target never saw an audited label: every claim
above 0 is false. Prints tables, writes out/label_images.csv. Needs the extra ``torch`` and ``make
fashion``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from label_games import Row, attacks, kept, label_inference, quality, shown, write
from label_tables import DELTA, FASHION, NULL, Data, audit, proved
from small_networks import SIDE, ConvNet, FixMatch, small_images

from divulge.errors import DivulgeError, require
from divulge.mechanisms.labels import (
    LaplaceLabels,
    PriorLabels,
    RandomisedLabels,
    StagedLabels,
    TeacherLabels,
    scale_of_votes,
    vote_scale,
)
from divulge.result import floor_to
from divulge.types import Array
from divulge.work.pieces import Pieces

EPSILONS = (0.1, 1.0, 4.0, 10.0, math.inf)
COMPONENTS = 20
EMBEDDED = 40


@dataclass(frozen=True)
class Images(Data):
    """Four parts of the images; the audit sees components, the networks pixels.

    Behind the pixels may stand an embedding, which only the teachers of PATE see.
    """

    spare: Array = field(repr=False)
    """Images of a fifth part, and their labels, from which the out-of-domain network learns."""

    @cached_property
    def components(self) -> Array:
        """Leading components of all audited images, without labels."""
        from sklearn.decomposition import PCA

        pixels = self.x[:, : SIDE * SIDE]
        found = PCA(COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(pixels)
        return np.asarray(found / found.std(axis=0))

    @property
    def features(self) -> Array:
        return self.components


def load(folder: Path, size: int, seed: int) -> Images:
    """Disjoint parts of ``size`` images each."""
    x, y = small_images(folder)
    rng = np.random.default_rng(seed)
    train = rng.permutation(6 * y.size // 7)
    require(4 * size <= train.size, f"There are only {train.size} images for training.")
    proxy, target, other, spare = (train[i * size : (i + 1) * size] for i in range(4))
    test = train.size + rng.permutation(y.size - train.size)[:size]
    rows = np.concatenate([proxy, target, test, other])
    places = np.split(np.arange(rows.size), np.cumsum([p.size for p in (proxy, target, test)]))
    more = np.column_stack([x[spare], y[spare]])
    return Images("images", seed, x[rows], y[rows], 10, *places, spare=more)


def other_domain(spare: Array, degrees: float, negative: bool, epochs: int, seed: int) -> ConvNet:
    """A network of images that are turned and, if told so, negative."""
    from scipy.ndimage import rotate

    x, y = spare[:, :-1].reshape(-1, SIDE, SIDE), spare[:, -1].astype(np.intp)
    turned = np.clip(rotate(x, degrees, axes=(2, 1), reshape=False, order=1), 0.0, 1.0)
    changed = 1.0 - turned if negative else turned
    return ConvNet(epochs, random_state=seed).fit(changed.reshape(len(y), -1), y)


def embedded(data: Images, abroad: ConvNet) -> Images:
    """The same, with components of the out-of-domain embedding behind the pixels."""
    from sklearn.decomposition import PCA

    seen = abroad.embed(data.x)
    found = PCA(min(EMBEDDED, len(seen)), svd_solver="randomized", random_state=0)
    components = found.fit_transform(seen)
    return replace(data, x=np.column_stack([data.x, components / components.std(axis=0)]))


def embedding(x: Array) -> Array:
    """What stands behind the pixels."""
    return x[:, SIDE * SIDE :]


@dataclass(frozen=True)
class Bench:
    """What the learners are made of."""

    data: Images
    proxy: ConvNet
    abroad: ConvNet
    epochs: int
    queries: int
    few: int
    teachers: int
    folds: int

    def network(self) -> ConvNet:
        """The learner that all of them are wrapped around."""
        return ConvNet(self.epochs, hidden=128)

    def asked(self) -> int:
        return min(self.queries, self.data.target.size)

    @cached_property
    def public_votes(self) -> Array:
        """Votes of teachers of the proxy's images on as many queries: public here."""
        d = self.data
        rehearsal = self.pate(1.0, {"random_state": d.seed, "classes": np.arange(10)})
        rehearsal.set_params(learner=self.teacher(), scale=0.0)
        return np.asarray(rehearsal.fit(d.x[d.proxy], d.y[d.proxy]).noisy_votes_)

    def teacher(self) -> Any:
        """Linear in the out-of-domain embedding, so that a few images teach it."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        return make_pipeline(
            FunctionTransformer(embedding), LogisticRegression(C=0.1, max_iter=500)
        )

    def pate(self, epsilon: float, options: Row) -> TeacherLabels:
        """Many queries; the noise by data-dependent accounting of public votes."""
        return TeacherLabels(
            self.network(),
            None if math.isfinite(epsilon) else epsilon,
            DELTA,
            teachers=self.teachers,
            queries=self.asked(),
            teacher=self.teacher(),
            **options,
        )

    def accounted(self, epsilon: float, options: Row) -> TeacherLabels:
        """PATE at the scale at which the public votes cost epsilon."""
        found = self.pate(epsilon, options)
        if math.isfinite(epsilon):
            start = vote_scale(epsilon, DELTA, self.asked())
            scale = scale_of_votes(self.public_votes, epsilon, DELTA, start)
            found.set_params(scale=scale)
        return found

    def matched(self, epsilon: float, options: Row) -> TeacherLabels:
        """PATE-FM: few queries, and a student that learns from all images."""
        d = self.data
        found = self.pate(epsilon, options)
        student = FixMatch(d.x[d.target], epochs=self.epochs, hidden=128)
        few = min(self.few, d.target.size)
        return found.set_params(learner=student, epsilon=epsilon, scale=None, queries=few)


Maker = Callable[[Bench, float, Row], Any]
MECHANISMS: dict[str, Maker] = {
    "LP-1ST": lambda b, e, o: RandomisedLabels(b.network(), e, **o),
    "LP-1ST, noise correction": lambda b, e, o: PriorLabels(
        b.network(), e, noise_correction=True, folds=b.folds, **o
    ),
    "LP-1ST, domain prior": lambda b, e, o: PriorLabels(b.network(), e, prior=b.proxy, **o),
    "LP-1ST, out-of-domain prior": lambda b, e, o: PriorLabels(b.network(), e, prior=b.abroad, **o),
    "LP-2ST": lambda b, e, o: StagedLabels(b.network(), e, stages=2, **o),
    "LP-2ST, out-of-domain prior": lambda b, e, o: StagedLabels(
        b.network(), e, stages=2, prior=b.abroad, **o
    ),
    "PATE": lambda b, e, o: b.accounted(e, o),
    "PATE-FM": lambda b, e, o: b.matched(e, o),
    "ALIBI": lambda b, e, o: LaplaceLabels(b.network(), e, rounds=2, folds=b.folds, **o),
}


def cell(bench: Bench, mechanism: str, epsilon: float, repetitions: int, ours: bool) -> Row:
    """Train one learner and audit it."""
    start, d = time.perf_counter(), bench.data
    null = mechanism == NULL
    rows = d.other if null else d.target
    options: Row = {"random_state": d.seed, "classes": np.arange(10)}
    model = MECHANISMS["LP-1ST" if null else mechanism](bench, epsilon, options)
    model.fit(d.x[rows], d.y[rows])
    both = np.concatenate([d.target, d.outside])
    p, q = model.predict_proba(d.x[both]), bench.proxy.predict_proba(d.x[both])
    size, rng = d.target.size, np.random.default_rng(d.seed)
    inside = (d.y[d.target], p[:size], q[:size])
    outside = (d.y[d.outside], p[size:], q[size:])
    out = {**label_inference(*inside, 0.0 if null else epsilon, repetitions, rng)}
    out |= attacks(inside, outside, repetitions, rng)
    out |= quality(p[size:], d.y[d.outside])
    out["spent"] = getattr(model, "spent_", None) or math.nan
    if ours:
        out["ours"], out["ours_1e-5"] = proved(audit(d, p, q, held_out=True))
    return {**out, "seconds": time.perf_counter() - start}


FIGURES: dict[str, Callable[[Row], str]] = {
    "sweep (Table 1)": lambda r: shown(r, "sweep"),
    "1% (Table 6)": lambda r: shown(r, "one_percent"),
    "accuracy (Table 4)": lambda r: f"{100.0 * r['accuracy']:.1f}",
    "calibration": lambda r: shown(r, "calibration"),
    "RMIA": lambda r: shown(r, "rmia"),
    "ours, delta 0 / 1e-5": lambda r: (
        f"{floor_to(r['ours'], 2):.2f} / {floor_to(r['ours_1e-5'], 2):.2f}" if "ours" in r else "-"
    ),
    "spent": lambda r: "-" if math.isnan(r["spent"]) else f"{r['spent']:.2f}",
}


def show(rows: list[Row], console: Console) -> None:
    """One block per figure: a line per mechanism, a column per theoretical epsilon."""
    across = list(dict.fromkeys(r["epsilon"] for r in rows))
    for figure, text in FIGURES.items():
        table = Table(figure, *(f"{e:g}" for e in across))
        for name in dict.fromkeys(r["mechanism"] for r in rows):
            same = {r["epsilon"]: r for r in rows if r["mechanism"] == name}
            cells = [text(same[e]) if e in same else "" for e in across]
            if any(c not in ("", "-") for c in cells):
                table.add_row(name, *cells)
        if table.row_count:
            console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--images", type=int, default=4000, help="in each part")
    options.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options.add_argument("--mechanisms", nargs="*", default=[*MECHANISMS], choices=[*MECHANISMS])
    options.add_argument("--repetitions", type=int, default=100)
    options.add_argument("--epochs", type=int, default=25)
    options.add_argument("--queries", type=int, default=4000, help="of PATE")
    options.add_argument("--few", type=int, default=250, help="queries of PATE-FM")
    options.add_argument("--teachers", type=int, default=100)
    options.add_argument("--turned", type=float, default=30.0, help="degrees, of the other domain")
    options.add_argument("--negative", action="store_true", help="the other domain, as negatives")
    options.add_argument("--without-ours", action="store_true", help="published figures only")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--fashion", type=Path, default=FASHION)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="500 images, two epsilons")
    args = options.parse_args(arguments)
    if args.quick:
        args.images, args.epsilons, args.epochs = 500, [1.0, math.inf], 8
        args.repetitions, args.teachers, args.few = 5, 10, 100
    console, start = Console(width=200), time.perf_counter()
    data = load(args.fashion, args.images, args.seed)
    calm = ConvNet(min(8, args.epochs), random_state=args.seed)
    calm.fit(data.x[data.proxy], data.y[data.proxy])
    abroad = other_domain(data.spare, args.turned, args.negative, args.epochs, args.seed)
    for name, model in (("proxy", calm), ("out-of-domain network", abroad)):
        found = quality(model.predict_proba(data.x[data.outside]), data.y[data.outside])
        console.print(f"{name}: accuracy {found['accuracy']:.3f}, loss {found['log_loss']:.3f}")
    sizes = (args.epochs, args.queries, args.few, args.teachers, 2)
    bench = Bench(embedded(data, abroad), calm, abroad, *sizes)
    pieces, rows = Pieces(args.out / "pieces"), []
    where = {"images": args.images, "seed": args.seed, "sizes": sizes, "turned": args.turned}
    where |= {"negative": args.negative, "repetitions": args.repetitions}
    for epsilon in args.epsilons:
        for mechanism in (*args.mechanisms, NULL):
            inputs = {**where, "mechanism": mechanism, "epsilon": epsilon}
            inputs["ours"] = not args.without_ours
            found = kept(
                pieces,
                "label-images",
                inputs,
                lambda m=mechanism, e=epsilon: cell(  # type: ignore[misc]
                    bench, m, e, args.repetitions, not args.without_ours
                ),
            )
            rows.append({"mechanism": mechanism, "epsilon": epsilon, **found})
            spent = time.perf_counter() - start
            console.print(f"{mechanism}, {epsilon:g}: {spent:.0f} s", style="dim")
        write(rows, args.out / "label_images.csv")
    show(rows, console)
    console.print(f"Wrote {args.out / 'label_images.csv'}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
