"""Every attack on membership against one overfitted model, side by side.

    python benchmarks/attacks.py [--shadows 32] [--quick] [--language] [--command-line] [--peer]

Fashion-MNIST as 50 principal components (``make fashion``; without it, scikit-learn's digits). The
target is a perceptron with one hidden layer, trained on half of the candidates until it knows them
nearly by heart; the other half are the non-members. Shadow models train on random halves of the
candidates, reference models on halves of other records, and further records that no model trained
on are the population. Answers of shadow models are kept in out/attacks: a second run trains none.

``--language`` attacks a tiny GPT-2 on Jane Austen's novels instead (``make text``, extra
``language``), trained from nothing or, with ``--tuned``, fine-tuned from the reference; a text has
``--length`` tokens. ``--command-line`` attacks a forest by the commands alone, without and with
shadow models (extra ``models``). ``--peer`` adds the black-box attack of the
adversarial-robustness-toolbox, taught by one of the shadow models (pip install
adversarial-robustness-toolbox packaging).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.stats import norm, rankdata

from divulge.attacks import learned, lira_offline, lira_online, loss, registry
from divulge.attacks.base import Observed
from divulge.attacks.shadows import Shadows, train_shadows
from divulge.errors import DivulgeError
from divulge.models.base import Answers, logarithms
from divulge.proof.measures import tpr_at
from divulge.types import Array, Index

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "experiments")]

CONSOLE = Console(width=200, highlight=False)
COMPONENTS = 50

# What the papers report of the first attack against the second, and by which measure they say so.
AUC, LOW, ONE = "AUC", "TPR at 0.1%", "TPR at 1%"
EXPECTED = (
    ("modified_entropy", "entropy", AUC, "Song and Mittal 2021"),
    ("difficulty", "loss", AUC, "Watson et al. 2022"),
    ("quantile", "loss", LOW, "Bertran et al. 2023"),
    ("lira_offline", "loss", LOW, "Carlini et al. 2022"),
    ("lira", "lira_offline", LOW, "Carlini et al. 2022"),
    ("lira", "difficulty", LOW, "Carlini et al. 2022"),
    ("rmia_offline", "ratio", AUC, "Zarifzadeh et al. 2024"),
    ("rmia_offline", "lira_offline", AUC, "Zarifzadeh et al. 2024"),
    ("rmia", "lira", AUC, "Zarifzadeh et al. 2024"),
    ("zlib", "loss", AUC, "Carlini et al. 2021"),
    ("reference_ratio", "loss", AUC, "Carlini et al. 2021"),
    ("min_k", "loss", AUC, "Shi et al. 2024"),
    ("min_k_plus", "min_k", AUC, "Zhang et al. 2025"),
    ("error_tokens", "reference_ratio", AUC, "Ilić et al. 2026"),
    ("error_tokens", "reference_ratio", ONE, "Ilić et al. 2026"),
    ("windows", "reference_ratio", AUC, "Chen et al. 2026"),
    ("windows", "reference_ratio", ONE, "Chen et al. 2026"),
)


@dataclass(frozen=True)
class Data:
    """Records in three disjoint parts, and which of the candidates are members."""

    name: str
    x: Array = field(repr=False)
    y: Index = field(repr=False)
    candidates: Index = field(repr=False)
    population: Index = field(repr=False)
    auxiliary: Index = field(repr=False)
    member: npt.NDArray[np.bool_] = field(repr=False)


def split(name: str, x: Array, y: Index, sizes: tuple[int, int, int], seed: int) -> Data:
    """Candidates, population and auxiliary records at random; every other candidate a member."""
    order = np.random.default_rng(seed).permutation(len(y))
    first, second, third = np.cumsum(sizes)
    member = np.arange(first) % 2 == 0
    parts = (order[:first], order[first:second], order[second:third])
    return Data(name, x, y, *parts, member)


def fashion(seed: int) -> Data:
    """Fashion-MNIST; the components are those of all images, without labels."""
    from label_tables import FASHION, PARTS, read_idx
    from sklearn.decomposition import PCA

    images, labels, test_images, test_labels = (read_idx(FASHION / f"{p}-ubyte") for p in PARTS)
    pixels = np.concatenate([images, test_images]).reshape(-1, images[0].size) / 255.0
    x = PCA(COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(pixels)
    y = np.concatenate([labels, test_labels]).astype(np.intp)
    return split("Fashion-MNIST", x / x.std(), y, (20_000, 5_000, 20_000), seed)


def digits(seed: int) -> Data:
    """scikit-learn's 1,797 digits of 8 x 8 pixels."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return split("digits", x / x.std(), y.astype(np.intp), (1_000, 300, 497), seed)


