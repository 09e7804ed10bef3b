"""Images for PANORAMIA (002): Tables 1, 2, 3, 5, 7, 10 and Figures 5, 6, 8, 13 to 15, in small.

    python experiments/panoramia_images.py [--quick] [--members 8000] [--repeats 5] [--seed 0]
                                           [--side 14] [--fashion DIR] [--out DIR]
                                           [--without-dp] [--only-generator]

Fashion-MNIST (``make fashion``) stands for CIFAR10 and CelebA, small convolutional networks for
ResNet, WideResNet and ViT. Images are 14 x 14 (``--side 28``: as they are). Some are the members
that train every target; as many real non-members serve RM;RN and O(1). 35% of the members teach a
generator that draws pixel by pixel (divulge.generators.pixels) and the labeler that labels its
images; the others are played against generated ones. Targets: two widths, each kept after few and
after many epochs, and one width trained by DP-SGD (Opacus, extra ``dpsgd``). Helpers of the
targets' architecture learn from generated images (as published) and from the generator's members.
Baseline and attack are convolutional networks over the image with the losses beside them
(``--attack image``).

The tables are printed, and written to out/panoramia_images as Markdown. Every model is kept: a
second run repeats nothing, and one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

sys.path.insert(0, str(Path(__file__).parent))
from image_models import (
    GENERATOR_SHARE,
    QUICK,
    Run,
    Sizes,
    accuracy,
    generate,
    load,
    losses_of,
    mixture_of,
    plain,
    private,
)
from label_tables import FASHION

from divulge.bounds import closeness
from divulge.errors import DivulgeError
from divulge.games.synthetic import contest, findings
from divulge.games.synthetic.guessers import IMAGE
from divulge.games.synthetic.seen import Seen
from divulge.models.convolution import ImageClassifier
from divulge.models.rehearsal import library
from divulge.result import floor_to
from divulge.types import Array, Index
from divulge.work.pieces import Pieces

Losses = dict[str, Array]


@dataclass(frozen=True)
class Played:
    """Everything that can be seen of members, generated images and real non-members, in a row."""

    images: Array
    labels: Index
    sizes: tuple[int, int, int]
    helpers: Losses

    def rows(self) -> list[Index]:
        """Members, generated images, real non-members."""
        return np.split(np.arange(sum(self.sizes)), np.cumsum(self.sizes)[:-1])

    def seen(self, target: Array, names: Sequence[str]) -> Seen:
        """With the losses of these helpers."""
        helper = np.column_stack([np.zeros((len(target), 0)), *(self.helpers[n] for n in names)])
        return Seen(np.zeros((len(target), 0)), helper, target[:, None], pixels=self.images)


BOTH = ("generated", "real")
"""What the helpers learned from: generated images, and the generator's members."""


def contests(run: Run, played: Played, target: Array, names: Sequence[str], real: bool) -> Any:
    """Members against generated images, or against real non-members, ``repeats`` times."""
    seen, (members, generated, outside) = played.seen(target, names), played.rows()
    other = outside if real else generated

    def one(number: int) -> contest.Contest:
        inputs = {"seen": seen.digest(), "real": real, "number": number, "seed": run.seed}

        def play() -> dict[str, Any]:
            rng = np.random.default_rng([run.seed, 2, number])
            words = {"error": 0.025, "rng": rng, "attack": (IMAGE,)}
            return contest.to_arrays(contest.play(seen, members, other, **words))

        return contest.from_arrays(run.pieces.arrays("contest", inputs, play))

    return [one(k) for k in range(run.sizes.repeats)]


def spread(values: Sequence[float]) -> str:
    """The mean, rounded down, and half of its t-interval."""
    mean = f"{floor_to(float(np.mean(values)), 2):.2f}"
    if len(values) < 2:
        return mean
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean} ± {half:.2f}"


def measured(games: Sequence[contest.Contest], **options: Any) -> dict[str, list[float]]:
    """The three figures of every contest."""
    rows = [findings.measure(g, error=0.05, rule="grid", **options).numbers() for g in games]
    return {key: [row[key] for row in rows] for key in rows[0]}


def table_3(run: Run, played: Played, targets: Mapping[str, Array]) -> list[tuple[str, ...]]:
    """PANORAMIA, RM;RN and O(1) for every target."""
    rows, members, outside = [], played.rows()[0], played.rows()[2]
    for name, loss in targets.items():
        found = measured(contests(run, played, loss, BOTH, real=False))
        same = measured(contests(run, played, loss, BOTH, real=True))["c_plus_epsilon_lb"]
        one_run = []
        for k in range(run.sizes.repeats):
            rng = np.random.default_rng([run.seed, 5, k])
            count = min(members.size, outside.size)
            shown_ = np.concatenate([rng.permutation(members)[:count], outside[:count]])
            coins = np.where(rng.random(count) < 0.5, 1.0, -1.0)
            pick = np.where(coins > 0, shown_[:count], shown_[count:])
            bound = closeness.two_thresholds(-loss[pick], coins, error=0.05, rng=rng)
            one_run.append(bound.value)
        keys = ("c_lb", "c_plus_epsilon_lb", "epsilon_tilde")
        rows.append((name, *(spread(found[k]) for k in keys), spread(same), spread(one_run)))
        run.say(" | ".join(rows[-1]))
    return rows


