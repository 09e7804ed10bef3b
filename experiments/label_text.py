"""Table 7 of Observational auditing (paper 001): TF-IDF features and a fully connected network.

    python experiments/label_text.py [--words 25] [--repetitions 100] [--quick]

The paper has three million tweets with their sentiment. Here a record is a passage of Jane Austen's
novels, its label whether the novel was published in 1813 or before, or later. A tenth is held out;
a third of the rest teaches the proxy, one the target, which has no privacy (epsilon infinite), and
one the model of the null row, which never saw an audited label: every claim there is false. The
proxy is the target's learner, as in the paper, or a calm one that made only three passes.

Prints what label inference, calibrated losses (Watson et al. 2022) and RMIA (Zarifzadeh et al.
2024) claim as published, and what ``divulge`` proves with the held-out passages. Needs ``make
text``.
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

sys.path.insert(0, str(Path(__file__).parent))
from austen import chapters, novels
from label_games import Row, attacks, label_inference, quality, shown, write

from divulge.data.features import Features
from divulge.errors import DivulgeError
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.proof.rule import Rule
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index

TEXT = Path("out/text/Rdata.rdb")
EARLY = ("SENSE", "PRIDE")
DELTA, COMPONENTS, CALM = 1e-5, 20, 3
NULL = "null: never saw these labels"


def passages(path: Path, words: int) -> tuple[list[str], Index]:
    """Passages of so many words, and 1 for the novels of 1811 and 1813."""
    texts, labels = [], []
    for novel, lines in novels(path).items():
        own = int(novel.startswith(EARLY))
        for chapter in chapters(lines, novel).values():
            said = chapter.split()
            cut = [said[i : i + words] for i in range(0, len(said) - words + 1, words)]
            texts += [" ".join(part) for part in cut]
            labels += [own] * len(cut)
    return texts, np.array(labels, dtype=np.intp)


def network(hidden: int, passes: int, seed: int) -> Any:
    """One hidden layer, by Adam."""
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        (hidden,), batch_size=128, max_iter=passes, n_iter_no_change=passes, random_state=seed
    )


def trained(model: Any, x: Any, y: Index) -> Any:
    """Stopped after its passes, which scikit-learn would warn of."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x, y)


def ours(x: Any, y: Index, p: Array, q: Array, training: int, seed: int) -> tuple[float, float]:
    """Epsilon at delta 0 and at 1e-5, with held-out records."""
    from sklearn.decomposition import TruncatedSVD

    seen = TruncatedSVD(min(COMPONENTS, x.shape[1] - 1), random_state=0).fit_transform(x)
    records = Records(
        codes=y,
        classes=("later", "early"),
        training=training,
        features=Features(seen / seen.std(axis=0), tuple(f"x{j}" for j in range(seen.shape[1]))),
        log_target=log_probabilities(p),
        log_proxy=log_probabilities(q),
        proxy=q,
        heldout_target=True,
    )
    result = audit_records(records, Rule((DELTA,)), seed=seed, compare=False)
    found = {b.delta: b.value for b in result.headline() if b.parameter == "epsilon"}
    return found.get(0.0, 0.0), found.get(DELTA, 0.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--words", type=int, default=25, help="in a passage")
    options.add_argument("--terms", type=int, default=4000)
    options.add_argument("--hidden", type=int, default=32)
    options.add_argument("--passes", type=int, default=15)
    options.add_argument("--repetitions", type=int, default=100)
    options.add_argument("--passages", type=int, help="at most so many")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="3,000 passages, five repetitions")
    args = options.parse_args(arguments)
    if args.quick:
        args.passages, args.repetitions, args.terms, args.passes = 3000, 5, 1000, 10
    from sklearn.feature_extraction.text import TfidfVectorizer

    console, start = Console(width=200), time.perf_counter()
    texts, y = passages(args.text, args.words)
    rng = np.random.default_rng(args.seed)
    chosen = rng.permutation(y.size)[: args.passages]
    x = TfidfVectorizer(max_features=args.terms).fit_transform([texts[i] for i in chosen]).tocsr()
    y = y[chosen]
    tenth = y.size // 10
    ends = np.linspace(tenth, y.size, 4).astype(int)[:-1]
    outside, first, second, third = np.split(np.arange(y.size), ends)

    def fitted(rows: Index, passes: int) -> Array:
        model = trained(network(args.hidden, passes, args.seed), x[rows], y[rows])
        return np.asarray(model.predict_proba(x))

    proxies = {"same learner": fitted(first, args.passes), "calm": fitted(first, CALM)}
    models = {"target": fitted(second, args.passes), NULL: fitted(third, args.passes)}
    both, rows = np.concatenate([second, outside]), []
    for said, q in proxies.items():
        loss = quality(q[outside], y[outside])["log_loss"]
        console.print(f"proxy, {said}: log-loss {loss:.3f} on held-out passages")
        for name, p in models.items():
            inside, out = ((y[r], p[r], q[r]) for r in (second, outside))
            limit = 0.0 if name == NULL else np.inf
            row: Row = {"proxy": said, "model": name}
            row |= label_inference(*inside, limit, args.repetitions, rng)
            row |= attacks(inside, out, args.repetitions, rng) | quality(p[outside], y[outside])
            if said == "calm":
                found = ours(x[both], y[both], p[both], q[both], second.size, args.seed)
                row["ours"], row["ours_1e-5"] = found
            rows.append(row)
    table = Table(title=f"{second.size} canaries, {outside.size} held out, epsilon infinite")
    names = ("sweep", "one_percent", "calibration", "rmia")
    headings = (
        "proxy",
        "model",
        "label inference",
        "at 1%",
        "calibration",
        "RMIA",
        "ours",
        "accuracy",
    )
    for heading in headings:
        table.add_column(heading)
    for r in rows:
        proved = f"{r['ours']:.2f} / {r['ours_1e-5']:.2f}" if "ours" in r else "-"
        cells = (*(shown(r, k) for k in names), proved, f"{100.0 * r['accuracy']:.1f}")
        table.add_row(r["proxy"], r["model"], *cells)
    console.print(table)
    write(rows, args.out / "label_text.csv")
    console.print(f"Wrote {args.out / 'label_text.csv'}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
