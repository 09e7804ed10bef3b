"""Commands whose results are pinned: small tables, every game, several options and seeds each.

A pinned result says what a command wrote at some time. A change of it is a change of a number
that somebody relies on, so it stands in the changelog. Written anew, where a change is meant, by
``python tests/support/pin.py [names]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from scipy.special import expit


@dataclass(frozen=True)
class Run:
    """A command, typed in a folder of tables; ``--out result.json`` is appended."""

    name: str
    words: tuple[str, ...]
    before: tuple[str, ...] = ()
    slow: bool = True


def _run(name: str, words: str, before: str = "", *, slow: bool = True) -> Run:
    return Run(name, tuple(words.split()), tuple(before.split()), slow)


_SHIFTED = "membership shifted.csv --features x_*"
_LABELS = "attribute labels.csv --label y --features x_*"
_SYNTHETIC = (
    "synthetic --members s_members.csv --generated s_generated.csv --target-loss loss"
    " --features x_* --no-cache --n-jobs 1"
)
_LEAKAGE = "leakage l_data.csv --reference l_reference.csv"

RUNS = (
    _run("membership-plain", "membership plain.csv", slow=False),
    _run(
        "membership-plain-deltas",
        "membership plain.csv --delta 1e-6 --delta 1e-3 --error 0.1 --seed 3",
    ),
    _run("membership-higher", "membership plain.csv --score gain --higher-is-member --seed 1"),
    _run("membership-null", "membership plain.csv --score noise --lower-is-member"),
    _run("membership-two-scores", "membership plain.csv --score loss,gain --seed 2"),
    _run("membership-shifted", _SHIFTED, slow=False),
    _run("membership-shifted-seed", f"{_SHIFTED} --seed 5 --delta 1e-2"),
    _run(
        "membership-logistic",
        f"{_SHIFTED} --estimator logistic --calibration isotonic --bootstrap 8",
    ),
    _run(
        "membership-boosting",
        f"{_SHIFTED} --estimator boosting --correction signed --correction prior",
    ),
    _run("membership-bootstrap", f"{_SHIFTED} --bootstrap 3"),
    _run("membership-propensity", f"{_SHIFTED} --propensity p"),
    _run("membership-heldout", f"{_SHIFTED} --heldout heldout.csv"),
    _run("membership-reference", f"{_SHIFTED} --reference-score other"),
    _run("membership-learned", f"{_SHIFTED} --score loss,gain --combine learned"),
    _run("membership-seeds", f"{_SHIFTED} --seeds 3"),
    _run("membership-far", "membership far.csv --features x_*"),
    _run("membership-text", "membership texts.csv --text words --score loss --features x_*"),
    _run(
        "membership-pools", "membership --members pool_1.csv --nonmembers pool_0.csv --features x_*"
    ),
    _run(
        "membership-helpers",
        "membership taught.csv --features x_* --label y --helpers auto --training-size 1400"
        " --no-cache --n-jobs 1",
    ),
    _run(
        "membership-model", "membership shifted.csv --model asked:loss --attack loss --features x_*"
    ),
    _run("attribute-exact", f"{_LABELS} --proxy-exact", slow=False),
    _run("attribute-proxy", f"{_LABELS} --seed 2 --delta 1e-6 --delta 1e-3"),
    _run("attribute-tau", f"{_LABELS} --tau 0.05 --repeats 5"),
    _run("attribute-published", f"{_LABELS} --proxy-exact --attack published --power 3"),
    _run("attribute-coins", f"{_LABELS} --proxy-exact --form published --repeats 5"),
    _run(
        "attribute-several",
        "attribute labels.csv --protected age,x_0 --label y --features x_*,age --model asked:aged",
    ),
    _run("attribute-blind", f"{_LABELS} --proxy none_ --repeats 5"),
    _run("attribute-heldout", f"{_LABELS} --heldout labels_out.csv --repeats 5"),
    _run(
        "attribute-protected",
        "attribute labels.csv --protected age --bins 3 --label y --features x_*,age"
        " --model asked:aged --repeats 5",
    ),
    _run("attribute-model", f"{_LABELS} --model asked:two --proxy-model asked:one --repeats 5"),
    _run("synthetic-generated", _SYNTHETIC),
    _run("synthetic-all", f"{_SYNTHETIC} --rule all --gamma 0.02 --delta 1e-3 --seed 4"),
    _run("synthetic-control", f"{_SYNTHETIC} --nonmembers s_nonmembers.csv"),
    _run("synthetic-helper", f"{_SYNTHETIC} --helper-loss other"),
    _run("synthetic-repeats", f"{_SYNTHETIC} --repeats 3"),
    _run(
        "synthetic-generator",
        "synthetic --members s_members.csv --model asked:drawn --label y --features x_* --no-cache"
        " --n-jobs 1 --drop-poor 0.1",
    ),
    _run("retraining-plain", "retraining counts.csv", slow=False),
    _run(
        "retraining-options",
        "retraining counts.csv --delta 1e-6 --delta 1e-2 --strength 0.5 --prior exponential:3",
    ),
    _run("retraining-group", "retraining counts.csv --group group --level 0.95"),
    _run("retraining-correlated", "retraining counts.csv --correlated"),
    _run("retraining-normal", "retraining counts.csv --correlated --margins normal"),
    _run("retraining-sampler", "retraining counts.csv --sampler 1000 --seed 7"),
    _run("leakage-mean", _LEAKAGE, slow=False),
    _run(
        "leakage-noise",
        f"{_LEAKAGE} --mechanism noisy-mean --noise 0.02 --covariance diagonal --id id",
    ),
    _run(
        "leakage-rate", f"{_LEAKAGE} --mechanism subsampled-mean --rate 0.4 --fpr 0.05 --delta 1e-3"
    ),
    _run("lineup-wide", "lineup lineup.csv", slow=False),
    _run("lineup-groups", "lineup lineup.csv --unit v --delta 1e-6 --delta 1e-3 --seed 3 --id key"),
    _run(
        "canaries-audit",
        "canaries audit plan.json canaries.csv",
        "canaries plan shifted.csv --records train.csv --canaries chosen.csv --count 300 --seed 9"
        " --features x_* --id id",
        slow=False,
    ),
    _run(
        "canaries-loaded",
        "canaries audit plan.json canaries.csv --delta 1e-6 --delta .01 --seed 2 --score loss,gain",
        "canaries plan shifted.csv --records train.csv --canaries chosen.csv --count 400 --seed 4"
        " --strategy random --features x_* --id id --probability 0.3",
    ),
)

MODULE = '''"""Models that are asked."""
import numpy as np


def _x(rows):
    return np.asarray(rows["x_0"].to_pylist()), np.asarray(rows["x_1"].to_pylist())


def loss(rows):
    first, second = _x(rows)
    return np.abs(first - 0.5 * second)


def _number(rows, name):
    return np.asarray(rows[name].to_pylist() if hasattr(rows[name], "to_pylist") else rows[name])


class _Line:
    """A model of the label with fixed weights."""

    classes_ = np.array([0, 1])

    def __init__(self, **weights):
        self.weights = weights
        self.feature_names_in_ = np.array(list(weights))

    def predict_proba(self, rows):
        line = sum(w * _number(rows, name) for name, w in self.weights.items())
        p = 1.0 / (1.0 + np.exp(-line))
        return np.column_stack([1.0 - p, p])


one = _Line(x_0=1.0, x_1=0.0)
two = _Line(x_0=1.0, x_1=-0.7)
drawn = _Line(x_0=1.0, x_1=-0.7, x_2=0.0)
aged = _Line(x_0=1.0, x_1=-0.7, age=0.02)
'''


def write_tables(folder: Path) -> None:
    """Every table that a run reads."""
    rng = np.random.default_rng(20260)
    member = np.repeat([1, 0], 400)
    _write(
        folder / "plain.csv",
        member=member,
        loss=rng.normal(-1.2 * member, 1.0),
        gain=rng.normal(0.8 * member, 1.0),
        noise=rng.normal(size=800),
    )
    shifted = _shifted(rng, 500, 0.7)
    _write(folder / "shifted.csv", **shifted)
    _write(folder / "heldout.csv", **_shifted(rng, 300, 0.7))
    _write(folder / "far.csv", **_shifted(rng, 200, 4.0))
    for kind in (0, 1):
        own = shifted["member"] == kind
        _write(
            folder / f"pool_{kind}.csv",
            **{name: column[own] for name, column in shifted.items() if name != "member"},
        )
    words = np.array(["red", "green", "blue", "grey"])
    said = [" ".join(words[rng.integers(0, 4, 6)]) for _ in range(1000)]
    _write(folder / "texts.csv", words=np.array(said), **shifted)
    _write(folder / "labels.csv", **_labels(rng, 700, 3.0))
    _write(folder / "labels_out.csv", **_labels(rng, 600, 0.0))
    x = rng.normal(size=(2400, 3))
    y = rng.random(2400) < expit(x[:, 0])
    kind = np.arange(2400) // 800
    made = {
        "x_0": x[:, 0] + 0.3 * (kind == 1), "x_1": x[:, 1], "x_2": x[:, 2], "y": y.astype(int),
        "loss": rng.normal(0.3 * x[:, 0] - 1.5 * (kind == 0), 1.0), "other": 0.3 * x[:, 0],
    }  # fmt: skip
    for place, name in enumerate(("members", "generated", "nonmembers")):
        _write(folder / f"s_{name}.csv", **{key: c[kind == place] for key, c in made.items()})
    _write(
        folder / "counts.csv",
        false_positives=np.array([40, 12, 38, 21, 3]),
        negatives=np.array([100, 80, 120, 60, 90]),
        false_negatives=np.array([38, 41, 16, 10, 22]),
        positives=np.array([100, 90, 110, 70, 90]),
        group=np.array(["a", "a", "b", "b", "c"]),
    )
    for name, rows in (("data", 300), ("reference", 500)):
        z = rng.normal(size=(rows, 3)) * [1.0, 2.0, 0.5]
        _write(
            folder / f"l_{name}.csv",
            id=np.arange(rows),
            a=z[:, 0], b=z[:, 0] + z[:, 1], c=z[:, 2] ** 3, d=(rng.random(rows) < 0.1).astype(int),
        )  # fmt: skip
    (folder / "asked.py").write_text(MODULE)
    shown = rng.normal(size=(400, 8))
    shown[:, 0] += 1.5
    _write(
        folder / "lineup.csv",
        key=np.arange(400), v=np.arange(400) // 2,
        **{f"s_{j}": shown[:, j] for j in range(8)},
    )  # fmt: skip
    x = rng.normal(size=(1400, 2))
    y = rng.random(1400) < expit(3.0 * x[:, 0])
    member = np.repeat([1, 0], 700)
    hit = expit(3.0 * np.where(y, x[:, 0], -x[:, 0]))
    _write(
        folder / "taught.csv",
        member=member, x_0=x[:, 0], x_1=x[:, 1], y=y.astype(int),
        loss=-np.log(hit) + rng.normal(-0.6 * member, 0.4),
    )  # fmt: skip


def write_canary_scores(folder: Path) -> None:
    """Scores of the canaries that a plan chose: the included ones have smaller losses."""
    import json

    plan = json.loads((folder / "plan.json").read_text())
    rng = np.random.default_rng(len(plan["ids"]))
    included = np.array(plan["included"], dtype=float)
    _write(
        folder / "canaries.csv",
        id=np.array(plan["ids"]),
        loss=rng.normal(-1.5 * included, 1.0),
        gain=rng.normal(0.5 * included, 1.0),
    )


def _shifted(rng: np.random.Generator, each: int, by: float) -> dict[str, np.ndarray]:
    member = np.repeat([1, 0], each)
    x = rng.normal(size=(2 * each, 3))
    p = expit(by * x[:, 0])
    chosen = rng.random(2 * each) < p
    x[:, 0] = np.where(chosen == member, x[:, 0], -x[:, 0])
    return {
        "id": np.arange(2 * each),
        "member": member,
        "x_0": x[:, 0], "x_1": x[:, 1], "x_2": np.round(x[:, 2]),
        "p": expit(by * x[:, 0]),
        "loss": rng.normal(0.6 * x[:, 0] - 1.5 * member, 1.0),
        "gain": rng.normal(0.5 * member, 1.0),
        "other": rng.normal(0.6 * x[:, 0], 1.0),
    }  # fmt: skip


def _labels(rng: np.random.Generator, rows: int, epsilon: float) -> dict[str, np.ndarray]:
    x = rng.normal(size=(rows, 2))
    line = x[:, 0] - 0.7 * x[:, 1]
    y = (rng.random(rows) < expit(line)).astype(int)
    told = np.where(rng.random(rows) < expit(epsilon), y, 1 - y)
    p = expit(line + epsilon * (2.0 * told - 1.0))
    q = expit(line)
    return {
        "y": y, "x_0": x[:, 0], "x_1": x[:, 1], "age": rng.normal(40.0 + 5.0 * x[:, 0], 8.0),
        "p_0": 1.0 - p, "p_1": p, "q_0": 1.0 - q, "q_1": q,
    }  # fmt: skip


def _write(path: Path, **columns: np.ndarray) -> None:
    pa.csv.write_csv(pa.table(columns), path)