def table_2(run: Run, played: Played, targets: Mapping[str, Array]) -> list[tuple[str, ...]]:
    """c_lb, and epsilon~ of every target named, by what the baseline's helper learned from."""
    rows = []
    for label, names in {"none": (), **{n: (n,) for n in played.helpers}, "both": BOTH}.items():
        found = {t: measured(contests(run, played, x, names, False)) for t, x in targets.items()}
        first = next(iter(found.values()))
        tilde = (spread(own["epsilon_tilde"]) for own in found.values())
        rows.append((label, spread(first["c_lb"]), *tilde))
        run.say(" | ".join(rows[-1]))
    return rows


def figure_6(run: Run, played: Played, loss: Array) -> list[tuple[str, ...]]:
    """c_lb and epsilon~ while the test set grows."""
    seen, (members, generated, _) = played.seen(loss, BOTH), played.rows()
    whole = contest.sizes(min(members.size, generated.size))[2]
    rows = []

    def one(size: int, number: int) -> contest.Contest:
        inputs = {"seen": seen.digest(), "size": size, "number": number, "seed": run.seed}

        def play() -> dict[str, Any]:
            rng = np.random.default_rng([run.seed, 6, number])
            words = {"error": 0.025, "rng": rng, "attack": (IMAGE,), "most": (None, size)}
            return contest.to_arrays(contest.play(seen, members, generated, **words))

        return contest.from_arrays(run.pieces.arrays("growing", inputs, play))

    for size in (*(g for g in run.sizes.growing if g < whole), whole):
        games = [one(size, k) for k in range(min(3, run.sizes.repeats))]
        found = measured(games)
        rows.append((f"{size:,}", *(spread(v) for v in found.values())))
    return rows


def quantiles(losses: Mapping[str, Array], played: Played) -> list[tuple[str, ...]]:
    """Mean and quartiles of the losses on either kind, and the AUC of the loss (Figures 13, 14)."""
    rows = []
    for name, loss in losses.items():
        for kind, own in zip(("members", "generated", "real"), played.rows(), strict=True):
            low, middle, high = np.quantile(loss[own], (0.25, 0.5, 0.75))
            first = played.rows()[0]
            ranks = rankdata(np.concatenate([loss[own], loss[first]]))[: own.size]
            auc = (ranks.mean() - (own.size + 1) / 2) / first.size
            told = "" if kind == "members" else f"{auc:.3f}"
            numbers = (f"{v:.3f}" for v in (loss[own].mean(), low, middle, high))
            rows.append((name, kind, *numbers, told))
    return rows