def perceptron(seed: int) -> Any:
    """One hidden layer, no regularisation, always 60 epochs."""
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        (256,), alpha=0.0, batch_size=100, learning_rate_init=2e-3, max_iter=60, tol=0.0,
        n_iter_no_change=1_000, random_state=seed,
    )  # fmt: skip


def images(
    data: Data, *, shadows: int, references: int, seed: int, folder: Path | None, jobs: int
) -> tuple[Observed, Any]:
    """What the attacks may look at, and the target itself."""
    x, y = data.x, data.y
    target = perceptron(seed)
    trained = data.candidates[data.member]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not meant to converge
        target.fit(x[trained], y[trained])
    for name, rows in (("members", trained), ("others", data.candidates[~data.member])):
        CONSOLE.print(f"accuracy of the target on {name}: {target.score(x[rows], y[rows]):.3f}")

    asked = np.concatenate([data.candidates, data.population])
    here = np.arange(asked.size) < data.candidates.size
    shared = {"n_jobs": jobs, "cache": folder, "name": "perceptron", "progress": said}
    online = train_shadows(
        quiet, x[asked], y[asked], pool=here, count=shadows, seed=seed + 1, **shared
    )
    everything = np.concatenate([asked, data.auxiliary])
    outside = np.arange(everything.size) >= asked.size
    offline = train_shadows(
        quiet, x[everything], y[everything], pool=outside, count=references, seed=seed + 2, **shared
    )

    def part(rows: npt.NDArray[np.bool_], others: Observed | None) -> Observed:
        some: Shadows = online.of(rows)
        padded = np.concatenate([rows, np.zeros(data.auxiliary.size, dtype=bool)])
        return Observed(
            target=Answers(
                log_probabilities=logarithms(target.predict_proba(x[asked[rows]]), "The target")
            ),
            labels=y[asked[rows]],
            references=offline.of(padded).answers,
            shadows=some.answers,
            inside=some.inside,
            features=x[asked[rows]],
            population=others,
        )

    return part(here, part(~here, None)), target


class _Quiet:
    """The perceptron without its warning that it was stopped."""

    def __init__(self, seed: int) -> None:
        self.model = perceptron(seed)

    def fit(self, x: Array, y: Index) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(x, y)
        self.classes_ = self.model.classes_

    def predict_proba(self, x: Array) -> Array:
        return np.asarray(self.model.predict_proba(x))


def quiet(seed: int) -> _Quiet:
    return _Quiet(seed)


def said(done: int, total: int) -> None:
    print(f"\rshadow models: {done} of {total}", end="\n" if done == total else "", file=sys.stderr)


def auc_interval(score: Array, member: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Area under the ROC and the half-width of its 95% interval (DeLong et al., 1988)."""
    inside, outside = score[member], score[~member]
    ranks = rankdata(score)
    above = (ranks[member] - rankdata(inside)) / outside.size
    below = 1.0 - (ranks[~member] - rankdata(outside)) / inside.size
    variance = above.var(ddof=1) / inside.size + below.var(ddof=1) / outside.size
    return float(above.mean()), float(norm.ppf(0.975) * np.sqrt(variance))


def extra_rows(observed: Observed) -> dict[str, Array]:
    """LiRA with deviations of every record's own, and what can be learned from the loss alone."""
    if observed.target.log_probabilities is None or not observed.shadows:
        return {}
    own, shadows, inside = lira_online.signals(observed)
    return {
        "lira_offline, own deviations": lira_offline.offline_lira(
            own, shadows, ~inside, per_record=True
        ),
        "learned from the loss alone": learned.combine(observed, (loss.ATTACK,)),
        "lira, own deviations": lira_online.online_lira(own, shadows, inside, per_record=True),
    }


def peer(observed: Observed, target: Any) -> dict[str, Array]:
    """The toolbox's black-box attack (random forest), taught by one shadow model."""
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
    from art.estimators.classification import SklearnClassifier

    assert observed.features is not None
    assert observed.inside is not None
    x, y = observed.features.astype(np.float32), observed.labels
    said_by = [np.exp(a.log_probabilities) for a in (observed.shadows[0], observed.target)]
    seen = observed.inside[:, 0]
    attack = MembershipInferenceBlackBox(SklearnClassifier(target), attack_model_type="rf")
    attack.fit(x[seen], y[seen], x[~seen], y[~seen], said_by[0][seen], said_by[0][~seen])
    found = attack.infer(x, y, pred=said_by[1], probabilities=True)
    return {"art: black box, forest": np.asarray(found, dtype=float)[:, -1]}


def quality(observed: Observed, member: npt.NDArray[np.bool_], others: dict[str, Array]) -> None:
    """One row per attack, strongest first; then what the papers lead to expect."""
    truth = np.where(member, 1.0, -1.0)
    scores = {}
    seconds = {}
    for attack in registry.available(observed):
        start = time.perf_counter()
        scores[attack.name] = registry.direction(attack.name) * attack(observed)
        seconds[attack.name] = time.perf_counter() - start
    scores.update(others)
    table = Table("attack", "AUC", "TPR at 0.1% FPR", "TPR at 1% FPR", "seconds")
    for column in table.columns[1:]:
        column.justify = "right"
    rows: dict[str, dict[str, float]] = {}
    for name, score in scores.items():
        area, half = auc_interval(score, member)
        low, one = (tpr_at(score, truth, f) for f in (0.001, 0.01))
        rows[name] = {AUC: area, LOW: low, "half": half, ONE: one}
    for name, row in sorted(rows.items(), key=lambda item: -item[1][AUC]):
        took = f"{seconds[name]:.1f}" if name in seconds else ""
        table.add_row(
            name,
            f"{row[AUC]:.3f} ± {row['half']:.3f}",
            f"{row[LOW]:.2%}",
            f"{row[ONE]:.2%}",
            took,
        )
    CONSOLE.print(table)
    tied = {name: np.mean(s[~member] == s.max()) for name, s in scores.items()}
    many = [f"{name} {share:.2%}" for name, share in tied.items() if share > 0.001]
    CONSOLE.print(
        "\nnon-members that share the largest score, if more than 0.1%: "
        f"{', '.join(many) or 'none'}\n"
    )
    expected = Table("expected", "by", "measure", "ours", "")
    for stronger, weaker, measure, paper in EXPECTED:
        if stronger in rows and weaker in rows:
            a, b = rows[stronger][measure], rows[weaker][measure]
            form = ".3f" if measure == AUC else ".2%"
            expected.add_row(
                f"{stronger} > {weaker}", paper, measure, f"{a:{form}} > {b:{form}}"
                if a > b else f"{a:{form}} <= {b:{form}}", "as expected" if a > b else "differs",
            )  # fmt: skip
    CONSOLE.print(expected)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--shadows", type=int, default=32)
    options.add_argument("--references", type=int, default=4)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("out/attacks"))
    options.add_argument("--quick", action="store_true", help="digits, 8 shadow models")
    options.add_argument("--language", action="store_true")
    options.add_argument("--length", type=int, default=32, help="tokens of a chunk of text")
    options.add_argument("--tuned", action="store_true", help="fine-tune from the reference")
    options.add_argument("--command-line", action="store_true", help="a forest, by commands")
    options.add_argument("--records", type=int, default=4_000, help="with --command-line")
    options.add_argument("--peer", action="store_true")
    args = options.parse_args(arguments)
    start = time.perf_counter()
    if args.language:
        from attacks_language import novels_observed

        observed, member = novels_observed(
            args.seed, quick=args.quick, console=CONSOLE, length=args.length, tuned=args.tuned
        )
        others: dict[str, Array] = {}
        kind = "fine-tuned from the reference" if args.tuned else "trained from nothing"
        where = f"a tiny GPT-2 on Jane Austen, {args.length} tokens a chunk, {kind}"
    else:
        try:
            data = digits(args.seed) if args.quick else fashion(args.seed)
        except DivulgeError as error:
            CONSOLE.print(f"{error} Digits are used instead.")
            data = digits(args.seed)
        count = 8 if args.quick else args.shadows
        if args.command_line:
            from attacks_command_line import run

            size = min(args.records, data.candidates.size)
            CONSOLE.print(f"{data.name}, a forest: {size:,} records, {count} shadow models\n")
            run(data, records=size, population=size // 4, shadows=count, seed=args.seed,
                console=CONSOLE, interval=auc_interval)  # fmt: skip
            return
        observed, target = images(
            data, shadows=count, references=args.references, seed=args.seed, folder=args.out,
            jobs=args.jobs,
        )  # fmt: skip
        member = data.member
        others = extra_rows(observed) | (peer(observed, target) if args.peer else {})
        where = f"{data.name}, {count} shadow models, {args.references} references"
    CONSOLE.print(
        f"{where}: {int(member.sum()):,} members, {int((~member).sum()):,} non-members, "
        f"seed {args.seed}\n"
    )
    quality(observed, member, others)
    CONSOLE.print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