def table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [title, "", "| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def judged(run: Run, made: tuple[Array, Index], mixture: Callable[[], Any]) -> list[Any]:
    """How a classifier of other real images reads generated ones, and how often they are told.

    A generator that knows one class only is read without error: so the classes are compared too.
    One that copies is found by how often an image is nearer to the images that taught it than to as
    many others; fresh real images are so in half of the cases.
    """
    judge = ImageClassifier(run.sizes.side**2, epochs=8, shift=1, seed=run.seed)
    judge.fit(*run.others)
    rows = []
    first = round(GENERATOR_SHARE * run.sizes.members)
    fresh = run.nonmembers[0][: len(run.members[0]) - first]
    for name, images, labels in (
        ("real non-members", *run.nonmembers),
        ("pixel by pixel", *made),
        ("mixture", *mixture()),
    ):
        right = f"{np.mean(judge.predict(images) == labels):.3f}"
        rest = images[-len(run.members[0]) + first :] if name != "real non-members" else fresh
        empty = np.zeros((2 * len(rest), 0))
        both = np.concatenate([run.members[0][first:][: len(rest)], rest])
        seen = Seen(empty, empty, np.arange(2.0 * len(rest))[:, None] % 7.0, pixels=both)
        rows_ = np.split(np.arange(2 * len(rest)), 2)
        words = {"error": 0.025, "attack": (IMAGE,), "rng": np.random.default_rng(run.seed)}
        found = findings.measure(contest.play(seen, *rows_, **words), error=0.05, rule="grid")
        shares = [np.bincount(y, minlength=10) / len(y) for y in (labels, run.members[1])]
        away = f"{0.5 * np.abs(shares[0] - shares[1]).sum():.3f}"
        copied = np.mean(
            nearest(rest, run.members[0][:first]) < nearest(rest, run.others[0][:first])
        )
        value = f"{floor_to(found.baseline.value, 2):.2f}"
        rows.append((name, right, away, f"{copied:.3f}", value))
        run.say(" | ".join(rows[-1]))
    return rows


def nearest(images: Array, others: Array) -> Array:
    """The squared distance of every image to the nearest of the others."""
    own, far = (images**2).sum(axis=1), (others**2).sum(axis=1)
    return np.asarray((own[:, None] + far - 2.0 * images @ others.T).min(axis=1))


def run_all(run: Run, args: Any) -> str:
    """All stages; the tables as Markdown."""
    s = run.sizes
    taught = round(GENERATOR_SHARE * s.members)
    own = tuple(part[taught:] for part in run.members)
    made = generate(run, taught + len(own[0]))
    lessons, new = tuple(m[:taught] for m in made), tuple(m[taught:] for m in made)
    generator = table(
        "Generator",
        (
            "images",
            "accuracy by a classifier",
            "classes, total variation",
            "nearer to teachers",
            "c_lb, no helper",
        ),
        judged(run, new, lambda: mixture_of(run, len(new[0]))),
    )
    if args.only_generator:
        return generator + "\n"
    images = np.concatenate([own[0], new[0], run.nonmembers[0]])
    labels = np.concatenate([own[1], new[1], run.nonmembers[1]])
    sizes = (len(own[0]), len(new[0]), len(run.nonmembers[0]))
    narrow, wide = s.widths
    real = tuple(m[:taught] for m in run.members)
    helpers = {
        "generated": (plain(run, "helper, generated", wide, lessons, s.helper)[-1], wide),
        "real": (plain(run, "helper, real", wide, real, s.helper)[-1], wide),
        "real, narrow": (plain(run, "helper, narrow", narrow, real, s.helper)[-1], narrow),
    }
    states: dict[str, tuple[Any, int]] = {}
    curves = []
    for width in s.widths:
        every = plain(run, f"targets of width {width}", width, run.members, s.epochs[1])
        for epochs in s.epochs:
            states[f"width {width}, {epochs} epochs"] = every[epochs - 1], width
        for epoch in np.unique(np.geomspace(1, s.epochs[1], 8).round().astype(int)):
            pair = (
                losses_of(every[epoch - 1], width, *part).mean()
                for part in (run.members, run.nonmembers)
            )
            curves.append((str(width), str(epoch), *(f"{v:.3f}" for v in pair)))
    if not args.without_dp:
        usual, other = s.private_epochs
        for epsilon, epochs in (*((e, usual) for e in s.epsilons), (s.epsilons[-1], other)):
            name = f"DP-SGD, epsilon {epsilon:g}, {epochs} epochs"
            states[name] = private(run, epsilon, epochs), s.private_width
    table_1 = [
        (name, *(f"{accuracy(*state, part):.3f}" for part in (run.members, run.nonmembers)))
        for name, state in states.items()
    ]
    played = Played(
        images,
        labels,
        sizes,
        {k: losses_of(*v, images, labels) for k, v in helpers.items()},
    )
    targets = {k: losses_of(*v, images, labels) for k, v in states.items()}
    many = f"width {wide}, {s.epochs[1]} epochs"
    weak = next((k for k in targets if "DP-SGD" in k), f"width {s.widths[0]}, {s.epochs[0]} epochs")
    under = {f"target, {k}": targets[k] for k in (f"width {wide}, {s.epochs[0]} epochs", many)}
    under |= {f"helper, {k} images": v for k, v in played.helpers.items()}
    three = ("c_lb", "{c + eps}_lb", "eps~")
    parts = [
        generator,
        table("Table 1", ("target", "accuracy on members", "on others"), table_1),
        table("Table 3, Figures 5 and 15", ("target", *three, "RM;RN", "O(1)"),
              table_3(run, played, targets)),
        table("Table 2", ("helper", "c_lb", f"eps~: {many}", f"eps~: {weak}"),
              table_2(run, played, {k: targets[k] for k in (many, weak)})),
        table(f"Figure 6, {many}", ("played of either kind", *three),
              figure_6(run, played, targets[many])),
        table("Figure 8", ("width", "epoch", "loss on members", "on others"), curves),
        table("Figures 13 and 14", ("model", "images", "mean loss", "25%", "median", "75%",
                                    "AUC of members against"), quantiles(under, played)),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--fashion", type=Path, default=FASHION)
    options.add_argument("--out", type=Path, default=Path("out/panoramia_images"))
    options.add_argument("--members", type=int, help="how many images train the targets")
    options.add_argument("--repeats", type=int, help="contests per row; 5: the paper's t-interval")
    options.add_argument("--side", type=int, help="14 or 28 pixels")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--without-dp", action="store_true", help="leave DP-SGD (Opacus) out")
    options.add_argument("--only-generator", action="store_true", help="judge it, and stop")
    options.add_argument("--quick", action="store_true", help="few images and epochs, one contest")
    args = options.parse_args(arguments)
    library("torch", "torch").set_num_threads(1)
    sizes = QUICK if args.quick else Sizes()
    changed = {k: v for k in ("members", "repeats", "side") if (v := getattr(args, k)) is not None}
    run = load(args.fashion, Sizes(**{**asdict(sizes), **changed}), args.seed,
               Pieces(args.out / "pieces"))  # fmt: skip
    text = run_all(run, args)
    args.out.mkdir(parents=True, exist_ok=True)
    name = "generator" if args.only_generator else "tables"
    path = args.out / f"{name}{'-quick' if args.quick else ''}.md"
    path.write_text(text)
    print(text)
    run.say(f"wrote {path}; {time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
